"""Evenhand in Python: training loops that can be interrupted, the service over HTTP, and the simulator in a notebook."""

from .agent import Agent, Row, by_trials
from . import binary
from .binary import BinaryError, compare, share, simulate, whatif
from .client import Accepted, App, Client, EvenhandError, Job, Offer, OfferedNode, Refused, Unreachable
from .run import Run

__version__ = "0.1.0"

__all__ = [
    "Accepted",
    "Agent",
    "App",
    "BinaryError",
    "Client",
    "EvenhandError",
    "Job",
    "Offer",
    "OfferedNode",
    "Refused",
    "Row",
    "Run",
    "Unreachable",
    "by_trials",
    "compare",
    "share",
    "simulate",
    "whatif",
]

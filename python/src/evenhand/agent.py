"""Speaks for an app in auctions.

Under `themis`, free GPUs are offered to the apps that are worst off, and go to those who gain most. An app whose agent lives outside is asked what the
GPUs would be worth to it. Whoever is slow, silent or wrong loses this bid, and nothing else.

A bid is a table. Its first row is about nothing; each other row says which gangs it is about, and how well off the app would be with them. Only the
ratios between rows count: how badly off the app is, the scheduler knows itself.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .client import Client, EvenhandError, Offer

#: Rows of a bid at most.
ROWS_MAX = 64


@dataclass(frozen=True)
class Row:
    """So many gangs of so many GPUs of a model, and what they are worth: `rho` is the time the app would take with them over what its fair share alone
    would give it. Smaller is better."""

    rho: float
    model: Optional[int] = None
    gang: int = 1
    gangs: int = 0
    span: str = "cluster"

    def as_json(self) -> Dict[str, Any]:
        """As it is sent."""
        if self.gangs == 0:
            return {"rho": self.rho}
        part = {"model": self.model, "gang": self.gang, "gangs": self.gangs, "span": self.span}
        return {"rho": self.rho, "parts": [part]}


Bidder = Callable[[Offer], Sequence[Row]]


def by_trials(
    offer: Offer,
    *,
    waiting: int,
    running: int,
    left_s: float,
    gpus: int = 1,
    speeds: Optional[Mapping[str, float]] = None,
) -> List[Row]:
    """What an offer is worth to a search with so many trials that wait and run, and so much work left, in seconds of one trial.

    With n trials at a time the rest takes left_s / n; with none at all, a lease longer.
    """
    lease_s = offer.lease_ms / 1000.0
    left_s = max(left_s, 1e-3)

    def takes(trials: float) -> float:
        return left_s / trials if trials > 0 else lease_s + left_s

    rows = [Row(rho=takes(running))]
    each_max = (ROWS_MAX - 1) // max(1, len(offer.models))
    for model, name in enumerate(offer.models):
        speed = 1.0 if speeds is None else speeds.get(name, 0.0)
        if speed <= 0.0:
            continue
        for gangs in range(1, min(waiting, offer.gangs(model, gpus), each_max) + 1):
            span = "node" if gpus == 1 else "cluster"
            rows.append(Row(takes(running + gangs * speed), model, gpus, gangs, span))
    return [rows[0]] + [row for row in rows[1:] if row.rho < rows[0].rho]


@dataclass
class Agent:
    """Waits for offers to an app and answers them with `bid(offer)`, in a thread of its own, until it is stopped.

    It survives a server that is away, and an app that is not there yet or no more.
    """

    client: Client
    app: str
    bid: Bidder
    wait_s: float = 2.0
    #: Offers that were answered, and those whose answer did not count, with the reason.
    answered: int = 0
    lost: List[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: Optional[threading.Thread] = None

    def start(self) -> "Agent":
        """Begins to listen."""
        self._thread = threading.Thread(target=self._listen, name=f"agent of {self.app}", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Listens no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(self.wait_s + 5.0)

    def answer(self, offer: Offer) -> bool:
        """Answers one offer; whether the bid counts."""
        try:
            self.client.bid(self.app, offer, [row.as_json() for row in self.bid(offer)])
        except Exception as error:  # whatever a bidder does wrong, the next offer is heard
            self.lost.append(str(error) or repr(error))
            return False
        self.answered += 1
        return True

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                offer = self.client.offer(self.app, wait_s=self.wait_s)
                if offer is not None:
                    self.answer(offer)
            except EvenhandError:
                # No such app yet, or nobody there: it may come.
                self._stop.wait(0.1)

    def __enter__(self) -> "Agent":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

"""The simulator in a notebook: the binary's JSON, as plain lists and dictionaries that `pandas.DataFrame` takes.

The binary is found in `EVENHAND_BINARY` or on the `PATH`.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .client import EvenhandError

PathLike = Union[str, Path]
#: Rows of numbers, rows by tenant, or speeds by tenant and GPU model.
Speedups = Union[PathLike, Sequence[Sequence[float]], Mapping[str, Sequence[float]], Mapping[str, Mapping[str, float]]]


class BinaryError(EvenhandError):
    """The binary is not there, or says that something is wrong: exit code 2 if it is the input, 1 if it is the work."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def binary() -> str:
    """Where the binary is."""
    found = os.environ.get("EVENHAND_BINARY") or shutil.which("evenhand")
    if not found:
        raise BinaryError(2, "there is no `evenhand` on the PATH: build it, or say where it is in EVENHAND_BINARY")
    return found


def simulate(trace: PathLike, *, out: Optional[PathLike] = None, **flags: Any) -> Dict[str, Any]:
    """One run of a trace under one policy: its figures. `cluster="v100=32"`, `policy="las"`, `set={"f": 0.8}`, `round="2m"`; every flag of
    `evenhand simulate`, with `_` for `-`. The ledger is kept if `out` names a folder for it."""
    with _folder(out) as folder:
        found = _run("simulate", ["--trace", str(trace), "--out", folder], flags)
        return dict(_without_ledger(found) if out is None else found)


def compare(
    trace: Optional[PathLike] = None, *, scenario: Optional[PathLike] = None, out: Optional[PathLike] = None, **flags: Any
) -> List[Dict[str, Any]]:
    """Several policies on the same work: a row of figures each. `policy=["fifo", "las"]`, or a scenario file."""
    words = [str(scenario)] if scenario is not None else ["--trace", str(trace)]
    if (trace is None) == (scenario is None):
        raise ValueError("either a trace or a scenario is compared")
    with _folder(out) as folder:
        found = _run("compare", [*words, "--out", folder], flags)
        return [dict(_without_ledger(row) if out is None else row) for row in found]


def whatif(history: Optional[PathLike] = None, *, out: Optional[PathLike] = None, **flags: Any) -> List[Dict[str, Any]]:
    """What a ledger or trace would have been under other policies: a row of figures each, its own policy first. Without a file, the history of
    the running service."""
    with _folder(out) as folder:
        words = [] if history is None else [str(history)]
        return [dict(_without_ledger(row) if out is None else row) for row in _run("whatif", [*words, "--out", folder], flags)]


def share(speedups: Speedups, capacity: Union[str, Sequence[int], Mapping[str, int]], policy: str, **flags: Any) -> Dict[str, Any]:
    """Divides a cluster once: shares, throughputs, certificate. `speedups` is a file, rows of numbers, rows by tenant, or by tenant and GPU model."""
    with tempfile.TemporaryDirectory() as folder:
        table = speedups if isinstance(speedups, (str, Path)) else _table(speedups, Path(folder, "speedups.csv"))
        words = ["--speedups", str(table), "--capacity", _capacity(capacity), "--policy", policy]
        return dict(_run("share", words, flags))


def _run(command: str, words: Sequence[str], flags: Mapping[str, Any]) -> Any:
    line = [binary(), command, *words, *_flags(flags), "--json"]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0:
        raise BinaryError(done.returncode, done.stderr.strip() or f"`evenhand {command}` ended with {done.returncode}")
    return json.loads(done.stdout)


def _flags(flags: Mapping[str, Any]) -> List[str]:
    words: List[str] = []
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            for key, one in value.items():
                words += [flag, f"{key}={one}"]
        elif isinstance(value, (list, tuple)):
            for one in value:
                words += [flag, str(one)]
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def _table(speedups: Any, path: Path) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as file:
        write = csv.writer(file)
        if not isinstance(speedups, Mapping):
            write.writerows(speedups)
            return path
        first = next(iter(speedups.values()))
        models = list(first) if isinstance(first, Mapping) else None
        if models is not None:
            write.writerow(["tenant", *models])
        for tenant, row in speedups.items():
            write.writerow([tenant, *([row[model] for model in models] if models is not None else row)])
    return path


def _capacity(capacity: Union[str, Sequence[int], Mapping[str, int]]) -> str:
    if isinstance(capacity, str):
        return capacity
    if isinstance(capacity, Mapping):
        return ",".join(f"{model}={gpus}" for model, gpus in capacity.items())
    return ",".join(str(gpus) for gpus in capacity)


def _without_ledger(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**row, "ledger": None}


class _folder:
    """The folder that was named, or one that goes away."""

    def __init__(self, named: Optional[PathLike]) -> None:
        self._made = None if named is not None else tempfile.TemporaryDirectory()
        self._path = str(named) if self._made is None else self._made.name

    def __enter__(self) -> str:
        return self._path

    def __exit__(self, *_: object) -> None:
        if self._made is not None:
            self._made.cleanup()

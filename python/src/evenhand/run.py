"""A training loop that can be interrupted, goes on where it stopped, and tells how far it is.

    run = evenhand.Run(save=save, load=load)
    for step in run.steps(1000):
        loss = train(step)
        run.report(loss=loss, batch_size=64)

Under the scheduler, `steps` begins where the last checkpoint ended, saves now and then, and when somebody else's turn has come it saves and leaves
the program. Without the scheduler nothing is saved or told, unless a folder is named.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Type

#: The exit code that means: saved, start me again later.
TURN_OVER = 75

#: What a line begins with that tells a tuner something.
REPORT_MARK = "evenhand-report "

Save = Callable[[Path], None]


class Run:
    """One run of a training program, from its start or from its last checkpoint.

    `save(path)` writes everything that `load(path)` needs to go on. `every_s` is the time between two checkpoints. `folder` is where checkpoints
    are kept when no scheduler says where.
    """

    def __init__(
        self,
        save: Optional[Save] = None,
        load: Optional[Save] = None,
        every_s: float = 60.0,
        folder: "Optional[os.PathLike[str] | str]" = None,
        report_every_s: float = 0.5,
        environment: Optional[Mapping[str, str]] = None,
    ) -> None:
        found = os.environ if environment is None else environment
        self._save, self._load = save, load
        self._every_s, self._report_every_s = every_s, report_every_s
        self._checkpoint = _checkpoint(found, folder)
        progress = found.get("EVENHAND_PROGRESS")
        self._progress = Path(progress) if progress else None
        self._tells_tuner = found.get("TRIAL_REPORTS") == "stdout"
        #: Its number, if a scheduler runs it.
        self.job: Optional[int] = _number(found.get("EVENHAND_JOB"))
        #: The number of its lease.
        self.lease: Optional[int] = _number(found.get("EVENHAND_LEASE"))
        #: Its GPUs, as `node.ordinal`.
        self.gpus: List[str] = [gpu for gpu in found.get("EVENHAND_GPUS", "").replace(",", " ").split() if gpu]
        #: What a tuner chose for it.
        self.trial: Dict[str, Any] = json.loads(found.get("TRIAL_PARAMETERS") or "{}")
        #: Steps done.
        self.done = 0
        #: The batch size in force, if it was told.
        self.batch_size: Optional[int] = None
        self._batch_from = 0
        self._loss: Optional[float] = None
        #: Whether it goes on from a checkpoint.
        self.resumed = False
        self._told_to_stop = threading.Event()
        self._saved_at = time.monotonic()
        self._reported_at: Optional[float] = None
        self._resume()
        self._listen()

    @property
    def is_scheduled(self) -> bool:
        """Whether a scheduler runs it."""
        return self.job is not None

    @property
    def told_to_stop(self) -> bool:
        """Whether somebody else's turn has come. `steps` looks at this after each step; loops of your own should too."""
        return self._told_to_stop.is_set()

    def steps(self, total: int) -> Iterator[int]:
        """The steps that are left of so many. Saves when it is time, and leaves the program when it is told to."""
        while self.done < total:
            yield self.done
            self.done += 1
            self.after_step()
        self._tell(at_once=True)

    def after_step(self) -> None:
        """What comes after a step, for loops that count `done` themselves."""
        if self.told_to_stop:
            self.leave()
        if self._save is not None and time.monotonic() - self._saved_at >= self._every_s:
            self.save()
        self._tell()

    def report(self, loss: Optional[float] = None, batch_size: Optional[int] = None, **values: float) -> None:
        """Tells how it goes: the loss, the batch size now in force, and whatever else a tuner should hear. Called within a step, it is about that step."""
        if loss is not None:
            self._loss = float(loss)
        if batch_size is not None and batch_size != self.batch_size:
            self.batch_size, self._batch_from = int(batch_size), self.done
            # A new regime is news at once.
            self._reported_at = None
        if self._tells_tuner and (loss is not None or values):
            told: Dict[str, Any] = {"step": self.done + 1, **values}
            if loss is not None:
                told["loss"] = float(loss)
            _say(told)
        self._tell()

    def result(self, value: float) -> None:
        """What a tuner should judge the run by; without it, the last loss."""
        if self._tells_tuner:
            _say({"step": self.done, "result": float(value)})

    def save(self) -> None:
        """Writes a checkpoint. Whenever the program is killed, there is a whole one."""
        if self._checkpoint is None or self._save is None:
            return
        folder = self._checkpoint.parent
        folder.mkdir(parents=True, exist_ok=True)
        state = folder / f"state-{self.done}"
        part = folder / f"state-{self.done}.part"
        self._save(part)
        _to_disk(part)
        os.replace(part, state)
        kept = {"state": state.name, "batch": self.batch_size, "batch_from": self._batch_from}
        _replace(self._checkpoint, f"{self.done} {json.dumps(kept)}\n")
        for old in folder.glob("state-*"):
            if old != state:
                old.unlink()
        self._saved_at = time.monotonic()

    def leave(self) -> None:
        """Saves and leaves the program, to be started again later."""
        self.save()
        self._tell(at_once=True)
        sys.exit(TURN_OVER)

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._tell(at_once=True)

    def _resume(self) -> None:
        if self._checkpoint is None or not self._checkpoint.exists():
            return
        steps, _, rest = self._checkpoint.read_text(encoding="utf-8").partition(" ")
        kept = json.loads(rest or "{}")
        if self._load is not None and "state" in kept:
            self._load(self._checkpoint.parent / kept["state"])
        self.done, self.resumed = int(float(steps)), True
        self.batch_size, self._batch_from = kept.get("batch"), kept.get("batch_from", 0)

    def _listen(self) -> None:
        # Only the main thread may, and only where leaving makes sense.
        if self._checkpoint is not None and self._save is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda _signal, _frame: self._told_to_stop.set())

    def _tell(self, at_once: bool = False) -> None:
        if self._progress is None:
            return
        now = time.monotonic()
        if not at_once and self._reported_at is not None and now - self._reported_at < self._report_every_s:
            return
        self._reported_at = now
        told: Dict[str, Any] = {"lease": self.lease, "steps": self.done}
        if self._loss is not None and self._loss == self._loss and self._loss not in (float("inf"), float("-inf")):
            told["loss"] = self._loss
        if self.batch_size is not None:
            told.update(batch=self.batch_size, batch_from=self._batch_from)
        try:
            _replace(self._progress, json.dumps(told))
        except OSError:
            # A report is worth no run.
            pass


def _checkpoint(found: Mapping[str, str], folder: "Optional[os.PathLike[str] | str]") -> Optional[Path]:
    told = found.get("EVENHAND_CHECKPOINT")
    if told:
        return Path(told)
    return Path(folder) / "checkpoint" if folder is not None else None


def _number(text: Optional[str]) -> Optional[int]:
    return int(text) if text else None


def _say(told: Dict[str, Any]) -> None:
    sys.stdout.write(f"\n{REPORT_MARK}{json.dumps(told)}\n")
    sys.stdout.flush()


def _replace(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".new")
    part.write_text(text, encoding="utf-8")
    _to_disk(part)
    os.replace(part, path)


def _to_disk(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())

"""An Optuna study as an app of the scheduler: its trials are jobs, pruning ends them early, and its agent bids for GPUs.

    study = optuna.create_study(study_name="search", storage="sqlite:///search.db", load_if_exists=True)
    evenhand.optuna.optimize(study, ["python", "trial.py"], space=space, n_trials=30, tenant="vision")

`space(trial)` suggests parameters; the program finds them in `evenhand.Run().trial`, reports its loss, and may be interrupted like any other job. All
that matters is in the study's storage and on the server: if this process is killed, run it again, and it takes up the trials where they are.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

try:
    import optuna
    from optuna.trial import FrozenTrial, Trial, TrialState
except ImportError as error:  # pragma: no cover
    raise ImportError("evenhand.optuna needs Optuna: pip install 'evenhand[optuna]'") from error

from .agent import Agent, Row, by_trials
from .client import Client, Job, Offer, Refused, Unreachable
from .run import REPORT_MARK

#: Where a trial keeps the number of its job.
JOB = "evenhand:job"

Space = Callable[[Trial], Mapping[str, Any]]


def optimize(
    study: "optuna.Study",
    argv: Sequence[str],
    space: Space,
    n_trials: int,
    *,
    client: Optional[Client] = None,
    app: Optional[str] = None,
    at_once: int = 8,
    bids: bool = True,
    poll_s: float = 0.2,
    folder: Optional[Union[str, Path]] = None,
    environment: Optional[Mapping[str, str]] = None,
    timeout_s: Optional[float] = None,
    **wanted: Any,
) -> None:
    """Runs trials until so many have ended, counting those that the study has already; `at_once` of them are handed to the scheduler at a time.

    `wanted` are fields of a submission: `tenant`, `gpus`, `models`, `steps`, `steps_per_second`. With `bids`, this process is the app's agent;
    without, the scheduler bids for it by what it sees. A trial whose job fails for good is told to the study as failed.
    """
    search = Search(
        study, argv, space, n_trials, client or Client(patience_s=60.0), app or study.study_name, at_once, bids,
        {"folder": folder, "environment": dict(environment or {}), **wanted},
    )
    until = None if timeout_s is None else time.monotonic() + timeout_s
    agent = Agent(search.client, search.app, search.bid).start() if bids else None
    search.agent = agent
    try:
        while search.turn():
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"{search.ended_count()} of {n_trials} trials have ended after {timeout_s} s")
            time.sleep(poll_s)
    finally:
        if agent is not None:
            agent.stop()


class Search:
    """A study that is being worked on."""

    def __init__(
        self,
        study: "optuna.Study",
        argv: Sequence[str],
        space: Space,
        n_trials: int,
        client: Client,
        app: str,
        at_once: int,
        bids: bool,
        wanted: Dict[str, Any],
    ) -> None:
        self.study, self.argv, self.space, self.n_trials = study, list(argv), space, n_trials
        self.client, self.app, self.at_once = client, app, max(1, at_once)
        self.agent: Optional[Agent] = None
        self._seat = "outside" if bids else "inside"
        self._wanted = wanted
        self._open: Dict[int, _Open] = {}
        self._took_s: List[float] = []
        # Left by an earlier process: it may or may not have got as far as handing the jobs over.
        left = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        self._unsent = [Trial(study, frozen._trial_id) for frozen in left]

    def ended_count(self) -> int:
        """Trials that are over, well or not."""
        states = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
        return len(self.study.get_trials(deepcopy=False, states=states))

    def turn(self) -> bool:
        """Looks at all open trials, and begins new ones; whether anything is left to do."""
        try:
            for number in list(self._open):
                if self._look(self._open[number]):
                    del self._open[number]
            self._send()
        except Unreachable:
            # The server is away. Its jobs run on, and so does the study when it is back.
            return True
        except Refused as error:
            if error.status not in (429, 503):
                raise
            return True
        return bool(self._open)

    def _send(self) -> None:
        """Hands over what was not yet, and as many new trials as there is room for."""
        ended = self.ended_count()
        while True:
            if not self._unsent:
                if len(self._open) >= self.at_once or ended + len(self._open) >= self.n_trials:
                    return
                self._unsent.append(self.study.ask())
            self._hand_over(self._unsent[0])
            self._unsent.pop(0)

    def bid(self, offer: Offer) -> List[Row]:
        """What an offer is worth to what is left of the study."""
        gpus = int(self._wanted.get("gpus") or 1)
        jobs = self.client.jobs(app=self.app, phase="queued,starting,running,stopping")
        waiting = sum(job.phase == "queued" for job in jobs)
        left = max(self.n_trials - self.ended_count(), 1)
        rows = by_trials(offer, waiting=waiting, running=len(jobs) - waiting, left_s=left * self._trial_s(), gpus=gpus)
        wanted = self._wanted.get("models")
        if wanted:
            rows = [row for row in rows if row.model is None or offer.models[row.model] in wanted]
        return rows

    def _trial_s(self) -> float:
        """How long a trial takes, as seen or else as declared."""
        if self._took_s:
            return sum(self._took_s) / len(self._took_s)
        steps, speed = self._wanted.get("steps"), self._wanted.get("steps_per_second")
        return steps / (speed or 1.0) if steps else 60.0

    def _hand_over(self, trial: Trial) -> None:
        """Makes a job of a trial. The key makes it one job, however often this is done."""
        parameters = dict(self.space(trial))
        job = trial.user_attrs.get(JOB)
        if job is None:
            wanted = dict(self._wanted)
            environment = {**wanted.pop("environment", {}), "TRIAL_PARAMETERS": json.dumps(parameters), "TRIAL_REPORTS": "stdout"}
            name = f"{self.app}-trial-{trial.number}"
            accepted = self.client.submit(
                self.argv, key=f"optuna {self.study.study_name} {trial.number}", name=name, app=self.app,
                agent=self._seat, environment=environment, **wanted,
            )
            job = accepted.job
            trial.set_user_attr(JOB, job)
        self._open[trial.number] = _Open(trial, int(job))

    def _look(self, open_: "_Open") -> bool:
        """Hears what a trial has to say; whether it is over."""
        # How it is comes before what it printed: what it printed last is then there.
        job = self.client.job(open_.job)
        for told in open_.hear(self.client):
            if self._prunes(open_, told):
                return True
        if not job.has_ended:
            return False
        self._tell_end(open_, job)
        return True

    def _prunes(self, open_: "_Open", told: Mapping[str, Any]) -> bool:
        if "result" in told:
            open_.result = float(told["result"])
        if "loss" not in told:
            return False
        step, loss = int(told["step"]), float(told["loss"])
        open_.last = loss
        if step not in open_.steps:
            open_.steps.add(step)
            open_.trial.report(loss, step)
        # What has its result is not given up any more.
        if open_.result is not None or not open_.trial.should_prune():
            return False
        try:
            self.client.retire(open_.job)
        except Refused as error:
            # It may have ended by itself meanwhile.
            if error.code != "no-job":
                raise
        self.study.tell(open_.trial, state=TrialState.PRUNED)
        return True

    def _tell_end(self, open_: "_Open", job: Job) -> None:
        value = open_.result if open_.result is not None else open_.last
        if job.phase == "finished" and value is not None:
            if job.started_ms is not None and job.ended_ms is not None:
                self._took_s.append((job.ended_ms - job.started_ms) / 1000.0)
            self.study.tell(open_.trial, value)
        elif job.phase == "retired":
            self.study.tell(open_.trial, state=TrialState.PRUNED)
        else:
            self.study.tell(open_.trial, state=TrialState.FAIL)


class _Open:
    """A trial whose job has not ended, as far as is known."""

    def __init__(self, trial: Trial, job: int) -> None:
        self.trial, self.job = trial, job
        self.steps = set(_frozen(trial).intermediate_values)
        self.last: Optional[float] = None
        self.result: Optional[float] = None
        self._at = 0
        self._rest = ""

    def hear(self, client: Client) -> List[Dict[str, Any]]:
        """What it has said since the last time."""
        found: List[Dict[str, Any]] = []
        while True:
            output = client.output(self.job, start=self._at)
            found += self._read(output)
            if output.next is None or output.next == self._at:
                return found
            self._at = output.next

    def _read(self, output: str) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = []
        lines = (self._rest + output).split("\n")
        self._rest = lines.pop()
        for line in lines:
            if line.startswith(REPORT_MARK):
                try:
                    found.append(json.loads(line[len(REPORT_MARK):]))
                except ValueError:
                    # A process that was killed may have said half of it.
                    continue
        return found


def _frozen(trial: Trial) -> FrozenTrial:
    return trial.study._storage.get_trial(trial._trial_id)

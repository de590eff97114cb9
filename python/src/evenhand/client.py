"""The service over HTTP, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, TypeVar, Union

DEFAULT_SERVER = "http://127.0.0.1:7117"

#: Phases in which a job has ended.
ENDED = frozenset({"finished", "failed", "cancelled", "retired"})

Row = TypeVar("Row")


class EvenhandError(Exception):
    """Whatever goes wrong here."""


class Refused(EvenhandError):
    """The service said no: with a status, a code that stays as it is, and a sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{message} ({status} {code})")
        self.status, self.code, self.message = status, code, message


class Unreachable(EvenhandError):
    """Nobody answered."""


def _read(kind: Type[Row], found: Mapping[str, Any]) -> Row:
    """A row of JSON as what it is; fields that a newer service adds are left out."""
    names = {known.name for known in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in found.items() if name in names})


@dataclass(frozen=True)
class Accepted:
    """A submission that is on disk there, or a change that was made."""

    job: int
    created: bool = False
    jobs: Optional[List[int]] = None


@dataclass(frozen=True)
class Job:
    """A job as lists show it. Times are milliseconds since the service's store was made."""

    id: int
    tenant: str
    phase: str
    gpus: int
    priority: int = 0
    submitted_ms: int = 0
    starts: int = 0
    crashes: int = 0
    steps: float = 0.0
    attained_ms: int = 0
    name: Optional[str] = None
    started_ms: Optional[int] = None
    ended_ms: Optional[int] = None
    lease: Optional[int] = None
    why: Optional[str] = None
    array: Optional[int] = None
    array_index: Optional[int] = None
    app: Optional[str] = None
    deadline_ms: Optional[int] = None
    after: List[int] = field(default_factory=list)

    @property
    def has_ended(self) -> bool:
        """Whether it is over, well or not."""
        return self.phase in ENDED


@dataclass(frozen=True)
class App:
    """Several jobs with one goal."""

    id: int
    tenant: str
    opened_ms: int
    active: int
    jobs: int
    name: Optional[str] = None
    closed_ms: Optional[int] = None


@dataclass(frozen=True)
class OfferedNode:
    """Free GPUs of one node; `model` is a place in the offer's `models`."""

    node: int
    rack: int
    model: int
    gpus: int


@dataclass(frozen=True)
class Offer:
    """GPUs that an app may bid for."""

    app: int
    version: int
    round: int
    lease_ms: int
    reply_by_unix_ms: int
    models: List[str]
    nodes: List[OfferedNode]

    def gangs(self, model: int, gpus: int) -> int:
        """How many gangs of so many GPUs of a model are to be had, each on one node."""
        return sum(node.gpus // gpus for node in self.nodes if node.model == model)


class Client:
    """Talks to one service.

    Without arguments it finds the service as the command line does: `EVENHAND_SERVER` and `EVENHAND_TOKEN`, or else a server of your own on this
    machine. With `patience_s`, requests that change nothing, and submissions, are repeated for so long while nobody answers.
    """

    def __init__(
        self,
        server: Optional[str] = None,
        token: Optional[str] = None,
        timeout_s: float = 30.0,
        patience_s: float = 0.0,
        ca: Optional[str] = None,
    ) -> None:
        self.server = (server or os.environ.get("EVENHAND_SERVER") or DEFAULT_SERVER).rstrip("/")
        self._token = token or os.environ.get("EVENHAND_TOKEN") or _own_token(self.server)
        self._timeout_s, self._patience_s = timeout_s, patience_s
        ca = ca or os.environ.get("EVENHAND_CA")
        self._tls = ssl.create_default_context(cafile=ca) if self.server.startswith("https") else None

    @classmethod
    def of_state(cls, state: Union[str, Path], **options: Any) -> "Client":
        """The service that keeps everything in this folder."""
        state = Path(state)
        address = (state / "address").read_text(encoding="utf-8").strip()
        return cls(f"http://{address}", (state / "token").read_text(encoding="utf-8").strip(), **options)

    # Jobs

    def submit(
        self,
        argv: Sequence[str],
        *,
        key: Optional[str] = None,
        folder: Optional[Union[str, Path]] = None,
        environment: Optional[Mapping[str, str]] = None,
        **wanted: Any,
    ) -> Accepted:
        """Hands a job over; when this returns, it is on disk there.

        `wanted` are the fields of a submission: `name`, `tenant`, `gpus`, `models`, `steps`, `steps_per_second`, `app`, `agent`, `array`, `after`,
        `priority`, `deadline`, `limits`. The job runs in the current folder with your `PATH`, unless told otherwise.
        """
        return self._submit(self.describe(argv, folder=folder, environment=environment, **wanted), key)

    def describe(
        self,
        argv: Sequence[str],
        *,
        folder: Optional[Union[str, Path]] = None,
        environment: Optional[Mapping[str, str]] = None,
        **wanted: Any,
    ) -> Dict[str, Any]:
        """A submission as `submit` would send it."""
        around = {"PATH": os.environ["PATH"]} if "PATH" in os.environ else {}
        body = {name: value for name, value in wanted.items() if value is not None}
        body["argv"] = [str(word) for word in argv]
        body["environment"] = {**around, **(environment or {})}
        body["folder"] = str(Path(folder).resolve() if folder is not None else Path.cwd())
        return body

    def _submit(self, body: Dict[str, Any], key: Optional[str]) -> Accepted:
        # With a key of its own, a submission that was cut off may be repeated.
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        return _read(Accepted, self._ask("POST", "/v1/jobs", body, headers=headers, repeat=True))

    def submit_batch(self, jobs: Sequence[Mapping[str, Any]], key: Optional[str] = None) -> List[int]:
        """Hands several jobs over, all or none; each as `describe` gives it."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        found = self._ask("POST", "/v1/batches", {"jobs": list(jobs)}, headers=headers, repeat=True)
        return list(found["jobs"])

    def job(self, job: Union[int, str]) -> Job:
        """One job, by number or name."""
        return _read(Job, self._ask("GET", f"/v1/jobs/{_part(job)}"))

    def jobs(self, **only: Any) -> List[Job]:
        """All jobs, or only some: `phase`, `tenant`, `name`, `array`, `app`."""
        found: List[Job] = []
        after: Optional[int] = None
        while True:
            page = self._ask("GET", "/v1/jobs", query={**only, "after": after, "limit": 1000})
            found.extend(_read(Job, row) for row in page["jobs"])
            after = page.get("next_after")
            if after is None:
                return found

    def wait(self, job: Union[int, str], timeout_s: Optional[float] = None, every_s: float = 0.2) -> Job:
        """Waits until a job has ended, and says how."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            found = self.job(job)
            if found.has_ended:
                return found
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"job {job} is still {found.phase} after {timeout_s} s")
            time.sleep(every_s)

    def cancel(self, job: Union[int, str]) -> Accepted:
        """Ends a job."""
        return self._change(job, "cancel")

    def hold(self, job: Union[int, str]) -> Accepted:
        """Stops a job and keeps it."""
        return self._change(job, "hold")

    def release(self, job: Union[int, str]) -> Accepted:
        """Lets a job go on."""
        return self._change(job, "release")

    def retire(self, job: Union[int, str]) -> Accepted:
        """Ends a job of which its tuner has seen enough: it counts as ended well."""
        return self._change(job, "retire")

    def _change(self, job: Union[int, str], verb: str) -> Accepted:
        return _read(Accepted, self._ask("POST", f"/v1/jobs/{_part(job)}/{verb}", {}))

    def explain(self, job: Union[int, str]) -> Dict[str, Any]:
        """Why a job waits or runs, and what happened to it."""
        return dict(self._ask("GET", f"/v1/jobs/{_part(job)}/explain"))

    def output(self, job: Union[int, str], start: Optional[int] = None) -> "Output":
        """What a job printed: the end of it, or what comes from a byte on."""
        query = {"from": start} if start is not None else {}
        body, headers = self._send("GET", f"/v1/jobs/{_part(job)}/output", query=query)
        after = headers.get("evenhand-output-next")
        return Output(body, int(after) if after else None)

    # Apps and their agents

    def apps(self, all: bool = False) -> List[App]:
        """Apps that are open, or all."""
        found = self._ask("GET", "/v1/apps", query={"all": "true"} if all else {})
        return [_read(App, row) for row in found["apps"]]

    def close_app(self, app: Union[int, str]) -> App:
        """Ends an app, and what is left of its jobs."""
        return _read(App, self._ask("POST", f"/v1/apps/{_part(app)}/close", {}))

    def offer(self, app: Union[int, str], wait_s: float = 0.0) -> Optional[Offer]:
        """What an app's agent is asked to bid for; waits for it if there is nothing yet."""
        found = self._ask("GET", f"/v1/apps/{_part(app)}/offer", query={"wait_ms": int(wait_s * 1000)})
        offer = found.get("offer")
        if offer is None:
            return None
        nodes = [_read(OfferedNode, node) for node in offer.pop("nodes")]
        return _read(Offer, {**offer, "app": found["app"], "nodes": nodes})

    def bid(self, app: Union[int, str], offer: Offer, rows: Sequence[Mapping[str, Any]]) -> None:
        """Answers an offer. The first row is about nothing; see `evenhand.Agent`."""
        body = {"version": offer.version, "round": offer.round, "rows": [dict(row) for row in rows]}
        self._ask("POST", f"/v1/apps/{_part(app)}/bid", body)

    # The service

    def health(self) -> Dict[str, Any]:
        """How the service is."""
        return dict(self._ask("GET", "/v1/health"))

    def nodes(self) -> List[Dict[str, Any]]:
        """Machines, and who is on them."""
        return list(self._ask("GET", "/v1/nodes")["nodes"])

    def tenants(self) -> List[Dict[str, Any]]:
        """Tenants, and what they hold."""
        return list(self._ask("GET", "/v1/tenants")["tenants"])

    def policies(self) -> Dict[str, Any]:
        """Policies, and who decides."""
        return dict(self._ask("GET", "/v1/policies"))

    def use_policy(self, policy: str, parameters: Optional[Mapping[str, str]] = None) -> None:
        """Lets another policy decide from now on."""
        self._ask("POST", f"/v1/policies/{_part(policy)}/use", {"parameters": dict(parameters or {})})

    def ledger(self) -> Iterator[Dict[str, Any]]:
        """All that happened, record by record; the first line is about the ledger itself."""
        body, _ = self._send("GET", "/v1/ledger")
        return (json.loads(line) for line in body.splitlines() if line.strip())

    def save_ledger(self, path: Union[str, Path]) -> Path:
        """Writes the ledger to a file, for `report`, `replay` and `whatif`."""
        path = Path(path)
        path.write_bytes(self._send("GET", "/v1/ledger")[0])
        return path

    # Under all of them

    def _ask(
        self,
        verb: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        repeat: bool = False,
    ) -> Dict[str, Any]:
        answer, _ = self._send(verb, path, body, query, headers, repeat)
        return json.loads(answer) if answer else {}

    def _send(
        self,
        verb: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        repeat: bool = False,
    ) -> "tuple[bytes, Mapping[str, str]]":
        until = time.monotonic() + (self._patience_s if repeat or verb == "GET" else 0.0)
        while True:
            try:
                return self._send_once(verb, path, body, query, headers)
            except (Unreachable, Refused) as error:
                passes = isinstance(error, Unreachable) or error.status in (429, 503)
                if not passes or time.monotonic() >= until:
                    raise
                time.sleep(0.2)

    def _send_once(
        self,
        verb: str,
        path: str,
        body: Optional[Mapping[str, Any]],
        query: Optional[Mapping[str, Any]],
        headers: Optional[Mapping[str, str]],
    ) -> "tuple[bytes, Mapping[str, str]]":
        given = {name: value for name, value in (query or {}).items() if value is not None}
        address = f"{self.server}{path}" + (f"?{urllib.parse.urlencode(given)}" if given else "")
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data=content, method=verb, headers=dict(headers or {}))
        if content is not None:
            request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s, context=self._tls) as answer:
                return answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            raise Unreachable(f"{self.server} does not answer: {reason}") from None


class Output(str):
    """What a job printed, and the byte after it."""

    next: Optional[int]

    def __new__(cls, body: bytes, after: Optional[int]) -> "Output":
        made = super().__new__(cls, body.decode("utf-8", errors="replace"))
        made.next = after
        return made


def _part(name: Union[int, str]) -> str:
    return urllib.parse.quote(str(name), safe="")


def _refusal(error: urllib.error.HTTPError) -> EvenhandError:
    try:
        told = json.loads(error.read())["error"]
        return Refused(error.code, told["code"], told["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return Refused(error.code, "unknown", str(error.reason))


def _own_token(server: str) -> Optional[str]:
    """The token of a server of this user, shown to no other."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    state = Path(home) / "evenhand"
    try:
        address = (state / "address").read_text(encoding="utf-8").strip()
        token = (state / "token").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return token if server in (f"http://{address}", f"https://{address}") else None

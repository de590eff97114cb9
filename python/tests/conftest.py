"""A server of the real binary, on pretended GPUs, for each test that asks for one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import evenhand

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "python" / "examples"


def eventually(what, look, seconds=60.0):
    """What `look` finds, as soon as it finds something."""
    until = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Server:
    """A server that can be killed and started again."""

    def __init__(self, state, *flags):
        self.state, self.flags, self.process, self.port = Path(state), flags, None, "0"
        self.start()

    def start(self):
        (self.state / "address").unlink(missing_ok=True)
        words = ["serve", "--state", str(self.state), "--listen", f"127.0.0.1:{self.port}", *self.flags]
        log = open(self.state.with_suffix(".log"), "ab")
        self.process = subprocess.Popen(
            [evenhand.binary.binary(), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        address = eventually("the server listens", self._address)
        self.port = address.rsplit(":", 1)[1]
        self.client = evenhand.Client.of_state(self.state, patience_s=30.0)

    def _address(self):
        assert self.process.poll() is None, self.state.with_suffix(".log").read_text()
        path = self.state / "address"
        return path.exists() and path.read_text().strip()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            for job in self.client.jobs(phase="queued,held,starting,running,stopping"):
                try:
                    self.client.cancel(job.id)
                except evenhand.Refused:
                    pass
            eventually("all jobs end", lambda: not self.client.jobs(phase="queued,held,starting,running,stopping"))
            self.process.terminate()
            self.process.wait(30)

    @property
    def environment(self):
        """For programs that talk to it."""
        token = (self.state / "token").read_text().strip()
        return {**os.environ, "EVENHAND_SERVER": self.client.server, "EVENHAND_TOKEN": token}


@pytest.fixture
def serve(tmp_path):
    """Starts servers, and ends them with the test."""
    started = []

    def start(*flags, gpus="v100=4", name="state"):
        server = Server(tmp_path / name, "--fake-gpus", gpus, *flags)
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def python():
    """The Python that has the package."""
    return sys.executable

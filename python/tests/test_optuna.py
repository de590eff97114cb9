"""A study of 30 trials as an app beside two other tenants; its agent, the server and a trial are killed on the way."""

import os
import signal
import subprocess
import sys
import time

import evenhand
import pytest

from conftest import EXAMPLES, eventually

optuna = pytest.importorskip("optuna")

TRIALS = 30


@pytest.fixture
def start_study(tmp_path):
    """Starts processes that work on one study; none outlives the test."""
    started = []

    def start(server):
        started.append(study_process(server, tmp_path))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def study_process(server, folder):
    words = [sys.executable, str(EXAMPLES / "study.py"), "--trials", str(TRIALS), "--tenant", "vision", "--storage", "bowl.journal"]
    return subprocess.Popen(words, cwd=folder, env=server.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def trials(server, **only):
    return [job for job in server.client.jobs(tenant="vision", **only)]


def test_a_study_is_finished_whoever_is_killed_on_the_way(serve, start_study, tmp_path):
    server = serve("--policy", "themis", "--set", "lease=1m", "--set", "f=0", "--round", "2s", "--retry-delay", "1s", "--grace", "5s")
    others = [
        server.client.submit(["sleep", "2"], tenant=tenant, app=f"{tenant}-sweep", steps=2, steps_per_second=1, array="0-5").job
        for tenant in ("speech", "robots")
    ]
    study = start_study(server)
    eventually("trials run", lambda: trials(server, phase="running"))
    # The agent is killed: its trials run on, and the study is taken up where it was.
    eventually("three trials have ended", lambda: len(trials(server, phase="finished,retired")) >= 3)
    study.send_signal(signal.SIGKILL)
    study.wait()
    study = start_study(server)
    # A trial is killed: the server tries it again, from its checkpoint.
    victim = eventually("a trial is killed", lambda: crashed(server))
    # The server is killed, in the middle of it all.
    eventually("eight trials have ended", lambda: len(trials(server, phase="finished,retired")) >= 8)
    server.kill()
    server.start()
    said, _ = study.communicate(timeout=180)
    assert study.returncode == 0, said
    ended = trials(server)
    assert len(ended) == TRIALS and all(job.phase in ("finished", "retired") for job in ended), [(job.id, job.phase) for job in ended]
    assert server.client.job(victim.id).phase in ("finished", "retired")
    assert any(job.phase == "retired" for job in ended), "nothing was pruned"
    for array in others:
        eventually("the others are done", lambda: all(job.phase == "finished" for job in server.client.jobs(array=array)))
    check_ledger(server, tmp_path)


def crashed(server):
    """A trial that was killed; kills one if there is none yet. One that was about to end anyway does not count."""
    found = [job for job in trials(server) if job.crashes > 0]
    if not found and any(killed(server, job) for job in trials(server, phase="running")):
        time.sleep(0.5)
    return found[0] if found else None


def killed(server, job):
    """Kills the processes of a job, if it has any."""
    mark = f"EVENHAND_JOB={job.id}".encode()
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                environment = open(f"/proc/{process}/environ", "rb").read().split(b"\0")
                here = f"EVENHAND_CHECKPOINT_DIR={server.state}".encode()
                if mark in environment and any(word.startswith(here) for word in environment):
                    os.kill(int(process), signal.SIGKILL)
                    return True
            except OSError:
                continue
    return False


def check_ledger(server, folder):
    """The agent was heard, and everything can be decided again from the ledger."""
    records = list(server.client.ledger())
    bids = [record["e"]["bid"] for record in records if isinstance(record.get("e"), dict) and "bid" in record["e"]]
    assert any("table" in bid["answer"] for bid in bids), "no bid was counted"
    asked = [command for record in records for command in record.get("c", []) if isinstance(command, dict) and "ask-for-bids" in command]
    assert asked
    ledger = server.client.save_ledger(folder / "ledger.jsonl")
    done = subprocess.run([evenhand.binary.binary(), "replay", str(ledger)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

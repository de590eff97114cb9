"""A PyTorch job that is preempted goes on with the same losses as one that nobody disturbs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import evenhand
import pytest

from conftest import EXAMPLES, eventually

STEPS = 120


def torch_python():
    """A Python that has PyTorch: this one, or the one that EVENHAND_TORCH_PYTHON names."""
    for found in filter(None, [os.environ.get("EVENHAND_TORCH_PYTHON"), sys.executable]):
        if subprocess.run([found, "-c", "import torch"], capture_output=True).returncode == 0:
            return found
    if os.environ.get("CI") == "true":
        pytest.fail("PyTorch is not installed")
    pytest.skip("PyTorch is not installed: say in EVENHAND_TORCH_PYTHON which Python has it")


def surroundings():
    """Where that Python finds the package."""
    return {"PYTHONPATH": str(Path(evenhand.__file__).resolve().parents[1])}


def words(losses, step_s):
    return [torch_python(), str(EXAMPLES / "train_pytorch.py"), "--steps", str(STEPS), "--step-s", str(step_s), "--losses", str(losses)]


def test_a_preempted_job_has_the_losses_of_an_undisturbed_one(serve, tmp_path):
    alone = tmp_path / "alone.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVENHAND_")}
    subprocess.run(words(alone, 0), env={**environment, **surroundings()}, check=True, cwd=tmp_path)
    # On one GPU, under a policy that lets two jobs take turns.
    server = serve("--policy", "las", "--round", "4s", "--grace", "20s", gpus="v100=1")
    shared = [tmp_path / f"shared-{job}.json" for job in range(2)]
    jobs = [
        server.client.submit(words(path, 0.05), environment=surroundings(), folder=tmp_path, steps=STEPS, steps_per_second=20).job
        for path in shared
    ]
    ended = [server.client.wait(job, timeout_s=120) for job in jobs]
    assert [job.phase for job in ended] == ["finished"] * 2, [server.client.output(job.id) for job in ended]
    assert sum(job.starts for job in ended) > 2, "nobody was preempted"
    expected = json.loads(alone.read_text())
    assert len(expected) == STEPS
    for path in shared:
        assert json.loads(path.read_text()) == expected
    check_what_the_scheduler_heard(server)


def check_what_the_scheduler_heard(server):
    heard = [record["e"]["progress"] for record in server.client.ledger() if isinstance(record.get("e"), dict) and "progress" in record["e"]]
    assert any("loss" in progress for progress in heard)
    batches = {progress["regime"]["batch"] for progress in heard if "regime" in progress}
    assert batches == {32, 128}, "both batch sizes were told"

"""The training loop: without a scheduler, interrupted, resumed, and killed."""

import json
import os
import signal
import subprocess
import sys
import time

import evenhand

PROGRAM = """
import json, os, sys, time
import evenhand
state = {"sum": 0}
run = evenhand.Run(
    save=lambda path: path.write_text(json.dumps(state)),
    load=lambda path: state.update(json.loads(path.read_text())),
    every_s=float(os.environ.get("EVERY", "60")), report_every_s=0.0,
)
print("from", run.done, flush=True)
for step in run.steps(40):
    time.sleep(0.02)
    state["sum"] += step
    run.report(loss=1.0 / (step + 1), batch_size=8 if step < 20 else 16)
print("sum", state["sum"], flush=True)
"""


def environment(folder, lease=7):
    return {
        **os.environ,
        "EVENHAND_JOB": "3",
        "EVENHAND_LEASE": str(lease),
        "EVENHAND_GPUS": "0.1,0.2",
        "EVENHAND_CHECKPOINT": str(folder / "progress"),
        "EVENHAND_PROGRESS": str(folder / "report.json"),
    }


def start(tmp_path, **more):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    folder = tmp_path / "checkpoint"
    folder.mkdir(exist_ok=True)
    return folder, subprocess.Popen(
        [sys.executable, str(program)], env={**environment(folder), **more}, stdout=subprocess.PIPE, text=True
    )


def wait_for_step(folder, step):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if json.loads((folder / "report.json").read_text())["steps"] >= step:
                return
        except (OSError, ValueError):
            pass
        time.sleep(0.01)
    raise AssertionError("it does not get there")


def test_without_a_scheduler_it_is_a_plain_loop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = evenhand.Run(save=lambda path: path.write_text("x"), environment={})
    assert not run.is_scheduled and run.trial == {} and run.gpus == []
    for step in run.steps(3):
        run.report(loss=1.0, batch_size=4)
    assert run.done == 3 and list(tmp_path.iterdir()) == []


def test_with_a_folder_it_goes_on_by_itself(tmp_path):
    state = {"x": 0}
    keep = dict(save=lambda path: path.write_text(str(state["x"])), load=lambda path: state.update(x=int(path.read_text())))
    run = evenhand.Run(folder=tmp_path, every_s=0.0, environment={}, **keep)
    for step in run.steps(5):
        state["x"] += 10
    state["x"] = 0
    again = evenhand.Run(folder=tmp_path, environment={}, **keep)
    assert again.resumed and again.done == 5 and state["x"] == 50
    assert list(again.steps(5)) == []


def test_when_its_turn_is_over_it_saves_and_leaves_and_goes_on_later(tmp_path):
    folder, program = start(tmp_path)
    wait_for_step(folder, 25)
    program.send_signal(signal.SIGTERM)
    said, _ = program.communicate(timeout=20)
    assert program.returncode == 75 and said == "from 0\n"
    saved = int((folder / "progress").read_text().split()[0])
    assert 25 <= saved < 40 and sorted(path.name for path in folder.iterdir()) == ["progress", "report.json", f"state-{saved}"]
    told = json.loads((folder / "report.json").read_text())
    assert (told["lease"], told["steps"], told["batch"], told["batch_from"]) == (7, saved, 16, 20)
    _, program = start(tmp_path)
    said, _ = program.communicate(timeout=20)
    assert (program.returncode, said) == (0, f"from {saved}\nsum {sum(range(40))}\n")
    # The regime of before is not a new one.
    assert json.loads((folder / "report.json").read_text())["batch_from"] == 20


def test_killed_at_any_time_it_has_a_whole_checkpoint(tmp_path):
    folder, program = start(tmp_path, EVERY="0.1")
    wait_for_step(folder, 15)
    program.kill()
    program.wait()
    _, program = start(tmp_path)
    said, _ = program.communicate(timeout=20)
    begun, summed = said.splitlines()
    assert int(begun.split()[1]) > 0 and summed == f"sum {sum(range(40))}"


def test_what_a_tuner_should_hear_is_said_in_lines(capsys):
    run = evenhand.Run(environment={"TRIAL_REPORTS": "stdout", "TRIAL_PARAMETERS": json.dumps({"rate": 0.5})})
    assert run.trial == {"rate": 0.5}
    for step in run.steps(2):
        run.report(loss=0.25, accuracy=0.5)
    run.result(0.125)
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert [json.loads(line.split(" ", 1)[1]) for line in lines] == [
        {"step": 1, "accuracy": 0.5, "loss": 0.25},
        {"step": 2, "accuracy": 0.5, "loss": 0.25},
        {"step": 2, "result": 0.125},
    ]


def test_a_report_that_is_no_number_is_left_out(tmp_path):
    run = evenhand.Run(environment=environment(tmp_path), report_every_s=0.0)
    assert run.gpus == ["0.1", "0.2"]
    run.report(loss=float("nan"))
    assert "loss" not in json.loads((tmp_path / "report.json").read_text())

"""A trial of a search, without any framework: gradient descent on a bowl. How well it goes depends on the learning rate that the tuner chose.

    TRIAL_PARAMETERS='{"rate": 0.3}' python trial.py
"""

import json
import os
import time

import evenhand

STEPS = int(os.environ.get("BOWL_STEPS", "20"))
STEP_S = float(os.environ.get("BOWL_STEP_S", "0.05"))
state = {"x": 4.0}


def save(path):
    path.write_text(json.dumps(state))


def load(path):
    state.update(json.loads(path.read_text()))


run = evenhand.Run(save=save, load=load, every_s=0.5)
rate = run.trial.get("rate", 0.1)
for step in run.steps(STEPS):
    time.sleep(STEP_S)
    state["x"] -= rate * 2 * state["x"]
    run.report(loss=state["x"] ** 2)
run.result(state["x"] ** 2)

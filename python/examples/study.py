"""An Optuna study as an app of the scheduler, which may be killed and run again.

    evenhand serve --fake-gpus v100=4 --policy themis --set lease=1m &
    python study.py --trials 30 --tenant vision
"""

import argparse
import sys
from pathlib import Path

import optuna

import evenhand.optuna

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--trials", type=int, default=30)
options.add_argument("--at-once", type=int, default=6)
options.add_argument("--tenant", default="default")
options.add_argument("--name", default="bowl")
options.add_argument("--storage", default="bowl.journal")
chosen = options.parse_args()

optuna.logging.set_verbosity(optuna.logging.WARNING)
storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(chosen.storage))
study = optuna.create_study(
    study_name=chosen.name,
    storage=storage,
    load_if_exists=True,
    sampler=optuna.samplers.TPESampler(seed=1),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=3),
)
evenhand.optuna.optimize(
    study,
    [sys.executable, str(Path(__file__).with_name("trial.py"))],
    space=lambda trial: {"rate": trial.suggest_float("rate", 0.001, 0.9, log=True)},
    n_trials=chosen.trials,
    at_once=chosen.at_once,
    tenant=chosen.tenant,
    steps=20,
    steps_per_second=20,
    client=evenhand.Client(patience_s=60),
)
ended = {state.name.lower(): 0 for state in optuna.trial.TrialState}
for trial in study.get_trials(deepcopy=False):
    ended[trial.state.name.lower()] += 1
print({state: count for state, count in ended.items() if count})
print(f"best {study.best_value:.2e} with {study.best_params}")

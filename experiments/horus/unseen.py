"""Shares GPUs among jobs of families that no model has seen: python3 unseen.py [EVENHAND] (no packages needed).

The families are dealt into three parts. Each part in turn is kept from training; then made-up work of its configurations alone runs on 32 GPUs
of 40 GB, where the truth is what was measured (or as far off its rule as measurements are). What policies believe:

  exact     demands as measured, slowdowns by the rule
  learned   demands foretold from graphs without the family, slowdowns by the model trained without the part, corrected by what is measured
  noise     the same with every demand and memory off by a random factor (deviation of the logarithm: 1.5)

Printed are means over the parts and seeds: completion time, what the tenant worst off got over what its own part of the cluster would have
given it, the worst ratio of completion to fluid fair sharing, guests that were sent away or moved, jobs out of memory.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "data"
PARTS = 3
SEEDS = (1, 2, 3)
POLICIES = ["las", "oef-noncooperative", "oef-cooperative", "themis", "shockwave-plus"]
OWN = ["fifo", "packing", "gandiva", "lucid", "horus", "horus-plus"]

SCENARIO = """
[[cluster.nodes]]
model = "h200"
count = 8
gpus = 4
slots = 3
memory_gb = 40.0

[workload]
profiles = "{data}/profiles.csv"
colocation = "{data}/colocation.csv"
unmeasured = "like-measured"
kinds = {kinds}
{foretold}

[workload.generate]
jobs = 600
load = 1.6
duration_mean_s = 3600.0
gpus = [[1, 8.0], [2, 1.0], [4, 1.0]]
tenants = 4
seed = {seed}

[simulation]
restore = "20s"
sharing = "{sharing}"

[simulation.faults]
demand_error = {error}
"""


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def compare(evenhand, folder, kinds, belief, model, policies, placer):
    rows = []
    foretold = "" if belief == "exact" else f'foretold = "{DATA}/foretold.csv"'
    scenario = folder / "scenario.toml"
    flags = [flag for name in policies for flag in ("--policy", name)]
    for seed in SEEDS:
        scenario.write_text(SCENARIO.format(
            data=DATA, kinds=json.dumps(kinds), foretold=foretold, seed=seed,
            sharing="rule" if belief == "exact" else model, error=1.5 if belief == "noise" else 0.0))
        command = [evenhand, "compare", scenario, "--seeds", seed, "--placer", placer, "--json"]
        rows += json.loads(run([*command, "--out", folder / "out", *flags]))
    return rows


def least(row):
    """What the tenant worst off got over what its own part of the cluster would have given it."""
    tenants = row["audit"]["tenants"]
    return min((tenant["throughput"] / tenant["alone"] for tenant in tenants if tenant["alone"] > 0), default=1.0)


def main():
    evenhand = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "../../target/release/evenhand")
    with open(DATA / "solo.csv", newline="") as file:
        family = {row["name"]: row["family"] for row in csv.DictReader(file)}
    families = sorted(set(family.values()))
    runs = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in range(PARTS):
            unseen = families[part::PARTS]
            model = folder / f"model-{part}.json"
            run([evenhand, "train", DATA, "--leave-out", ",".join(unseen), "--out", model])
            kinds = sorted(name for name in family if family[name] in unseen)
            plans = [("exact", "topology", OWN + POLICIES)]
            plans += [(belief, "topology", OWN[1:]) for belief in ("learned", "noise")]
            plans += [(belief, "interference", POLICIES) for belief in ("exact", "learned", "noise")]
            for belief, placer, policies in plans:
                for row in compare(evenhand, folder, kinds, belief, model, policies, placer):
                    shared = "shared" if placer == "interference" or row["policy"] in OWN[1:] else "alone"
                    belief_shown = belief if shared == "shared" else "-"
                    runs.setdefault((row["policy"], shared, belief_shown), []).append(row)
    mean = lambda values: sum(values) / len(values)
    print(f"{'policy':20}{'GPUs':8}{'belief':9}{'mean h':>8}{'busy':>7}{'tenant':>8}{'fluid':>8}{'stopped':>9}{'memory':>8}{'slowdown':>10}")
    for (policy, shared, belief), rows in runs.items():
        slow = [row["shared_slowdown_mean"] or 1.0 for row in rows]
        print(f"{policy:20}{shared:8}{belief:9}{mean([row['jct_mean_s'] / 3600 for row in rows]):8.2f}"
              f"{mean([row['busy_fraction'] for row in rows]):7.2f}{min(least(row) for row in rows):8.2f}"
              f"{mean([row['ftf_fluid_worst'] for row in rows]):8.1f}{mean([row['preemptions'] for row in rows]):9.0f}"
              f"{sum(row['out_of_memory'] for row in rows):8d}{mean(slow):10.2f}")


main()

#!/usr/bin/env python3
"""Ten made-up traces of Shockwave's family, 32 to 256 GPUs: who is better than whom in makespan, mean completion time and worst ratio at once.

    cargo build --release
    experiments/shockwave/ten.py [--load 1.5] [--seed 100] [--semantics exact] [--policy NAME ...]

Without --policy, all policies run (a few minutes). The scenario is family.toml with other sizes and seeds.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EVENHAND = HERE.parent.parent / "target" / "release" / "evenhand"
SIZES = [(32, 100), (32, 150), (64, 200), (64, 300), (96, 300), (128, 400), (128, 500), (192, 600), (256, 700), (256, 900)]
OURS = "shockwave-plus"
RIVALS = ["shockwave", "max-min", "finish-time-fairness", "gandiva-fair"]
FIGURES = ["makespan_s", "jct_mean_s", "ftf_worst"]


def scenario(gpus, jobs, load, seed, semantics):
    """family.toml with this size."""
    text = (HERE / "family.toml").read_text()
    text = text[: text.index("[[policy]]")]
    text = text.replace("v100=64", f"v100={gpus}").replace("jobs = 240", f"jobs = {jobs}\nseed = {seed}")
    text = text.replace("load = 1.5", f"load = {load}")
    return text.replace("[simulation]", f'[simulation]\nsemantics = "{semantics}"')


def figures(text, policies):
    """The three figures of every policy."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.toml")
        path.write_text(text)
        command = [EVENHAND, "compare", path, "--json", "--out", folder]
        command += [word for policy in policies for word in ("--policy", policy)]
        rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {row["policy"]: [row[figure] for figure in FIGURES] for row in rows}


def dominates(one, other):
    """No worse in any figure."""
    return all(mine <= theirs for mine, theirs in zip(one, other))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--load", default="1.5", help="work over what the GPUs can do while it arrives")
    options.add_argument("--seed", type=int, default=100, help="of the first trace; each has the next")
    options.add_argument("--semantics", default="exact", help="exact, or original")
    options.add_argument("--policy", action="append", help="beside the five; default: all")
    chosen = options.parse_args()
    policies = [OURS, *RIVALS, *chosen.policy] if chosen.policy else ["all"]
    undominated, wins = 0, dict.fromkeys(RIVALS, 0)
    for number, (gpus, jobs) in enumerate(SIZES):
        found = figures(scenario(gpus, jobs, chosen.load, chosen.seed + number, chosen.semantics), policies)
        ours = found[OURS]
        better = [name for name, theirs in found.items() if theirs != ours and dominates(theirs, ours)]
        undominated += not better
        for rival in RIVALS:
            wins[rival] += dominates(ours, found[rival])
        told = ", ".join(f"{name} {row[0]:.0f}/{row[1]:.0f}/{row[2]:.2f}" for name, row in found.items() if name in [OURS, *RIVALS])
        print(f"{gpus} GPUs, {jobs} jobs: {told}; dominated by {', '.join(better) or 'nobody'}", flush=True)
    print(f"undominated in {undominated} of {len(SIZES)}; dominates", ", ".join(f"{name} in {count}" for name, count in wins.items()))


if __name__ == "__main__":
    main()

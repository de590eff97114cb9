#!/usr/bin/env python3
"""How far settings could bring `promise` on the traces of `twenty.py` if they were chosen for each trace with hindsight.

    cargo build --release
    experiments/promise/hindsight.py [--seed 1] [--seeds 1] [--only NUMBER ...]

Every trace is run with all combinations of a few values of `tolerance` and `horizon`. Told is with how many of them it is ahead of all fair policies (no worse in any of the three figures, and
better in one), and in how many traces with any. Nobody can choose like that: it is what could be had by tuning at best. (`hurry`, of several GPU models alone, stays as it is.)
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import twenty

TOLERANCES = ["0.03", "0.06", "0.09", "0.1"]
HORIZONS = ["0.02", "0.06", "0.12", "0.3", "1", "100"]


def runs(text):
    """The three figures of every fair policy, and those of ours with every setting."""
    sweep = f'sweep = {{ tolerance = {json.dumps(TOLERANCES)}, horizon = {json.dumps(HORIZONS)} }}\n'
    fair = "".join(f'\n[[policy]]\nname = "{policy}"\n' for policy in twenty.FAIR)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.toml")
        path.write_text(text + sweep + fair)
        command = [twenty.EVENHAND, "compare", path, "--json", "--out", folder]
        rows = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    figures = [(row["policy"], row["parameters"], [row[figure] for figure in twenty.FIGURES]) for row in rows]
    ours = [(f"tolerance {set['tolerance']}, horizon {set['horizon']}", found) for policy, set, found in figures if policy == twenty.OURS]
    return [found for policy, _, found in figures if policy != twenty.OURS], ours


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=1, help="of the first trace; each has the next")
    options.add_argument("--seeds", type=twenty.at_least_one, default=1, help="how many seeds, from that one on")
    options.add_argument("--only", type=int, action="append", help="these traces, counted from 0")
    chosen = options.parse_args()
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        with_any = with_ours = traces = 0
        for number, (name, cluster, work) in enumerate(twenty.TRACES):
            if chosen.only and number not in chosen.only:
                continue
            fair, ours = runs(twenty.scenario(cluster, work, seed + number))
            ahead = [setting for setting, found in ours if all(twenty.better(found, theirs) for theirs in fair)]
            default = "tolerance 0.1, horizon 0.12"
            traces, with_any, with_ours = traces + 1, with_any + bool(ahead), with_ours + (default in ahead)
            print(f"{number:2} {name}: ahead with {len(ahead)} of {len(ours)} settings{', the default among them' if default in ahead else ''}", flush=True)
        print(f"seed {seed}, of {traces}: ahead of all fair policies in {with_ours} as it is, in {with_any} with the best setting for each trace", flush=True)


if __name__ == "__main__":
    main()

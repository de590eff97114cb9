#!/usr/bin/env python3
"""What becomes of policies when starting a job again takes long: mean completion time, worst ratio to fluid fair sharing, makespan and interruptions.

    cargo build --release
    experiments/promise/restarts.py [--seeds 4] [--policy NAME ...] [--set KEY=VALUE ...]

Seven of the traces of `twenty.py`, on one GPU model, with 20 s, 1, 3 and 10 minutes to start again and rounds of 6 and 30 minutes. Geometric means, but interruptions: their sum. A
policy that never gets on (every start is undone before it is over) is told by how many runs came to their end.
"""

import argparse
import math

import twenty

TRACES = [0, 1, 3, 4, 5, 7, 10]
CASES = [("20s", "6m"), ("60s", "6m"), ("180s", "6m"), ("180s", "30m"), ("600s", "6m"), ("600s", "30m")]
POLICIES = ["promise", "srtf", "srsf", "las", "max-min", "shockwave-plus", "themis"]
FIGURES = [*twenty.FIGURES, "preemptions"]


def texts(restore, length, seeds):
    for seed in range(1, seeds + 1):
        for number in TRACES:
            _, cluster, work = twenty.TRACES[number]
            text = twenty.scenario(cluster, work, seed + number)
            yield text.replace('restore = "20s"', f'restore = "{restore}"').replace('round = "6m"', f'round = "{length}"')


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=4, help="how many, from 1 on")
    options.add_argument("--policy", action="append", help="instead of the usual ones")
    options.add_argument("--set", action="append", default=[])
    chosen = options.parse_args()
    policies = chosen.policy or POLICIES
    for restore, length in CASES:
        runs = [twenty.figures(text, policies, chosen.set, FIGURES) for text in texts(restore, length, chosen.seeds)]
        print(f"{restore} to start again, rounds of {length}")
        for policy in policies:
            rows = [run[policy] for run in runs if policy in run]
            if not rows:
                print(f"  {policy}: none of {len(runs)} came to its end", flush=True)
                continue
            mean, worst, makespan = (math.exp(sum(math.log(row[at]) for row in rows) / len(rows)) for at in range(3))
            print(f"  {policy}: mean {mean:.0f} s, worst ratio {worst:.2f} (above 1.1 in {sum(row[1] > 1.1 for row in rows)}), makespan {makespan:.0f} s, "
                  f"{sum(row[3] for row in rows)} interruptions, {len(rows)} of {len(runs)} came to their end", flush=True)


if __name__ == "__main__":
    main()

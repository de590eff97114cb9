#!/usr/bin/env python3
"""What not knowing who will come costs `promise`, and whether somebody who knows could be ahead of all fair policies, on the made-up traces of `twenty.py` with one GPU model.

    cargo build --release && cargo build --release -p evenhand-sim --example clairvoyant
    experiments/promise/clairvoyant.py [--seed 1] [--only NUMBER ...] [--steps 200000]

A schedule of all the work, known from the beginning, is improved by search (`crates/sim/examples/clairvoyant.rs`): the smallest mean completion time with nobody later than a tenth
beyond its fair time, or than under the fair policy that is best at that, and with no longer a makespan than that of the fair policy that ends first. If even its mean is larger than that of the
fastest fair policy, the search found no way to be ahead of all of them. It plays without rounds; starting again costs what it costs in simulations.
What a search does not find may exist.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess
import tempfile

import twenty

SEARCH = twenty.HERE.parent.parent / "target" / "release" / "examples" / "clairvoyant"
TOLERATED = 1.1


def found(text, worst, makespan_s, steps):
    """The smallest mean that the search came to; None if it kept not all promises."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.toml")
        path.write_text(text)
        wish = [f"rho={worst}", f"makespan_s={makespan_s}", f"steps={steps}"]
        run = subprocess.run([SEARCH, path, *wish], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout)["mean_s"]


def look(number, seed, steps):
    """Our mean, the one that was found, and the smallest of all fair policies."""
    _, cluster, work = twenty.TRACES[number]
    text = twenty.scenario(cluster, work, seed + number)
    rows = twenty.figures(text, [twenty.OURS, *twenty.FAIR], [])
    mean_s, worst, makespan_s = (min(rows[fair][at] for fair in twenty.FAIR if fair in rows) for at in range(3))
    ahead = all(twenty.better(rows[twenty.OURS], rows[fair]) for fair in twenty.FAIR if fair in rows)
    return rows[twenty.OURS][0], found(text, min(worst, TOLERATED), makespan_s, steps), mean_s, ahead


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=1, help="of the first trace; each has the next")
    options.add_argument("--only", type=int, action="append", help="these traces, counted from 0")
    options.add_argument("--steps", type=int, default=200_000, help="of the search; a thousand jobs take about a millisecond each")
    options.add_argument("--threads", type=int, default=2, help="traces at a time")
    chosen = options.parse_args()
    fits = [number for number, (_, cluster, work) in enumerate(twenty.TRACES) if "," not in cluster and "[workload.apps]" not in work]
    numbers = [number for number in fits if not chosen.only or number in chosen.only]
    prices, could = [], 0
    with concurrent.futures.ThreadPoolExecutor(chosen.threads) as pool:
        for number, row in zip(numbers, pool.map(lambda number: look(number, chosen.seed, chosen.steps), numbers)):
            ours_s, best_s, fair_s, ahead = row
            could += ahead or best_s is not None and best_s <= fair_s
            if best_s is not None:
                prices.append(ours_s / best_s)
            said = "keeps not all promises" if best_s is None else f"{best_s:.1f} s (ours {ours_s / best_s:.3f} times that)"
            print(f"{number:2} {twenty.TRACES[number][0]}: ours {ours_s:.1f} s, {'ahead' if ahead else 'not ahead'} of all fair ones; found {said}; "
                  f"the fastest fair one {fair_s:.1f} s", flush=True)
    whole = math.exp(sum(map(math.log, prices)) / len(prices)) if prices else float("nan")
    print(f"of {len(numbers)}: ours or what was found is ahead in {could}; ours is {whole:.3f} times what was found, over {len(prices)} traces")


if __name__ == "__main__":
    main()

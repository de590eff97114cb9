#!/usr/bin/env python3
"""Jobs with Gavel's throughputs on 36 V100, 36 P100 and 36 K80: `promise` against the policies that divide by speedup.

    cargo build --release
    experiments/promise/gavel.py [--jobs 2000] [--every 100] [--seed 1] [--gangs] [--policy NAME ...]

One-GPU jobs of 1 to 4 hours (on a V100) arrive as a Poisson process; with --gangs, a third of them take 2, 4 or 8 GPUs. Rounds of 6 minutes, exact
forecasts. Needs the traces beside the repository.
"""

import argparse
import gzip
import json
import math
import pathlib
import random
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EVENHAND = HERE.parent.parent / "target" / "release" / "evenhand"
TABLE = HERE.parent.parent.parent / "shared" / "traces" / "open" / "gavel" / "simulation_throughputs.json.gz"
RIVALS = ["max-min-perf", "gandiva-fair", "oef-noncooperative", "oef-cooperative", "themis", "shockwave-plus", "srtf", "max-sum-throughput"]
MODELS = ["v100", "p100", "k80"]


def trace(chosen):
    """Lines in Gavel's format, and the GPU-hours that they take on V100s."""
    table = json.load(gzip.open(TABLE))
    draw = random.Random(chosen.seed)
    kinds = {gang: [] for gang in (1, 2, 4, 8)}
    for key in table["v100"]:
        kind, gang = eval(key)
        if gang in kinds and all(table[model].get(key, {}).get("null", 0) > 0 for model in MODELS):
            kinds[gang].append((kind, table["v100"][key]["null"]))
    at, lines, hours = 0.0, [], 0.0
    for _ in range(chosen.jobs):
        gang = draw.choice([1, 1, 1, 1, 1, 1, 2, 4, 8]) if chosen.gangs else 1
        kind, rate = draw.choice(kinds[gang])
        steps = max(1, int(rate * draw.uniform(3600, 14400)))
        lines.append("\t".join([kind, "run", "dir", "--steps", "0", str(steps), str(gang), "1", "-1", f"{at:.3f}"]))
        hours += gang * steps / rate / 3600
        at += -math.log(1 - draw.random()) * chosen.every
    return "\n".join(lines) + "\n", hours


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--jobs", type=int, default=2000)
    options.add_argument("--every", type=float, default=100.0, help="mean seconds between two jobs")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--gangs", action="store_true")
    options.add_argument("--policy", action="append", help="default: those that promise fairness, and srtf")
    options.add_argument("--set", action="append", default=[])
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "gavel.trace")
        text, hours = trace(chosen)
        path.write_text(text)
        command = [EVENHAND, "compare", "--trace", path, "--throughputs", TABLE, "--cluster", "v100=36,p100=36,k80=36"]
        command += ["--gpus-per-node", "4", "--restore", "20s", "--json", "--out", folder]
        command += [word for policy in ["promise", *(chosen.policy or RIVALS)] for word in ("--policy", policy)]
        command += [word for setting in chosen.set for word in ("--set", setting)]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if run.returncode:
            raise SystemExit(run.returncode)
        rows = json.loads(run.stdout)
    for row in rows:
        print(f"{row['policy']:20} mean {row['jct_mean_s'] / 3600:.2f} h, p95 {row['jct_p95_s'] / 3600:.2f} h, makespan {row['makespan_s'] / 3600:.1f} h, "
              f"worst rho_fluid {row['ftf_fluid_worst']:.2f}, over 1.05: {100 * row['unfair_fluid_fraction']:.1f} %, preemptions {row['preemptions']}, throughput against V100s {hours / row['gpu_hours']:.3f}, CPU {row['cpu_s']:.1f} s")


if __name__ == "__main__":
    main()

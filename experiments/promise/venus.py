#!/usr/bin/env python3
"""Venus: 125,303 real jobs whose sizes nobody knows until they end. `promise` with what earlier jobs have shown, against others.

    cargo build --release
    experiments/promise/venus.py ../shared/traces/open/helios/derived_venus_gpu_jobs.csv.gz [--policy NAME ...]

The trace names no users: all that tells jobs apart is how many GPUs they ask for. `srtf` is run with sizes known, as what could be had at best.
133 nodes of 8 GPUs, as published; rounds of 6 minutes, 10 s to save and 20 s to start again. p99 of the ratio to fluid sharing from the ledgers.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

from twenty import EVENHAND

NODES = 133
BLIND, KNOWING = ["promise", "fifo", "las", "tiresias"], ["srtf", "promise"]


def scenario(trace, nodes, declares):
    return (f'[cluster]\ngpus = "v100={8 * nodes}"\ngpus_per_node = 8\n\n[workload]\ntrace = "{trace}"\n\n'
            f'[simulation]\nround = "6m"\nrestore = "20s"\ndeclares_work = {"true" if declares else "false"}\n\n[[policy]]\nname = "promise"\n')


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("trace", type=pathlib.Path)
    options.add_argument("--nodes", type=int, default=NODES, help="of 8 GPUs")
    options.add_argument("--policy", action="append", help="with sizes unknown")
    options.add_argument("--set", action="append", default=[])
    chosen = options.parse_args()
    print("sizes    policy      mean h   p95 h  makespan d  worst  p99    unfair  mean ratio  CPU s")
    for sizes, policies in [("unknown", chosen.policy or BLIND), ("known", [] if chosen.policy else KNOWING)]:
        for policy in policies:
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "venus.toml")
                path.write_text(scenario(chosen.trace.resolve(), chosen.nodes, sizes == "known"))
                command = [EVENHAND, "compare", path, "--json", "--out", folder, "--policy", policy]
                command += [word for setting in chosen.set for word in ("--set", setting)]
                run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
                row = json.loads(run.stdout)[0]
            print(f"{sizes:8} {policy:10} {row['jct_mean_s'] / 3600:7.2f} {row['jct_p95_s'] / 3600:7.2f} {row['makespan_s'] / 86400:9.2f} {row['ftf_fluid_worst']:8.2f} "
                  f"{row['ftf_fluid_p99']:6.2f} {100 * row['unfair_fluid_fraction']:6.2f} % {row['ftf_fluid_mean']:8.3f} {row['cpu_s']:10.1f}", flush=True)


if __name__ == "__main__":
    main()

"""Shares GPUs among jobs of Gavel, with the pairs that its authors measured: python3 gavel.py THROUGHPUTS.json.gz [EVENHAND].

600 one-GPU jobs of half an hour to four hours (on a V100) on 12 V100, 12 P100 and 12 K80, every kind equally often, at 1.3 times what those GPUs can do
one by one. Gavel measured how fast pairs are under MPS, and nothing of what a job asks of a GPU: that is foretold by `evenhand predict` from the
graph here that is most like each of its jobs, for each GPU model. The pairs are the truth, and nobody who decides has seen them.
"""

import csv
import gzip
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIKE = {
    "ResNet-18": "cifar_resnet18", "ResNet-50": "resnet50", "Transformer": "t5_small_s128", "LM": "lstm_650",
    "Recommendation": "autoencoder", "A3C": "actor_pixels", "CycleGAN": "cyclegan",
}
ALONE = {"A3C": 4, "CycleGAN": 1}  # batch sizes that the names do not say
GPUS = ("v100", "p100", "k80")
MEMORY_GB = {"v100": 16, "p100": 16, "k80": 12}
POLICIES = ["fifo", "packing", "gandiva", "lucid", "horus", "horus-plus"]
OTHERS = ["las", "max-min-perf", "oef-cooperative", "themis", "shockwave-plus"]
JOBS, LOAD, EACH, SEEDS = 600, 1.3, 12, (1, 2, 3)
SHARES = ("utilisation", "sm", "tensor", "bandwidth")


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def kinds(table):
    """Kinds on one GPU with their speeds alone, on each GPU model."""
    matches = [(re.match(r"\('(.*)', 1\)", key), key) for key in table["v100"]]
    return {match.group(1): [table[gpu][key]["null"] for gpu in GPUS] for match, key in matches if match}


def trace(table, seed, path):
    lot = random.Random(seed)
    speeds = {name: row for name, row in kinds(table).items() if row[0] > 0}
    names = sorted(speeds)
    jobs = [(lot.choice(names), 3600 * lot.uniform(0.5, 4.0)) for _ in range(JOBS)]
    # What the cluster can do of such work: every job is on each model equally often.
    capacity = sum(EACH * lot_speed / speeds[name][0] for name, _ in jobs for lot_speed in speeds[name]) / JOBS
    gap = sum(seconds for _, seconds in jobs) / JOBS / capacity / LOAD
    now, lines = 0.0, []
    for name, seconds in jobs:
        lines.append("\t".join([name, "train", "-n", "0", str(round(seconds * speeds[name][0])), f"{now:.3f}", "1"]))
        now += lot.expovariate(1 / gap)
    path.write_text("\n".join(lines) + "\n")


def profiles(evenhand, table_of_speeds, folder):
    table = folder / "profiles.csv"
    with open(table, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "gpu", "duty", "sm", "tensor", "bandwidth", "memory_mb", "memory_high_mb"])
        for name in sorted(kinds(table_of_speeds)):
            base = name.split(" (")[0]
            size = re.search(r"batch size (\d+)", name)
            batch = int(size.group(1)) if size else ALONE[base]
            graph = folder / f"{LIKE[base]}.onnx"
            graph.write_bytes(gzip.open(HERE / f"data/graphs/{LIKE[base]}.onnx.gz").read())
            for gpu in GPUS:
                told = json.loads(run([evenhand, "predict", graph, "--batch", batch, "--gpu", gpu,
                                       "--precision", "fp32", "--json"]))
                shares = [f"{told[key] / 100:.4f}" for key in SHARES]
                writer.writerow([name, gpu, *shares, *(f"{told['memory_mb'][key]:.0f}" for key in ("mean", "upper95"))])
    return table


def main():
    throughputs = pathlib.Path(sys.argv[1]).resolve()
    evenhand = sys.argv[2] if len(sys.argv) > 2 else str(HERE / "../../target/release/evenhand")
    with gzip.open(throughputs, "rt") as file:
        speeds = json.load(file)
    runs = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        table = profiles(evenhand, speeds, folder)
        nodes = "".join(f'[[cluster.nodes]]\nmodel = "{gpu}"\ncount = {EACH // 4}\ngpus = 4\nslots = 2\nmemory_gb = {MEMORY_GB[gpu]}.0\n'
                        for gpu in GPUS)
        scenario = folder / "scenario.toml"
        scenario.write_text(f'{nodes}\n[workload]\ntrace = "jobs.trace"\nthroughputs = "{throughputs}"\nprofiles = "{table}"\n'
                            '[simulation]\nrestore = "20s"\nsharing = "learned"\n')
        for seed in SEEDS:
            trace(speeds, seed, folder / "jobs.trace")
            for placer, policies in (("topology", POLICIES + OTHERS), ("interference", OTHERS)):
                flags = [flag for policy in policies for flag in ("--policy", policy)]
                shares = [f"{policy}.mode=mps" for policy in ("packing", "lucid", "horus", "horus-plus")]
                flags += [flag for share in shares for flag in ("--set", share)] if placer == "topology" else []
                told = run([evenhand, "compare", scenario, "--placer", placer, "--json", "--out", folder / "out", *flags])
                for row in json.loads(told):
                    runs.setdefault((row["policy"], placer), []).append(row)
    mean = lambda rows, key: sum(row[key] or 0 for row in rows) / len(rows)
    print(f"{'policy':17}{'placer':14}{'makespan h':>11}{'mean h':>8}{'wait p50 min':>14}{'fluid':>7}{'stops':>7}{'slowdown':>10}{'worst':>7}{'memory':>8}")
    for (policy, placer), rows in runs.items():
        print(f"{policy:17}{placer:14}{mean(rows, 'makespan_s') / 3600:11.1f}{mean(rows, 'jct_mean_s') / 3600:8.2f}{mean(rows, 'wait_p50_s') / 60:14.1f}"
              f"{mean(rows, 'ftf_fluid_worst'):7.2f}{mean(rows, 'preemptions'):7.0f}{mean(rows, 'shared_slowdown_mean'):10.2f}"
              f"{mean(rows, 'shared_slowdown_worst'):7.1f}{sum(row['out_of_memory'] for row in rows):8d}")


main()

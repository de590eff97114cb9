"""Makes the simulator's tables of profiles and of pairs from the measurements in data/: python3 tables.py (no packages needed).

Writes data/profiles.csv and data/colocation.csv. A duty is NVML's utilisation, the other shares are GPM's; memory is what the framework
reserved, and 500 MB for the CUDA context, which was not measured. A slowdown is the mean step beside the other over the shortest mean step
seen of that configuration anywhere; repeated measurements stand there each.
"""

import csv
import pathlib

DATA = pathlib.Path(__file__).parent / "data"
GPU = "h200"
CONTEXT_MB = 500


def read(name):
    with open(DATA / name, newline="") as file:
        return list(csv.DictReader(file))


def mean(rows, column):
    values = [float(row[column]) for row in rows if row[column]]
    return sum(values) / len(values)


def write(name, header, rows):
    with open(DATA / name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main():
    solo = {}
    for row in read("solo.csv"):
        solo.setdefault(row["name"], []).append(row)
    runs = read("pairs.csv")
    alone = {name: min(float(row["step_ms"]) for row in rows) for name, rows in solo.items()}
    for row in runs:
        for side in (1, 2):
            name = row[f"name{side}"]
            alone[name] = min(alone[name], float(row[f"step_ms{side}"]))
    share = lambda rows, column: f"{min(1.0, mean(rows, column) / 100):.4f}"
    profiles = [
        [name, GPU, *(share(rows, column) for column in ("nvml_gpu", "sm", "tensor", "dram"))]
        + [f"{mean(rows, 'reserved_mb') + CONTEXT_MB:.0f}", f"{1000 / alone[name]:.4f}"]
        for name, rows in sorted(solo.items())
    ]
    header = ["name", "gpu", "duty", "sm", "tensor", "bandwidth", "memory_mb", "speed"]
    write("profiles.csv", header, profiles)
    pairs = []
    for row in runs:
        names = [row["name1"], row["name2"]]
        slowdowns = [float(row[f"step_ms{side}"]) / alone[name] for side, name in zip((1, 2), names)]
        pairs.append([GPU, row["mode"], *names, *(f"{slowdown:.4f}" for slowdown in slowdowns)])
    write("colocation.csv", ["gpu", "mode", "one", "other", "slowdown_one", "slowdown_other"], pairs)
    print(f"{len(profiles)} profiles, {len(pairs)} pairs")


main()

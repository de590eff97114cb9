#!/usr/bin/env python3
"""Forecasts that are wrong: what becomes of `promise`, and of others, when declared work is off by more and more, is a lie, or is not told at all.

    cargo build --release
    experiments/promise/robust.py [--seeds 3] [--policy NAME ...] [--only NUMBER ...] [--figure robust.svg]

Off by 20, 50, 100 %: the logarithm of declared over true work has that standard deviation. Lies: of 5 % of the jobs a twentieth or twenty times
their work is declared. Unknown: nothing is declared. Everything else as in twenty.py; means over the seeds, but for the worst ratio, which is the worst.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

from twenty import EVENHAND, OURS, THREE, made_up, profile

RIVALS = ["las", "tiresias", "srtf", "shockwave-plus", "fifo"]
TRACES = [
    ("32 GPUs, heavy", "v100=32", made_up(200, 1.5)),
    ("64 GPUs, long tail", "v100=64", made_up(500, 2.0, sigma=2.0)),
    ("96 GPUs, helios, bursty", "v100=96", profile("helios", 500, 1.2)),
    ("64 GPUs, changing jobs", "v100=64", profile("shockwave-like", 200, 1.5)),
    ("256 GPUs, heavy", "v100=256", made_up(600, 2.0)),
    ("3 x 36 GPUs, gangs, heavy", THREE.format(36), made_up(400, 1.5)),
]
WRONG = [
    ("exact", ""),
    ("20 %", "forecast_error = 0.2"),
    ("50 %", "forecast_error = 0.5"),
    ("100 %", "forecast_error = 1.0"),
    ("lies", "forecast_lies = 0.05"),
    ("unknown", None),
]
FIGURES = ["jct_mean_s", "jct_p95_s", "makespan_s", "ftf_fluid_worst", "ftf_fluid_mean", "unfair_fluid_fraction"]


def scenario(cluster, work, wrong, seed):
    text = f'[cluster]\ngpus = "{cluster}"\ngpus_per_node = 4\n\n{work.replace("SEED", str(seed))}\n[simulation]\nround = "6m"\nrestore = "20s"\n'
    if wrong is None:
        text += "declares_work = false\n"
    return text + (f"\n[simulation.faults]\n{wrong}\n" if wrong else "") + f'\n[[policy]]\nname = "{OURS}"\n'


def rows_of(text, policies, seed, settings):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.toml")
        path.write_text(text)
        command = [EVENHAND, "compare", path, "--json", "--out", folder, "--seeds", str(seed)]
        command += [word for policy in policies for word in ("--policy", policy)]
        command += [word for setting in settings for word in ("--set", setting)]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if run.returncode:
            raise SystemExit(run.returncode)
        return json.loads(run.stdout)


def figures(trace, wrong, policies, seeds, settings):
    rows = [row for seed in seeds for row in rows_of(scenario(*trace, wrong, seed), policies, seed, settings)]
    found = {}
    for policy in policies:
        own = [row for row in rows if row["policy"] == policy]
        mean = lambda values: sum(values) / len(values)
        found[policy] = {figure: (max if figure.endswith("worst") else mean)([row[figure] for row in own]) for figure in FIGURES}
    return found


PANELS = [
    ("jct_mean_s", "mean completion, of las", True), ("jct_p95_s", "95th percentile, of las", True), ("makespan_s", "makespan, of las", True),
    ("ftf_fluid_worst", "worst ratio to fluid sharing (log)", False), ("ftf_fluid_mean", "mean ratio to fluid sharing", False),
    ("unfair_fluid_fraction", "jobs later than 1.05 times", False),
]
COLOURS = {"promise": "#c0392b", "las": "#7f8c8d", "tiresias": "#8e44ad", "srtf": "#2980b9", "shockwave-plus": "#27ae60", "fifo": "#d4ac0d"}


def panel(everything, policies, figure, title, relative, left, top):
    """One figure against how wrong forecasts are: the geometric mean over traces, but for fractions, of which it is the mean."""
    wide, high, logs = 250, 150, figure.endswith("worst")
    names = [wrong for wrong, _ in WRONG]

    def value(wrong, policy):
        rows = [row["policies"] for row in everything if row["wrong"] == wrong]
        values = [row[policy][figure] / (row["las"][figure] if relative else 1.0) for row in rows]
        if figure.endswith("fraction"):
            return sum(values) / len(values)
        return math.exp(sum(math.log(value) for value in values) / len(values))

    curves = {policy: [value(wrong, policy) for wrong in names] for policy in policies}
    shown = [v for policy, values in curves.items() if policy != "fifo" for v in values]
    scale = math.log if logs else (lambda v: v)
    low, high_v = scale(min(shown)), scale(max(shown))
    low, high_v = low - 0.05 * (high_v - low or 1), high_v + 0.05 * (high_v - low or 1)
    at_x = lambda place: left + wide * place / (len(names) - 1)
    at_y = lambda v: top + high * (1 - (scale(v) - low) / (high_v - low))
    unscale = math.exp if logs else (lambda v: v)
    out = [f'<text x="{left}" y="{top - 8}" font-weight="bold">{title}</text>', f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" fill="none" stroke="#ccc"/>']
    for part in (0.0, 0.5, 1.0):
        out.append(f'<text x="{left - 6}" y="{top + high * (1 - part) + 4:.0f}" text-anchor="end" fill="#666">{unscale(low + part * (high_v - low)):.2f}</text>')
    for place, name in enumerate(names):
        out.append(f'<text x="{at_x(place):.0f}" y="{top + high + 15}" text-anchor="middle" fill="#666">{name}</text>')
    for policy, values in curves.items():
        dots = [(at_x(place), min(max(at_y(v), top), top + high)) for place, v in enumerate(values) if scale(v) <= high_v]
        width = 2.5 if policy == OURS else 1.2
        if len(dots) > 1:
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots[:4])
            out.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS.get(policy, "#000")}" stroke-width="{width}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width + 0.8}" fill="{COLOURS.get(policy, "#000")}"/>' for x, y in dots]
    return out


def draw(everything, policies, path):
    parts = []
    for number, (figure, title, relative) in enumerate(PANELS):
        parts += panel(everything, policies, figure, title, relative, 60 + 330 * (number % 3), 40 + 220 * (number // 3))
    for number, policy in enumerate(policies):
        parts.append(f'<circle cx="{66 + 130 * number}" cy="482" r="5" fill="{COLOURS.get(policy, "#000")}"/><text x="{76 + 130 * number}" y="486">{policy}</text>')
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="1010" height="500" font-family="sans-serif" font-size="11"><rect width="1010" height="500" fill="#fff"/>'
    path.write_text(head + "\n".join(parts) + "</svg>\n")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=3, help="how many")
    options.add_argument("--policy", action="append", help="beside ours")
    options.add_argument("--only", type=int, action="append", help="these traces, counted from 0")
    options.add_argument("--set", action="append", default=[], help="a parameter of ours")
    options.add_argument("--figure", type=pathlib.Path, help="curves of every figure, as SVG")
    options.add_argument("--json", type=pathlib.Path, help="all figures")
    chosen = options.parse_args()
    policies = [OURS, *(chosen.policy or RIVALS)]
    everything, behind = [], []
    for number, (name, cluster, work) in enumerate(TRACES):
        if chosen.only and number not in chosen.only:
            continue
        for wrong, faults in WRONG:
            found = figures((cluster, work), faults, policies, range(1, chosen.seeds + 1), chosen.set)
            everything.append({"trace": name, "wrong": wrong, "policies": found})
            row = "; ".join(f"{p} {f['jct_mean_s']:.0f}/{f['ftf_fluid_worst']:.2f}/{f['makespan_s']:.0f}" for p, f in found.items())
            over = found[OURS]["jct_mean_s"] / found["las"]["jct_mean_s"] if "las" in found else 1.0
            behind.append(over)
            print(f"{number} {name}, {wrong}: {over:.3f} of las; {row}", flush=True)
    print(f"mean completion against las: worst {max(behind):.3f}, mean {sum(behind) / len(behind):.3f}")
    if chosen.figure:
        draw(everything, policies, chosen.figure)
    if chosen.json:
        chosen.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()

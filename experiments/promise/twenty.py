#!/usr/bin/env python3
"""Twenty made-up traces, 32 to 1,000 GPUs: mean completion time, worst ratio to fluid fair sharing and makespan, of `promise` and of every other policy.

    cargo build --release
    experiments/promise/twenty.py [--seed 1] [--seeds 1] [--times 1] [--gangs PART] [--only NUMBER ...] [--policy NAME ...] [--set KEY=VALUE ...]

Light, heavy and bursty load; one and three GPU models; jobs that change and jobs that do not; apps. Without --policy, all policies run. Forecasts are
exact (what is declared is true, and jobs say when they will change), except in apps, whose jobs end when their tuner or their loss says so.

Two counts are given: ahead of all fair policies (no worse in any figure, and better in one), and ahead of them in every figure. Where a fair policy ends as early as any
schedule can (`bounds.py`), nobody can be ahead of it in every figure; in how many traces anybody could is told beside the second count.

On single traces much is chance. So the figures of every policy are given too as multiples of ours, geometric means over all traces and seeds, and counted in how many of the twenty
kinds of work ours is ahead of all fair policies in geometric means over the seeds.
"""

import argparse
import json
import math
import pathlib
import re
import subprocess
import tempfile

import bounds

HERE = pathlib.Path(__file__).resolve().parent
EVENHAND = HERE.parent.parent / "target" / "release" / "evenhand"
OURS = "promise"
FIGURES = ["jct_mean_s", "ftf_fluid_worst", "makespan_s"]
FAIR = ["max-min", "max-min-perf", "finish-time-fairness", "gandiva-fair", "oef-noncooperative", "oef-cooperative", "nash", "themis", "shockwave",
        "shockwave-plus", "drf", "equal-share"]
THREE = "v100={0},p100={0},k80={0}"


def made_up(jobs, load, sigma=1.2, mean=3600.0, gangs="[[1, 6.0], [2, 2.0], [4, 1.0], [8, 0.5]]", tenants=8):
    return f"[workload.generate]\njobs = {jobs}\nload = {load}\nduration_mean_s = {mean}\nduration_sigma = {sigma}\ngpus = {gangs}\ntenants = {tenants}\nseed = SEED\n"


def profile(name, jobs, load):
    return f'[workload.profile]\nname = "{name}"\njobs = {jobs}\nload = {load}\nseed = SEED\n'


def apps(count, load):
    return f"[workload.apps]\napps = {count}\nload = {load}\njobs_max = 20\nminutes_median = 60.0\nminutes_max = 400.0\nseed = SEED\n"


SMALL = "[[1, 1.0]]"
# Gangs of apps and how often they come, as where nothing is said.
APP_GANGS = [[1, 40.0], [2, 30.0], [4, 25.0], [8, 5.0]]
TRACES = [
    ("32 GPUs, light", "v100=32", made_up(200, 0.6)),
    ("32 GPUs, heavy", "v100=32", made_up(200, 1.5)),
    ("32 GPUs, one-GPU jobs", "v100=32", made_up(300, 0.9, gangs=SMALL)),
    ("32 GPUs, changing jobs, heavy", "v100=32", profile("shockwave-like", 120, 4.0)),
    ("64 GPUs, changing jobs", "v100=64", profile("shockwave-like", 200, 1.5)),
    ("64 GPUs, long tail", "v100=64", made_up(500, 2.0, sigma=2.0)),
    ("64 GPUs, philly, bursty", "v100=64", profile("philly", 400, 0.9)),
    ("96 GPUs, helios, bursty", "v100=96", profile("helios", 500, 1.2)),
    ("128 GPUs, pai, bursty", "v100=128", profile("pai", 500, 0.9)),
    ("128 GPUs, changing jobs, moderate", "v100=128", profile("shockwave-like", 400, 1.2)),
    ("256 GPUs, heavy", "v100=256", made_up(600, 2.0)),
    ("256 GPUs, helios, bursty", "v100=256", profile("helios", 1000, 1.5)),
    ("1000 GPUs, heavy", "v100=1000", made_up(1500, 2.0, gangs="[[1, 5.0], [2, 2.0], [4, 2.0], [8, 1.5], [16, 0.5], [32, 0.2]]")),
    ("3 x 12 GPUs, light", THREE.format(12), made_up(200, 0.6)),
    ("3 x 12 GPUs, heavy", THREE.format(12), made_up(200, 1.2)),
    ("3 x 36 GPUs, one-GPU jobs", THREE.format(36), made_up(500, 0.9, gangs=SMALL)),
    ("3 x 36 GPUs, gangs, heavy", THREE.format(36), made_up(400, 1.5)),
    ("3 x 100 GPUs, long tail", THREE.format(100), made_up(600, 0.9, sigma=1.8)),
    ("50 GPUs, apps", "v100=50", apps(25, 0.9)),
    ("128 GPUs, apps, heavy", "v100=128", apps(40, 1.5)),
]


def scenario(cluster, work, seed):
    text = f'[cluster]\ngpus = "{cluster}"\ngpus_per_node = 4\n\n{work.replace("SEED", str(seed))}\n'
    exact = "" if "apps" in work else "announces_regimes = true\n"
    return text + f'[simulation]\nround = "6m"\nrestore = "20s"\n{exact}\n[[policy]]\nname = "{OURS}"\n'


def longer(work, times):
    """The same work, but so many times as many jobs or apps of it, one after the other."""
    return re.sub(r"^(jobs|apps) = (\d+)$", lambda found: f"{found[1]} = {int(found[2]) * times}", work, flags=re.MULTILINE)


def held(work, cluster, part):
    """The same load, without gangs of more than one in so many GPUs; of changing jobs, whose gangs go with what they train, all are kept."""
    gpus = sum(int(model.split("=")[1]) for model in cluster.split(","))
    most = max(gpus // part, 1)
    if 'name = "shockwave-like"' in work:
        return work
    if "[workload.profile]" in work:
        # A profile's gangs are no larger than the cluster that its load is said of.
        return re.sub(r"^load = (.*)$", lambda found: f"load = {float(found[1]) * gpus / most}\ngpus = {most}", work, flags=re.MULTILINE)
    if "[workload.apps]" in work:
        work += f"gpus = {APP_GANGS}\n"
    kept = lambda found: f"gpus = {[gang for gang in json.loads(found[1]) if gang[0] <= most]}"
    return re.sub(r"^gpus = (\[.*\])$", kept, work, flags=re.MULTILINE)


def figures(text, policies, settings, wanted=tuple(FIGURES)):
    """The three figures, or others, of every policy that came to an end."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.toml")
        path.write_text(text)
        command = [EVENHAND, "compare", path, "--json", "--out", folder]
        command += [word for policy in policies for word in ("--policy", policy)]
        command += [word for setting in settings for word in ("--set", setting)]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        # Where some came to their end and some did not, those who did are told of all the same.
        if not run.stdout:
            raise SystemExit(run.returncode)
        rows = json.loads(run.stdout)
    return {row["policy"]: [row[figure] for figure in wanted] for row in rows}


def better(one, other):
    """No worse in any figure, and better in one."""
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other))


def better_in_all(one, other):
    """Better in every figure."""
    return all(mine < theirs for mine, theirs in zip(one, other))


class Count:
    """In how many traces what holds."""

    def __init__(self):
        self.traces = self.fronts = self.near = self.kept = self.wins = self.clear = self.could = 0

    def add(self, found, came):
        """Takes the figures of every policy on a trace; says who is better than ours in all figures, and of which fair ones ours is not ahead."""
        ours = found[OURS]
        over = [rival for rival, theirs in found.items() if better(theirs, ours)]
        fair = [rival for rival in FAIR if rival in found]
        lost = [rival for rival in fair if not better(ours, found[rival])]
        self.traces += 1
        self.fronts += not over
        self.kept += ours[1] <= 1.1
        self.near += ours[0] <= 1.1 * min(theirs[0] for theirs in found.values())
        self.wins += not lost
        self.clear += all(better_in_all(ours, found[rival]) for rival in fair)
        self.could += not came or all(found[rival][2] > bounds.earliest_s(came) + 0.01 for rival in fair)
        return over, lost

    def __str__(self):
        return (f"of {self.traces}: on the front in {self.fronts}, ahead of all fair policies in {self.wins} (in every figure in {self.clear}; in {self.could} anybody could be), "
                f"mean within 10 % of the best in {self.near}, nobody above 1.1 in {self.kept}")


def mean(all_found, policy):
    """The figures of a policy: geometric means."""
    return [math.exp(sum(math.log(found[policy][at]) for found in all_found) / len(all_found)) for at in range(len(FIGURES))]


def of_one_kind(all_found):
    """Of which fair policies ours is not ahead in the means over traces of one kind, and by what part of ours they are better in which figure."""
    ours = mean(all_found, OURS)
    for rival in FAIR:
        if all(rival in found for found in all_found) and not better(ours, theirs := mean(all_found, rival)):
            yield rival, [(what, 1 - them / us) for what, us, them in zip(["mean", "worst ratio", "makespan"], ours, theirs) if them < us]


def on_the_whole(all_found):
    """The figures of every policy as multiples of ours: geometric means over the traces that it came to the end of."""
    for rival in sorted({rival for found in all_found for rival in found if rival != OURS}):
        both = [(found[rival], found[OURS]) for found in all_found if rival in found]
        times = [math.exp(sum(math.log(theirs[at] / ours[at]) for theirs, ours in both) / len(both)) for at in range(len(FIGURES))]
        yield times, rival, len(both)


def at_least_one(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of at least 1")
    return int(text)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=1, help="of the first trace; each has the next")
    options.add_argument("--seeds", type=at_least_one, default=1, help="how many seeds, from that one on")
    options.add_argument("--times", type=at_least_one, default=1, help="so many times as many jobs in each trace")
    options.add_argument("--gangs", type=at_least_one, metavar="PART", help="no gang of more than one in so many GPUs")
    options.add_argument("--only", type=int, action="append", help="these traces, counted from 0")
    options.add_argument("--policy", action="append", help="beside ours; default: all")
    options.add_argument("--set", action="append", default=[], help="a parameter of ours, or POLICY.KEY=VALUE")
    chosen = options.parse_args()
    policies = [OURS, *chosen.policy] if chosen.policy else ["all"]
    all_found, kinds = [], {}
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        count = Count()
        for number, (name, cluster, work) in enumerate(TRACES):
            if chosen.only and number not in chosen.only:
                continue
            work = longer(held(work, cluster, chosen.gangs) if chosen.gangs else work, chosen.times)
            text = scenario(cluster, work, seed + number)
            found = figures(text, policies, chosen.set)
            over, lost = count.add(found, bounds.jobs(text, EVENHAND))
            ours, best = found[OURS], min(found, key=lambda rival: found[rival][0])
            if len(found) < 7:
                print("      ", "; ".join(f"{rival} {a:.0f}/{b:.2f}/{c:.0f}" for rival, (a, b, c) in found.items()))
            print(f"{number:2} {name}: {ours[0]:.0f} s, {ours[1]:.2f}, {ours[2]:.0f} s; best mean {found[best][0]:.0f} s ({ours[0] / found[best][0]:.2f}, {best}, {found[best][1]:.2f}); "
                  f"behind {', '.join(over) or 'nobody'}; not ahead of {', '.join(lost) or 'no fair one'}", flush=True)
            all_found.append(found)
            kinds.setdefault(name, []).append(found)
        print(f"seed {seed}, {count}", flush=True)
    lost = {kind: list(of_one_kind(found)) for kind, found in kinds.items()}
    print(f"in means over {chosen.seeds} seeds: ahead of all fair policies in {sum(not rivals for rivals in lost.values())} of {len(kinds)} kinds of work")
    for kind, rivals in lost.items():
        for rival, by in rivals:
            print(f"  {kind}: not ahead of {rival}, {', '.join(f'{what} {part:.2%}' for what, part in by) or 'level'}")
    for (jct, worst, makespan), rival, traces in sorted(on_the_whole(all_found)):
        print(f"  {rival}{' (fair)' if rival in FAIR else ''}: mean {jct:.3f}, worst ratio {worst:.2f}, makespan {makespan:.3f} times ours, over {traces} traces")


if __name__ == "__main__":
    main()

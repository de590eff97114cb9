#!/usr/bin/env python3
"""What no schedule can do on the made-up traces of `twenty.py`, whoever makes it and whatever it knows.

    cargo build --release
    experiments/promise/bounds.py [--seed 1] [--only NUMBER ...]

No schedule ends before the last of all jobs would if each had its GPUs, of the fastest model, from its arrival. Where a policy ends then, nobody ends before it.

No schedule has a smaller worst ratio to fluid sharing than this: if everybody is to be done by a_i + rho (P_i - a_i), where P_i is its end under fluid sharing, then in every
interval there must be room for those that come and have to go in it. Room is counted in several ways: gangs of more than 1/(k+1) of the GPUs run k at a time at most; gangs of more than
M - e GPUs leave no room for others of e or more. The smallest rho for which no interval has too little room is found by bisection. One GPU model, jobs that do not change.
"""

import argparse
import heapq
import json
import pathlib
import subprocess
import tempfile

# A job of seconds is late by the time of a start alone.
SHORT_S = 60.0
RHO_MOST = 8.0


def jobs(text, evenhand):
    """The arrival, the gang and the seconds on the fastest model of every job; None if they change or are ended by others."""
    if 'name = "shockwave-like"' in text or "[workload.apps]" in text:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.toml")
        path.write_text(text)
        command = [evenhand, "compare", path, "--json", "--out", folder, "--ledgers", "--policy", "fifo"]
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
            raise SystemExit("the trace could not be simulated")
        ledger = next(pathlib.Path(folder, "ledgers").iterdir())
        entries = (json.loads(line) for line in ledger.read_text().splitlines())
        return [job for entry in entries if (job := submitted(entry))]


def submitted(entry):
    event = entry.get("e")
    spec = event.get("submitted") if isinstance(event, dict) else None
    return spec and (entry["t"] / 1000, spec["gpus"][0], spec["work"] / 1000)


def earliest_s(work):
    """The makespan that no schedule is below."""
    return max(came_s + takes_s for came_s, _, takes_s in work) - min(came_s for came_s, _, _ in work)


def fluid(work, gpus):
    """When each is done if everybody there runs at min(1, M / GPUs asked for)."""
    coming = sorted(range(len(work)), key=lambda at: work[at][0], reverse=True)
    ends, there = [0.0] * len(work), []
    now_s = done_s = 0.0
    asked = 0
    while coming or there:
        rate = min(1.0, gpus / asked) if asked else 1.0
        ends_s = now_s + (there[0][0] - done_s) / rate if there else float("inf")
        comes_s = work[coming[-1]][0] if coming else float("inf")
        if comes_s <= ends_s:
            at = coming.pop()
            done_s += (comes_s - now_s) * rate
            now_s, asked = comes_s, asked + work[at][1]
            heapq.heappush(there, (done_s + work[at][2], at))
        else:
            done_s, at = heapq.heappop(there)
            now_s, asked, ends[at] = ends_s, asked - work[at][1], ends_s
    return ends


def rooms(gpus):
    """How much of all the room a gang takes, counted in several ways, each of which every set of gangs that fit together keeps within 1."""
    for at_once in range(1, 9):
        yield lambda gang, k=at_once: 1.0 / k if gang > gpus / (k + 1) else 0.0
    for least in sorted({1, 4, 8, 16, 32, 48, gpus // 2}):
        if least <= gpus // 2:
            yield lambda gang, e=least: 1.0 if gang > gpus - e else gang / gpus if gang >= e else 0.0


def has_room(loads, rho):
    """Whether no interval has to hold more than fits into it."""
    dues = sorted((came_s + rho * fair_s, came_s, load) for came_s, fair_s, load in loads)
    for from_s in {came_s for came_s, _, _ in loads}:
        load = 0.0
        for due_s, came_s, more in dues:
            if came_s >= from_s:
                load += more
                if load > (due_s - from_s) * (1 + 1e-9):
                    return False
    return True


def least_ratio(work, gpus):
    """The worst ratio to fluid sharing that no schedule is below."""
    fair_s = [end_s - came_s for end_s, (came_s, _, _) in zip(fluid(work, gpus), work)]
    least = 1.0
    for room in rooms(gpus):
        loads = [(came_s, fair, takes_s * room(gang)) for fair, (came_s, gang, takes_s) in zip(fair_s, work) if room(gang) > 0 and fair > SHORT_S]
        low, high = least, RHO_MOST
        if has_room(loads, low + 1e-3):
            continue
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (low, middle) if has_room(loads, middle) else (middle, high)
        least = low
    return least


def main():
    import twenty  # which asks here how early a trace can end

    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=1, help="of the first trace; each has the next")
    options.add_argument("--only", type=int, action="append", help="these traces, counted from 0")
    chosen = options.parse_args()
    for number, (name, cluster, work) in enumerate(twenty.TRACES):
        found = jobs(twenty.scenario(cluster, work, chosen.seed + number), twenty.EVENHAND) if not chosen.only or number in chosen.only else None
        if found:
            ratio = f"; worst ratio at least {least_ratio(found, int(cluster.split('=')[1])):.3f}" if "," not in cluster else ""
            print(f"{number:2} {name}: ends after {earliest_s(found):.0f} s at the earliest{ratio}", flush=True)


if __name__ == "__main__":
    main()

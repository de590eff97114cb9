#!/usr/bin/env python3
"""Measures the plan of `zoo.py` on one GPU: every configuration alone, and pairs and triples of them together, time-sliced and under MPS.

    python3 measure.py solo  --out DIR [--seconds 480]
    python3 measure.py pairs --out DIR --mode time-slicing|mps --pairs FILE [--seconds 480]

Workers are processes of their own that live through the whole run; the parent tells them what to prepare and from when to when to count, by the clock that all
processes share. Both sides of a pair run before, during and after the span in which they are counted, so nobody ever runs beside nothing. What does not fit
into `--seconds` is left out and said so. Settings of the GPU are left as they are found.
"""

import argparse
import csv
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

WARM_S, COUNT_S, AFTER_S = 0.7, 2.4, 0.15
WARM_STEPS = 6
IN_FLIGHT = 2
# Repeated at the start and at the end of every part: how far measurements are from themselves.
ANCHORS = ["resnet50.b64", "bert_base_s128.b16", "lstm_650.b80", "dlrm.b2048", "mobilenet_v2.b64"]
GPM = {"graphics": 1, "sm": 2, "occupancy": 3, "tensor": 5, "dram": 10, "fp32": 12, "fp16": 13}


# --- a worker: one process that trains what it is told ---------------------------------------------------------------------------

class Trainee:
    """A configuration, ready to run."""

    def __init__(self, name):
        import torch
        from zoo import ARCHITECTURES, PLAN

        self.torch, self.configuration = torch, PLAN[name]
        architecture = ARCHITECTURES[self.configuration.architecture]
        torch.manual_seed(1)
        with torch.device("cuda"):
            self.module = architecture.module().train()
        self.inputs = tuple(part.cuda() for part in architecture.inputs(self.configuration.batch))
        self.loss = architecture.loss
        parameters = self.module.parameters()
        if architecture.optimiser == "adamw":
            self.optimiser = torch.optim.AdamW(parameters, lr=1e-5, fused=True)
        else:
            self.optimiser = torch.optim.SGD(parameters, lr=1e-4, momentum=0.9)
        self.gap_s = self.configuration.host_ms / 1e3

    def step(self):
        torch = self.torch
        with torch.autocast("cuda", torch.bfloat16, enabled=self.configuration.precision == "bf16"):
            loss = self.loss(self.module(*self.inputs))
        loss.backward()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)

    def warm(self):
        """First steps; finds the host's gap that makes the duty asked for."""
        for _ in range(WARM_STEPS):
            self.step()
        self.torch.cuda.synchronize()
        if self.configuration.duty < 1.0:
            begin = time.monotonic()
            for _ in range(10):
                self.step()
            self.torch.cuda.synchronize()
            alone = (time.monotonic() - begin) / 10
            self.gap_s += alone * (1 / self.configuration.duty - 1)

    def run(self, begin, end):
        """Runs until `end`; when each step was done, by the shared clock."""
        torch, done, flying = self.torch, [], []
        while time.monotonic() < end:
            self.step()
            event = torch.cuda.Event()
            event.record()
            flying.append(event)
            if self.gap_s:
                flying[-1].synchronize()
                time.sleep(self.gap_s)
            while len(flying) >= (1 if self.gap_s else IN_FLIGHT):
                flying.pop(0).synchronize()
                done.append(time.monotonic())
        for event in flying:
            event.synchronize()
            done.append(time.monotonic())
        return done

    def kernels(self):
        """Kernels of one step and their time, by the profiler."""
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as traced:
            for _ in range(2):
                self.step()
            self.torch.cuda.synchronize()
        spans = [event for event in traced.events() if event.device_type.name == "CUDA"]
        return len(spans) / 2, sum(event.device_time_total for event in spans) / 2 / 1e3


def work(pipe):
    """The loop of a worker."""
    import torch

    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    trainee = None
    while True:
        command, *details = pipe.recv()
        try:
            if command == "end":
                return
            if command == "prepare":
                trainee = None
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
                trainee = Trainee(details[0])
                trainee.warm()
                answer = {"parameters": sum(p.numel() for p in trainee.module.parameters())}
            elif command == "run":
                begin, end, after = details
                done = trainee.run(begin, end + after)
                inside = [at for at in done if begin <= at <= end]
                answer = {
                    "times": [b - a for a, b in zip(inside, inside[1:])],
                    "allocated_mb": torch.cuda.max_memory_allocated() / 2**20,
                    "reserved_mb": torch.cuda.max_memory_reserved() / 2**20,
                }
            elif command == "kernels":
                answer = dict(zip(("kernels", "kernel_ms"), trainee.kernels()))
            pipe.send(("ok", answer))
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent must hear of it and go on
            trainee = None
            torch.cuda.empty_cache()
            pipe.send(("failed", f"{type(error).__name__}: {error}"[:300]))


class Worker:
    """A worker, seen from the parent."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other,), daemon=True)
        self.process.start()
        self.held = None

    def ask(self, *command):
        self.pipe.send(command)

    def answer(self, seconds=60):
        if not self.pipe.poll(seconds):
            raise RuntimeError("no answer")
        kind, value = self.pipe.recv()
        if kind == "failed":
            self.held = None
            raise RuntimeError(value)
        return value

    def prepare(self, name):
        if self.held != name:
            self.ask("prepare", name)
            return True
        return False


# --- what the GPU says of itself -------------------------------------------------------------------------------------------------

class Watch(threading.Thread):
    """Samples NVML while something is counted."""

    def __init__(self, nvml, device):
        super().__init__(daemon=True)
        self.nvml, self.device, self.samples, self.span = nvml, device, [], None
        self.start()

    def run(self):
        nvml = self.nvml
        while True:
            time.sleep(0.1)
            span, now = self.span, time.monotonic()
            if span and span[0] <= now <= span[1]:
                use = nvml.nvmlDeviceGetUtilizationRates(self.device)
                watts = nvml.nvmlDeviceGetPowerUsage(self.device) / 1e3
                clock = nvml.nvmlDeviceGetClockInfo(self.device, nvml.NVML_CLOCK_SM)
                self.samples.append((use.gpu, use.memory, watts, clock))

    def gpm(self):
        nvml = self.nvml
        sample = nvml.nvmlGpmSampleAlloc()
        nvml.nvmlGpmSampleGet(self.device, sample)
        return sample

    def between(self, one, other):
        nvml = self.nvml
        metrics = nvml.c_nvmlGpmMetricsGet_t()
        metrics.version = nvml.NVML_GPM_METRICS_GET_VERSION
        metrics.numMetrics = len(GPM)
        metrics.sample1, metrics.sample2 = one, other
        for at, number in enumerate(GPM.values()):
            metrics.metrics[at].metricId = number
        nvml.nvmlGpmMetricsGet(metrics)
        found = {name: metrics.metrics[at].value for at, name in enumerate(GPM)}
        for sample in (one, other):
            nvml.nvmlGpmSampleFree(sample)
        return found

    def of(self, begin, end):
        """Waits through a span; what was seen in it."""
        self.samples, self.span = [], (begin, end)
        seen = {}
        try:
            time.sleep(max(0.0, begin - time.monotonic()))
            first = self.gpm()
            time.sleep(max(0.0, end - time.monotonic()))
            seen = self.between(first, self.gpm())
        except Exception as error:  # noqa: BLE001 - not every GPU has these counters
            seen["gpm_error"] = str(error)[:80]
            time.sleep(max(0.0, end - time.monotonic()))
        self.span = None
        if self.samples:
            count = len(self.samples)
            names = ("nvml_gpu", "nvml_memory", "watts", "sm_mhz")
            seen |= {name: sum(sample[at] for sample in self.samples) / count for at, name in enumerate(names)}
        return seen


def connect():
    import pynvml

    pynvml.nvmlInit()
    return Watch(pynvml, pynvml.nvmlDeviceGetHandleByIndex(0))


# --- what is measured ------------------------------------------------------------------------------------------------------------

def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def together(workers, names, watch):
    """Trains these configurations at the same time; what each did, and what the GPU said."""
    asked = [worker.prepare(name) for worker, name in zip(workers, names)]
    about = [worker.answer() if ask else None for worker, ask in zip(workers, asked)]
    for worker, name in zip(workers, names):
        worker.held = name
    begin = time.monotonic() + WARM_S
    for worker in workers[: len(names)]:
        worker.ask("run", begin, begin + COUNT_S, AFTER_S)
    seen = watch.of(begin, begin + COUNT_S)
    ran = [worker.answer() for worker in workers[: len(names)]]
    for run in ran:
        if len(run["times"]) < 3:
            raise RuntimeError("too few steps")
    return about, ran, seen


def row_of(run):
    times = run["times"]
    return {
        "step_ms": 1e3 * sum(times) / len(times),
        "p50_ms": 1e3 * quantile(times, 0.5),
        "p95_ms": 1e3 * quantile(times, 0.95),
        "steps": len(times),
    }


def solo(folder, deadline, watch, only):
    from zoo import ARCHITECTURES, PLAN

    worker, rows = Worker(), []
    # The anchors first and last, so that drift shows.
    # What has idle time is rare, and comes before what there is more of.
    rest = sorted((name for name in PLAN if name not in ANCHORS), key=lambda name: PLAN[name].duty == 1.0 and not PLAN[name].host_ms)
    order = only or ANCHORS + rest + ANCHORS
    for number, name in enumerate(order):
        left = deadline - time.monotonic()
        if left < 8 or not only and left < 8 * len(ANCHORS) and number < len(PLAN):
            print("left out, no time:", name, flush=True)
            continue
        configuration = PLAN[name]
        row = {"name": name, "architecture": configuration.architecture, "family": ARCHITECTURES[configuration.architecture].family,
               "batch": configuration.batch, "seq": ARCHITECTURES[configuration.architecture].seq, "precision": configuration.precision,
               "optimiser": ARCHITECTURES[configuration.architecture].optimiser, "duty": configuration.duty, "host_ms": configuration.host_ms,
               "anchor": int(name in ANCHORS)}
        try:
            worker.held = None
            about, ran, seen = together([worker], [name], watch)
            row |= about[0] | row_of(ran[0]) | {"allocated_mb": ran[0]["allocated_mb"], "reserved_mb": ran[0]["reserved_mb"]} | seen
            if number < len(PLAN):
                worker.ask("kernels")
                row |= worker.answer()
        except Exception as error:  # noqa: BLE001
            row["error"] = str(error)[:200]
            worker.process.kill()
            worker = Worker()
        rows.append(row)
        print(json.dumps(row), flush=True)
        write(folder / "solo.csv", rows)


def pairs(folder, deadline, watch, mode, listed):
    workers, rows = [Worker() for _ in range(3)], []
    for names in listed:
        if deadline - time.monotonic() < 9:
            print("left out, no time:", *names, flush=True)
            continue
        row = {"mode": mode} | {f"name{at + 1}": name for at, name in enumerate(names)}
        try:
            # Whoever is held already stays where it is.
            _, ran, seen = together(workers, names, watch)
            for at, run in enumerate(ran):
                row |= {f"{key}{at + 1}": value for key, value in row_of(run).items()}
            row |= seen
        except Exception as error:  # noqa: BLE001
            row["error"] = str(error)[:200]
            for worker in workers:
                worker.process.kill()
            workers = [Worker() for _ in range(3)]
        rows.append(row)
        print(json.dumps(row), flush=True)
        write(folder / f"pairs-{mode}.csv", rows)


def write(path, rows):
    """All rows so far: whatever happens, this much is kept. If nothing at all works, there is no use in going on."""
    if len(rows) == 3 and all("error" in row for row in rows):
        raise SystemExit(f"nothing works: {rows[0]['error']}")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})


def start_mps():
    """A daemon of our own, in folders of our own; workers find it by the environment."""
    folder = tempfile.mkdtemp()
    os.environ["CUDA_MPS_PIPE_DIRECTORY"] = os.environ["CUDA_MPS_LOG_DIRECTORY"] = folder
    subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)
    return folder


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("what", choices=["solo", "pairs"])
    options.add_argument("--out", type=pathlib.Path, required=True)
    options.add_argument("--seconds", type=float, default=480)
    options.add_argument("--mode", choices=["time-slicing", "mps"], default="time-slicing")
    options.add_argument("--only", nargs="*", default=[], help="solo: these configurations instead of the plan")
    options.add_argument("--pairs", type=pathlib.Path, help="two or three names a line")
    chosen = options.parse_args()
    deadline = time.monotonic() + chosen.seconds
    chosen.out.mkdir(parents=True, exist_ok=True)
    watch = connect()
    if chosen.what == "solo":
        return solo(chosen.out, deadline, watch, chosen.only)
    listed = [line.split() for line in chosen.pairs.read_text().splitlines() if line.strip()]
    if chosen.mode == "mps":
        start_mps()
    try:
        pairs(chosen.out, deadline, watch, chosen.mode, listed)
    finally:
        if chosen.mode == "mps":
            subprocess.run(["nvidia-cuda-mps-control"], input=b"quit\n", check=False)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    main()

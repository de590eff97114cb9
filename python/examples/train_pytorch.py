"""Trains a small network with PyTorch. It may be interrupted at any step and goes on as if nothing had been: the same losses, to the last digit.

    python train_pytorch.py --steps 200                                  # without a scheduler
    evenhand submit --steps 200 -- python train_pytorch.py --steps 200   # with one

What has to be saved for that: the model, the optimiser, and where chance is.
"""

import argparse
import json
import time
from pathlib import Path

import torch

import evenhand

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--steps", type=int, default=200)
options.add_argument("--seed", type=int, default=1)
options.add_argument("--step-s", type=float, default=0.0, help="the least time that a step takes")
options.add_argument("--losses", type=Path, help="where to write the losses in the end")
chosen = options.parse_args()

torch.manual_seed(chosen.seed)
torch.set_num_threads(1)
points = torch.randn(4096, 8)
truth = torch.sin(points @ torch.randn(8, 1)) + 0.05 * torch.randn(4096, 1)
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Dropout(0.1), torch.nn.Linear(32, 1))
optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []


def save(path):
    torch.save(
        {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "chance": torch.get_rng_state(), "losses": losses}, path
    )


def load(path):
    kept = torch.load(path)
    model.load_state_dict(kept["model"])
    optimiser.load_state_dict(kept["optimiser"])
    torch.set_rng_state(kept["chance"])
    losses.extend(kept["losses"])


run = evenhand.Run(save=save, load=load, every_s=30)
print(f"{'goes on' if run.resumed else 'begins'} at step {run.done}", flush=True)
for step in run.steps(chosen.steps):
    # The batch grows once, half way: a new regime, which the scheduler is told of.
    batch_size = 32 if step < chosen.steps // 2 else 128
    batch = torch.randint(len(points), (batch_size,))
    loss = torch.nn.functional.mse_loss(model(points[batch]), truth[batch])
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
    run.report(loss=loss.item(), batch_size=batch_size)
    time.sleep(chosen.step_s)
if chosen.losses:
    chosen.losses.write_text(json.dumps(losses))
print(f"loss {losses[0]:.3f} in the beginning, {losses[-1]:.3f} in the end", flush=True)

"""A job that only counts, and can be interrupted: it saves where it is, and goes on from there on whatever GPUs it is given next.

    evenhand submit --gpus 2 --steps 300 --steps-per-second 10 -- python3 examples/steps.py 300
"""

import os
import signal
import sys
import time

STEP_S = 0.1
SAVED_EVERY = 10

checkpoint = os.environ["EVENHAND_CHECKPOINT"]
steps = int(sys.argv[1])
done = 0
if os.environ.get("EVENHAND_RESUME") == "1":
    with open(checkpoint, encoding="utf-8") as file:
        done = int(file.read().split()[0])


def save():
    """Renaming is all or nothing: whenever the job is killed, there is a whole checkpoint."""
    with open(checkpoint + ".new", "w", encoding="utf-8") as file:
        file.write(str(done))
    os.replace(checkpoint + ".new", checkpoint)


def leave(_signal, _frame):
    """Somebody else's turn has come."""
    save()
    print(f"saved at step {done}", flush=True)
    sys.exit(75)


signal.signal(signal.SIGTERM, leave)
print(f"on GPUs {os.environ['CUDA_VISIBLE_DEVICES']} from step {done}", flush=True)
while done < steps:
    time.sleep(STEP_S)
    done += 1
    if done % SAVED_EVERY == 0:
        save()
print("finished", flush=True)

# %% [markdown]
# # Which policy for our work?
# Twenty jobs of three teams on eight GPUs, under six policies. Run as a script, or cell by cell in a notebook.

# %%
import argparse
from pathlib import Path

import evenhand
from evenhand.pictures import bars

ROOT = Path(__file__).resolve().parents[2]
options = argparse.ArgumentParser()
options.add_argument("--images", type=Path, default=Path("."))
images = options.parse_args().images

# %% [markdown]
# A row of figures for each policy: `pandas.DataFrame(rows)` is the table.

# %%
policies = ["fifo", "las", "tiresias", "equal-share", "srtf", "promise"]
rows = evenhand.compare(ROOT / "scenarios" / "twenty.csv", cluster="v100=8", gpus_per_node=4, policy=policies)
for row in sorted(rows, key=lambda row: row["jct_mean_s"]):
    print(f"{row['policy']:12} mean {row['jct_mean_s'] / 60:5.1f} min   worst {row['ftf_fluid_worst']:4.2f} times its fair time   {row['preemptions']:3} interruptions")

# %% [markdown]
# The mean says nothing of whoever was treated worst. How much longer than with a fair part of the cluster did that job take?

# %%
mean = bars({row["policy"]: row["jct_mean_s"] / 60 for row in rows}, "Mean time from submission to end", "min")
worst = bars({row["policy"]: row["ftf_fluid_worst"] for row in rows}, "The job treated worst: its time over its fair time", "times")
(images / "python-compare-mean.svg").write_text(mean)
(images / "python-compare-worst.svg").write_text(worst)

# %% [markdown]
# And would another policy have done better on what really happened? A ledger, run again.

# %%
kept = evenhand.simulate(
    ROOT / "scenarios" / "twenty.csv", cluster="v100=8", gpus_per_node=4, policy="fifo", out=images / "evenhand-out"
)
for row in evenhand.whatif(kept["ledger"], policy=["promise"]):
    print(f"what if {row['policy']}: mean {row['jct_mean_s'] / 60:.1f} min")

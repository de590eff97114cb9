# %% [markdown]
# # What is a V100 worth to whom?
# Three teams share K80s and V100s. One is hardly faster on a V100, one twice, one five times. Who gets them, and what does everybody gain by it?

# %%
import argparse
from pathlib import Path

import evenhand
from evenhand.pictures import lines

options = argparse.ArgumentParser()
options.add_argument("--images", type=Path, default=Path("."))
images = options.parse_args().images

speedups = {
    "ann": {"k80": 1, "v100": 1.2},
    "bob": {"k80": 1, "v100": 2.0},
    "cas": {"k80": 1, "v100": 5.0},
}

# %% [markdown]
# One division: shares of each GPU model, and the throughput that everybody has of them.

# %%
division = evenhand.share(speedups, {"k80": 6, "v100": 6}, "oef-cooperative")
for tenant, share, throughput in zip(division["tenants"], division["shares"], division["throughput"]):
    told = ", ".join(f"{gpus:.2f} {model}" for gpus, model in zip(share, division["models"]))
    print(f"{tenant}: {told}; as fast as {throughput:.1f} K80s")

# %% [markdown]
# More and more V100s: the throughput of all together, under policies that know of speeds and one that does not.

# %%
policies = ["oef-cooperative", "oef-noncooperative", "nash", "max-min"]
totals = {
    policy: [(v100, evenhand.share(speedups, {"k80": 6, "v100": v100}, policy)["total"]) for v100 in range(1, 13)]
    for policy in policies
}
for policy, row in totals.items():
    print(f"{policy:18} {row[0][1]:5.1f} with 1 V100, {row[-1][1]:5.1f} with 12")
picture = lines(totals, "Throughput of three teams, as V100s are added to six K80s", "V100s", "throughput, in K80s")
(images / "python-share.svg").write_text(picture)

//! Work like Shockwave's canonical trace (120 jobs for 32 GPUs): 19 of 20 jobs change their batch size as they train.
//!
//! Gang sizes, models, rate and durations (three log-normals, fitted by us to 14 quantiles) are those of the 120 jobs; their gaps have a coefficient of variation of 1.02,
//! so this one profile is plain Poisson, with neither batches nor hours. Half of the dynamic jobs change like Accordion,
//! half like gradient-noise scaling; the schedules are plausible ones of ours (see `generate/regimes.rs`), for every
//! model, where the original leaves Transformers alone. At the published rate the work is four times what 32 GPUs can
//! do: give `--gpus` and `--load` for anything but a closed run.

use super::{Arrivals, Batches, Durations, Outcomes, Profile, Tenants};

pub(super) const ENTRY: Profile = Profile {
    name: "shockwave-like",
    summary: "Like Shockwave's trace: 1 to 4 GPUs, an hour each, 95 % with changing batch sizes.",
    source: "Zheng et al., NSDI 2023; facts of the published trace, MIT",
    arrivals: Arrivals {
        jobs_per_hour: 85.5,
        hours: [1.0; 24],
        weekdays: [1.0; 7],
        day_sigma: 0.0,
        batches: Batches { single: 1.0, tail: 1.0, max: 2, gap_mean_s: 1.0 },
    },
    sizes: &[(1, 92.0), (2, 20.0), (4, 8.0)],
    durations: Durations {
        classes: &[(1, &[(0.604, 7.18, 1.13), (0.284, 8.10, 0.19), (0.112, 9.06, 0.24)])],
        min_s: 720.0,
        max_s: 18_000.0,
        clamped: false,
    },
    tenants: Tenants { count: 1, jobs_slope: 0.0, gpu_time_slope: 0.0 },
    outcomes: Outcomes { jobs: [1.0, 0.0, 0.0], gpu_time: [1.0, 0.0, 0.0] },
    dynamic: 0.95,
    families: &[
        ("LM", 36.0),
        ("Recommendation", 35.0),
        ("ResNet-18", 21.0),
        ("ResNet-50", 15.0),
        ("Transformer", 13.0),
    ],
};

//! The Venus cluster of SenseTime's Helios, 2020: half of the jobs want more than one GPU, up to 200.
//!
//! From the 125,303 GPU jobs of Venus without the first fortnight. Durations are cut at 48 hours in the published file
//! (1.9 % of jobs), so they are here. Three log-normals for each class of gangs, fitted by us with the cut-off jobs
//! counted as censored. The file names no tenants: 27 of them, Zipf as by default, are our choice. Batches: q and a
//! fitted so that batches told apart by size alone come out as in the file.

use super::{Arrivals, Batches, Durations, Outcomes, Profile, Tenants};

pub(super) const ENTRY: Profile = Profile {
    name: "helios",
    summary: "SenseTime Helios (Venus) 2020: gangs of 8 and more, days and nights, jobs cut at 48 hours.",
    source: "Hu et al., SC 2021; data CC BY 4.0",
    arrivals: Arrivals {
        jobs_per_hour: 29.0,
        hours: [
            0.90, 0.66, 0.60, 0.38, 0.27, 0.21, 0.19, 0.22, 0.37, 0.80, 1.30, 1.47, 1.16, 1.30, 1.56, 1.66,
            1.73, 1.73, 1.28, 1.31, 1.35, 1.36, 1.15, 1.04,
        ],
        weekdays: [1.02, 1.10, 1.27, 1.20, 0.95, 0.68, 0.77],
        day_sigma: 0.6,
        batches: Batches { single: 0.92, tail: 1.7, max: 713, gap_mean_s: 2.5 },
    },
    sizes: &[
        (1, 51.84),
        (2, 5.55),
        (3, 0.16),
        (4, 7.26),
        (5, 0.08),
        (6, 0.16),
        (7, 0.20),
        (8, 24.73),
        (16, 4.16),
        (24, 0.90),
        (32, 2.72),
        (40, 0.29),
        (48, 0.25),
        (56, 0.18),
        (64, 0.23),
        (72, 0.08),
        (80, 0.15),
        (88, 0.03),
        (96, 0.06),
        (104, 0.05),
        (112, 0.04),
        (120, 0.15),
        (128, 0.38),
        (136, 0.04),
        (144, 0.03),
        (152, 0.09),
        (160, 0.18),
        (200, 0.01),
    ],
    durations: Durations {
        classes: &[
            (1, &[(0.172, 4.91, 0.47), (0.752, 5.31, 2.31), (0.076, 10.41, 1.55)]),
            (2, &[(0.181, 4.88, 0.49), (0.643, 4.93, 2.21), (0.176, 10.90, 1.44)]),
            (8, &[(0.191, 5.10, 0.31), (0.702, 5.42, 2.20), (0.107, 11.04, 0.99)]),
            (9, &[(0.106, 1.94, 1.26), (0.629, 5.27, 1.37), (0.265, 10.42, 1.51)]),
            (64, &[(0.226, 1.57, 0.15), (0.695, 4.92, 1.71), (0.079, 10.56, 1.35)]),
        ],
        min_s: 1.0,
        max_s: 172_800.0,
        clamped: true,
    },
    tenants: Tenants { count: 27, jobs_slope: 1.5, gpu_time_slope: 1.5 },
    // Venus in the authors' summary of the four clusters.
    outcomes: Outcomes { jobs: [0.526, 0.272, 0.202], gpu_time: [0.516, 0.399, 0.085] },
    dynamic: 0.0,
    families: &[],
};

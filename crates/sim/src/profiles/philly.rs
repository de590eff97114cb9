//! Microsoft's Philly, 2017, as in the published CSV: mostly single GPUs, huge batches, a very long tail.
//!
//! Rate, hours, weekdays, gang sizes and outcomes are those of the 82,247 jobs of `philly.csv` (a subset of 112,956 GPU
//! jobs with fewer large gangs). Durations: three log-normals for each class of gangs, fitted by us to the same jobs
//! (to 21 quantiles for single GPUs, expectation maximisation for gangs), because one mixture for all would lose that
//! 8-GPU jobs run 16 times as long as 1-GPU jobs and hold half of the GPU-time. Batches: q and a fitted to batches of one tenant and size with gaps of at most a
//! minute; q is .85 instead of .84, since batches of the busiest tenant that follow closely read as one.

use super::{Arrivals, Batches, Durations, Outcomes, Profile, Tenants};

pub(super) const ENTRY: Profile = Profile {
    name: "philly",
    summary: "Microsoft Philly 2017: mostly single GPUs, huge batches, few long jobs that hold most GPU-time.",
    source: "Jeon et al., USENIX ATC 2019; data CC BY 4.0",
    arrivals: Arrivals {
        jobs_per_hour: 31.5,
        hours: [
            1.27, 0.99, 1.12, 1.10, 0.70, 1.15, 1.67, 2.09, 1.11, 1.01, 1.02, 0.87, 0.75, 0.71, 0.64, 0.65,
            0.88, 0.67, 0.80, 0.73, 1.02, 0.92, 1.13, 1.01,
        ],
        weekdays: [0.86, 1.07, 1.14, 1.29, 1.44, 0.61, 0.60],
        day_sigma: 0.5,
        batches: Batches { single: 0.85, tail: 0.90, max: 1063, gap_mean_s: 6.0 },
    },
    sizes: &[
        (1, 93.167),
        (2, 2.210),
        (4, 2.274),
        (8, 1.998),
        (12, 0.009),
        (16, 0.242),
        (24, 0.009),
        (32, 0.081),
        (64, 0.007),
        (128, 0.004),
    ],
    durations: Durations {
        classes: &[
            (1, &[(0.200, 4.20, 0.20), (0.385, 7.39, 2.28), (0.415, 7.44, 0.82)]),
            (2, &[(0.646, 2.90, 0.35), (0.182, 3.80, 1.45), (0.172, 11.40, 1.24)]),
            (4, &[(0.280, 5.33, 1.13), (0.550, 10.23, 1.67), (0.170, 11.67, 0.43)]),
            (8, &[(0.320, 6.23, 1.58), (0.247, 9.63, 0.78), (0.433, 12.20, 0.82)]),
            (9, &[(0.505, 6.32, 2.32), (0.495, 11.62, 0.99)]),
        ],
        min_s: 1.0,
        max_s: 4_628_226.0,
        clamped: false,
    },
    // 15 virtual clusters: the first has 50 % of jobs, the first five 93 %; by GPU-time 26 % and 74 %.
    tenants: Tenants { count: 15, jobs_slope: 1.7, gpu_time_slope: 1.0 },
    outcomes: Outcomes { jobs: [0.605, 0.090, 0.305], gpu_time: [0.32, 0.29, 0.39] },
    dynamic: 0.0,
    families: &[],
};

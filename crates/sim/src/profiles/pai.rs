//! Alibaba's PAI, 2020: many small jobs, some with hundreds of instances.
//!
//! From a sample of 60,105 tasks that ended well: fractions of a GPU are rounded up to one, `gpus` counts instances times
//! GPUs, durations are cut at 48 hours. Hours are counted from the start of the file, whose time of day is unknown; so
//! are weekdays, which are therefore all alike here. Durations as in `helios`, in three classes. Tenants and outcomes
//! were not published: the default ones.

use super::{Arrivals, Batches, Durations, Profile, Tenants, USUAL_OUTCOMES};

pub(super) const ENTRY: Profile = Profile {
    name: "pai",
    summary: "Alibaba PAI 2020: small jobs by the thousand, and gangs of 10 to 400 that hold most GPU-time.",
    source: "Weng et al., NSDI 2022; data CC BY 4.0",
    arrivals: Arrivals {
        jobs_per_hour: 39.3,
        hours: [
            0.63, 0.83, 0.92, 0.97, 1.21, 0.93, 0.84, 1.18, 1.29, 1.06, 1.00, 1.01, 1.11, 1.04, 1.14, 1.14,
            0.95, 0.93, 0.87, 0.69, 0.70, 1.49, 1.09, 0.99,
        ],
        weekdays: [1.0; 7],
        day_sigma: 0.3,
        batches: Batches { single: 0.91, tail: 1.7, max: 103, gap_mean_s: 3.0 },
    },
    // Sizes of at least 0.1 % of jobs, and the large ones that hold GPU-time.
    sizes: &[
        (1, 77.01),
        (2, 3.08),
        (3, 1.50),
        (4, 1.41),
        (5, 1.71),
        (6, 0.24),
        (8, 1.20),
        (10, 4.01),
        (12, 0.80),
        (15, 0.42),
        (16, 0.92),
        (20, 2.13),
        (25, 0.63),
        (28, 0.10),
        (30, 0.93),
        (32, 0.11),
        (40, 0.70),
        (50, 1.44),
        (60, 0.17),
        (64, 0.11),
        (80, 0.18),
        (100, 0.37),
        (150, 0.03),
        (200, 0.06),
        (400, 0.02),
    ],
    durations: Durations {
        classes: &[
            (1, &[(0.209, 3.63, 0.46), (0.380, 5.65, 0.90), (0.411, 8.38, 1.32)]),
            (2, &[(0.099, 4.17, 0.30), (0.415, 5.56, 1.13), (0.486, 8.31, 1.62)]),
            (9, &[(0.317, 5.52, 0.89), (0.263, 7.43, 0.68), (0.420, 9.02, 1.15)]),
        ],
        min_s: 1.0,
        max_s: 172_800.0,
        clamped: true,
    },
    tenants: Tenants { count: 50, jobs_slope: 1.5, gpu_time_slope: 1.5 },
    outcomes: USUAL_OUTCOMES,
    dynamic: 0.0,
    families: &[],
};

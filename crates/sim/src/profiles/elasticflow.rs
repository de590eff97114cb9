//! Microsoft's ITP clusters, 2021, as published with ElasticFlow: training jobs of ten minutes and more, powers of two.
//!
//! From 69,351 jobs of ten clusters; the rate is that of the busiest (0.33 to 12.8 jobs an hour). Durations of gangs: one
//! log-normal per size, as published; of single GPUs: three, fitted by us so that the quantiles over all sizes come out
//! as published. Hours are counted from the start of the file; weekdays, tenants and outcomes were not published.

use super::{Arrivals, Batches, Durations, Profile, Tenants, USUAL_OUTCOMES};

pub(super) const ENTRY: Profile = Profile {
    name: "elasticflow",
    summary: "Microsoft ITP 2021 (ElasticFlow): jobs of hours, nothing below ten minutes, powers of two.",
    source: "Gu et al., ASPLOS 2023; statistics of the artifact, Apache-2.0",
    arrivals: Arrivals {
        jobs_per_hour: 12.8,
        hours: [
            1.11, 1.16, 1.36, 1.26, 1.43, 1.08, 0.86, 0.95, 0.89, 0.92, 0.87, 0.87, 0.76, 0.90, 0.78, 0.71,
            0.77, 0.83, 0.88, 1.09, 0.91, 1.20, 1.23, 1.19,
        ],
        weekdays: [1.0; 7],
        day_sigma: 0.5,
        batches: Batches { single: 0.58, tail: 1.4, max: 242, gap_mean_s: 8.0 },
    },
    sizes: &[(1, 83.17), (2, 2.14), (4, 3.42), (8, 10.11), (16, 0.55), (32, 0.51), (64, 0.10)],
    durations: Durations {
        classes: &[
            (1, &[(0.262, 7.20, 0.675), (0.413, 9.40, 0.324), (0.325, 9.46, 0.996)]),
            (2, &[(1.0, 8.28, 1.15)]),
            (4, &[(1.0, 9.28, 1.62)]),
            (8, &[(1.0, 9.80, 1.53)]),
            (16, &[(1.0, 9.70, 1.98)]),
            (32, &[(1.0, 10.38, 1.81)]),
        ],
        min_s: 600.0,
        max_s: 1_573_360.0,
        clamped: false,
    },
    tenants: Tenants { count: 10, jobs_slope: 1.5, gpu_time_slope: 1.5 },
    outcomes: USUAL_OUTCOMES,
    dynamic: 0.0,
    families: &[],
};

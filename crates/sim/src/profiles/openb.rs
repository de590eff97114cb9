//! Alibaba's openb, 2023: pods that almost all want one GPU or a part of it.
//!
//! GPU pods of the default list. 44 % of the pods with one GPU ask for a fraction of it; a gang has whole GPUs here, so
//! they are rounded up. One mixture for all sizes: only 73 pods have more than one GPU. Hours are counted from the start
//! of the file; weekdays, tenants and outcomes were not published.

use super::{Arrivals, Batches, Durations, Profile, Tenants, USUAL_OUTCOMES};

pub(super) const ENTRY: Profile = Profile {
    name: "openb",
    summary: "Alibaba openb 2023: pods with one GPU, minutes long, and a few that stay for months.",
    source: "Weng et al., USENIX ATC 2023; data Apache-2.0",
    arrivals: Arrivals {
        jobs_per_hour: 10.3,
        hours: [
            1.52, 1.34, 1.07, 1.28, 1.25, 0.94, 0.86, 0.97, 0.71, 0.43, 0.65, 0.60, 0.45, 0.44, 0.40, 0.80,
            0.89, 1.25, 1.62, 1.37, 1.04, 1.27, 1.27, 1.58,
        ],
        weekdays: [1.0; 7],
        day_sigma: 0.5,
        batches: Batches { single: 0.95, tail: 2.0, max: 10, gap_mean_s: 4.0 },
    },
    sizes: &[(1, 98.94), (2, 0.23), (4, 0.21), (8, 0.62)],
    durations: Durations {
        classes: &[(1, &[(0.228, 4.72, 0.87), (0.730, 6.94, 1.54), (0.042, 10.08, 2.93)])],
        min_s: 1.0,
        max_s: 12_537_496.0,
        clamped: false,
    },
    tenants: Tenants { count: 20, jobs_slope: 1.5, gpu_time_slope: 1.5 },
    outcomes: USUAL_OUTCOMES,
    dynamic: 0.0,
    families: &[],
};

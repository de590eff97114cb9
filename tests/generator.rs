//! Generated work against what was published: every profile, 100,000 jobs from each of three seeds.
//!
//! The published numbers are written here once more, apart from the profiles, so that a profile that drifts is caught.
//! They come from the tables of durations, GPU demand and arrival patterns computed from the published traces; batches
//! of traces without tenants are told apart by size alone on both sides, with the numbers we measured in the same files.
//!
//! Tolerances lie somewhat above the worst that was seen in 24 runs of 3 seeds each (seeds 1 to 72), which is noted with
//! each. They contain two things: the misfit of the model (what a mixture of log-normals misses), and chance (one batch
//! of a thousand jobs in Philly is a hundredth of a trace).

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::TenantId;
use evenhand_sim::profiles::portrait::BatchFigures;
use evenhand_sim::profiles::{Arrivals, Plan, Portrait, Profile, Tenants, Wanted, find};

const JOBS: u64 = 100_000;
const SEEDS: [u64; 3] = [1, 2, 3];

/// What was published of a cluster.
struct Published {
    profile: &'static str,
    /// Seconds at p10, p25, p50, p75, p90 and p95.
    durations: [f64; 6],
    /// Part of jobs by gang size.
    sizes: &'static [(u32, f64)],
    /// Part of GPU-time by gang size.
    gpu_time: &'static [(u32, f64)],
    /// Mean batch, part of jobs in batches of 5 and more, of 20 and more.
    batches: [f64; 3],
    /// Whether the published file tells tenants apart.
    names_tenants: bool,
    hours: Option<[f64; 24]>,
    weekdays: Option<[f64; 7]>,
    /// Index of dispersion of hourly counts.
    dispersion: f64,
    jobs_per_hour: f64,
    /// Part of jobs of the first tenant and of the first five; of GPU-time of the first and of the first five.
    tenants: [f64; 4],
}

const PUBLISHED: &[Published] = &[
    Published {
        profile: "philly",
        durations: [61.0, 115.0, 1144.0, 2932.0, 11_265.0, 43_646.0],
        sizes: &[(1, 0.9317), (2, 0.0221), (4, 0.0227), (8, 0.0200), (16, 0.0024), (32, 0.0008)],
        gpu_time: &[(1, 0.18), (8, 0.48)],
        batches: [3.4, 0.67, 0.61],
        names_tenants: true,
        hours: Some([
            1.27, 0.99, 1.12, 1.10, 0.70, 1.15, 1.67, 2.09, 1.11, 1.01, 1.02, 0.87, 0.75, 0.71, 0.64, 0.65,
            0.88, 0.67, 0.80, 0.73, 1.02, 0.92, 1.13, 1.01,
        ]),
        weekdays: Some([0.86, 1.07, 1.14, 1.29, 1.44, 0.61, 0.60]),
        dispersion: 161.0,
        jobs_per_hour: 31.5,
        tenants: [0.50, 0.93, 0.26, 0.74],
    },
    Published {
        profile: "helios",
        durations: [18.0, 72.0, 204.0, 1285.0, 18_201.0, 58_054.0],
        sizes: &[(1, 0.5184), (2, 0.0555), (4, 0.0726), (8, 0.2473), (16, 0.0416), (32, 0.0272)],
        gpu_time: &[(1, 0.047), (8, 0.28)],
        batches: [1.59, 0.203, 0.076],
        names_tenants: false,
        hours: Some([
            0.90, 0.66, 0.60, 0.38, 0.27, 0.21, 0.19, 0.22, 0.37, 0.80, 1.30, 1.47, 1.16, 1.30, 1.56, 1.66,
            1.73, 1.73, 1.28, 1.31, 1.35, 1.36, 1.15, 1.04,
        ]),
        weekdays: Some([1.02, 1.10, 1.27, 1.20, 0.95, 0.68, 0.77]),
        dispersion: 38.9,
        jobs_per_hour: 29.0,
        tenants: ZIPF_27,
    },
    Published {
        profile: "pai",
        durations: [41.0, 131.0, 618.0, 3699.0, 12_201.0, 22_751.0],
        sizes: &[(1, 0.770), (2, 0.031), (4, 0.014), (8, 0.012), (10, 0.040), (20, 0.021), (50, 0.014)],
        gpu_time: &[(1, 0.082), (8, 0.034)],
        batches: [1.76, 0.26, 0.043],
        names_tenants: false,
        hours: Some([
            0.63, 0.83, 0.92, 0.97, 1.21, 0.93, 0.84, 1.18, 1.29, 1.06, 1.00, 1.01, 1.11, 1.04, 1.14, 1.14,
            0.95, 0.93, 0.87, 0.69, 0.70, 1.49, 1.09, 0.99,
        ]),
        weekdays: None,
        dispersion: 8.9,
        jobs_per_hour: 39.3,
        tenants: ZIPF_50,
    },
    Published {
        profile: "openb",
        durations: [67.0, 184.0, 655.0, 2302.0, 7387.0, 16_987.0],
        sizes: &[(1, 0.9894), (2, 0.0023), (4, 0.0021), (8, 0.0062)],
        // Not held: a few pods that stay for months hold most of it.
        gpu_time: &[],
        batches: [1.32, 0.050, 0.0],
        names_tenants: false,
        hours: Some([
            1.52, 1.34, 1.07, 1.28, 1.25, 0.94, 0.86, 0.97, 0.71, 0.43, 0.65, 0.60, 0.45, 0.44, 0.40, 0.80,
            0.89, 1.25, 1.62, 1.37, 1.04, 1.27, 1.27, 1.58,
        ]),
        weekdays: None,
        dispersion: 5.9,
        jobs_per_hour: 10.3,
        tenants: ZIPF_20,
    },
    Published {
        profile: "elasticflow",
        durations: [1342.0, 3815.0, 10_537.0, 16_319.0, 28_787.0, 57_514.0],
        sizes: &[(1, 0.8317), (2, 0.0214), (4, 0.0342), (8, 0.1011), (16, 0.0055), (32, 0.0051)],
        gpu_time: &[(1, 0.127), (8, 0.49)],
        batches: [2.9, 0.53, 0.28],
        names_tenants: true,
        hours: Some([
            1.11, 1.16, 1.36, 1.26, 1.43, 1.08, 0.86, 0.95, 0.89, 0.92, 0.87, 0.87, 0.76, 0.90, 0.78, 0.71,
            0.77, 0.83, 0.88, 1.09, 0.91, 1.20, 1.23, 1.19,
        ]),
        weekdays: None,
        // 9.7 to 62.7 by cluster: the middle on a logarithmic scale.
        dispersion: 24.7,
        jobs_per_hour: 12.8,
        tenants: ZIPF_10,
    },
    Published {
        profile: "shockwave-like",
        durations: [1244.0, 1942.0, 3164.0, 4735.0, 8575.0, 13_462.0],
        sizes: &[(1, 0.767), (2, 0.167), (4, 0.067)],
        gpu_time: &[],
        batches: [0.0; 3],
        names_tenants: false,
        hours: None,
        weekdays: None,
        dispersion: 1.0,
        jobs_per_hour: 85.5,
        tenants: [1.0; 4],
    },
];

/// Shares of the first and of the first five of so many tenants under Zipf with slope 1.5, the default.
const ZIPF_10: [f64; 4] = [0.501, 0.883, 0.501, 0.883];
const ZIPF_20: [f64; 4] = [0.461, 0.812, 0.461, 0.812];
const ZIPF_27: [f64; 4] = [0.449, 0.790, 0.449, 0.790];
const ZIPF_50: [f64; 4] = [0.430, 0.757, 0.430, 0.757];

/// How far a figure may be from the published one. "Seen" is the worst of 24 runs (see above), and of which profile.
mod tolerance {
    /// Ratio of durations at p10 to p75: of the published to the generated one, or the other way round. Seen: 1.16, philly.
    pub const DURATION: f64 = 1.25;
    /// The same at p90 and p95, where a few batches decide. Seen: 1.32,
    /// shockwave-like, whose p95 is one of 120 jobs.
    pub const DURATION_TAIL: f64 = 1.35;
    /// Part of jobs with a gang size. Seen: 0.012, philly.
    pub const SIZE: f64 = 0.03;
    /// Part of GPU-time held by a gang size. Seen: 0.117, philly.
    pub const GPU_TIME: f64 = 0.15;
    /// Ratio of mean batches. Seen: 1.05, philly.
    pub const BATCH_MEAN: f64 = 1.15;
    /// Part of jobs in large batches. Seen: 0.10, philly.
    pub const IN_BATCHES: f64 = 0.15;
    /// Least correlation of hours of the day, and of weekdays, with the published ones. Seen: 0.83,
    /// philly on weekdays.
    pub const CORRELATION: f64 = 0.8;
    /// Ratio of indices of dispersion: the order of magnitude. Seen: 1.47, philly.
    pub const DISPERSION: f64 = 2.0;
    /// Ratio of rates over the whole trace. Seen: 1.09, philly.
    pub const RATE: f64 = 1.15;
    /// Part of jobs or GPU-time of the first tenants. Seen: 0.124, philly.
    pub const TENANTS: f64 = 0.15;
}

/// Means over seeds of what was generated.
struct Generated {
    portraits: Vec<Portrait>,
    batches: Vec<BatchFigures>,
}

impl Generated {
    fn of(profile: &Profile, names_tenants: bool, seeds: &[u64]) -> Self {
        let mut generated = Self { portraits: Vec::new(), batches: Vec::new() };
        for seed in seeds {
            let wanted = Wanted { seed: *seed, jobs: Some(JOBS), ..Wanted::default() };
            let mut trace = Plan::new(profile, wanted).unwrap().trace();
            let portrait = Portrait::of(&trace).unwrap();
            if names_tenants {
                generated.batches.push(portrait.batches);
            } else {
                trace.jobs.iter_mut().for_each(|job| job.spec.tenant = TenantId(0));
                generated.batches.push(Portrait::of(&trace).unwrap().batches);
            }
            generated.portraits.push(portrait);
        }
        generated
    }

    fn mean(&self, figure: impl Fn(&Portrait) -> f64) -> f64 {
        self.portraits.iter().map(figure).sum::<f64>() / self.portraits.len() as f64
    }

    fn batch_mean(&self, figure: impl Fn(&BatchFigures) -> f64) -> f64 {
        self.batches.iter().map(figure).sum::<f64>() / self.batches.len() as f64
    }

    /// The largest `top` parts together.
    fn largest(&self, top: usize, parts: impl Fn(&Portrait) -> Vec<f64>) -> f64 {
        self.mean(|portrait| {
            let mut parts = parts(portrait);
            parts.sort_by(|a, b| b.total_cmp(a));
            parts.iter().take(top).sum()
        })
    }
}

/// One comparison: aspect, what exactly, published, generated, whether it is near enough.
struct Held(&'static str, String, f64, f64, bool);

fn ratio(aspect: &'static str, what: &str, published: f64, generated: f64, most: f64) -> Held {
    let ratio = generated / published;
    Held(aspect, what.into(), published, generated, ratio <= most && ratio >= 1.0 / most)
}

fn distance(aspect: &'static str, what: &str, published: f64, generated: f64, most: f64) -> Held {
    Held(aspect, what.into(), published, generated, (published - generated).abs() <= most)
}

/// Everything that can be compared.
fn compare(published: &Published, generated: &Generated) -> Vec<Held> {
    let mut held = Vec::new();
    let quantiles = |portrait: &Portrait| {
        let d = portrait.duration_s;
        [d.p10, d.p25, d.p50, d.p75, d.p90, d.p95]
    };
    for (at, name) in ["p10", "p25", "p50", "p75", "p90", "p95"].into_iter().enumerate() {
        let found = generated.mean(|portrait| quantiles(portrait)[at].ln()).exp();
        let most = if at < 4 { tolerance::DURATION } else { tolerance::DURATION_TAIL };
        held.push(ratio("duration", name, published.durations[at], found, most));
    }
    let size = |portrait: &Portrait, gpus: u32| portrait.sizes.iter().find(|size| size.gpus == gpus).cloned();
    for (gpus, part) in published.sizes {
        let found = generated.mean(|portrait| size(portrait, *gpus).map_or(0.0, |size| size.jobs_fraction));
        held.push(distance("size", &format!("{gpus} GPUs"), *part, found, tolerance::SIZE));
    }
    for (gpus, part) in published.gpu_time {
        let found =
            generated.mean(|portrait| size(portrait, *gpus).map_or(0.0, |size| size.gpu_time_fraction));
        held.push(distance("GPU-time", &format!("{gpus} GPUs"), *part, found, tolerance::GPU_TIME));
    }
    let [mean, in_5, in_20] = published.batches;
    if mean > 0.0 {
        let found = generated.batch_mean(|batches| batches.mean);
        held.push(ratio("batch", "mean", mean, found, tolerance::BATCH_MEAN));
        let found = generated.batch_mean(|batches| batches.jobs_in_5_fraction);
        held.push(distance("batch", "jobs in 5+", in_5, found, tolerance::IN_BATCHES));
        let found = generated.batch_mean(|batches| batches.jobs_in_20_fraction);
        held.push(distance("batch", "jobs in 20+", in_20, found, tolerance::IN_BATCHES));
    }
    let summed = |counts: fn(&Portrait) -> Vec<u64>| {
        let mut sums = vec![0.0; counts(&generated.portraits[0]).len()];
        for portrait in &generated.portraits {
            sums.iter_mut().zip(counts(portrait)).for_each(|(sum, count)| *sum += count as f64);
        }
        sums
    };
    for (aspect, expected, found) in [
        ("hours", published.hours.map(|hours| hours.to_vec()), summed(|p| p.arrivals.hours.to_vec())),
        ("weekdays", published.weekdays.map(|days| days.to_vec()), summed(|p| p.arrivals.weekdays.to_vec())),
    ] {
        if let Some(expected) = expected {
            let found = correlation(&expected, &found);
            held.push(Held(aspect, "correlation".into(), 1.0, found, found >= tolerance::CORRELATION));
        }
    }
    let found = generated.mean(|portrait| portrait.arrivals.dispersion_hourly);
    held.push(ratio("dispersion", "hourly", published.dispersion, found, tolerance::DISPERSION));
    let found = generated.mean(|portrait| portrait.arrivals.jobs_per_hour);
    held.push(ratio("rate", "jobs/h", published.jobs_per_hour, found, tolerance::RATE));
    let jobs = |p: &Portrait| p.tenants.iter().map(|tenant| tenant.jobs_fraction).collect::<Vec<_>>();
    let times = |p: &Portrait| p.tenants.iter().map(|tenant| tenant.gpu_time_fraction).collect::<Vec<_>>();
    for (at, (what, found)) in [
        ("jobs of the first", generated.largest(1, jobs)),
        ("jobs of the first 5", generated.largest(5, jobs)),
        ("GPU-time of the first", generated.largest(1, times)),
        ("GPU-time of the first 5", generated.largest(5, times)),
    ]
    .into_iter()
    .enumerate()
    {
        held.push(distance("tenants", what, published.tenants[at], found, tolerance::TENANTS));
    }
    held
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let product: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    let square = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    product / (square(a, mean_a) * square(b, mean_b)).sqrt()
}

fn published(name: &str) -> &'static Published {
    PUBLISHED.iter().find(|published| published.profile == name).unwrap()
}

#[test]
fn every_profile_looks_like_what_was_published() {
    let mut lines = Vec::new();
    let mut far = 0;
    for profile in evenhand_sim::profiles::PROFILES {
        let published = published(profile.name);
        let generated = Generated::of(profile, published.names_tenants, &SEEDS);
        for Held(aspect, what, expected, found, near) in compare(published, &generated) {
            let mark = if near { "" } else { "  <-- too far" };
            far += usize::from(!near);
            lines.push(format!(
                "{:15} {aspect:10} {what:24} {expected:12.3} {found:12.3}{mark}",
                profile.name
            ));
        }
    }
    // EVENHAND_SHOW_FIGURES=1 shows them all, for the documentation.
    let show = std::env::var_os("EVENHAND_SHOW_FIGURES").is_some();
    assert!(far == 0 && !show, "profile, aspect, published, generated:\n{}", lines.join("\n"));
}

/// Which aspects a profile misses.
fn missed(profile: &Profile) -> Vec<&'static str> {
    let published = published(profile.name);
    let held = compare(published, &Generated::of(profile, published.names_tenants, &SEEDS));
    let mut missed: Vec<_> = held.into_iter().filter(|held| !held.4).map(|held| held.0).collect();
    missed.dedup();
    missed
}

#[test]
fn a_wrong_profile_is_caught() {
    let philly = find("philly").unwrap();
    let helios = find("helios").unwrap();
    let arrivals = |change: fn(&mut Arrivals)| {
        let mut changed = helios.clone();
        change(&mut changed.arrivals);
        changed
    };
    let poisson = |arrivals: &mut Arrivals| (arrivals.batches.single, arrivals.day_sigma) = (1.0, 0.0);
    let flat = Tenants { count: 15, jobs_slope: 0.0, gpu_time_slope: 0.0 };
    // The control: the right profiles miss nothing, so what is missed below is missed for its reason.
    assert_eq!((missed(philly), missed(helios)), (vec![], vec![]));
    for (aspect, profile) in [
        ("duration", Profile { durations: helios.durations.clone(), ..philly.clone() }),
        ("size", Profile { sizes: helios.sizes, ..philly.clone() }),
        ("GPU-time", Profile { sizes: &[(1, 0.8), (8, 0.2)], ..philly.clone() }),
        ("tenants", Profile { tenants: flat, ..philly.clone() }),
        ("batch", arrivals(|arrivals| arrivals.batches.tail = 0.9)),
        ("dispersion", arrivals(poisson)),
        ("hours", arrivals(|arrivals| arrivals.hours = [1.0; 24])),
        ("hours", arrivals(|arrivals| arrivals.hours.rotate_left(6))),
        ("weekdays", arrivals(|arrivals| arrivals.weekdays.reverse())),
        ("rate", arrivals(|arrivals| arrivals.jobs_per_hour *= 2.0)),
    ] {
        let missed = missed(&profile);
        assert!(missed.contains(&aspect), "{}: {aspect} should be missed, not {missed:?}", profile.name);
    }
}

#[test]
fn a_seed_means_the_same_jobs() {
    let text = |seed: u64| {
        let wanted = Wanted { seed, jobs: Some(1000), ..Wanted::default() };
        let plan = Plan::new(find("shockwave-like").unwrap(), wanted).unwrap();
        let mut text = Vec::new();
        plan.trace().write_native(&plan.remarks(), &mut text).unwrap();
        (text, format!("{:?}", plan.jobs().map(|job| job.spec.regimes).collect::<Vec<_>>()))
    };
    assert_eq!(text(1), text(1));
    assert_ne!(text(1).0, text(2).0);
}

#[test]
fn outcomes_and_regimes_come_as_often_as_they_should() {
    let portrait = |name: &str| {
        let wanted = Wanted { seed: 1, jobs: Some(JOBS), ..Wanted::default() };
        Portrait::of(&Plan::new(find(name).unwrap(), wanted).unwrap().trace()).unwrap()
    };
    // 95 % of 100,000 jobs, +/- 0.07 % (one standard deviation).
    assert!((portrait("shockwave-like").dynamic_fraction - 0.95).abs() < 0.003);
    let philly = portrait("philly");
    assert!(philly.dynamic_fraction < 1e-9);
    for (outcome, jobs, gpu_time) in
        [("finished", 0.605, 0.32), ("cancelled", 0.09, 0.29), ("failed", 0.305, 0.39)]
    {
        let found = philly.outcomes.iter().find(|share| share.outcome == outcome).unwrap();
        assert!((found.jobs_fraction - jobs).abs() < 0.02, "{outcome}: {}", found.jobs_fraction);
        assert!((found.gpu_time_fraction - gpu_time).abs() < 0.06, "{outcome}: {}", found.gpu_time_fraction);
    }
}

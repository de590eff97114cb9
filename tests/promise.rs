//! What `promise` promises: nobody is later than its fair share would have made it.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{Choice, GpuCount, Parameters, Policy, Random, Span, Time};
use evenhand_fairness::{FluidJob, fluid_finishes};
use evenhand_tests::{Stage, policy};

const ROUND_S: f64 = 60.0;

fn with_tolerance(tolerance: &str) -> Box<dyn Policy> {
    let set = [("tolerance".to_owned(), tolerance.to_owned())].into();
    evenhand_policies::make(&Choice { name: "promise".into(), parameters: Parameters(set) }).unwrap()
}

/// Jobs on one GPU each: when they come and how long they take, in seconds.
fn jobs(random: &mut Random) -> (u32, Vec<(u64, u64)>) {
    let gpus = 1 + random.below(4) as u32;
    let count = 2 + random.below(9);
    let apart_s = 1 + random.below(600);
    let longest_s = 120 + random.below(1800);
    let mut at = 0;
    let job = |random: &mut Random, at: &mut u64| {
        *at += random.below(apart_s);
        (*at, 30 + random.below(longest_s))
    };
    (gpus, (0..count).map(|_| job(random, &mut at)).collect())
}

/// When each job ends, and when it would under fluid fair sharing.
fn play(gpus: u32, jobs: &[(u64, u64)], policy: Box<dyn Policy>) -> Vec<(f64, f64, f64)> {
    let mut stage = Stage::new(&format!("v100={gpus}"), 4).tenant("ann");
    for (at, duration_s) in jobs {
        stage = stage.job(*at, 1, *duration_s);
    }
    let (ends, _) = stage.play(policy);
    let fluid = jobs.iter().map(|(at, duration_s)| FluidJob {
        arrival: Time::from_seconds(*at as f64),
        alone: Span::from_secs(*duration_s),
        gang: GpuCount(1),
    });
    let fair = fluid_finishes(&fluid.collect::<Vec<_>>(), GpuCount(gpus));
    let row = |(job, fair): (usize, &Time)| (jobs[job].0 as f64, ends[&(job as u64)], fair.seconds());
    fair.iter().enumerate().map(row).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn nobody_is_later_than_under_fair_sharing_and_the_mean_is_never_worse() {
    let (mut worst, mut behind) = ((0.0, 0), (0.0, 0));
    for seed in 0..10_000 {
        let (gpus, jobs) = jobs(&mut Random::new(seed));
        let rows = play(gpus, &jobs, with_tolerance("0"));
        let late_s = rows.iter().map(|(_, end, fair)| end - fair).fold(0.0, f64::max);
        if late_s > worst.0 {
            worst = (late_s, seed);
        }
        let (ours, theirs) = (mean(rows.iter().map(|row| row.1)), mean(rows.iter().map(|row| row.2)));
        if ours - theirs > behind.0 {
            behind = (ours - theirs, seed);
        }
    }
    assert!(worst.0 <= ROUND_S && behind.0 <= 0.0, "late {worst:?}, mean behind {behind:?}");
}

#[test]
fn with_the_usual_tolerance_nobody_is_later_than_that() {
    for seed in 0..1_000 {
        let (gpus, jobs) = jobs(&mut Random::new(seed));
        for (arrival, end, fair) in play(gpus, &jobs, policy("promise")) {
            let most = 1.1 * (fair - arrival) + ROUND_S;
            assert!(end - arrival <= most, "seed {seed}: {} s against {most} s", end - arrival);
        }
    }
}

//! Policies that plan ahead: what they foresee, and what comes.

use evenhand_core::{Ahead, Choice, Command, JobId, LeaseId, NodeId, PerModel, Random, Rate, StopReason};
use evenhand_sim::{Run, Scenario, Setup, simulate};
use evenhand_tests::{Stage, policy};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const PLANNERS: [&str; 2] = ["shockwave", "shockwave-plus"];

#[test]
fn a_job_that_is_alone_is_foreseen_to_the_second() {
    // Two rounds of six minutes and a bit; one of a day, beyond every window.
    for duration_s in [800, 86_400] {
        let stage = Stage::new("v100=2", 2).tenant("ann").job(0, 2, duration_s);
        for name in PLANNERS {
            let (ends, records) = stage.play(policy(name));
            let windows = records.iter().filter_map(|record| record.decision.as_ref()?.ahead.clone());
            let windows: Vec<Arc<Ahead>> = windows.collect();
            let first = windows[0].of(JobId(0)).unwrap();
            assert!((first.finish.seconds() - ends[&0]).abs() < 1.0, "{name}: {first:?}, {ends:?}");
            assert_eq!(first.turns[0].first, 0);
            let last = windows.last().unwrap().of(JobId(0)).unwrap();
            assert!((last.finish.seconds() - ends[&0]).abs() < 1.0, "{name}: {last:?}, {ends:?}");
            // Nobody else wants the GPUs: one more would be worth nothing.
            assert!(windows.iter().all(|ahead| ahead.prices.values().all(|price| price.abs() < 1e-12)));
        }
    }
}

#[test]
fn a_job_that_waits_for_another_is_foreseen_after_it() {
    let stage = Stage::new("v100=1", 1).tenant("ann").job(0, 1, 3600).job(0, 1, 3600);
    for name in PLANNERS {
        let (ends, records) = stage.play(policy(name));
        let mut windows = records.iter().filter_map(|record| record.decision.as_ref()?.ahead.as_ref());
        let first = windows.next().unwrap();
        assert_eq!(first.jobs.len(), 2, "{name}");
        let turns: u32 = first.jobs.iter().flat_map(|job| &job.turns).map(|turns| turns.count).sum();
        assert_eq!(turns, first.rounds, "{name}: the GPU is never idle");
        for job in &first.jobs {
            let (end, foreseen) = (ends[&job.job.0], job.finish.seconds());
            // Who of two equals goes first may be planned anew, but what is foreseen is off by no more than a window.
            let window_s = f64::from(first.rounds) * first.round.seconds();
            assert!((foreseen - end).abs() <= window_s, "{name}: {foreseen} against {end}");
        }
        assert!(first.prices.0[0] >= 0.0 && first.gain > 0.0);
    }
}

#[test]
fn whoever_is_moved_to_another_model_goes_there() {
    // Two nodes, each of a model of its own; jobs that are slower on the second one, some more than others.
    let mut random = Random::new(6);
    let mut stage = Stage::new("v100=4,k80=4", 4).tenant("ann");
    for at in 0..40 {
        let mut speeds = PerModel::all(Rate::ONE);
        speeds.0[1] = Rate::new(random.between(0.2, 0.9)).unwrap();
        let (gpus, duration_s) = (1 + random.below(2) as u32, 300 + random.below(3000));
        stage = stage.job_with(120 * at, gpus, duration_s, |spec| spec.speeds = Some(speeds));
    }
    for name in PLANNERS {
        let (_, records) = stage.play(policy(name));
        let mut seats: BTreeMap<LeaseId, (JobId, NodeId)> = BTreeMap::new();
        let mut left: BTreeMap<JobId, NodeId> = BTreeMap::new();
        let mut moves = 0;
        for command in records.iter().flat_map(|record| &record.commands) {
            match command {
                Command::Start(lease) => {
                    let node = lease.gpus.seats()[0].node;
                    let before = left.remove(&lease.job);
                    assert_ne!(before, Some(node), "{name}: {:?} was stopped for nothing", lease.job);
                    moves += usize::from(before.is_some());
                    seats.insert(lease.id, (lease.job, node));
                }
                Command::Stop { lease, reason: StopReason::Moved, .. } => {
                    left.extend(seats.get(lease).copied());
                }
                _ => {}
            }
        }
        assert!(moves > 0, "{name}: nobody was moved");
    }
}

#[test]
fn on_made_up_traces_ours_is_better_than_the_published_one_in_every_figure_most_of_the_time() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/shockwave/family.toml");
    let scenario = Scenario::read(&path).unwrap();
    let cluster = scenario.cluster().unwrap();
    let better = (1..=5).filter(|seed| {
        let work = Arc::new(scenario.workload(&cluster, *seed).unwrap());
        let figures = |name: &str| {
            let setup = Setup { policy: Choice::named(name), seed: *seed, ..scenario.base().unwrap() };
            let how = Run { ledger: None, ledger_path: None, progress: &|_| {} };
            let finished = simulate(&cluster, &work, &setup, how).unwrap();
            let found = finished.report.summary(&finished.costs);
            [found.makespan_s, found.jct_mean_s, found.ftf_worst]
        };
        let (ours, theirs) = (figures("shockwave-plus"), figures("shockwave"));
        ours.iter().zip(theirs).all(|(ours, theirs)| *ours <= theirs)
    });
    assert!(better.count() >= 3);
}

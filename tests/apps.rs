//! Apps in the simulated world: who is held, released and retired when, and when an app is over.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{Backend, Choice, Command, Event, Goal, JobId, Outcome, Record, Span, Time, Work};
use evenhand_engine::run;
use evenhand_sim::apps::{Apps, rehearse};
use evenhand_sim::{ClusterSpec, Faults, Setup, World, engine_for, tuners};
use evenhand_tests::{Stage, engine_with, policy};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How each job ended, and when in seconds.
fn outcomes(records: &[Record]) -> BTreeMap<u64, (Outcome, f64)> {
    let ends = records.iter().flat_map(|record| {
        record.commands.iter().filter_map(|command| match command {
            Command::End { job, outcome, .. } => Some((job.0, (*outcome, record.now.seconds()))),
            _ => None,
        })
    });
    ends.collect()
}

fn closed(records: &[Record]) -> Vec<(f64, Option<JobId>)> {
    let closings = records.iter().filter_map(|record| match record.event {
        Event::AppClosed { best, .. } => Some((record.now.seconds(), best)),
        _ => None,
    });
    closings.collect()
}

/// Nine trials, the better the later: they would come to 1.8, 1.6, ..., 0.2. Nobody waits for GPUs.
fn nine(tuner: &str) -> Stage {
    let stage = Stage::new("v100=9", 9).tenant("ann");
    let stage = stage.app_with(|app| app.tuner = tuners::parse(tuner).unwrap());
    (0..9).fold(stage, |stage, at| stage.trial(0, 1.8 - f64::from(at) / 5.0, None))
}

fn ended(stage: &Stage) -> (Vec<(Outcome, f64)>, Vec<Record>) {
    let (_, records) = stage.play(policy("fifo"));
    (outcomes(&records).into_values().collect(), records)
}

const FINISHED: Outcome = Outcome::Finished;
const RETIRED: Outcome = Outcome::Retired;

#[test]
fn without_a_tuner_every_trial_runs_to_its_end_and_the_best_is_told() {
    let (ends, records) = ended(&nine("none"));
    assert_eq!(ends, vec![(FINISHED, 600.0); 9]);
    assert_eq!(closed(&records), [(600.0, Some(JobId(8)))]);
    let reports = |record: &&Record| matches!(record.event, Event::Progress { loss: Some(_), .. });
    assert_eq!(records.iter().filter(reports).count(), 9 * 9);
}

#[test]
fn halving_keeps_a_third_at_every_rung_and_its_winner_is_the_best() {
    let (ends, records) = ended(&nine("successive-halving"));
    // Rungs at 1 and 3 of 10 epochs.
    assert_eq!(ends[..6], [(RETIRED, 60.0); 6]);
    assert_eq!(ends[6..8], [(RETIRED, 180.0); 2]);
    assert_eq!(ends[8], (FINISHED, 600.0));
    assert_eq!(closed(&records), [(600.0, Some(JobId(8)))]);
}

#[test]
fn a_rung_waits_for_everybody_and_those_who_wait_hold_no_gpu() {
    let stage = Stage::new("v100=1", 1).tenant("ann");
    let stage = stage.app_with(|app| app.tuner = tuners::parse("successive-halving eta=2").unwrap());
    let stage = (0..4).fold(stage, |stage, at| stage.trial(0, 1.0 - f64::from(at) / 10.0, None));
    let (ends, records) = ended(&stage);
    // One after the other to epoch 2; the two best on to epoch 5; the best to its end.
    assert_eq!(ends, [(RETIRED, 480.0), (RETIRED, 480.0), (RETIRED, 840.0), (FINISHED, 1140.0)]);
    let held = |record: &&Record| matches!(record.event, Event::Held(_));
    assert_eq!(records.iter().filter(held).count(), 3 + 1);
}

#[test]
fn hyperband_runs_some_brackets_to_the_end_at_once() {
    let (ends, records) = ended(&nine("hyperband"));
    // Of 10 epochs there are 2 rungs at most: brackets of 5, 2 and 2 trials with 2, 1 and 0 rungs.
    assert_eq!(ends[..4], [(RETIRED, 60.0); 4]);
    assert_eq!(ends[4..6], [(FINISHED, 600.0), (RETIRED, 180.0)]);
    assert_eq!(ends[6..], [(FINISHED, 600.0); 3]);
    assert_eq!(closed(&records), [(600.0, Some(JobId(8)))]);
}

#[test]
fn the_median_rule_retires_the_worse_half_once_it_may() {
    let (ends, records) = ended(&nine("median-stopping"));
    assert_eq!(ends[..4], [(RETIRED, 300.0); 4]);
    // Those that were retired have no average that goes on: the middle moves up.
    assert_eq!(ends[4..6], [(RETIRED, 420.0); 2]);
    assert_eq!(ends[6..], [(FINISHED, 600.0); 3]);
    assert_eq!(closed(&records), [(600.0, Some(JobId(8)))]);
}

#[test]
fn hyperdrive_retires_whoever_cannot_reach_the_target() {
    let stage = Stage::new("v100=4", 4).tenant("ann");
    let stage = stage.app_with(|app| app.tuner = tuners::parse("hyperdrive").unwrap());
    let stage = [1.0, 0.9, 0.5, 0.4].iter().fold(stage, |stage, floor| stage.trial(0, *floor, Some(0.7)));
    let (ends, records) = ended(&stage);
    // It looks every five epochs. The others reach 0.7 after 6.5 and after 4.3 of them.
    assert_eq!(ends, [(RETIRED, 300.0), (RETIRED, 300.0), (FINISHED, 390.0), (FINISHED, 260.0)]);
    assert_eq!(closed(&records), [(390.0, Some(JobId(2)))]);
}

#[test]
fn a_search_for_one_good_model_is_over_with_the_first() {
    let stage = Stage::new("v100=2", 2).tenant("ann").app_with(|app| app.app.goal = Goal::FirstToTarget);
    let stage = [0.9, 0.5, 0.4].iter().fold(stage, |stage, floor| stage.trial(30, *floor, Some(0.8)));
    // A trial that comes when all is over is not submitted any more.
    let (ends, records) = ended(&stage.trial(5000, 0.1, Some(0.8)));
    assert_eq!(ends, [(RETIRED, 270.0), (FINISHED, 270.0), (RETIRED, 270.0)]);
    assert_eq!(closed(&records), [(270.0, Some(JobId(1)))]);
    let opened = records.iter().position(|record| matches!(record.event, Event::AppOpened(_))).unwrap();
    assert_eq!(records[opened].now, Time::from_seconds(30.0));
    let Event::Submitted(spec) = &records[opened + 1].event else { panic!("its first job comes next") };
    assert_eq!((spec.work, spec.target.unwrap().get()), (Some(Work::from_steps(600.0)), 0.8));
}

#[test]
fn nobody_waits_for_a_trial_that_is_gone() {
    let stage = Stage::new("v100=9", 9).tenant("ann");
    let stage = stage.app_with(|app| app.tuner = Choice::named("successive-halving"));
    let stage = (0..9).fold(stage, |stage, at| stage.trial(0, 1.0 - f64::from(at) / 10.0, None));
    // The best is given up before its first report; the second best crashes for ever.
    let stage = stage.edit(|job| job.cancel = Some(Time::from_seconds(50.0)));
    let mut world = stage.world().with_crash(JobId(7), Span::from_secs(10));
    let abilities = world.abilities();
    let mut engine = engine_with(policy("fifo"), stage.engine.clone(), abilities);
    let (_, records) = stage.play_in(&mut engine, &mut world);
    let ends: Vec<_> = outcomes(&records).into_values().map(|end| end.0).collect();
    assert_eq!((ends[8], ends[7]), (Outcome::Cancelled, Outcome::Failed));
    assert_eq!(ends[6], FINISHED);
    assert_eq!(closed(&records)[0].1, Some(JobId(6)));
}

#[test]
fn a_trial_that_reports_an_epoch_again_after_a_crash_is_not_judged_again() {
    let tuned = |tuner: &str| {
        let stage = Stage::new("v100=9", 9).tenant("ann");
        let stage = stage.app_with(|app| app.tuner = Choice::named(tuner));
        let stage = (0..9).fold(stage, |stage, at| stage.trial(0, 1.0 - f64::from(at) / 10.0, None));
        stage.edit(|job| Arc::make_mut(&mut job.truth).restart.interval = Span::from_secs(250))
    };
    for entry in tuners::TUNERS {
        let stage = tuned(entry.name);
        let mut world = stage.world().with_crash(JobId(8), Span::from_secs(400));
        let abilities = world.abilities();
        let mut engine = engine_with(policy("fifo"), stage.engine.clone(), abilities);
        let (_, records) = stage.play_in(&mut engine, &mut world);
        let ends = outcomes(&records);
        assert_eq!(ends[&8].0, FINISHED, "{}", entry.name);
        assert_eq!(closed(&records)[0].1, Some(JobId(8)), "{}", entry.name);
    }
}

/// GPU-hours that apps took under a policy, against what they were expected to take.
fn taken_and_expected(policy: &str, apps: &Apps, gpus: u32, seed: u64) -> (f64, f64) {
    let cluster = ClusterSpec::parse(&format!("v100={gpus}"), Some(4), Some(8)).unwrap();
    let workload = Arc::new(apps.generate(&cluster, seed));
    let done = rehearse(&workload, seed);
    let expected = workload
        .jobs
        .iter()
        .map(|job| done[&job.truth.id].steps() * f64::from(job.truth.gpus.min.0) / 3600.0);
    let setup = Setup { policy: Choice::named(policy), seed, ..Setup::default() };
    let mut world = World::new(cluster.models, &cluster.nodes, workload.clone(), Faults::default(), seed);
    let mut engine = engine_for(&setup.header(world.abilities(), "simulated")).unwrap();
    let mut attained = 0.0;
    run(&mut engine, &mut world, &mut |record| {
        for command in &record.commands {
            if let Command::End { attained: own, .. } = command {
                attained += own.hours();
            }
        }
        Ok(())
    })
    .unwrap();
    (attained, expected.sum())
}

#[test]
fn the_load_in_a_cluster_is_near_the_one_asked_for() {
    for (apps, gpus) in [(40, 50), (200, 256)] {
        let apps = Apps { apps, ..Apps::default() };
        let pairs: Vec<_> = (1..=3).map(|seed| taken_and_expected("las", &apps, gpus, seed)).collect();
        let ratios: Vec<f64> = pairs.iter().map(|(taken, expected)| taken / expected).collect();
        // Seen: 0.91 to 1.02 on 50 GPUs, 0.96 to 1.03 on 256.
        assert!(ratios.iter().all(|ratio| (ratio - 1.0).abs() < 0.2), "{ratios:?}");
        assert!((ratios.iter().sum::<f64>() / 3.0 - 1.0).abs() < 0.1, "{ratios:?}");
    }
}

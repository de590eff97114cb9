//! Jobs whose batch size, and with it their speed, changes while they train: what a world reveals, and when.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    Command, Event, JobId, JobSpec, Ratio, Regime, RegimeSpec, Restart, Span, Tenant, TenantId, Time, Work,
};
use evenhand_engine::Engine;
use evenhand_sim::traces::{Sides, Throughputs, read};
use evenhand_sim::{ClusterSpec, Faults, Scenario, Setup, SimJob, Workload, World, engine_for};
use std::sync::Arc;

use evenhand_core::Backend;

const TABLE: &str = r#"{"v100":{"('LM (batch size 10)', 1)":{"null":100.0},"('LM (batch size 20)', 1)":{"null":80.0},
    "('LM (batch size 40)', 1)":{"null":60.0},"('LM (batch size 80)', 1)":{"null":50.0}}}"#;

/// One language model of 23 epochs that adapts its batch size by this rule.
fn trained_by(rule: &str) -> Workload {
    let row = format!("LM (batch size 10)\tp\tlm\t--steps\t1\t134583\t1\t{rule}\t1\t-1\t10\t0\n");
    let sides = Sides { throughputs: Some(Arc::new(Throughputs::read(&mut TABLE.as_bytes()).unwrap())) };
    read(&mut row.as_bytes(), "x.trace", &sides).unwrap().bind(&cluster()).unwrap()
}

fn cluster() -> ClusterSpec {
    ClusterSpec::parse("v100=1", None, None).unwrap()
}

/// A job of a hundred steps that is twice as fast from the middle on.
fn halves(announces: bool) -> Workload {
    let mut spec = JobSpec::new(JobId(0), TenantId(0), 1, Some(Work::from_steps(100.0)));
    let speed = Ratio::new(2.0).unwrap();
    spec.regimes = vec![RegimeSpec { from: Work::from_steps(50.0), batch: 64, speed }];
    spec.restart = Restart { interval: Span::from_secs(40), ..Restart::default() };
    let job = SimJob { announces, ..SimJob::new(Time::ZERO, Arc::new(spec)) };
    Workload { jobs: vec![job], tenants: vec![Tenant::new(TenantId(0), "ann")], ..Workload::default() }
}

/// What was declared of the only job, the regimes that it revealed, and when it was finished.
fn lived(workload: Workload) -> (Arc<JobSpec>, Vec<Regime>, f64) {
    let cluster = cluster();
    let mut world = World::new(cluster.models, &cluster.nodes, Arc::new(workload), Faults::default(), 1);
    let (mut declared, mut regimes, mut end) = (None, Vec::new(), 0.0);
    play(&mut world, |now, event, _, _| match event {
        Event::Submitted(spec) => declared = Some(spec.clone()),
        Event::Progress { regime, .. } => regimes.extend(*regime),
        Event::LeaseEnded { .. } => end = now.seconds(),
        _ => {}
    });
    (declared.unwrap(), regimes, end)
}

/// Plays under a policy that gives the GPU to whoever comes; shows every event with what followed.
fn play(world: &mut World, mut see: impl FnMut(Time, &Event, &[Command], &Engine)) {
    let mut engine = engine_for(&Setup::default().header(world.abilities(), "simulated")).unwrap();
    while let Some((now, event)) = world.next().unwrap() {
        let commands = engine.step(now, &event).commands;
        see(now, &event, &commands, &engine);
        for command in commands {
            world.execute(now, &command).unwrap();
        }
    }
}

fn batches(regimes: &[Regime]) -> Vec<u32> {
    regimes.iter().map(|regime| regime.batch).collect()
}

fn modes(spec: &JobSpec) -> Vec<u32> {
    spec.modes.iter().map(|mode| mode.batch).collect()
}

#[test]
fn accordion_is_revealed_as_it_happens_and_only_its_batch_sizes_are_declared() {
    let (declared, regimes, end) = lived(trained_by("accordion"));
    assert!(declared.regimes.is_empty() && declared.epoch == Some(Work::from_steps(59_680.0)));
    assert_eq!(modes(&declared), [10, 80]);
    assert_eq!(batches(&regimes), [80]);
    assert!((regimes[0].speed.get() - 4.0).abs() < 1e-9 && regimes[0].from == Work::from_steps(596_750.0));
    assert!((end - (596_750.0 / 1000.0 + (1_345_830.0 - 596_750.0) / 4000.0)).abs() < 0.01, "{end}");
}

#[test]
fn gradient_noise_scaling_is_revealed_step_by_step() {
    let (declared, regimes, _) = lived(trained_by("gns"));
    assert!(declared.regimes.is_empty());
    assert_eq!(modes(&declared), [10, 20, 40]);
    assert_eq!(batches(&regimes), [20, 40]);
}

#[test]
fn a_schedule_of_the_user_is_announced_and_kept() {
    let (declared, regimes, end) = lived(halves(true));
    assert_eq!(declared.regimes.len(), 1);
    assert_eq!(batches(&regimes), [64]);
    assert!((end - 75.0).abs() < 0.01, "{end}");
}

#[test]
fn a_change_that_nobody_announced_is_heard_of_when_it_happens() {
    let (declared, regimes, end) = lived(halves(false));
    assert!(declared.regimes.is_empty() && declared.modes.is_empty());
    assert_eq!(batches(&regimes), [64]);
    assert!((end - 75.0).abs() < 0.01, "{end}");
}

#[test]
fn a_job_that_falls_back_behind_a_change_is_in_the_earlier_regime_again() {
    let cluster = cluster();
    // Saved after 40 s, changed after 50 s, lost with its node at 60 s.
    let world = World::new(cluster.models, &cluster.nodes, Arc::new(halves(false)), Faults::default(), 1);
    let mut world =
        world.with_outage(cluster.nodes[0].id, Time::from_seconds(60.0), Time::from_seconds(70.0));
    let mut speeds = Vec::new();
    play(&mut world, |_, event, _, engine| {
        let snapshot = engine.snapshot();
        if let Some((index, job)) = snapshot.jobs.iter().next()
            && matches!(event, Event::Progress { .. } | Event::LeaseEnded { .. })
        {
            let believed = snapshot.forecast(index).speed.0[0].mean.get();
            speeds.push((job.done.steps(), job.regime.batch, believed));
        }
    });
    assert_eq!(speeds, [(50.0, 64, 2.0), (40.0, 0, 1.0), (50.0, 64, 2.0)]);
}

#[test]
fn a_scenario_makes_work_of_a_profile_and_may_withhold_its_modes() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let made = |name: &str, simulation: &str, seed: u64| {
        let path = folder.join(name);
        let text = format!(
            "[cluster]\ngpus = \"v100=64\"\n[workload.profile]\nname = \"shockwave-like\"\njobs = 60\nload = 1.0\n{simulation}"
        );
        std::fs::write(&path, text).unwrap();
        let scenario = Scenario::read(&path).unwrap();
        assert!(scenario.varies());
        scenario.workload(&scenario.cluster().unwrap(), seed).unwrap()
    };
    let told = made("profile.toml", "", 1);
    assert!(told.jobs.iter().all(|job| !job.announces && job.truth.epoch.is_some()));
    let changing = told.jobs.iter().filter(|job| !job.truth.regimes.is_empty());
    assert!(changing.clone().all(|job| job.truth.modes.len() > 1) && changing.count() > 50);
    let other = made("profile.toml", "", 2);
    assert!(told.jobs.iter().zip(&other.jobs).any(|(a, b)| a.truth.work != b.truth.work));
    let withheld = made("withheld.toml", "[simulation]\ndeclares_modes = false\n", 1);
    assert!(withheld.jobs.iter().all(|job| job.truth.modes.is_empty() && !job.announces));
}

//! Twenty short jobs in both worlds, under the same engine: the decisions come in the same order.
//!
//! The jobs are chosen so that no two things happen close together; then the order does not hang on how long a real
//! process takes to start.

use crate::local::Local;
use crate::simulated::Simulated;
use crate::suite::{Script, ScriptJob, Stage};
use evenhand_core::{Choice, Command, EngineConfig, Event, JobId, Random, Record, Span};
use evenhand_engine::run;
use evenhand_sim::{Setup, engine_for};

/// The first seed, counting from 0, for which `smallest_gap` is at least `GAP_MS`: no two leases end close together
/// under any policy below.
const SEED: u64 = 8435;
const GAP_MS: u64 = 225;
const POLICIES: [&str; 2] = ["fifo", "srsf"];

fn script(seed: u64) -> Script {
    let mut random = Random::stream(seed, "twenty");
    let job = |_| ScriptJob {
        submit_ms: 0,
        gpus: 1 + random.below(2) as u32,
        run_ms: 400 + 25 * random.below(100),
        crash_after_ms: None,
        save_ms: 0,
    };
    Script { nodes: 2, gpus_per_node: 2, jobs: (0..20).map(job).collect(), outages: Vec::new() }
}

/// Runs the script under a policy; says which jobs were started, decision by decision, and when leases ended.
fn play(stage: &dyn Stage, script: &Script, policy: &str) -> (Vec<Vec<JobId>>, Vec<u64>) {
    let mut world = stage.world(script);
    let engine = EngineConfig { round: Span::from_minutes(10), ..EngineConfig::default() };
    let setup = Setup { policy: Choice::named(policy), engine, ..Setup::default() };
    let mut engine =
        engine_for(&setup.header(world.abilities(), "either")).expect("the policy is registered");
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    run(&mut engine, &mut *world, &mut |record: &Record| {
        let started: Vec<JobId> = record.commands.iter().filter_map(started).collect();
        if !started.is_empty() {
            starts.push(started);
        }
        if matches!(record.event, Event::LeaseEnded { .. }) {
            ends.push(record.now.0);
        }
        Ok(())
    })
    .expect("the run comes to its end");
    (starts, ends)
}

fn started(command: &Command) -> Option<JobId> {
    match command {
        Command::Start(lease) => Some(lease.job),
        _ => None,
    }
}

fn smallest_gap(seed: u64) -> u64 {
    let gap = |policy: &&str| {
        let (_, ends) = play(&Simulated, &script(seed), policy);
        ends.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0)
    };
    POLICIES.iter().map(gap).min().unwrap_or(0)
}

#[test]
fn the_chosen_workload_has_nothing_close_together() {
    assert!(smallest_gap(SEED) >= GAP_MS, "ends are {} ms apart", smallest_gap(SEED));
}

#[test]
fn both_worlds_take_the_same_decisions_in_the_same_order() {
    for policy in POLICIES {
        let script = script(SEED);
        let (simulated, _) = play(&Simulated, &script, policy);
        let (local, _) = play(&Local, &script, policy);
        assert_eq!(simulated.iter().flatten().count(), 20);
        assert_eq!(simulated, local, "under {policy}");
    }
}

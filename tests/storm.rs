//! Storms: everything goes wrong at once, from one seed. Safety at every step; then the faults stop and every job
//! must come to its end.
//!
//! `EVENHAND_STORM_SEEDS` sets how many seeds (default 1,000); a failure prints its seed and policy.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    Abilities, App, AppId, Backend, BackendError, Choice, Command, EndCause, EngineConfig, Event, Goal,
    GpuCount, Grant, LedgerWriter, Limits, Loss, Plan, Policy, PolicyError, Random, Reason, Record, Restart,
    Site, Snapshot, Span, Time, Work,
};
use evenhand_engine::{Engine, Parts, run};
use evenhand_policies::POLICIES;
use evenhand_sim::traces::synthetic::Synthetic;
use evenhand_sim::tuners::{self, TUNERS};
use evenhand_sim::{
    ClusterSpec, Curve, Faults, Setup, SimApp, SimJob, Straggling, Workload, World, engine_for,
};
use evenhand_tests::{Broken, Stage, Witness, engine_with, parts_with, policy, replay_interrupted};
use std::sync::Arc;

/// What became of one storm.
#[derive(Debug)]
#[expect(dead_code, reason = "what broke is read in the message of the failing test")]
enum Wreck {
    Law(Broken),
    World(BackendError),
}

/// A small cluster, some work, and weather, all from one seed.
fn weather(seed: u64) -> (ClusterSpec, Arc<Workload>, Faults) {
    let mut random = Random::stream(seed, "storm");
    let per_node = [1, 2, 4, 8][random.below(4) as usize];
    let nodes = 2 + random.below(5) as u32;
    let gpus = |nodes: u32| nodes * u32::from(per_node);
    let text = if random.chance(0.5) {
        format!("v100={}", gpus(nodes))
    } else {
        format!("v100={},k80={}", gpus(nodes), gpus(1 + nodes / 2))
    };
    let cluster = ClusterSpec::parse(&text, Some(per_node), Some(1 + random.below(3) as u32)).unwrap();
    let synthetic = Synthetic {
        jobs: 12 + random.below(25) as u32,
        load: random.between(0.5, 2.5),
        duration_mean_s: random.between(600.0, 5400.0),
        duration_sigma: random.between(0.2, 1.5),
        gpus: vec![(1, 5.0), (2, 2.0), (3, 1.0), (4, 2.0), (8, 1.0)],
        kinds: 0,
        tenants: 1 + random.below(4) as u32,
        seed,
    };
    let mut workload = synthetic.generate(&cluster);
    for job in &mut workload.jobs {
        let spec = Arc::make_mut(&mut job.truth);
        spec.restart = Restart {
            save: Span::from_secs(random.below(3) * 20),
            restore: Span::from_secs(random.below(60)),
            interval: Span::from_minutes(random.below(30)),
        };
        if random.chance(0.1) {
            job.cancel = Some(job.submit + Span::from_secs(random.below(7200)));
        }
        if random.chance(0.1) {
            let half = Work(spec.work.unwrap().0 / 2);
            let speed = evenhand_core::Ratio::new(random.between(0.5, 3.0)).unwrap();
            spec.regimes = vec![evenhand_core::RegimeSpec { from: half, batch: 64, speed }];
        }
    }
    make_apps(&mut workload, seed);
    let faults = Faults {
        node_failure_every_s: random.between(1800.0, 20_000.0),
        node_repair_s: random.between(60.0, 3600.0),
        job_crash_every_s: random.between(1200.0, 20_000.0),
        straggling: Straggling { every_s: random.between(1800.0, 20_000.0), for_s: 900.0, speed: 0.3 },
        forecast_error: random.between(0.0, 1.0),
        forecast_lies: 0.1,
        demand_error: 0.0,
        until_s: 40_000.0,
    };
    (cluster, Arc::new(workload), faults)
}

/// In some storms jobs belong to apps, and tuners watch over them.
fn make_apps(workload: &mut Workload, seed: u64) {
    let mut random = Random::stream(seed, "apps in a storm");
    if random.chance(0.5) {
        return;
    }
    let mut left = 0;
    for job in &mut workload.jobs {
        if left == 0 {
            let goal = if random.chance(0.5) { Goal::FirstToTarget } else { Goal::AllJobs };
            let app = App::new(AppId(workload.apps.len() as u64), job.truth.tenant, goal);
            let eager = ["successive-halving eta=2", "hyperband eta=2"];
            let names: Vec<_> = TUNERS.iter().map(|entry| entry.name).chain(eager).collect();
            let tuner = tuners::parse(random.pick(&names).unwrap()).unwrap();
            workload.apps.push(SimApp { tuner, ..SimApp::new(app) });
            left = 1 + random.below(12);
        }
        left -= 1;
        let app = &workload.apps.last().unwrap().app;
        let mut spec = evenhand_core::JobSpec::clone(&job.truth);
        (spec.app, spec.tenant) = (Some(app.id), app.tenant);
        let limit = spec.work.unwrap();
        let curve = Curve {
            start: 2.0,
            floor: random.between(0.2, 1.0),
            scale: limit.steps() * random.between(0.01, 0.5),
            power: random.between(0.5, 1.5),
            noise: random.between(0.0, 0.05),
            epoch: Work((limit.0 / (4 + random.below(40))).max(1)),
            limit,
        };
        spec.target = random.chance(0.7).then(|| Loss::new(random.between(0.5, 1.5)).unwrap());
        let bound = if random.chance(0.9) {
            SimJob::training(job.submit, spec, curve)
        } else {
            SimJob::new(job.submit, Arc::new(spec))
        };
        *job = SimJob { cancel: job.cancel, ..bound };
    }
}

fn setup(policy: &str, seed: u64, faults: Faults) -> Setup {
    let engine =
        EngineConfig { round: Span::from_minutes(6), crashes_max: 10_000, ..EngineConfig::default() };
    // The storms are met with every predictor in turn.
    let predictors = evenhand_predict::PREDICTORS;
    let predictor = Some(Choice::named(predictors[(seed / 20 + seed / 2) as usize % predictors.len()].name));
    Setup { policy: Choice::named(policy), predictor, engine, seed, faults, ..Setup::default() }
}

fn watch(engine: &mut Engine, world: &mut dyn Backend, keep: &mut dyn FnMut(&Record)) -> Result<(), Wreck> {
    let mut witness = Witness::default();
    let mut broken = None;
    run(engine, world, &mut |record| {
        keep(record);
        broken = broken.take().or(witness.take(record).err());
        if broken.is_some() { Err(std::io::Error::other("a law is broken")) } else { Ok(()) }
    })
    .map_err(|error| broken.map_or(Wreck::World(error), Wreck::Law))?;
    witness.finish().map_err(Wreck::Law)
}

fn storm(policy: &str, seed: u64, check_replay: bool) -> Result<(), Wreck> {
    let (cluster, workload, faults) = weather(seed);
    let setup = setup(policy, seed, faults.clone());
    let mut world = World::new(cluster.models, &cluster.nodes, workload, faults, seed);
    let header = setup.header(world.abilities(), "simulated");
    let mut engine = engine_for(&header).unwrap();
    let mut ledger = LedgerWriter::new(Vec::new(), &header).unwrap();
    watch(&mut engine, &mut world, &mut |record| {
        if check_replay {
            ledger.write(record).unwrap();
        }
    })?;
    if check_replay {
        let bytes = ledger.finish().unwrap();
        replay_interrupted(&bytes, seed);
    }
    Ok(())
}

fn seeds() -> u64 {
    std::env::var("EVENHAND_STORM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

#[test]
fn no_policy_breaks_a_law_in_any_storm() {
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for seed in (0..seeds()).filter(|seed| seed % 2 == half) {
                    for entry in POLICIES {
                        let outcome = storm(entry.name, seed, seed % 20 < 2);
                        assert!(outcome.is_ok(), "seed {seed}, policy {}: {outcome:?}", entry.name);
                    }
                }
            });
        }
    });
}

/// Grants everybody everything.
struct Overgrants;

impl Policy for Overgrants {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let grants = snapshot.jobs.iter().map(|(_, job)| {
            let gpus = GpuCount(job.spec.gpus.max.0 * 1000);
            Grant::new(job.spec.id, gpus, Site::Anywhere, Reason::FirstCome)
        });
        Ok(Plan { grants: grants.collect(), ..Plan::default() })
    }
}

fn calm_world(seed: u64) -> World {
    let (cluster, workload, _) = weather(seed);
    World::new(cluster.models, &cluster.nodes, workload, Faults::default(), seed)
}

#[test]
fn an_over_granting_policy_is_refused_and_the_storm_says_that_nothing_ran() {
    let mut world = calm_world(1);
    let mut engine = engine_with(Box::new(Overgrants), EngineConfig::default(), world.abilities());
    let mut refused = 0;
    let outcome = watch(&mut engine, &mut world, &mut |record| {
        refused +=
            record.notes.iter().filter(|note| matches!(note, evenhand_core::Note::PlanRefused(_))).count();
    });
    assert!(matches!(outcome, Err(Wreck::World(BackendError::Stalled { .. }))), "{outcome:?}");
    assert!(refused > 0);
}

/// Keeps the first job running, and stops the second for the third and the third for the second.
struct Fickle;

impl Policy for Fickle {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let (first, others): (Vec<_>, Vec<_>) =
            snapshot.jobs.iter().map(|(_, job)| job).partition(|job| job.spec.id.0 == 0);
        let waits = others.into_iter().find(|job| job.is_queued());
        let grants = first.into_iter().chain(waits);
        let grant = |job: &evenhand_core::Job| {
            Grant::new(job.spec.id, job.spec.gpus.min, Site::Anywhere, Reason::FirstCome)
        };
        Ok(Plan { grants: grants.map(grant).collect(), ..Plan::default() })
    }
}

#[test]
fn a_policy_that_never_makes_up_its_mind_is_told_so_although_somebody_gets_on() {
    let stage = Stage::new("v100=2", 2).job(0, 1, 3600).job(0, 1, 600).job(60, 1, 600);
    let mut world = stage.world();
    let mut engine = engine_with(Box::new(Fickle), EngineConfig::default(), world.abilities());
    let outcome = watch(&mut engine, &mut world, &mut |_| {});
    assert!(matches!(outcome, Err(Wreck::World(BackendError::Restless { .. }))), "{outcome:?}");
}

/// A placer that seats everybody on the same GPUs: what an over-grant would be if nobody checked.
struct SameSeats;

impl evenhand_core::Placer for SameSeats {
    fn place(
        &self,
        snapshot: &Snapshot,
        _room: &mut evenhand_core::FreeIndex,
        grants: &[Grant],
    ) -> evenhand_core::Placement {
        let node = &snapshot.cluster.nodes[0];
        let seats = |grant: &Grant| evenhand_core::GpuSet::on(node.id, node.all().lowest(grant.gpus.0));
        let seated = grants.iter().enumerate().map(|(at, grant)| (at, seats(grant))).collect();
        evenhand_core::Placement { seated, dropped: Vec::new() }
    }
}

#[test]
fn a_placer_that_seats_two_jobs_on_one_gpu_does_not_get_through() {
    let (cluster, workload, _) = weather(5);
    let mut world = World::new(cluster.models, &cluster.nodes, workload, Faults::default(), 5);
    let parts = parts_with(policy("fifo"), EngineConfig::default(), world.abilities());
    let mut engine = Engine::new(Parts { placer: Box::new(SameSeats), ..parts });
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        watch(&mut engine, &mut world, &mut |_| {})
    }));
    assert!(outcome.is_err() || outcome.unwrap().is_err(), "two jobs got one GPU");
}

/// A world that loses one event on its way.
struct Forgetful {
    world: World,
    lose: fn(&Event) -> bool,
    lost: bool,
}

impl Backend for Forgetful {
    fn abilities(&self) -> Abilities {
        self.world.abilities()
    }
    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        let next = self.world.next()?;
        if !self.lost && next.as_ref().is_some_and(|(_, event)| (self.lose)(event)) {
            self.lost = true;
            return self.world.next();
        }
        Ok(next)
    }
    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError> {
        self.world.execute(now, command)
    }
}

#[test]
fn a_lost_event_does_not_go_unnoticed() {
    let finished =
        |event: &Event| matches!(event, Event::LeaseEnded { cause: EndCause::Finished { .. }, .. });
    let mut world = Forgetful { world: calm_world(2), lose: finished, lost: false };
    let mut engine = engine_with(policy("fifo"), EngineConfig::default(), world.abilities());
    let outcome = watch(&mut engine, &mut world, &mut |_| {});
    assert!(outcome.is_err(), "a job whose end was lost was not missed");
    assert!(world.lost);
}

#[test]
fn the_weather_is_bad_enough_to_mean_something() {
    let mut seen = std::collections::BTreeMap::<&str, u64>::new();
    for seed in 0..20 {
        let (cluster, workload, faults) = weather(seed);
        let mut world = World::new(cluster.models, &cluster.nodes, workload, faults.clone(), seed);
        let header = setup("las", seed, faults).header(world.abilities(), "simulated");
        let outcome = watch(&mut engine_for(&header).unwrap(), &mut world, &mut |record| {
            let event = match &record.event {
                Event::LeaseEnded { cause: EndCause::Crashed, .. } => "crash",
                Event::LeaseEnded { cause: EndCause::NodeLost, .. } => "lease lost with its node",
                Event::LeaseEnded { cause: EndCause::Stopped, .. } => "preempted",
                Event::Cancelled(_) => "cancelled",
                Event::NodeUp(_) if record.now > Time::ZERO => "node back",
                Event::Progress { regime: Some(_), .. } => "regime",
                Event::Retired(_) => "retired",
                Event::Held(_) => "held",
                Event::Released(_) => "released",
                Event::AppClosed { best: Some(_), .. } => "app closed",
                _ => return,
            };
            *seen.entry(event).or_default() += 1;
        });
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}");
    }
    assert!(seen.len() == 10 && seen.values().all(|count| *count >= 10), "{seen:?}");
}

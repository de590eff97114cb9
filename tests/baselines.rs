//! One story per baseline policy: a five-line world in which it does what its paper says and a naive one would not.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    Abilities, Backend, Choice, Cluster, Command, Demand, EngineConfig, Estimate, Forecast, GpuCount,
    GpuModel, GpuRange, Host, Interference, Job, JobId, JobSpec, Limits, ModelIndex, Moved, Parameters,
    PerModel, Policy, Predictor, Random, Rate, Ratio, Reason, Record, Sample, Sharing, SharingMode, Span,
    Tenant, TenantId, Time, Work,
};
use evenhand_engine::{Engine, Parts};
use evenhand_sim::traces::synthetic::Synthetic;
use evenhand_sim::{ClusterSpec, Faults, Resident, SimJob, TrueInterference, Workload, World};
use evenhand_tests::{Ends, Stage, engine_with, policy};
use std::collections::BTreeMap;
use std::sync::Arc;

fn ratio(value: f64) -> Ratio {
    Ratio::new(value).unwrap()
}

/// A registered policy with some parameters set.
fn tuned(name: &str, parameters: &[(&str, &str)]) -> Box<dyn Policy> {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let choice = Choice { name: name.to_owned(), parameters: Parameters(parameters.collect()) };
    evenhand_policies::make(&choice).unwrap()
}

/// Whether a job ended at this second.
fn is_at(ends: &Ends, job: u64, seconds: f64) -> bool {
    (ends[&job] - seconds).abs() < 1e-6
}

/// Every start: when, whose, on how many GPUs.
fn starts(records: &[Record]) -> Vec<(f64, u64, u32)> {
    let mut starts = Vec::new();
    for record in records {
        for command in &record.commands {
            if let Command::Start(lease) = command {
                starts.push((record.now.seconds(), lease.job.0, lease.gpus.count().0));
            }
        }
    }
    starts
}

/// The GPUs of the first lease of each job.
fn first_sizes(records: &[Record]) -> BTreeMap<u64, u32> {
    starts(records).into_iter().rev().map(|(_, job, gpus)| (job, gpus)).collect()
}

/// Declared speeds on the first two GPU models.
fn speeds(first: f64, second: f64) -> impl Fn(&mut JobSpec) {
    move |spec| {
        let mut row = PerModel::all(Rate::ZERO);
        row[ModelIndex(0)] = Rate::new(first).unwrap();
        row[ModelIndex(1)] = Rate::new(second).unwrap();
        spec.speeds = Some(row);
    }
}

/// A job of 1 to 4 GPUs with these speed-ups on 1, 2, 3 and 4.
fn elastic(speed_ups: [f64; 4]) -> impl Fn(&mut JobSpec) {
    move |spec| {
        spec.gpus = GpuRange { min: GpuCount(1), max: GpuCount(4) };
        spec.scaling.by_count = (1..).map(GpuCount).zip(speed_ups.map(ratio)).collect();
    }
}

#[test]
fn tiresias_lets_equals_run_one_after_the_other_and_newcomers_overtake_the_old() {
    let twins = Stage::new("v100=1", 1).job(0, 1, 1000).job(0, 1, 1000);
    let (ends, _) = twins.play(policy("tiresias"));
    assert_eq!(ends, [(0, 1000.0), (1, 2000.0)].into());
    let (in_turns, _) = twins.play(policy("las"));
    assert!(in_turns[&0] > 1900.0, "least attained service makes equals take turns: {in_turns:?}");

    let late = Stage::new("v100=1", 1).job(0, 1, 10_000).job(4000, 1, 100);
    let (ends, _) = late.play(policy("tiresias"));
    assert!(ends[&1] <= 4160.0, "the first queue goes first at the next round: {ends:?}");
}

#[test]
fn tiresias_promotes_who_has_waited_long_for_how_long_it_ran() {
    let stage = Stage::new("v100=1", 1).job(0, 1, 5000).job(3300, 1, 3000).job(5000, 1, 3000);
    let (starved, _) = stage.play(policy("tiresias"));
    let (promoted, _) = stage.play(tuned("tiresias", &[("knob", "0.5")]));
    assert!(starved[&0] > 10_000.0, "two newcomers go first: {starved:?}");
    assert!(promoted[&0] < 7000.0, "half of 3,300 s is enough of a wait: {promoted:?}");
}

#[test]
fn gittins_keeps_the_job_that_is_about_to_finish_as_its_like_did() {
    let mut stage = Stage::new("v100=1", 1);
    for (at, duration) in [(0, 100), (100, 400), (500, 100), (600, 400), (1000, 100), (1100, 400)] {
        stage = stage.job(at, 1, duration);
    }
    // The seventh has run for 330 of what may well be 400 seconds when the eighth comes.
    let stage = stage.job(1500, 1, 400).job(1830, 1, 400);
    let (ends, _) = stage.play(tuned("gittins", &[("samples", "6"), ("quantum", "100")]));
    assert!(is_at(&ends, 6, 1900.0), "it is let finish: {ends:?}");
    let (ends, _) = stage.play(policy("las"));
    assert!(ends[&6] > 2100.0, "least attained service interrupts it: {ends:?}");
}

/// How many jobs of each tenant were started at once.
fn started_by_tenant(records: &[Record], tenant_of: impl Fn(u64) -> u32) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for (at, job, _) in starts(records) {
        if at == 0.0_f64 {
            *counts.entry(tenant_of(job)).or_default() += 1;
        }
    }
    counts
}

#[test]
fn drf_evens_out_dominant_shares_not_gpus() {
    // Each job of ann's takes half of the cores, each of bob's a sixth of the GPUs.
    let cores = |count: u32| move |spec: &mut JobSpec| spec.host.cores_milli = 1000 * count;
    let mut stage = Stage::new("v100=6", 6)
        .nodes(|node| node.host = Host { cores_milli: 16_000, ..Host::default() })
        .tenant("ann");
    for _ in 0..6 {
        stage = stage.job_with(0, 1, 600, cores(8));
    }
    stage = stage.tenant("bob");
    for _ in 0..6 {
        stage = stage.job_with(0, 1, 600, cores(1));
    }
    let tenant_of = |job: u64| u32::from(job >= 6);
    let (_, records) = stage.play(policy("drf"));
    assert_eq!(started_by_tenant(&records, tenant_of), [(0, 2), (1, 4)].into());
    let (_, records) = stage.play(policy("equal-share"));
    assert_eq!(started_by_tenant(&records, tenant_of), [(0, 3), (1, 3)].into());
}

#[test]
fn drf_gives_a_group_of_two_no_more_than_a_tenant_alone() {
    let cluster = ClusterSpec::parse("v100=8", Some(8), None).unwrap();
    let mut tenants: Vec<_> = ["lab", "ann", "bob", "cy"]
        .iter()
        .zip(0..)
        .map(|(name, id)| Tenant::new(TenantId(id), name))
        .collect();
    tenants[1].parent = Some(TenantId(0));
    tenants[2].parent = Some(TenantId(0));
    let job = |id: u64| {
        let spec = JobSpec::new(JobId(id), TenantId(1 + (id / 8) as u32), 1, Some(Work::from_steps(600.0)));
        SimJob::new(Time::ZERO, Arc::new(spec))
    };
    let workload = Workload { jobs: (0..24).map(job).collect(), tenants, ..Workload::default() };
    let mut world = World::new(cluster.models, &cluster.nodes, Arc::new(workload), Faults::default(), 1);
    let mut engine = engine_with(policy("drf"), EngineConfig::default(), world.abilities());
    let (_, records) = Stage::new("v100=8", 8).play_in(&mut engine, &mut world);
    let counts = started_by_tenant(&records, |job| 1 + (job / 8) as u32);
    assert_eq!(counts, [(1, 2), (2, 2), (3, 4)].into());
}

#[test]
fn allox_gives_each_job_the_gpu_it_is_best_suited_for() {
    // The first to come hardly minds the slow GPU, the second would take ten times as long on it.
    let stage = Stage::new("v100=1,k80=1", 1).job_with(0, 1, 100, speeds(1.0, 0.8)).job_with(
        0,
        1,
        100,
        speeds(1.0, 0.1),
    );
    let (ends, _) = stage.play(policy("allox"));
    assert_eq!(ends, [(0, 125.0), (1, 100.0)].into());
    let (ends, _) = stage.play(policy("fifo"));
    assert_eq!(ends, [(0, 100.0), (1, 1000.0)].into());
}

#[test]
fn allox_waits_for_a_fast_gpu_that_is_soon_free_and_starts_the_short_first() {
    let stage = Stage::new("v100=1,k80=1", 1)
        .job_with(0, 1, 100, speeds(1.0, 0.1))
        .job_with(10, 1, 100, speeds(1.0, 0.1))
        .job_with(10, 1, 30, speeds(1.0, 0.1));
    let (ends, _) = stage.play(policy("allox"));
    assert_eq!(ends, [(0, 100.0), (2, 130.0), (1, 230.0)].into());
    let (ends, _) = stage.play(tuned("allox", &[("bands", "0")]));
    assert!(is_at(&ends, 2, 310.0), "without a thought for busy GPUs it starts on the slow one: {ends:?}");
}

#[test]
fn allox_keeps_gpus_for_a_gang_whose_turn_it_is() {
    // The gang is short: it comes before the long single job, though one GPU is free all along.
    let stage = Stage::new("v100=2", 2).job(0, 1, 100).job(10, 2, 20).job(10, 1, 1000);
    let (ends, _) = stage.play(policy("allox"));
    assert_eq!(ends, [(0, 100.0), (1, 120.0), (2, 1120.0)].into());
}

#[test]
fn gandiva_shares_time_from_the_moment_a_job_comes() {
    let stage = Stage::new("v100=1", 1).job(0, 1, 3000).job(1800, 1, 600);
    let (ends, _) = stage.play(policy("gandiva"));
    assert!((2900.0..3100.0).contains(&ends[&1]), "every other minute is the newcomer's: {ends:?}");
    let (ends, _) = stage.play(policy("las"));
    assert!(ends[&1] < 2500.0, "least attained service gives it all of them: {ends:?}");
}

/// Jobs on one GPU slow each other down by a fixed factor.
#[derive(Clone, Copy)]
struct Fixed(f64);

impl Interference for Fixed {
    fn slowdown(&self, _: &Demand, _: &[&Demand], _: &GpuModel, _: SharingMode) -> Estimate<Ratio> {
        Estimate::exact(ratio(self.0))
    }
    fn version(&self) -> &'static str {
        "fixed"
    }
}

impl TrueInterference for Fixed {
    fn slowdown(&self, _: &Resident<'_>, others: &[Resident<'_>], _: ModelIndex, _: SharingMode) -> f64 {
        if others.is_empty() { 1.0 } else { self.0 }
    }
}

/// Believes what was declared, and this of jobs on one GPU.
struct Believes(Box<dyn Predictor>, Fixed);

impl Predictor for Believes {
    fn observe(&mut self, sample: &Sample<'_>) -> Moved {
        self.0.observe(sample)
    }
    fn forecast(&self, job: &Job, cluster: &Cluster) -> Arc<Forecast> {
        self.0.forecast(job, cluster)
    }
    fn interference(&self) -> Arc<dyn Interference> {
        Arc::new(self.1)
    }
    fn save(&self) -> Result<evenhand_core::Saved, evenhand_core::SaveError> {
        Ok(evenhand_core::Saved::default())
    }
    fn load(&mut self, _saved: &evenhand_core::Saved) -> Result<(), evenhand_core::SaveError> {
        Ok(())
    }
}

/// Plays a stage in which one slowdown is believed and another true.
fn play_shared(stage: &Stage, name: &str, believed: f64, truth: f64) -> (Ends, Vec<Record>) {
    let mut world = stage.world().with_interference(Box::new(Fixed(truth)));
    let mut engine = believing(policy(name), stage.engine.clone(), world.abilities(), believed);
    stage.play_in(&mut engine, &mut world)
}

/// An engine that believes this slowdown of any jobs on one GPU.
fn believing(policy: Box<dyn Policy>, config: EngineConfig, abilities: Abilities, slowdown: f64) -> Engine {
    let declared = (evenhand_predict::PREDICTORS[0].build)();
    Engine::new(Parts {
        policy,
        placer: (evenhand_policies::placement::PLACERS[0].build)(),
        predictor: Box::new(Believes(declared, Fixed(slowdown))),
        make_policy: Box::new(evenhand_policies::make),
        config,
        limits: Limits::default(),
        seed: 1,
        abilities,
    })
}

fn packed(records: &[Record]) -> usize {
    let commands = records.iter().flat_map(|record| &record.commands);
    let beside = |command: &&Command| {
        matches!(command, Command::Start(lease)
            if lease.reason == Reason::Packed && lease.sharing != Sharing::Alone)
    };
    commands.filter(beside).count()
}

#[test]
fn gandiva_packs_a_pair_that_gets_along_and_parts_one_that_does_not() {
    let stage = Stage::new("v100=1", 1).nodes(|node| node.slots = 2).job(0, 1, 10_000).job(0, 1, 10_000);
    let (ends, records) = play_shared(&stage, "gandiva", 1.25, 1.25);
    assert_eq!((packed(&records), ends), (1, [(0, 12_500.0), (1, 12_500.0)].into()));
    // Believed to get along, and three times as slow in truth: together for good they would end at 30,000.
    let (ends, records) = play_shared(&stage, "gandiva", 1.25, 3.0);
    assert_eq!(packed(&records), 1, "it is tried once");
    assert!(ends.values().all(|end| *end < 25_000.0), "and undone: {ends:?}");
    // Nobody believes in it: time-slicing.
    let (_, records) = play_shared(&stage, "gandiva", 2.0, 2.0);
    assert_eq!(packed(&records), 0);
}

#[test]
fn max_min_packed_beats_taking_turns_where_jobs_get_along() {
    let mut stage = Stage::new("v100=2", 1).nodes(|node| node.slots = 2);
    for _ in 0..4 {
        stage = stage.job(0, 1, 10_000);
    }
    let (packed_ends, records) = play_shared(&stage, "max-min-packed", 1.25, 1.25);
    assert_eq!(packed(&records), 2);
    assert!(packed_ends.values().all(|end| *end <= 12_600.0), "{packed_ends:?}");
    let (ends, records) = play_shared(&stage, "max-min-perf", 1.25, 1.25);
    assert_eq!(packed(&records), 0);
    assert!(ends.values().copied().fold(0.0, f64::max) >= 19_000.0, "two after the other: {ends:?}");
}

#[test]
fn gandiva_draws_a_spread_out_gang_together_once_there_is_a_node_for_it() {
    let spread = |spec: &mut JobSpec| spec.scaling.by_span = Some([1.0, 1.0, 2.0, 2.0].map(ratio));
    // When the gang comes, one GPU is free on each node; at 300 a second one of the second node.
    let stage = Stage::new("v100=4", 2).job(0, 1, 100).job(0, 1, 5000).job(0, 1, 300).job(0, 1, 100);
    let stage = stage.job_with(105, 2, 2000, spread);
    let (ends, records) = stage.play(policy("gandiva"));
    let gang = starts(&records).into_iter().filter(|(_, job, _)| *job == 4);
    assert_eq!(gang.map(|(at, ..)| at).collect::<Vec<_>>(), [105.0, 300.0], "it is moved once");
    let (left_alone, _) = stage.play(policy("las"));
    assert!(ends[&4] < 2300.0 && left_alone[&4] > 4000.0, "{ends:?}, {left_alone:?}");
}

#[test]
fn gandiva_fair_trades_as_in_the_golden_case() {
    let stage = Stage::new("k80=1,v100=1", 1)
        .tenant("ann")
        .job_with(0, 1, 600, speeds(1.0, 2.0))
        .tenant("bob")
        .job_with(0, 1, 600, speeds(1.0, 3.0))
        .tenant("cy")
        .job_with(0, 1, 600, speeds(1.0, 4.0));
    let (_, records) = stage.play(policy("gandiva-fair"));
    let three = records.iter().filter_map(|record| record.decision.as_ref()).find(|d| d.shares.len() == 3);
    let worth = |(row, speedup): (&PerModel<f64>, f64)| row[ModelIndex(0)] + speedup * row[ModelIndex(1)];
    let rows = three.unwrap().shares.iter().map(|(_, row)| row);
    let found: Vec<f64> = rows.zip([2.0, 3.0, 4.0]).map(worth).collect();
    for (found, golden) in found.iter().zip([1.111, 1.333, 1.778]) {
        assert!((found - golden).abs() < 1e-3, "{found} is not {golden}");
    }
    assert!((found.iter().sum::<f64>() - 4.222).abs() < 1e-3);
}

#[test]
fn gandiva_fair_divides_by_tickets_and_not_by_jobs() {
    let stage = Stage::new("v100=1", 1)
        .tenant("ann")
        .job(0, 1, 1200)
        .tenant("bob")
        .job(0, 1, 1200)
        .job(0, 1, 1200)
        .job(0, 1, 1200);
    let (ends, _) = stage.play(policy("gandiva-fair"));
    assert!((2200.0..2600.0).contains(&ends[&0]), "half of the time is ann's: {ends:?}");
    let (ends, _) = stage.play(policy("las"));
    assert!(ends[&0] > 4000.0, "a quarter under least attained service: {ends:?}");
}

#[test]
fn optimus_gives_gpus_to_the_job_that_scales() {
    let stage = Stage::new("v100=4", 4).job_with(0, 1, 1000, elastic([1.0, 1.05, 1.1, 1.1])).job_with(
        0,
        1,
        1000,
        elastic([1.0, 2.0, 3.0, 4.0]),
    );
    let (_, records) = stage.play(policy("optimus"));
    assert_eq!(first_sizes(&records), [(0, 1), (1, 3)].into());
    let (_, records) = stage.play(policy("las"));
    assert_eq!(first_sizes(&records), [(0, 1), (1, 1)].into());
}

#[test]
fn a_resize_must_be_worth_its_restart() {
    // The second GPU comes free at 1,000. Doubling the speed saves half of what is left; a restart costs 100 s.
    let job = |spec: &mut JobSpec| {
        elastic([1.0, 2.0, 2.0, 2.0])(spec);
        spec.restart.restore = Span::from_secs(100);
    };
    for (duration, resized) in [(1150, false), (2000, true)] {
        let stage = Stage::new("v100=2", 2).job_with(0, 1, duration, job).job(0, 1, 1000);
        for name in ["optimus", "afs"] {
            let (_, records) = stage.play(policy(name));
            let again = starts(&records).iter().filter(|(_, job, _)| *job == 0).count() > 1;
            assert_eq!(again, resized, "{name}, {duration} s");
        }
    }
}

#[test]
fn slaq_prefers_the_job_whose_loss_still_falls() {
    // At 800 s the small job is four fifths done, and its loss hardly falls any more.
    let stage = Stage::new("v100=1", 1).job(0, 1, 1000).job(800, 1, 10_000);
    let (ends, _) = stage.play(policy("slaq"));
    assert!(ends[&0] > 5000.0, "{ends:?}");
    let (ends, _) = stage.play(policy("srtf"));
    assert!(is_at(&ends, 0, 1000.0), "{ends:?}");
    let (ends, _) = stage.play(policy("las"));
    assert!(ends[&0] < 2500.0, "{ends:?}");
}

#[test]
fn afs_weighs_haste_against_gain() {
    // Optimus looks at seconds saved and gives the long job three; AFS sees that the short one doubles its pace.
    let curve = [1.0, 1.6, 2.0, 2.2];
    let stage =
        Stage::new("v100=4", 4).job_with(0, 1, 100, elastic(curve)).job_with(0, 1, 1000, elastic(curve));
    let (_, records) = stage.play(policy("afs"));
    assert_eq!(first_sizes(&records), [(0, 2), (1, 2)].into());
    let (_, records) = stage.play(policy("optimus"));
    assert_eq!(first_sizes(&records), [(0, 1), (1, 3)].into());
}

/// Bad weather over jobs of changing size, shared GPUs and tenants with limits: what the common storms do not have.
fn shifting(seed: u64) -> World {
    let mut random = Random::stream(seed, "shifting");
    let cluster = ClusterSpec::parse("v100=8,k80=8", Some(4), Some(2)).unwrap();
    let work =
        Synthetic { jobs: 30, load: random.between(0.5, 2.5), tenants: 3, seed, ..Synthetic::default() };
    let mut workload = work.generate(&cluster);
    for job in &mut workload.jobs {
        let spec = Arc::make_mut(&mut job.truth);
        spec.gpus.max = GpuCount(spec.gpus.min.0 + random.below(5) as u32);
        if random.chance(0.5) {
            let curve = [(1, 1.0), (2, 1.7), (4, 2.6), (8, 3.1)];
            spec.scaling.by_count =
                curve.map(|(factor, speed)| (GpuCount(factor * spec.gpus.min.0), ratio(speed))).into();
            spec.scaling.by_span = Some([1.0, 1.1, 1.5, 2.0].map(ratio));
        }
        spec.restart.save = Span::from_secs(random.below(3) * 20);
        spec.restart.restore = Span::from_secs(random.below(60));
        spec.mixes_models = random.chance(0.1);
    }
    if random.chance(0.5) {
        workload.tenants[0].limit = Some(PerModel::all(GpuCount(8)));
    }
    let mut nodes = cluster.nodes;
    for node in &mut nodes {
        node.slots = 1 + random.below(2) as u8;
    }
    let faults = Faults {
        node_failure_every_s: 8000.0,
        node_repair_s: 900.0,
        job_crash_every_s: 8000.0,
        until_s: 40_000.0,
        ..Faults::default()
    };
    let slowdown = random.between(1.1, 2.6);
    World::new(cluster.models, &nodes, Arc::new(workload), faults, seed)
        .with_interference(Box::new(Fixed(slowdown)))
}

#[test]
fn no_plan_is_refused_while_sizes_change_and_gpus_are_shared() {
    let (mut resized, mut packs) = (0, 0);
    for seed in 0..40 {
        for entry in evenhand_policies::POLICIES {
            let mut world = shifting(seed);
            let config = EngineConfig { crashes_max: 10_000, ..EngineConfig::default() };
            let mut engine = believing(policy(entry.name), config, world.abilities(), 1.3);
            let (_, records) = Stage::new("v100=1", 1).play_in(&mut engine, &mut world);
            let wrong = records.iter().flat_map(|record| &record.notes).find(|note| {
                matches!(note, evenhand_core::Note::PlanRefused(_) | evenhand_core::Note::PolicyFailed(_))
            });
            assert!(wrong.is_none(), "seed {seed}, {}: {wrong:?}", entry.name);
            let mut sizes: BTreeMap<u64, u32> = BTreeMap::new();
            for (_, job, gpus) in starts(&records) {
                resized += usize::from(sizes.insert(job, gpus).is_some_and(|before| before != gpus));
            }
            packs += packed(&records);
        }
    }
    assert!(resized > 500 && packs > 100, "it means something: {resized} new sizes, {packs} packed");
}

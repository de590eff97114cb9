//! Several jobs on one GPU: what is really the case, who decides about it, and whose contracts hold.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    Backend, Bytes, Choice, Cluster, Command, Demand, EndCause, EngineConfig, Estimate, Event, Forecast,
    GpuId, GpuModel, Host, Interference, Job, JobId, JobSpec, Limits, MetricRepository, ModelIndex, Moved,
    Note, PerModel, Plan, Policy, PolicyError, Predictor, Random, Ratio, Record, Sample, Sharing,
    SharingMode, Snapshot, Span, Tenant, TenantId, Time, Work,
};
use evenhand_engine::{Engine, Parts};
use evenhand_policies::placement::PLACERS;
use evenhand_sim::{
    ClusterSpec, Colocation, Faults, Resident, Run, Setup, SimJob, TrueInterference, Workload, World,
    simulate,
};
use evenhand_tests::{parts_with, policy, replay_interrupted};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const PROFILES: &str = "name,gpu,duty,sm,tensor,bandwidth,memory_mb\n\
    a,h200,0.9,0.8,0.3,0.4,6000\nb,h200,0.6,0.5,0.1,0.2,3000\nc,h200,0.5,0.2,0.1,0.1,1000\n";
const PAIRS: &str = "gpu,mode,one,other,slowdown_one,slowdown_other\n\
    h200,time-slicing,a,b,1.4,2.0\nh200,time-slicing,a,b,1.6,2.0\nh200,mps,a,b,1.1,3.0\n";

/// GPUs of 10 GB for two jobs each.
fn machines(gpus: u32) -> ClusterSpec {
    let mut cluster = ClusterSpec::parse(&format!("h200={gpus}"), Some(1), None).unwrap();
    for node in &mut cluster.nodes {
        (node.slots, node.memory) = (2, Bytes(10_000_000_000));
    }
    cluster
}

/// Jobs of these kinds, each of so many seconds, all there from the start.
fn work(jobs: &[(&str, u64)], cluster: &ClusterSpec) -> Workload {
    let mut workload = Workload { tenants: vec![Tenant::new(TenantId(0), "all")], ..Workload::default() };
    for (id, (profile, seconds)) in jobs.iter().enumerate() {
        let steps = Work::from_steps(*seconds as f64);
        let spec = JobSpec::new(JobId(id as u64), TenantId(0), 1, Some(steps));
        let job = SimJob::new(Time::ZERO, Arc::new(spec));
        workload.jobs.push(SimJob { profile: Some(Arc::from(*profile)), ..job });
    }
    Colocation::parse(PROFILES, PAIRS).unwrap().apply(&mut workload, cluster, 1).unwrap();
    workload
}

fn world(cluster: &ClusterSpec, workload: Workload) -> World {
    World::new(cluster.models.clone(), &cluster.nodes, Arc::new(workload), Faults::default(), 1)
}

/// Plays a world to its end; when each job finished.
fn play(parts: Parts, world: &mut World) -> (BTreeMap<u64, f64>, Vec<Record>) {
    let mut records = Vec::new();
    let mut ends = BTreeMap::new();
    evenhand_engine::run(&mut Engine::new(parts), world, &mut |record| {
        for command in &record.commands {
            if let Command::End { job, .. } = command {
                ends.insert(job.0, record.now.seconds());
            }
        }
        records.push(record.clone());
        if records.len() > 100_000 { Err(std::io::Error::other("nothing comes to an end")) } else { Ok(()) }
    })
    .unwrap();
    (ends, records)
}

fn set(name: &str, parameters: &[(&str, &str)]) -> Box<dyn Policy> {
    let set = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    evenhand_policies::make(&Choice { name: name.into(), parameters: evenhand_core::Parameters(set) })
        .unwrap()
}

#[test]
fn a_pair_is_slowed_down_exactly_as_its_table_says() {
    let cluster = machines(1);
    for (mode, expected) in
        [("time-slicing", [150.0, 1075.0]), ("mps", [110.0, 110.0 + 1000.0 - 110.0 / 3.0])]
    {
        let mut world = world(&cluster, work(&[("a", 100), ("b", 1000)], &cluster));
        let parts = parts_with(set("packing", &[("mode", mode)]), EngineConfig::default(), world.abilities());
        let unmeasured = world.unmeasured();
        let (ends, records) = play(parts, &mut world);
        for (job, end) in expected.into_iter().enumerate() {
            assert!((ends[&(job as u64)] - end).abs() < 0.01, "{mode}: {ends:?}");
        }
        assert_eq!(unmeasured.load(Ordering::Relaxed), 0);
        let told =
            records.iter().any(|record| matches!(record.event, Event::Telemetry { slowdown: Some(_), .. }));
        assert!(told, "what is measured of shared GPUs is told");
    }
}

#[test]
fn a_pair_that_nobody_measured_follows_its_demands_and_is_counted() {
    let cluster = machines(1);
    let mut world = world(&cluster, work(&[("c", 100), ("c", 100)], &cluster));
    let unmeasured = world.unmeasured();
    let parts = parts_with(policy("packing"), EngineConfig::default(), world.abilities());
    let (ends, _) = play(parts, &mut world);
    assert_eq!(ends, [(0, 125.0), (1, 125.0)].into(), "1 + 0.5 x 0.5");
    assert_eq!(unmeasured.load(Ordering::Relaxed), 1);
}

#[test]
fn jobs_share_a_gpu_only_where_cores_and_main_memory_are_enough_for_both() {
    for name in ["packing", "lucid", "horus", "horus-plus"] {
        for (cores, ram, together) in
            [(12, 0, true), (11, 0, false), (0, 8, true), (0, 7, false), (0, 0, true)]
        {
            let mut cluster = machines(1);
            cluster.nodes[0].host = Host { cores_milli: cores * 1000, ram: Bytes(ram) };
            let mut workload = work(&[("c", 100), ("c", 100)], &cluster);
            for job in &mut workload.jobs {
                Arc::make_mut(&mut job.truth).host = Host { cores_milli: 6000, ram: Bytes(4) };
            }
            let mut world = world(&cluster, workload);
            let parts = parts_with(policy(name), EngineConfig::default(), world.abilities());
            let (ends, _) = play(parts, &mut world);
            let expected = if together { [125.0, 125.0] } else { [100.0, 200.0] };
            assert_eq!(ends, BTreeMap::from([(0, expected[0]), (1, expected[1])]), "{name}, {cores}, {ram}");
        }
    }
}

#[test]
fn memory_that_was_declared_too_small_kills_the_job_that_comes_last_and_it_then_gets_a_gpu_of_its_own() {
    let cluster = machines(1);
    // Both declare nothing, so both are taken to fit; in truth 6 + 6 GB do not.
    let workload = work(&[("a", 1000), ("a", 1000)], &cluster);
    let spec = workload.jobs[1].truth.clone();
    let mut world = world(&cluster, workload.clone());
    let fits = parts_with(policy("packing"), EngineConfig::default(), world.abilities());
    let (ends, _) = play(fits, &mut world);
    assert_eq!(ends, [(0, 1000.0), (1, 2000.0)].into(), "told the truth, nobody puts them together");
    assert_eq!(spec.memory, Some(Bytes(6_000_000_000)));
    // Told nonsense, somebody does.
    let faults = Faults { demand_error: 3.0, ..Faults::default() };
    let mut seen = 0;
    for seed in 0..20 {
        let mut world = World::new(
            cluster.models.clone(),
            &cluster.nodes,
            Arc::new(workload.clone()),
            faults.clone(),
            seed,
        );
        let parts = parts_with(policy("packing"), EngineConfig::default(), world.abilities());
        let (ends, records) = play(parts, &mut world);
        let died =
            |record: &&Record| matches!(record.event, Event::LeaseEnded { cause: EndCause::OutOfMemory, .. });
        let count = records.iter().filter(died).count();
        assert!(ends.len() == 2 && count <= 1, "it does not try that twice: {count}");
        seen += count;
    }
    assert!(seen > 2, "only {seen} of 20 pairs ran out of memory");
}

#[test]
fn out_of_memory_and_pairs_without_a_measurement_are_in_the_summary() {
    let cluster = machines(4);
    let kinds: Vec<(&str, u64)> = (0..40).map(|at| (["a", "b", "c"][at % 3], 500)).collect();
    let workload = Arc::new(work(&kinds, &cluster));
    let faults = Faults { demand_error: 2.0, ..Faults::default() };
    let setup = Setup { policy: Choice::named("horus"), faults, ..Setup::default() };
    let how = Run { ledger: None, ledger_path: None, progress: &|_| {} };
    let finished = simulate(&cluster, &workload, &setup, how).unwrap();
    let summary = finished.report.summary(&finished.costs);
    assert_eq!((summary.jobs, summary.finished), (40, 40));
    assert!(summary.out_of_memory > 0 && summary.pairings_unmeasured > 0);
    assert!(summary.shared_slowdown_mean > 1.0 && summary.shared_slowdown_worst < 4.0);
}

/// A rule that is both believed and true: a job loses a fraction of the product of demands, less side by side.
#[derive(Clone, Copy)]
struct Known;

fn known(own: f64, others: impl Iterator<Item = f64>, mode: SharingMode) -> f64 {
    let price = if mode == SharingMode::Mps { 0.4 } else { 0.6 };
    1.0 + price * own * others.sum::<f64>()
}

impl Interference for Known {
    fn slowdown(&self, own: &Demand, others: &[&Demand], _: &GpuModel, mode: SharingMode) -> Estimate<Ratio> {
        Estimate::exact(Ratio::new(known(own.duty, others.iter().map(|other| other.duty), mode)).unwrap())
    }
    fn version(&self) -> &'static str {
        "known"
    }
}

impl TrueInterference for Known {
    fn slowdown(
        &self,
        own: &Resident<'_>,
        others: &[Resident<'_>],
        model: ModelIndex,
        mode: SharingMode,
    ) -> f64 {
        known(own.demand(model).duty, others.iter().map(|other| other.demand(model).duty), mode)
    }
}

/// Believes what was declared, and this of jobs on one GPU; or nonsense.
struct Believes {
    declared: Box<dyn Predictor>,
    nonsense: Option<Random>,
}

impl Predictor for Believes {
    fn observe(&mut self, sample: &Sample<'_>) -> Moved {
        self.declared.observe(sample)
    }
    fn forecast(&self, job: &Job, cluster: &Cluster) -> Arc<Forecast> {
        let mut forecast = (*self.declared.forecast(job, cluster)).clone();
        if let Some(random) = &self.nonsense {
            let mut random = Random::new(random.clone().bits() ^ job.spec.id.0);
            let mut any =
                || [random.between(-1.0, 3.0), f64::NAN, 0.0, f64::INFINITY][random.below(4) as usize];
            let (duty, sm, tensor, bandwidth) = (any(), any(), any(), any());
            let memory = Estimate::exact(Bytes(random.below(30_000_000_000)));
            forecast.demand =
                PerModel::all(Demand { duty, sm, tensor, bandwidth, memory, ..Demand::default() });
        }
        Arc::new(forecast)
    }
    fn interference(&self) -> Arc<dyn Interference> {
        if self.nonsense.is_some() { self.declared.interference() } else { Arc::new(Known) }
    }
    fn save(&self) -> Result<evenhand_core::Saved, evenhand_core::SaveError> {
        Ok(evenhand_core::Saved::default())
    }
    fn load(&mut self, _saved: &evenhand_core::Saved) -> Result<(), evenhand_core::SaveError> {
        Ok(())
    }
}

/// Forty jobs of random demands on six GPUs, some of them gangs.
fn crowd(seed: u64) -> (ClusterSpec, Workload) {
    let mut random = Random::stream(seed, "crowd");
    let mut cluster = ClusterSpec::parse("h200=6", Some(2), None).unwrap();
    for node in &mut cluster.nodes {
        (node.slots, node.memory) = (1 + random.below(4) as u8, Bytes(20_000_000_000));
    }
    let mut workload = Workload { tenants: Vec::new(), ..Workload::default() };
    workload.tenants.extend((0..3).map(|id| Tenant::new(TenantId(id), &format!("team-{id}"))));
    let mut at = 0.0;
    for id in 0..40 {
        let steps = Work::from_steps(random.between(100.0, 3000.0));
        let gpus = [1, 1, 1, 2, 3][random.below(5) as usize];
        let mut spec = JobSpec::new(JobId(id), TenantId(random.below(3) as u32), gpus, Some(steps));
        let memory = Estimate::exact(Bytes(random.below(8_000_000_000)));
        let demand = Demand { duty: random.unit(), memory, ..Demand::default() };
        spec.demand = Some(Arc::new(PerModel::all(demand)));
        if random.chance(0.2) {
            spec.sharing = evenhand_core::Consent::Never;
        }
        workload.jobs.push(SimJob::new(Time::from_seconds(at), Arc::new(spec)));
        at += random.exponential(150.0);
    }
    (cluster, workload)
}

/// Plays a crowd with the placer that shares GPUs; checks every contract after every event. How many guests there were.
fn contracts_hold(name: &str, policy: Box<dyn Policy>, seed: u64) -> usize {
    let (cluster, workload) = crowd(seed);
    let jobs = workload.jobs.len();
    let mut world = world(&cluster, workload).with_interference(Box::new(Known));
    let config = EngineConfig { round: Span::from_minutes(2), ..EngineConfig::default() };
    let placer = (PLACERS.iter().find(|entry| entry.name == "interference").unwrap().build)();
    let declared = (evenhand_predict::PREDICTORS[0].build)();
    let predictor = Box::new(Believes { declared, nonsense: None });
    let parts = Parts { placer, predictor, ..parts_with(policy, config, world.abilities()) };
    let mut engine = Engine::new(parts);
    let (mut ended, mut guests) = (0, 0);
    for events in 0.. {
        assert!(events < 100_000, "{name}, seed {seed}: nothing comes to an end");
        let Some((now, event)) = world.next().unwrap() else { break };
        let step = engine.step(now, &event);
        let refused =
            step.notes.iter().find(|note| matches!(note, Note::PlanRefused(_) | Note::PolicyFailed(_)));
        assert!(refused.is_none(), "{name}, seed {seed}: {refused:?}");
        for command in &step.commands {
            ended += usize::from(matches!(command, Command::End { .. }));
            if let Command::Start(lease) = command {
                guests += usize::from(lease.reason == evenhand_core::Reason::Packed);
            }
            world.execute(now, command).unwrap();
        }
        let snapshot = engine.snapshot();
        // When a contract becomes tighter because there are fewer jobs, guests take a moment to go.
        let leaving = snapshot.leases.iter().filter(|lease| !lease.is_lasting());
        let leaving: BTreeSet<GpuId> = leaving.flat_map(|lease| lease.gpus.iter()).collect();
        for lease in snapshot.leases.iter().filter(|lease| lease.is_lasting()) {
            let Sharing::Beside { slowdown_max, .. } = lease.sharing else { continue };
            for seen in world.observed(lease.job).iter().filter(|seen| !leaving.contains(&seen.gpu)) {
                assert!(
                    seen.slowdown.get() <= slowdown_max.get() + 1e-9,
                    "{name}, seed {seed}: {} is slowed down by {:?} on {}, against {slowdown_max:?}",
                    lease.job,
                    seen.slowdown,
                    seen.gpu
                );
            }
        }
    }
    assert_eq!(ended, jobs, "{name}, seed {seed}");
    guests
}

#[test]
fn no_contract_is_broken_where_beliefs_are_exact_whatever_the_policy() {
    for name in
        ["las", "fifo", "srtf", "oef-cooperative", "oef-noncooperative", "themis", "shockwave", "promise"]
    {
        let guests: usize = (0..25).map(|seed| contracts_hold(name, policy(name), seed)).sum();
        assert!(guests > 20, "{name} had {guests} guests only");
    }
    // Who shares GPUs by itself is left to it.
    for name in ["gandiva", "horus", "lucid"] {
        for seed in 0..10 {
            contracts_hold(name, policy(name), seed);
        }
    }
}

#[test]
fn a_job_that_bears_nothing_is_not_slowed_down() {
    /// A policy whose jobs bear nothing.
    struct Delicate(Box<dyn Policy>);
    impl Policy for Delicate {
        fn decide(&self, snapshot: &Snapshot, limits: Limits) -> Result<Plan, PolicyError> {
            let plan = self.0.decide(snapshot, limits)?;
            let bears = plan.grants.iter().map(|grant| (grant.job, Ratio::ONE)).collect();
            Ok(Plan { bears, ..plan })
        }
    }
    /// The most that anybody who has whole GPUs may be slowed down.
    fn most(policy: Box<dyn Policy>) -> f64 {
        let (cluster, workload) = crowd(1);
        let mut world = world(&cluster, workload).with_interference(Box::new(Known));
        let config = EngineConfig { round: Span::from_minutes(2), ..EngineConfig::default() };
        let placer = (PLACERS.iter().find(|entry| entry.name == "interference").unwrap().build)();
        let parts = Parts { placer, ..parts_with(policy, config, world.abilities()) };
        let (_, records) = play(parts, &mut world);
        let contract = |command: &Command| match command {
            Command::Start(lease) => match lease.sharing {
                Sharing::Beside { slowdown_max, .. } if slowdown_max < Ratio::UNLIMITED => slowdown_max.get(),
                _ => 1.0,
            },
            _ => 1.0,
        };
        records.iter().flat_map(|record| &record.commands).map(contract).fold(1.0, f64::max)
    }
    let (usual, delicate) = (most(policy("las")), most(Box::new(Delicate(policy("las")))));
    assert!(usual > 1.5 && delicate <= 1.0, "{usual}, {delicate}");
    contracts_hold("delicate", Box::new(Delicate(policy("las"))), 1);
}

#[test]
fn beliefs_that_are_nonsense_break_nothing() {
    for entry in evenhand_policies::POLICIES {
        for (placer, seed) in [("topology", 1), ("interference", 2)] {
            let (cluster, workload) = crowd(seed);
            let mut world = world(&cluster, workload);
            let declared = (evenhand_predict::PREDICTORS[0].build)();
            let predictor = Box::new(Believes { declared, nonsense: Some(Random::new(seed)) });
            let placer = (PLACERS.iter().find(|entry| entry.name == placer).unwrap().build)();
            let parts = parts_with(policy(entry.name), EngineConfig::default(), world.abilities());
            let (ends, records) = play(Parts { placer, predictor, ..parts }, &mut world);
            assert_eq!(ends.len(), 40, "{}", entry.name);
            let refused = |note: &Note| matches!(note, Note::PlanRefused(_) | Note::PolicyFailed(_));
            let found = records.iter().flat_map(|record| &record.notes).find(|note| refused(note));
            assert!(found.is_none(), "{}: {found:?}", entry.name);
        }
    }
}

#[test]
fn a_guest_that_is_measured_to_break_a_contract_goes_and_does_not_come_back() {
    // Believed to be harmless, and in truth half as fast together.
    struct Harmless(Box<dyn Predictor>);
    struct Nothing;
    impl Interference for Nothing {
        fn slowdown(&self, _: &Demand, _: &[&Demand], _: &GpuModel, _: SharingMode) -> Estimate<Ratio> {
            Estimate::default()
        }
        fn version(&self) -> &'static str {
            "nothing"
        }
    }
    impl Predictor for Harmless {
        fn observe(&mut self, sample: &Sample<'_>) -> Moved {
            self.0.observe(sample)
        }
        fn forecast(&self, job: &Job, cluster: &Cluster) -> Arc<Forecast> {
            self.0.forecast(job, cluster)
        }
        fn interference(&self) -> Arc<dyn Interference> {
            Arc::new(Nothing)
        }
        fn save(&self) -> Result<evenhand_core::Saved, evenhand_core::SaveError> {
            Ok(evenhand_core::Saved::default())
        }
        fn load(&mut self, _saved: &evenhand_core::Saved) -> Result<(), evenhand_core::SaveError> {
            Ok(())
        }
    }
    let cluster = machines(1);
    let mut world = world(&cluster, work(&[("b", 10_000), ("a", 10_000)], &cluster));
    let placer = (PLACERS.iter().find(|entry| entry.name == "interference").unwrap().build)();
    let predictor = Box::new(Harmless((evenhand_predict::PREDICTORS[0].build)()));
    let parts = parts_with(policy("fifo"), EngineConfig::default(), world.abilities());
    let (ends, records) = play(Parts { placer, predictor, ..parts }, &mut world);
    let starts = records.iter().flat_map(|record| &record.commands);
    let starts = starts.filter(|command| matches!(command, Command::Start(_))).count();
    assert_eq!(starts, 3, "together, apart, and alone afterwards");
    // Side by side for a round of 360 s, at 3 and 1.1 times as slow; then one after the other.
    assert!((ends[&0] - (360.0 + 10_000.0 - 120.0)).abs() < 1.0, "{ends:?}");
    assert!((ends[&1] - (ends[&0] + 10_000.0 - 360.0 / 1.1)).abs() < 1.0, "{ends:?}");
}

#[test]
fn a_run_with_guests_is_the_same_when_it_is_replayed() {
    let (cluster, workload) = crowd(3);
    let workload = Arc::new(workload);
    for (name, placer, sharing) in [
        ("las", "interference", "rule"),
        ("las", "interference", "learned"),
        ("oef-cooperative", "interference", "learned"),
        ("horus-plus", "topology", "rule"),
    ] {
        let (policy, placer) = (Choice::named(name), Choice::named(placer));
        let setup = Setup { policy, placer, sharing: Some(sharing.to_owned()), ..Setup::default() };
        let mut world =
            World::new(cluster.models.clone(), &cluster.nodes, workload.clone(), Faults::default(), 1)
                .with_interference(Box::new(Known));
        let header = setup.header(world.abilities(), "simulated");
        let mut ledger = evenhand_core::LedgerWriter::new(Vec::new(), &header).unwrap();
        let mut engine = evenhand_sim::engine_for(&header).unwrap();
        evenhand_engine::run(&mut engine, &mut world, &mut |record| ledger.write(record)).unwrap();
        let ledger = ledger.finish().unwrap();
        replay_interrupted(&ledger, 1);
    }
}

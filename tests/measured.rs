//! Measured speeds: they converge to the truth, lies about speedups stop paying, and the report names the liar and nobody else.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    Backend, Choice, Command, JobId, JobSpec, LedgerReader, LedgerWriter, ModelIndex, PerModel, Rate, Record,
    RegimeSpec, Restart, Span, Tenant, TenantId, Time, Work,
};
use evenhand_engine::{Engine, run};
use evenhand_report::Report;
use evenhand_sim::{ClusterSpec, Faults, Setup, SimJob, Straggling, Workload, World, engine_for, traces};
use evenhand_tests::replay_interrupted;
use std::path::Path;
use std::sync::Arc;

const BOB: TenantId = TenantId(0);
const V100: ModelIndex = ModelIndex(1);

/// Ann (V100 twice a K80) and Bob (five times), on four GPUs of each model.
fn ann_and_bob() -> (ClusterSpec, Workload) {
    let cluster = ClusterSpec::parse("k80=4,v100=4", None, None).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/speedups.csv");
    let workload = traces::open(&path, &traces::Sides::default(), &cluster).unwrap();
    assert_eq!(workload.tenants[BOB.index()].name, "bob");
    (cluster, workload)
}

/// What came of a run.
struct Played {
    /// When the last job of Bob ended: Ann is busy all the while.
    bob_s: f64,
    ledger: Vec<u8>,
    report: Report,
}

fn setup(policy: &str, predictor: &str, seed: u64) -> Setup {
    Setup {
        policy: Choice::named(policy),
        predictor: Some(Choice::named(predictor)),
        seed,
        ..Setup::default()
    }
}

fn play((cluster, workload): (ClusterSpec, Workload), setup: &Setup) -> Played {
    let owners: Vec<_> = workload.jobs.iter().map(|job| (job.truth.id, job.truth.tenant)).collect();
    let is_bobs = |id: JobId| owners.contains(&(id, BOB));
    let faults = setup.faults.clone();
    let mut world = World::new(cluster.models, &cluster.nodes, Arc::new(workload), faults, setup.seed);
    let header = setup.header(world.abilities(), "simulated");
    let mut ledger = LedgerWriter::new(Vec::new(), &header).unwrap();
    let (mut report, mut bob_s) = (Report::new(&header), 0.0);
    run(&mut engine_for(&header).unwrap(), &mut world, &mut |record: &Record| {
        report.take(record);
        let ended = |command: &Command| matches!(command, Command::End { job, .. } if is_bobs(*job));
        if record.commands.iter().any(ended) {
            bob_s = record.now.seconds();
        }
        ledger.write(record)
    })
    .unwrap();
    Played { bob_s, ledger: ledger.finish().unwrap(), report }
}

/// A run in which Bob reports a multiple of his true speed on a GPU model.
fn with_lie(predictor: &str, (model, lie): (&str, f64), seed: u64) -> Played {
    let (cluster, mut workload) = ann_and_bob();
    workload.misreport(&cluster, ("bob", model, lie)).unwrap();
    play((cluster, workload), &setup("oef-noncooperative", predictor, seed))
}

fn honest(predictor: &str, seed: u64) -> Played {
    with_lie(predictor, ("v100", 1.0), seed)
}

/// How much more throughput Bob gets by a lie than by the truth.
fn gain(predictor: &str, lie: (&str, f64), seed: u64) -> f64 {
    honest(predictor, seed).bob_s / with_lie(predictor, lie, seed).bob_s - 1.0
}

#[test]
fn understating_pays_where_reports_are_believed_and_not_where_speeds_are_measured() {
    // Reporting 3 for 5 is worth 15/(3+2) against 15/7: 40 %.
    let believed = gain("declared", ("v100", 0.6), 1);
    assert!((believed - 0.4).abs() < 0.05, "{believed}");
    let believed = gain("declared", ("v100", 0.402), 1);
    assert!((believed - 0.74).abs() < 0.05, "{believed}");
    for (lie, seed) in [(0.6, 1), (0.6, 2), (0.402, 3)] {
        let measured = gain("measured", ("v100", lie), seed);
        assert!(measured.abs() < 0.02, "a lie of {lie} is worth {measured}, seed {seed}");
    }
}

#[test]
fn to_overstate_the_model_that_one_never_runs_on_is_found_out_by_probes() {
    // The same speedup of 3, said in another way: all that Bob's work shows without probes is true.
    let lie = ("k80", 5.0 / 3.0);
    let believed = gain("declared", lie, 1);
    assert!((believed - 0.4).abs() < 0.05, "{believed}");
    let measured = gain("measured", lie, 1);
    assert!(measured.abs() < 0.02, "{measured}");
}

#[test]
fn whoever_slows_down_lives_with_the_slow_rate() {
    let (cluster, mut workload) = ann_and_bob();
    for job in workload.jobs.iter_mut().filter(|job| job.truth.tenant == BOB) {
        let mut speeds = job.truth.speeds.unwrap();
        speeds[V100] = Rate::new(3.0).unwrap();
        Arc::make_mut(&mut job.truth).speeds = Some(speeds);
    }
    let slowed = play((cluster, workload), &setup("oef-noncooperative", "measured", 1)).bob_s;
    assert!(slowed > honest("measured", 1).bob_s, "Bob is done after {slowed} s by working slowly");
}

#[test]
fn overstating_never_pays() {
    assert!(gain("declared", ("v100", 1.4), 1) < -0.15);
    let measured = gain("measured", ("v100", 1.4), 1);
    assert!(measured < 0.02, "{measured}");
}

#[test]
fn measuring_costs_the_honest_nothing() {
    let (believed, measured) = (honest("declared", 1).bob_s, honest("measured", 1).bob_s);
    assert!((measured / believed - 1.0).abs() < 0.02, "{believed} s believed, {measured} s measured");
}

#[test]
fn to_declare_every_job_a_little_differently_does_not_help() {
    let bob_s = |lie: f64| {
        let (cluster, mut workload) = ann_and_bob();
        for (at, job) in workload.jobs.iter_mut().filter(|job| job.truth.tenant == BOB).enumerate() {
            let spec = Arc::make_mut(&mut job.truth);
            let mut speeds = spec.speeds.unwrap();
            speeds[V100] = Rate::new(5.0 + 0.001 * at as f64).unwrap();
            spec.speeds = Some(speeds);
        }
        workload.misreport(&cluster, ("bob", "v100", lie)).unwrap();
        play((cluster, workload), &setup("oef-noncooperative", "measured", 1)).bob_s
    };
    let gain = bob_s(1.0) / bob_s(0.6) - 1.0;
    assert!(gain.abs() < 0.02, "{gain}");
}

#[test]
fn the_report_names_the_liar_and_nobody_else() {
    for predictor in ["declared", "measured"] {
        let honest = honest(predictor, 1).report.speeds();
        assert_eq!((honest.flagged, honest.kinds), (0, 2), "{honest:?}");
        for lie in [0.6, 1.4] {
            let check = with_lie(predictor, ("v100", lie), 1).report.speeds();
            let flagged: Vec<_> = check.rows.iter().filter(|row| row.flagged).collect();
            assert!(!flagged.is_empty() && flagged.iter().all(|row| row.tenant == "bob"), "{check:?}");
            assert!(flagged.iter().all(|row| row.samples >= 30 && (row.ratio / lie - 1.0).abs() < 0.02));
        }
    }
}

#[test]
fn a_run_that_measures_can_be_repeated_and_replayed() {
    let (once, again) = (with_lie("measured", ("v100", 0.6), 5), with_lie("measured", ("v100", 0.6), 5));
    assert!(once.ledger == again.ledger, "the same seed gives another ledger");
    let reader = LedgerReader::new(&once.ledger[..]).unwrap();
    let header = reader.header().clone();
    assert_eq!(header.predictor.name, "measured");
    replay_interrupted(&once.ledger, 1);
}

/// Jobs that are spread, restarted, slowed and of several regimes, of one tenant that reports half of the truth on V100s.
fn bad_day() -> (ClusterSpec, Workload, Faults) {
    let cluster = ClusterSpec::parse("k80=16,v100=16", Some(2), Some(2)).unwrap();
    let ratio = |value| evenhand_core::Ratio::new(value).unwrap();
    let job = |id: u64| {
        let mut spec =
            JobSpec::new(JobId(id), TenantId((id % 2) as u32), 4, Some(Work::from_steps(40_000.0)));
        let mut speeds = PerModel::all(Rate::ONE);
        speeds[V100] = Rate::new(3.0).unwrap();
        spec.speeds = Some(speeds);
        spec.scaling.by_span = Some([1.0, 1.0, 1.2, 1.5].map(ratio));
        spec.restart =
            Restart { save: Span::from_secs(20), restore: Span::from_secs(40), ..Restart::default() };
        spec.regimes = vec![RegimeSpec { from: Work::from_steps(20_000.0), batch: 64, speed: ratio(1.7) }];
        SimJob::new(Time(id * 600_000), Arc::new(spec))
    };
    let tenants = vec![Tenant::new(TenantId(0), "ann"), Tenant::new(TenantId(1), "bob")];
    let mut workload = Workload { jobs: (0..60).map(job).collect(), tenants, ..Workload::default() };
    workload.misreport(&cluster, ("bob", "v100", 0.5)).unwrap();
    let faults = Faults {
        node_failure_every_s: 40_000.0,
        job_crash_every_s: 40_000.0,
        straggling: Straggling { every_s: 20_000.0, for_s: 900.0, speed: 0.5 },
        forecast_error: 0.3,
        ..Faults::default()
    };
    (cluster, workload, faults)
}

/// Plays until most jobs have come, and gives what is believed then.
fn beliefs(policy: &str, seed: u64) -> Vec<(u32, f64, f64, bool)> {
    let (cluster, workload, faults) = bad_day();
    let mut world = World::new(cluster.models, &cluster.nodes, Arc::new(workload), faults.clone(), seed);
    let setup = Setup { faults, ..setup(policy, "measured", seed) };
    let mut engine: Engine = engine_for(&setup.header(world.abilities(), "simulated")).unwrap();
    let until = Time(55 * 600_000);
    while let Some((now, event)) = world.next().unwrap().filter(|(now, _)| *now < until) {
        for command in engine.step(now, &event).commands {
            world.execute(now, &command).unwrap();
        }
    }
    let snapshot = engine.snapshot();
    let told = snapshot.jobs.iter().map(|(index, job)| {
        let (speed, regime) = (snapshot.forecast(index).speed, job.regime.speed.get());
        let at = |model| speed[ModelIndex(model)].mean.get() / regime;
        let seen = (0..2).all(|model| speed[ModelIndex(model)].low > Rate::ZERO);
        (job.spec.tenant.0, at(0), at(1), seen)
    });
    told.collect()
}

#[test]
fn beliefs_converge_to_the_truth_on_a_bad_day_whatever_was_reported() {
    for (policy, seed) in [("oef-noncooperative", 1), ("oef-noncooperative", 2), ("las", 3), ("srtf", 4)] {
        let told = beliefs(policy, seed);
        assert!(told.len() > 3, "only {} jobs are left to be believed anything of", told.len());
        for (tenant, k80, v100, seen) in &told {
            let near = (k80 - 1.0).abs() < 0.02 && (v100 / 3.0 - 1.0).abs() < 0.02;
            assert!(*seen && near, "{policy}, seed {seed}, tenant {tenant}: {k80} and {v100}");
        }
        for tenant in 0..2 {
            let mut rows: Vec<_> = told.iter().filter(|row| row.0 == tenant).collect();
            rows.dedup_by(|a, b| (a.1 - b.1).abs() < 1e-9 && (a.2 - b.2).abs() < 1e-9);
            assert!(rows.len() <= 1, "jobs alike are believed different things of: {rows:?}");
        }
    }
}

#[test]
fn the_report_measures_as_the_predictor_does() {
    let (cluster, workload, faults) = bad_day();
    let setup = Setup { faults, ..setup("oef-noncooperative", "declared", 1) };
    let played = play((cluster, workload), &setup);
    let check = played.report.speeds();
    let flagged: Vec<_> =
        check.rows.iter().filter(|row| row.flagged).map(|row| row.tenant.as_str()).collect();
    assert_eq!(flagged, ["bob"], "{check:?}");
    for row in check.rows.iter().filter(|row| row.samples >= 30) {
        let truth = if row.model == "v100" { 3.0 } else { 1.0 };
        assert!((row.measured / truth - 1.0).abs() < 0.02, "{row:?}");
    }
}

//! Whole GPUs and whole gangs, over thousands of rounds: what everybody receives is what it is owed.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    Backend, Event, JobSpec, ModelIndex, Party, PerModel, Rate, Snapshot, Span, TenantId, Time,
};
use evenhand_tests::{Stage, engine_with, policy};
use std::collections::BTreeMap;

/// GPU-milliseconds per tenant and model.
type Books = BTreeMap<(TenantId, ModelIndex), f64>;

const ROUND: Span = Span::from_minutes(1);

/// What was owed and what was received after so many rounds of jobs that never end, and the largest debt on the way.
struct Outcome {
    owed: Books,
    received: Books,
    /// In GPUs: over all rounds, parties and models.
    debt_most: f64,
    elapsed: Span,
}

fn play(stage: &Stage, name: &str, rounds: usize) -> Outcome {
    let mut world = stage.world();
    let mut engine = engine_with(policy(name), stage.engine.clone(), world.abilities());
    let (mut owed, mut debt_most, mut count) = (Books::new(), 0.0_f64, 0);
    let mut since = Time::ZERO;
    while count < rounds {
        let (now, event) = world.next().unwrap().unwrap();
        add_owed(&engine.snapshot(), now.since(since), &mut owed);
        since = now;
        let step = engine.step(now, &event);
        for command in &step.commands {
            world.execute(now, command).unwrap();
        }
        if matches!(event, Event::RoundDue(_)) {
            count += 1;
            debt_most = debt_most.max(largest_debt(&engine.snapshot()));
        }
    }
    let received = received(&engine.snapshot());
    Outcome { owed, received, debt_most, elapsed: since.since(Time::ZERO) }
}

fn add_owed(snapshot: &Snapshot, span: Span, owed: &mut Books) {
    let Some(shares) = snapshot.previous.as_ref().and_then(|plan| plan.shares.as_ref()) else { return };
    for (party, row) in &shares.rows {
        let Party::TenantClass(tenant, _) = party else { panic!("a share of a class of jobs") };
        for model in snapshot.cluster.model_indices() {
            *owed.entry((*tenant, model)).or_default() += row[model] * span.0 as f64;
        }
    }
}

fn largest_debt(snapshot: &Snapshot) -> f64 {
    let debts = snapshot.balances.iter().flat_map(|(_, row)| row.values().collect::<Vec<_>>());
    debts.map(|debt| debt.abs() / ROUND.0 as f64).fold(0.0, f64::max)
}

fn received(snapshot: &Snapshot) -> Books {
    let mut received = Books::new();
    for (_, job) in snapshot.jobs.iter() {
        for model in snapshot.cluster.model_indices() {
            *received.entry((job.spec.tenant, model)).or_default() += job.attained[model].0 as f64;
        }
        if let Some(lease) = snapshot.leases.of_job(Some(job)) {
            let model = snapshot.model_of(lease).unwrap();
            let running = f64::from(lease.gpus.count().0) * snapshot.now.since(lease.taken).0 as f64;
            *received.entry((job.spec.tenant, model)).or_default() += running;
        }
    }
    received
}

/// Three models; a tenant for each row of speeds, with so many jobs of a gang that never end.
fn stage(cluster: &str, tenants: &[([f64; 3], u32, u32)]) -> Stage {
    let mut stage = Stage::new(cluster, 8);
    for (at, (speeds, gang, jobs)) in tenants.iter().enumerate() {
        stage = stage.tenant(&format!("tenant-{at}"));
        for _ in 0..*jobs {
            let declare = |spec: &mut JobSpec| {
                let mut row = PerModel::default();
                for (model, speed) in speeds.iter().enumerate() {
                    row[ModelIndex(model as u16)] = Rate::new(*speed).unwrap();
                }
                spec.speeds = Some(row);
            };
            stage = stage.job_with(0, *gang, 1_000_000_000, declare);
        }
    }
    stage
}

/// Everybody's GPU-time is within a hundredth of what it is owed, in all and on every model that it is owed a GPU of.
fn assert_made_good(outcome: &Outcome, place: &str) {
    let total = |books: &Books, tenant: TenantId| -> f64 {
        books.iter().filter(|((other, _), _)| *other == tenant).map(|(_, gpus)| gpus).sum()
    };
    let tenants: Vec<TenantId> = outcome.owed.keys().map(|(tenant, _)| *tenant).collect();
    for tenant in tenants {
        let (owed, received) = (total(&outcome.owed, tenant), total(&outcome.received, tenant));
        assert!(
            (received / owed - 1.0).abs() < 0.01,
            "{place}: {tenant} was owed {owed} and received {received}"
        );
    }
}

const ROWS: [[f64; 3]; 4] = [[1.0, 1.3, 1.9], [1.0, 1.6, 2.9], [1.0, 2.1, 3.3], [1.0, 1.2, 4.1]];

#[test]
fn one_gpu_jobs_receive_what_they_are_owed_and_debts_stay_within_one_gpu() {
    for name in ["oef-noncooperative", "oef-cooperative", "nash"] {
        let tenants = ROWS.map(|row| (row, 1, 24));
        let outcome = play(&stage("k80=8,p100=8,v100=8", &tenants), name, 2_000);
        assert_made_good(&outcome, name);
        assert!(outcome.debt_most < 1.0, "{name}: {} GPUs", outcome.debt_most);
    }
}

#[test]
fn gangs_that_pack_exactly_receive_what_they_are_owed() {
    for name in ["oef-noncooperative", "oef-cooperative", "nash"] {
        let gangs = [1, 2, 4, 2];
        let tenants: Vec<_> = ROWS.iter().zip(gangs).map(|(row, gang)| (*row, gang, 24)).collect();
        let outcome = play(&stage("k80=8,p100=8,v100=8", &tenants), name, 3_000);
        assert_made_good(&outcome, name);
        assert!(outcome.debt_most < 12.0, "{name}: {} GPUs", outcome.debt_most);
    }
}

/// Gangs of three on eight GPUs: six can be used at a time.
#[test]
fn gangs_that_do_not_pack_receive_what_is_packable() {
    for name in ["oef-noncooperative", "oef-cooperative", "nash"] {
        let tenants = ROWS.map(|row| (row, 3, 24));
        let outcome = play(&stage("k80=8,p100=8,v100=8", &tenants), name, 3_000);
        assert_made_good(&outcome, name);
        // What is divided is what can be used, so that debts do not grow without end.
        let owed: f64 = outcome.owed.values().sum();
        let all = 24.0 * outcome.elapsed.0 as f64;
        assert!((owed / all - 6.0 / 8.0).abs() < 0.001, "{name}: {owed} of {all}");
        assert!(outcome.debt_most < 9.0, "{name}: {} GPUs", outcome.debt_most);
    }
}

#[test]
fn nobody_waits_while_gpus_idle() {
    let outcome = play(&stage("k80=8,p100=8,v100=8", &[(ROWS[0], 1, 2), (ROWS[1], 1, 40)]), "nash", 50);
    let used: f64 = outcome.received.values().sum();
    let all = 24.0 * outcome.elapsed.0 as f64;
    assert!(used >= 0.999 * all, "{used} of {all}");
}

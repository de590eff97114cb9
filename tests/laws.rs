//! Laws that every registered policy and every registered placer keeps, over thousands of random snapshots.
//!
//! Registering a policy enrols it here. A failure prints the seed and the step of its snapshot.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    Backend, Choice, EngineConfig, GpuCount, GpuMask, Grant, JobState, Jobs, Limits, Locality, ModelIndex,
    Occasion, Others, PerModel, Plan, Policy, Random, Reason, Site, Snapshot, Span, Tenant, Weight,
};
use evenhand_policies::placement::PLACERS;
use evenhand_policies::{POLICIES, Promise};
use evenhand_predict::PREDICTORS;
use evenhand_sim::traces::synthetic::Synthetic;
use evenhand_sim::{ClusterSpec, Faults, Setup, World, engine_for};
use std::sync::Arc;

/// Snapshots from the middle of random runs: half-full clusters, jobs that stop, nodes that are gone.
fn snapshots(seed: u64) -> Vec<Snapshot> {
    let mut random = Random::stream(seed, "laws");
    let text = ["v100=8", "v100=12,k80=6", "a100=6,v100=8,k80=10"][random.below(3) as usize];
    let cluster = ClusterSpec::parse(text, Some([2, 4][random.below(2) as usize]), Some(2)).unwrap();
    let work = Synthetic {
        jobs: 40,
        load: random.between(0.8, 4.0),
        gpus: vec![(1, 4.0), (2, 2.0), (3, 1.0), (4, 1.0), (6, 0.5)],
        tenants: 3,
        seed,
        ..Synthetic::default()
    };
    let mut workload = work.generate(&cluster);
    for tenant in &mut workload.tenants {
        *tenant = random_tenant(tenant, &mut random);
    }
    let faults = Faults { node_failure_every_s: 10_000.0, job_crash_every_s: 10_000.0, ..Faults::default() };
    let policy = POLICIES[random.below(POLICIES.len() as u64) as usize].name;
    let engine = EngineConfig { round: Span::from_minutes(10), ..EngineConfig::default() };
    let predictor = Some(Choice::named(PREDICTORS[random.below(PREDICTORS.len() as u64) as usize].name));
    let setup = Setup { policy: Choice::named(policy), predictor, engine, seed, ..Setup::default() };
    let mut world = World::new(cluster.models, &cluster.nodes, Arc::new(workload), faults, seed);
    let mut engine = engine_for(&setup.header(world.abilities(), "simulated")).unwrap();
    let mut taken = Vec::new();
    for at in 0..400 {
        let Some((now, event)) = world.next().unwrap() else { break };
        let commands = engine.step(now, &event).commands;
        for command in &commands {
            world.execute(now, command).unwrap();
        }
        if at % 40 == 39 {
            let occasion = if random.chance(0.5) { Occasion::Regular } else { Occasion::Early };
            taken.push(Snapshot { occasion, ..engine.snapshot() });
        }
    }
    taken
}

fn random_tenant(tenant: &Tenant, random: &mut Random) -> Tenant {
    let mut tenant = Tenant { weight: Weight::new(random.between(0.5, 4.0)).unwrap(), ..tenant.clone() };
    if random.chance(0.2) {
        tenant.limit = Some(PerModel::all(GpuCount(1 + random.below(6) as u32)));
    }
    tenant
}

/// Every policy on every snapshot of many seeds.
fn everywhere(law: impl Fn(&str, &dyn Policy, &Snapshot, &dyn Fn() -> String)) {
    for seed in 0..150 {
        for (step, snapshot) in snapshots(seed).iter().enumerate() {
            for entry in POLICIES {
                let policy = entry.make(&Choice::default().parameters).unwrap();
                law(entry.name, &*policy, snapshot, &|| {
                    format!("{}, seed {seed}, snapshot {step}", entry.name)
                });
            }
        }
    }
}

fn decide(policy: &dyn Policy, snapshot: &Snapshot) -> Plan {
    policy.decide(snapshot, Limits::default()).unwrap()
}

#[test]
fn every_plan_may_be_carried_out() {
    everywhere(|_, policy, snapshot, place| {
        let checked = decide(policy, snapshot).check(snapshot);
        assert_eq!(checked, Ok(()), "{}", place());
    });
}

#[test]
fn the_same_snapshot_gives_the_same_plan() {
    everywhere(|_, policy, snapshot, place| {
        let (once, again) = (decide(policy, snapshot), decide(policy, snapshot));
        assert_eq!(format!("{once:?}"), format!("{again:?}"), "{}", place());
    });
}

/// The same jobs in other places of the table.
fn reordered(snapshot: &Snapshot) -> Snapshot {
    let mut jobs = Jobs::default();
    let mut forecasts = vec![Arc::default(); snapshot.jobs.len()];
    let rows: Vec<_> = snapshot.jobs.iter().collect();
    for (index, job) in rows.into_iter().rev() {
        let place = jobs.insert(job.clone());
        forecasts[place.0 as usize] = snapshot.forecasts[index.0 as usize].clone();
    }
    Snapshot { jobs: Arc::new(jobs), forecasts: Arc::new(forecasts), ..snapshot.clone() }
}

#[test]
fn the_order_of_jobs_in_the_table_does_not_matter() {
    everywhere(|_, policy, snapshot, place| {
        let (plan, other) = (decide(policy, snapshot), decide(policy, &reordered(snapshot)));
        assert_eq!(plan.grants, other.grants, "{}", place());
    });
}

#[test]
fn scaling_all_weights_does_not_matter() {
    everywhere(|_, policy, snapshot, place| {
        let mut tenants = (*snapshot.tenants).clone();
        for tenant in snapshot.tenants.iter() {
            // A power of two, so that the arithmetic stays exact.
            tenants.put(Tenant { weight: Weight::new(tenant.weight.get() * 4.0).unwrap(), ..tenant.clone() });
        }
        let scaled = Snapshot { tenants: Arc::new(tenants), ..snapshot.clone() };
        assert_eq!(decide(policy, snapshot).grants, decide(policy, &scaled).grants, "{}", place());
    });
}

/// GPUs of each model that a plan leaves to nobody.
fn left_over(plan: &Plan, snapshot: &Snapshot) -> PerModel<GpuCount> {
    let mut free =
        if plan.others == Others::Keep { snapshot.available() } else { snapshot.cluster.capacities() };
    for grant in &plan.grants {
        // What a job keeps on a node that is being emptied was never to be had.
        let closed =
            |seat: &&evenhand_core::Seat| snapshot.cluster.nodes[seat.node.index()].usable().is_empty();
        let held = snapshot.leases.of_job(snapshot.jobs.by_id(grant.job));
        let kept = held.filter(|lease| lease.is_lasting() && grant.site == Site::Anywhere);
        let seats = kept.iter().flat_map(|lease| lease.gpus.seats()).filter(closed);
        let own = GpuCount(seats.map(|seat| seat.gpus.count()).sum());
        if let Some(model) = grant.model(snapshot) {
            free[model] = free[model].less(grant.gpus.less(own));
        }
    }
    free
}

#[test]
fn who_promises_to_waste_nothing_wastes_nothing() {
    everywhere(|name, policy, snapshot, place| {
        let promises = POLICIES.iter().find(|entry| entry.name == name).unwrap().promises;
        if !promises.contains(&Promise::WorkConserving) {
            return;
        }
        let plan = decide(policy, snapshot);
        let free = left_over(&plan, snapshot);
        for (index, job) in snapshot.jobs.queue() {
            let named = plan.grants.iter().any(|grant| grant.job == job.spec.id);
            let limited = plan.refused.contains(&(job.spec.id, Reason::OverLimit));
            let fits = |model: &ModelIndex| {
                let speed = snapshot.forecast(index).speed[*model].mean.get();
                job.spec.models.allows(*model) && speed > 0.0 && job.spec.gpus.min <= free[*model]
            };
            let waits_in_vain = snapshot.cluster.model_indices().find(fits);
            assert!(
                named || limited || waits_in_vain.is_none(),
                "{} leaves {} waiting: {free:?}",
                place(),
                job.spec.id
            );
        }
    });
}

#[test]
fn who_promises_never_to_preempt_names_nobody_who_runs() {
    everywhere(|name, policy, snapshot, place| {
        let promises = POLICIES.iter().find(|entry| entry.name == name).unwrap().promises;
        if promises.contains(&Promise::NeverPreempts) {
            let plan = decide(policy, snapshot);
            let waits = |grant: &Grant| {
                matches!(snapshot.jobs.by_id(grant.job).unwrap().state, JobState::Queued { .. })
            };
            assert!(plan.others == Others::Keep && plan.grants.iter().all(waits), "{}", place());
        }
    });
}

#[test]
fn who_carries_balances_divides_no_more_than_there_is() {
    everywhere(|name, policy, snapshot, place| {
        let promises = POLICIES.iter().find(|entry| entry.name == name).unwrap().promises;
        if promises.contains(&Promise::CarriesBalances) {
            let shares = decide(policy, snapshot).shares.expect("it says what everybody is owed");
            for model in snapshot.cluster.model_indices() {
                let owed: f64 = shares.rows.iter().map(|(_, row)| row[model]).sum();
                let capacity = f64::from(snapshot.cluster.capacity(model).0);
                assert!(owed <= capacity + 1e-6, "{} owes {owed} of {capacity}", place());
            }
        }
    });
}

#[test]
fn every_placer_seats_each_grant_once_within_its_spread_or_says_why_not() {
    for seed in 0..300 {
        for snapshot in snapshots(seed) {
            let mut random = Random::stream(seed, "grants");
            let grants: Vec<Grant> = snapshot
                .jobs
                .queue()
                .map(|(_, job)| {
                    let locality = [Locality::Socket, Locality::Node, Locality::Rack, Locality::Cluster]
                        [random.below(4) as usize];
                    Grant {
                        locality,
                        ..Grant::new(job.spec.id, job.spec.gpus.min, Site::Anywhere, Reason::FirstCome)
                    }
                })
                .collect();
            for entry in PLACERS {
                check_placer(entry, &snapshot, &grants, seed);
            }
        }
    }
}

fn check_placer(
    entry: &evenhand_policies::placement::PlacerEntry,
    snapshot: &Snapshot,
    grants: &[Grant],
    seed: u64,
) {
    let place = format!("{}, seed {seed}", entry.name);
    let before = snapshot.cluster.free.clone();
    let mut room = before.clone();
    let placement = (entry.build)().place(snapshot, &mut room, grants);
    assert_eq!(placement.seated.len() + placement.dropped.len(), grants.len(), "{place}");
    let mut taken = vec![GpuMask(0); snapshot.cluster.nodes.len()];
    for (at, gpus) in &placement.seated {
        let grant = &grants[*at];
        assert_eq!(gpus.count(), grant.gpus, "{place}");
        assert!(snapshot.cluster.span_of(gpus) <= grant.locality, "{place}: {gpus} for {grant:?}");
        assert_eq!(snapshot.cluster.models_of(gpus).len(), 1, "{place}");
        for seat in gpus.seats() {
            let free = before.on(seat.node).without(taken[seat.node.index()]);
            assert!(seat.gpus.without(free).is_empty(), "{place}: {} seated twice", seat.node);
            taken[seat.node.index()] = taken[seat.node.index()].or(seat.gpus);
        }
    }
    for model in snapshot.cluster.model_indices() {
        let seated: u32 = placement
            .seated
            .iter()
            .filter(|(_, gpus)| snapshot.cluster.models_of(gpus) == [model])
            .map(|(_, gpus)| gpus.count().0)
            .sum();
        assert_eq!(room.count(model).0, before.count(model).0 - seated, "{place}");
    }
}

/// One GPU model, one gang, any spread: if there are enough free GPUs, no placer may fail.
#[test]
fn what_fits_is_seated() {
    for seed in 0..200 {
        for snapshot in snapshots(seed) {
            for (_, job) in snapshot.jobs.queue() {
                for model in snapshot.cluster.model_indices() {
                    let grant =
                        Grant::new(job.spec.id, job.spec.gpus.min, Site::Model(model), Reason::FirstCome);
                    let fits = grant.gpus <= snapshot.cluster.free.count(model);
                    for entry in PLACERS {
                        let mut room = snapshot.cluster.free.clone();
                        let seated = (entry.build)()
                            .place(&snapshot, &mut room, std::slice::from_ref(&grant))
                            .seated
                            .len()
                            == 1;
                        assert_eq!(seated, fits, "{}, seed {seed}", entry.name);
                    }
                }
            }
        }
    }
}

//! Shares over time: what each tenant held against what it was owed.

use crate::cluster::{Cluster, eventually, is_installed};
use crate::server::Server;
use evenhand_core::{Command, Event, Party, Record, Span, TenantId, Time};
use std::collections::BTreeMap;

const TENANTS: [&str; 3] = ["vision", "speech", "robots"];

/// In this time everybody has more work than GPUs.
const FROM: Time = Time(12_000);
const UNTIL: Time = Time(92_000);

#[test]
#[expect(clippy::print_stderr, reason = "what was seen is worth reading")]
fn tenants_receive_what_they_are_owed_over_time() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start();
    let server = Server::start("slurm-shares", &cluster, "oef-cooperative");
    // 20 jobs of each, of 1 and 2 GPUs, 50 s long: more than 32 GPUs can do until then, whatever is lost on the way.
    for number in 0..60 {
        let gpus = if (number / 3) % 2 == 0 { "--gres=gpu:1" } else { "--gres=gpu:2" };
        server.sbatch(&cluster, TENANTS[number % 3], &format!("job-{number}"), &[gpus], 500);
    }
    std::thread::sleep(std::time::Duration::from_millis(UNTIL.0));
    eventually("the time is over", || server.ledger().last().is_some_and(|record| record.now > UNTIL));
    let (owed, received) = added_up(&server.ledger());
    assert_eq!(owed.len(), 3, "{owed:?}");
    for (tenant, owed) in &owed {
        let received = received.get(tenant).copied().unwrap_or(0.0);
        eprintln!("{tenant:?} was owed {owed:.0} GPU-seconds and held {received:.0}");
        let off = received / owed - 1.0;
        assert!(off.abs() <= 0.05, "{tenant:?} was owed {owed:.0} GPU-seconds and held {received:.0}");
    }
}

type GpuSeconds = BTreeMap<TenantId, f64>;

/// The part of a time that counts, in seconds.
fn within(from: Time, until: Time) -> f64 {
    let Span(ms) = until.min(UNTIL).since(from.max(FROM));
    ms as f64 / 1000.0
}

/// What tenants were owed, and what they held.
fn added_up(records: &[Record]) -> (GpuSeconds, GpuSeconds) {
    let (mut owed, mut received) = (GpuSeconds::new(), GpuSeconds::new());
    let (mut shares, mut since) = (BTreeMap::new(), Time::ZERO);
    let (mut tenants, mut leases) = (BTreeMap::new(), BTreeMap::new());
    for record in records {
        match &record.event {
            Event::Submitted(spec) => {
                tenants.insert(spec.id, spec.tenant);
            }
            Event::LeaseEnded { lease, .. } | Event::LaunchFailed { lease, .. } => {
                if let Some((tenant, gpus, start)) = leases.remove(lease) {
                    *received.entry(tenant).or_default() += gpus * within(start, record.now);
                }
            }
            _ => {}
        }
        for command in &record.commands {
            if let Command::Start(lease) = command {
                let gpus = f64::from(lease.gpus.count().0);
                leases.insert(lease.id, (tenants[&lease.job], gpus, record.now));
            }
        }
        let news = record.decision.iter().flat_map(|decision| &decision.shares);
        if news.clone().next().is_some() {
            owe(&mut owed, &shares, since, record.now);
            since = record.now;
            shares.extend(news.map(|(party, gpus)| (*party, gpus.values().sum::<f64>())));
        }
    }
    owe(&mut owed, &shares, since, UNTIL);
    for (tenant, gpus, start) in leases.into_values() {
        *received.entry(tenant).or_default() += gpus * within(start, UNTIL);
    }
    (owed, received)
}

fn owe(owed: &mut GpuSeconds, shares: &BTreeMap<Party, f64>, from: Time, until: Time) {
    for (party, gpus) in shares {
        if let Party::Tenant(tenant) | Party::TenantClass(tenant, _) = party {
            *owed.entry(*tenant).or_default() += gpus * within(from, until);
        }
    }
}

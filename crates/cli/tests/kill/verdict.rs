//! What the ledger says of a run, believed by nobody: every law is counted out again from its lines.

use evenhand_core::{
    AppId, Command, Event, GpuTime, JobId, JobSpec, Lease, LeaseId, LedgerReader, Outcome, Record, Time,
};
use evenhand_engine::replay;
use evenhand_sim::engine_for;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// What happened, in numbers.
#[derive(Debug, Default)]
pub struct Verdict {
    records: u64,
    leases: u64,
    crashes: u64,
    gpu_seconds: f64,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, leases, crashes, gpu_seconds } = self;
        write!(f, "{records} records, {leases} leases, {crashes} crashes, {gpu_seconds:.1} GPU-seconds")
    }
}

/// Leases that hold GPUs, and what each job has received.
#[derive(Default)]
struct Books {
    held: BTreeMap<LeaseId, (Lease, Time)>,
    received: BTreeMap<JobId, GpuTime>,
    submitted: BTreeMap<JobId, Arc<JobSpec>>,
    apps: BTreeSet<AppId>,
    ended: BTreeMap<JobId, Outcome>,
    verdict: Verdict,
}

/// Checks a ledger against the jobs that were acknowledged.
pub fn of(ledger: &str, acknowledged: &BTreeMap<String, Vec<u64>>) -> Verdict {
    let mut books = Books::default();
    let mut reader = LedgerReader::new(ledger.as_bytes()).unwrap();
    while let Some(record) = reader.read().unwrap() {
        books.take(&record);
    }
    let jobs: BTreeSet<JobId> = acknowledged.values().flatten().map(|job| JobId(*job)).collect();
    assert_eq!(jobs.len(), acknowledged.values().map(Vec::len).sum::<usize>(), "two keys have one job");
    assert_eq!(
        books.submitted.keys().copied().collect::<BTreeSet<_>>(),
        jobs,
        "acknowledged jobs are those of the ledger"
    );
    assert_eq!(books.ended.keys().copied().collect::<BTreeSet<_>>(), jobs, "every job ended");
    assert!(books.ended.values().all(|outcome| *outcome == Outcome::Finished), "{:?}", books.ended);
    assert!(books.apps.is_empty(), "apps are left: {:?}", books.apps);
    assert!(books.held.is_empty(), "leases are left: {:?}", books.held);
    let mut reader = LedgerReader::new(ledger.as_bytes()).unwrap();
    let header = reader.header().clone();
    replay(&mut engine_for(&header).unwrap(), &mut reader).unwrap();
    books.verdict
}

impl Books {
    fn take(&mut self, record: &Record) {
        self.verdict.records += 1;
        if let Event::LeaseEnded { lease, .. } | Event::LaunchFailed { lease, .. } = &record.event {
            let (lease, since) =
                self.held.remove(lease).expect("only a lease that holds GPUs ends, and once");
            let area = GpuTime::new(lease.gpus.count(), record.now.since(since));
            *self.received.entry(lease.job).or_default() += area;
            self.verdict.gpu_seconds += area.0 as f64 / 1e3;
        }
        if let Event::LeaseEnded { cause: evenhand_core::EndCause::Crashed, .. } = record.event {
            self.verdict.crashes += 1;
        }
        if let Event::Submitted(spec) = &record.event {
            assert!(self.submitted.insert(spec.id, spec.clone()).is_none(), "{} is submitted twice", spec.id);
            assert!(
                spec.app.is_none_or(|app| self.apps.contains(&app)),
                "{} is of an app that is not open",
                spec.id
            );
        }
        match &record.event {
            Event::AppOpened(app) => assert!(self.apps.insert(app.id), "{} is opened twice", app.id),
            Event::AppClosed { app, .. } => assert!(self.apps.remove(app), "{app} is closed twice"),
            _ => {}
        }
        for command in &record.commands {
            match command {
                Command::Start(lease) => self.start(lease, record.now),
                Command::End { job, outcome, attained } => {
                    assert!(self.ended.insert(*job, *outcome).is_none(), "{job} ends twice");
                    assert_eq!(
                        self.received.get(job).copied().unwrap_or_default(),
                        *attained,
                        "GPU-time of {job}"
                    );
                }
                _ => {}
            }
        }
    }

    fn start(&mut self, lease: &Lease, now: Time) {
        self.verdict.leases += 1;
        assert!(!self.ended.contains_key(&lease.job), "{} starts after its end", lease.job);
        let spec = &self.submitted[&lease.job];
        assert!(
            spec.befores().all(|before| self.ended.contains_key(&before)),
            "{} starts too early",
            lease.job
        );
        if let Some((member, at_once)) = spec.array.and_then(|member| Some((member, member.at_once?))) {
            let array = |job: &JobId| self.submitted[job].array.map(|member| member.array);
            let beside = self.held.values().filter(|(other, _)| array(&other.job) == Some(member.array));
            assert!(beside.count() < at_once as usize, "{} starts out of turn", lease.job);
        }
        for (other, _) in self.held.values() {
            assert_ne!(other.job, lease.job, "{} has two leases at once", lease.job);
            let both = lease.gpus.iter().find(|gpu| other.gpus.iter().any(|taken| taken == *gpu));
            assert_eq!(both, None, "a GPU is in two leases at once");
        }
        assert!(self.held.insert(lease.id, (lease.clone(), now)).is_none(), "{} starts twice", lease.id);
    }
}

//! Watches a ledger go by and holds it to the laws of safety and accounting.
//!
//! It shares no code with the engine: it believes only the records.

use evenhand_core::{Command, Event, GpuId, GpuTime, JobId, Lease, LeaseId, Record, Sharing, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A law that a ledger broke.
#[expect(missing_docs, reason = "the names of the fields say what they are")]
#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    /// An earlier time after a later one.
    TimeWentBack { from: Time, to: Time },
    /// A GPU was given away while somebody held it alone.
    TwoLeasesOnOneGpu { gpu: GpuId, held: LeaseId, given: LeaseId },
    /// A job got a second lease while it had one.
    SecondLease { job: JobId },
    /// A job got a number of GPUs that it cannot use.
    GangOutOfRange { job: JobId, gpus: u32 },
    /// A lease for a job that was never submitted or has ended.
    LeaseOfUnknownJob { job: JobId },
    /// A job ended twice.
    EndedTwice { job: JobId },
    /// A job ended while it held GPUs.
    EndedWhileHoldingGpus { job: JobId },
    /// Jobs never ended.
    NeverEnded { jobs: usize, first: JobId },
    /// A lease never ended.
    LeaseNeverEnded { lease: LeaseId },
    /// The GPU-time of a job is not the sum of its leases.
    GpuTimeDoesNotAddUp { job: JobId, attained: GpuTime, leased: GpuTime },
}

/// Watches records go by.
#[derive(Default)]
pub struct Witness {
    now: Time,
    jobs: BTreeMap<JobId, (u32, u32)>,
    ended: BTreeSet<JobId>,
    leases: BTreeMap<LeaseId, (Lease, Time)>,
    holders: BTreeMap<GpuId, LeaseId>,
    leased: BTreeMap<JobId, GpuTime>,
}

impl Witness {
    /// Takes one record in, in the order of the ledger.
    pub fn take(&mut self, record: &Record) -> Result<(), Broken> {
        if record.now < self.now {
            return Err(Broken::TimeWentBack { from: self.now, to: record.now });
        }
        self.now = record.now;
        match &record.event {
            Event::Submitted(spec) => {
                self.jobs.insert(spec.id, (spec.gpus.min.0, spec.gpus.max.0));
            }
            Event::LeaseEnded { lease, .. } | Event::LaunchFailed { lease, .. } => self.lease_ended(*lease),
            _ => {}
        }
        record.commands.iter().try_for_each(|command| match command {
            Command::Start(lease) => self.started(lease),
            Command::End { job, attained, .. } => self.job_ended(*job, *attained),
            _ => Ok(()),
        })
    }

    fn started(&mut self, lease: &Lease) -> Result<(), Broken> {
        let job = lease.job;
        let Some((min, max)) = self.jobs.get(&job).copied().filter(|_| !self.ended.contains(&job)) else {
            return Err(Broken::LeaseOfUnknownJob { job });
        };
        let gpus = lease.gpus.count().0;
        if gpus < min || gpus > max {
            return Err(Broken::GangOutOfRange { job, gpus });
        }
        if self.leases.values().any(|(other, _)| other.job == job) {
            return Err(Broken::SecondLease { job });
        }
        for gpu in lease.gpus.iter().filter(|_| lease.sharing == Sharing::Alone) {
            if let Some(held) = self.holders.insert(gpu, lease.id) {
                return Err(Broken::TwoLeasesOnOneGpu { gpu, held, given: lease.id });
            }
        }
        self.leases.insert(lease.id, (lease.clone(), self.now));
        Ok(())
    }

    fn lease_ended(&mut self, id: LeaseId) {
        let Some((lease, since)) = self.leases.remove(&id) else { return };
        self.holders.retain(|_, holder| *holder != id);
        let area = GpuTime::new(lease.gpus.count(), self.now.since(since));
        *self.leased.entry(lease.job).or_default() += area;
    }

    fn job_ended(&mut self, job: JobId, attained: GpuTime) -> Result<(), Broken> {
        if !self.ended.insert(job) {
            return Err(Broken::EndedTwice { job });
        }
        if self.leases.values().any(|(lease, _)| lease.job == job) {
            return Err(Broken::EndedWhileHoldingGpus { job });
        }
        let leased = self.leased.get(&job).copied().unwrap_or_default();
        if leased != attained {
            return Err(Broken::GpuTimeDoesNotAddUp { job, attained, leased });
        }
        Ok(())
    }

    /// What must hold when all is over.
    pub fn finish(&self) -> Result<(), Broken> {
        let left: Vec<_> = self.jobs.keys().filter(|job| !self.ended.contains(job)).collect();
        if let Some(first) = left.first() {
            return Err(Broken::NeverEnded { jobs: left.len(), first: **first });
        }
        match self.leases.keys().next() {
            Some(lease) => Err(Broken::LeaseNeverEnded { lease: *lease }),
            None => Ok(()),
        }
    }
}

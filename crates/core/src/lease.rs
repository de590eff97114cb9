//! Leases: the right of one job to run on some GPUs until a deadline.

use crate::{GpuSet, Job, JobId, LeaseId, Reason, Sharing, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The right of one job to run on some GPUs until a deadline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    /// Its number.
    pub id: LeaseId,
    /// Whose it is.
    pub job: JobId,
    /// The GPUs, all or none.
    pub gpus: GpuSet,
    /// Alone or beside others.
    #[serde(default, skip_serializing_if = "alone")]
    pub sharing: Sharing,
    /// When it was decided.
    pub starts: Time,
    /// When it ends unless it is renewed.
    pub expires: Time,
    /// Why it was granted.
    pub reason: Reason,
    /// Where it is between being decided and having ended.
    #[serde(skip)]
    pub state: LeaseState,
    /// When the GPUs were taken: the area of the lease counts from here.
    #[serde(skip)]
    pub taken: Time,
    /// Until when its GPU-time has been booked against the balance of its party.
    #[serde(skip)]
    pub booked: Time,
}

fn alone(sharing: &Sharing) -> bool {
    *sharing == Sharing::Alone
}

/// `Waiting -> Asked -> Held -> Stopping -> ended`; a renewal changes nothing but the deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeaseState {
    /// Decided; some of its GPUs are still held by leases that are being stopped.
    #[default]
    Waiting,
    /// The world was asked to start it.
    Asked,
    /// The job runs.
    Held,
    /// The world was asked to stop it; the GPUs are taken until it says that it has.
    Stopping,
}

impl Lease {
    /// Whether GPUs are physically taken.
    pub fn is_seated(&self) -> bool {
        self.state != LeaseState::Waiting
    }
    /// Whether the job may go on running: not on its way out.
    pub fn is_lasting(&self) -> bool {
        self.state != LeaseState::Stopping
    }
}

/// All leases that have not ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Kept>", into = "Vec<Kept>")]
pub struct Leases {
    rows: BTreeMap<LeaseId, Lease>,
}

/// A lease with what a ledger does not say of it.
#[derive(Serialize, Deserialize)]
struct Kept(Lease, LeaseState, Time, Time);

impl From<Vec<Kept>> for Leases {
    fn from(rows: Vec<Kept>) -> Self {
        let whole = |Kept(lease, state, taken, booked)| (lease.id, Lease { state, taken, booked, ..lease });
        Self { rows: rows.into_iter().map(whole).collect() }
    }
}

impl From<Leases> for Vec<Kept> {
    fn from(leases: Leases) -> Self {
        let kept = |lease: Lease| Kept(lease.clone(), lease.state, lease.taken, lease.booked);
        leases.rows.into_values().map(kept).collect()
    }
}

impl Leases {
    /// Adds a lease.
    pub fn insert(&mut self, lease: Lease) {
        self.rows.insert(lease.id, lease);
    }
    /// The lease of this number, unless it has ended.
    pub fn get(&self, id: LeaseId) -> Option<&Lease> {
        self.rows.get(&id)
    }
    /// The lease of this number, to change.
    pub fn get_mut(&mut self, id: LeaseId) -> Option<&mut Lease> {
        self.rows.get_mut(&id)
    }
    /// Takes an ended lease out.
    pub fn remove(&mut self, id: LeaseId) -> Option<Lease> {
        self.rows.remove(&id)
    }
    /// The lease of a job, in whatever state.
    pub fn of_job(&self, job: Option<&Job>) -> Option<&Lease> {
        self.get(job?.lease()?)
    }
    /// All leases, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Lease> {
        self.rows.values()
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

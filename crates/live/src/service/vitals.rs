//! What others may know of the service without asking it.

use super::promises::Promises;
use evenhand_core::{
    AppId, Bytes, Choice, Cluster, Event, GpuModel, JobId, LeaseId, Node, Note, Offer, Record,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The machines, and who decides, as of the last record.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// GPU models, in the order of their index.
    pub models: Vec<GpuModel>,
    /// Nodes in any state of health, by number.
    pub nodes: Vec<Node>,
    /// Who decides.
    pub policy: Choice,
}

impl Fleet {
    /// The machines of a cluster under a policy.
    pub fn new(cluster: &Cluster, policy: Choice) -> Self {
        Self { models: cluster.models.clone(), nodes: cluster.nodes.clone(), policy }
    }

    /// What the GPUs of a node are called.
    pub fn model_of(&self, node: &Node) -> &str {
        self.models.get(usize::from(node.model.0)).map_or("?", |model| &model.name)
    }
}

impl Default for Fleet {
    fn default() -> Self {
        Self::new(&Cluster::default(), Choice::named(""))
    }
}

/// What others may know of the service without asking it.
#[derive(Debug, Default)]
pub struct Vitals {
    /// When time began, in milliseconds of the system clock.
    pub epoch_ms: AtomicU64,
    /// The number of the last record.
    pub last: AtomicU64,
    /// Time of the last record, in milliseconds.
    pub now_ms: AtomicU64,
    /// Whether new work is refused because the store cannot be written.
    pub mending: AtomicBool,
    /// Batches written.
    pub commits: AtomicU64,
    /// How long decisions took since the start.
    pub decisions: Durations,
    /// How long it took to save everything, each time since the start.
    pub saves: Durations,
    /// How often that failed.
    pub saves_failed: AtomicU64,
    /// Records that the start repeated.
    pub repeated: AtomicU64,
    /// Jobs that finished by when they were promised to, in the whole ledger.
    pub promises_kept: AtomicU64,
    /// Jobs that finished later than that.
    pub promises_broken: AtomicU64,
    fleet: Mutex<Arc<Fleet>>,
    busy: Mutex<BTreeMap<LeaseId, Busy>>,
    asked: Mutex<Option<Arc<OpenOffer>>>,
}

/// What was last measured of a job that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// Which.
    pub job: JobId,
    /// The part of the time in which its GPUs worked.
    pub duty: f64,
    /// Memory in use on the one where most is.
    pub memory: Bytes,
}

/// GPUs that are on offer now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOffer {
    /// The offer.
    pub offer: Offer,
    /// Apps that have not answered yet.
    pub awaited: BTreeSet<AppId>,
}

impl Vitals {
    /// What is offered to an app, if it is asked and has not answered.
    pub fn offer_to(&self, app: AppId) -> Option<Arc<OpenOffer>> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        asked.filter(|asked| asked.awaited.contains(&app))
    }

    pub(super) fn set_asked(&self, open: Option<(&Offer, &BTreeSet<AppId>)>) {
        let open = open.map(|(offer, awaited)| OpenOffer { offer: offer.clone(), awaited: awaited.clone() });
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = open.map(Arc::new);
    }

    /// What was last measured of jobs that run.
    pub fn busy(&self) -> BTreeMap<JobId, Busy> {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.values().map(|busy| (busy.job, *busy)).collect()
    }

    /// Takes in what a record says of how busy GPUs are; `job_of` knows whose a lease is.
    pub(super) fn gauge(&self, event: &Event, job_of: impl Fn(LeaseId) -> Option<JobId>) {
        let busy = || self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Telemetry { lease, demand, .. } => {
                let row = |job| Busy { job, duty: demand.duty, memory: demand.memory.mean };
                busy().extend(job_of(*lease).map(|job| (*lease, row(job))));
            }
            Event::LeaseEnded { lease, .. } => {
                busy().remove(lease);
            }
            _ => {}
        }
    }

    /// The machines and who decides.
    pub fn fleet(&self) -> Arc<Fleet> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_fleet(&self, fleet: Fleet) {
        *self.fleet.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(fleet);
    }

    pub(super) fn set_promises(&self, promises: &Promises) {
        self.promises_kept.store(promises.kept, Ordering::Relaxed);
        self.promises_broken.store(promises.broken, Ordering::Relaxed);
    }
}

/// Whether a record changes what is told of the machines or of who decides.
pub(super) fn changes_fleet(record: &Record) -> bool {
    matches!(
        record.event,
        Event::ModelAdded(_)
            | Event::NodeUp(_)
            | Event::NodeDown(_)
            | Event::NodeSuspect(_)
            | Event::NodeDraining(_)
            | Event::PolicyChanged(_)
    ) || record.notes.iter().any(|note| matches!(note, Note::Suspected(_) | Note::TriedAgain(_)))
}

/// Upper ends of the classes in which [`Durations`] are counted, in microseconds.
pub const DURATION_BOUNDS_US: [u64; 10] =
    [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000];

/// How long things took: how many in each class, and all together.
#[derive(Debug, Default)]
pub struct Durations {
    classes: [AtomicU64; DURATION_BOUNDS_US.len()],
    count: AtomicU64,
    total_us: AtomicU64,
}

impl Durations {
    /// Counts one.
    pub fn add(&self, took_us: u64) {
        if let Some(class) = DURATION_BOUNDS_US.iter().position(|bound| took_us <= *bound) {
            self.classes[class].fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.total_us.fetch_add(took_us, Ordering::Relaxed);
    }

    /// How many took at most as long as each bound.
    pub fn up_to(&self) -> [u64; DURATION_BOUNDS_US.len()] {
        let mut sum = 0;
        std::array::from_fn(|at| {
            sum += self.classes[at].load(Ordering::Relaxed);
            sum
        })
    }

    /// How many there were, and how long they took together.
    pub fn total(&self) -> (u64, u64) {
        (self.count.load(Ordering::Relaxed), self.total_us.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_up_to_each_bound() {
        let durations = Durations::default();
        for took in [50, 100, 101, 2_000, 99_000_000] {
            durations.add(took);
        }
        assert_eq!(durations.up_to()[..4], [2, 3, 3, 4]);
        assert_eq!(durations.up_to()[9], 4, "the longest is in no class, and counted all the same");
        assert_eq!(durations.total(), (5, 50 + 100 + 101 + 2_000 + 99_000_000));
    }
}

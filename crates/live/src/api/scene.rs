//! The cluster as pages see it: put together from the store as often as something happens and its cost allows, however many look.

use super::{Front, Trouble};
use crate::service::{Busy, Fleet};
use crate::store::{Phase, Reader, Seated, Usage};
use evenhand_core::{GpuMask, JobId, Node, Tenant, Time};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A scene is at most so old, if something happened since.
const AGE_MAX_MS: u64 = 2000;

/// However cheap it is to make, it lasts so long.
const FRESH_MS: u64 = 100;

/// A scene that was expensive to make lasts longer: so many times as long as that took.
const COST_TIMES: u64 = 40;

/// Everybody and everything as of a record.
#[derive(Debug)]
pub(super) struct Scene {
    /// The last record that it shows.
    pub record: u64,
    pub fleet: Arc<Fleet>,
    /// Jobs that hold GPUs.
    pub seated: Vec<Seated>,
    /// For each node, who sits on it: a place in `seated`, and on which GPUs.
    pub on: Vec<Vec<(u32, GpuMask)>>,
    pub usage: Vec<Usage>,
    pub tenants: Vec<Tenant>,
    /// What was last measured of jobs.
    pub busy: BTreeMap<JobId, Busy>,
    made: Time,
    cost_ms: u64,
}

/// What a node has, and what becomes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub gpus: u32,
    pub held: u32,
    /// Of those that are held, how many by several.
    pub shared: u32,
    pub free: u32,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.gpus += other.gpus;
        self.held += other.held;
        self.shared += other.shared;
        self.free += other.free;
    }
}

impl Scene {
    fn new(front: &Front, reader: &Reader) -> Result<Self, crate::store::StoreError> {
        let began = front.clock().now();
        let record = *front.last().borrow();
        let (seated, usage, tenants) = (reader.seated()?, reader.usage()?, reader.tenants()?);
        let fleet = front.vitals().fleet();
        let mut on: Vec<Vec<(u32, GpuMask)>> = vec![Vec::new(); fleet.nodes.len()];
        for (place, holder) in seated.iter().enumerate() {
            for seat in holder.gpus.seats() {
                if let Some(node) = on.get_mut(seat.node.index()) {
                    node.push((place as u32, seat.gpus));
                }
            }
        }
        let (made, busy) = (front.clock().now(), front.vitals().busy());
        Ok(Self { record, fleet, seated, on, usage, tenants, busy, made, cost_ms: made.since(began).0 })
    }

    /// What a node has.
    pub(super) fn counts(&self, node: &Node) -> Counts {
        let (mut taken, mut shared) = (GpuMask::default(), GpuMask::default());
        for (_, gpus) in &self.on[node.id.index()] {
            shared = shared.or(taken.and(*gpus));
            taken = taken.or(*gpus);
        }
        Counts {
            gpus: u32::from(node.gpus),
            held: taken.count(),
            shared: shared.count(),
            free: node.usable().without(taken).count(),
        }
    }

    /// Jobs in each phase, of one tenant or of all.
    pub(super) fn phases(&self, tenant: Option<&str>) -> BTreeMap<&'static str, u64> {
        let mut phases = BTreeMap::new();
        let seen = self.usage.iter().filter(|usage| tenant.is_none_or(|tenant| tenant == usage.tenant));
        for usage in seen {
            *phases.entry(usage.phase.name()).or_default() += usage.jobs;
        }
        phases
    }

    /// Jobs of a tenant, or of all but it, that wait.
    pub(super) fn waiting(&self, is: impl Fn(&str) -> bool) -> u64 {
        let waits = |usage: &&Usage| matches!(usage.phase, Phase::Queued | Phase::Held) && is(&usage.tenant);
        self.usage.iter().filter(waits).map(|usage| usage.jobs).sum()
    }
}

/// The scene as of now, or as of a moment ago.
pub(super) async fn scene(front: &Arc<Front>) -> Result<Arc<Scene>, Trouble> {
    // One makes it, and the others wait for that one.
    let mut kept = front.scene().lock().await;
    if let Some(scene) = kept.as_ref() {
        let age_ms = front.clock().now().since(scene.made).0;
        let is_current =
            scene.record == *front.last().borrow() && Arc::ptr_eq(&scene.fleet, &front.vitals().fleet());
        if is_current || age_ms < (scene.cost_ms * COST_TIMES).clamp(FRESH_MS, AGE_MAX_MS) {
            return Ok(scene.clone());
        }
    }
    let maker = front.clone();
    let made = Arc::new(front.look(move |reader| Scene::new(&maker, reader)).await?);
    *kept = Some(made.clone());
    Ok(made)
}

/// When time began, and how late it is, in milliseconds.
pub(super) fn times(front: &Front) -> (u64, u64) {
    let epoch_ms = front.vitals().epoch_ms.load(Ordering::Relaxed);
    (epoch_ms, crate::clock::system_ms().saturating_sub(epoch_ms))
}

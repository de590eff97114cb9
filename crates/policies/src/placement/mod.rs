//! Which GPUs: one placer per file, each listed here.
//!
//! A placer only chooses seats of one GPU model for one grant; walking the grants, choosing among models and
//! saying why something does not fit is the same for all and lives here.

mod first_fit;
mod interference;
mod packed;
mod packets;
pub(crate) mod topology;

use crate::registry::Registered;
use evenhand_core::{
    Cluster, Drop, FreeIndex, GpuMask, GpuSet, Grant, Locality, ModelIndex, NodeId, Placement, Placer,
    Reason, Seat, Site, Snapshot,
};

/// A placer and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct PlacerEntry {
    /// Its fixed name.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Makes one.
    pub build: fn() -> Box<dyn Placer>,
}

impl Registered for PlacerEntry {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// All placers.
pub const PLACERS: &[PlacerEntry] = &[first_fit::ENTRY, packed::ENTRY, topology::ENTRY, interference::ENTRY];

/// The placer of someone who chose none.
pub const DEFAULT_PLACER: &str = "topology";

/// What a grant needs of one GPU model, and what there is.
struct Want<'a> {
    cluster: &'a Cluster,
    room: &'a FreeIndex,
    model: ModelIndex,
    need: u32,
    locality: Locality,
}

impl Want<'_> {
    /// The node where the gang fits most tightly.
    fn on_one_node(&self) -> Option<GpuSet> {
        self.room.at_least(self.model, self.need).next().map(|node| self.seat_on(node))
    }

    /// The whole gang on this node.
    fn seat_on(&self, node: NodeId) -> GpuSet {
        GpuSet::on(node, close_together(self.cluster, self.room, node, self.need))
    }

    /// The gang on these nodes, in order; `None` if they are not enough.
    fn fill(&self, nodes: impl Iterator<Item = NodeId>) -> Option<GpuSet> {
        let mut seats = Vec::new();
        let left = fill(&mut seats, self.cluster, self.room, nodes, self.need);
        (left == 0).then(|| GpuSet::new(seats))
    }

    /// The gang in the first rack that is enough by itself, its nodes in the order given.
    fn in_one_rack(&self, order: impl Fn(&[NodeId]) -> Vec<NodeId>) -> Option<GpuSet> {
        self.cluster.racks.iter().find_map(|rack| self.fill(order(rack).into_iter()))
    }

    /// The nodes of one rack with free GPUs of the model, the emptiest first.
    fn emptiest_in(&self, rack: &[NodeId]) -> Vec<NodeId> {
        let mut nodes = self.open_in(rack);
        nodes.sort_by_key(|id| (std::cmp::Reverse(self.room.on(*id).count()), *id));
        nodes
    }

    /// The nodes of one rack with free GPUs of the model, by number.
    fn open_in(&self, rack: &[NodeId]) -> Vec<NodeId> {
        let open = |id: &&NodeId| {
            self.cluster.nodes[id.index()].model == self.model && !self.room.on(**id).is_empty()
        };
        rack.iter().filter(open).copied().collect()
    }
}

/// Chooses seats of one GPU model for one grant.
trait Choose: Send + Sync {
    /// Free GPUs as wanted; `None` if there are none such.
    fn choose(&self, want: &Want<'_>) -> Option<GpuSet>;
}

struct InOrder<C>(C);

impl<C: Choose> Placer for InOrder<C> {
    fn place(&self, snapshot: &Snapshot, room: &mut FreeIndex, grants: &[Grant]) -> Placement {
        let mut placement = Placement::default();
        for (at, grant) in grants.iter().enumerate() {
            match self.seat(snapshot, room, grant) {
                Ok(gpus) => {
                    room.take(&gpus);
                    placement.seated.push((at, gpus));
                }
                Err(reason) => placement.dropped.push(Drop { job: grant.job, reason }),
            }
        }
        placement
    }
}

impl<C: Choose> InOrder<C> {
    fn seat(&self, snapshot: &Snapshot, room: &FreeIndex, grant: &Grant) -> Result<GpuSet, Reason> {
        let mut why = Reason::NoModel;
        let spec = snapshot.jobs.by_id(grant.job).map(|job| &job.spec);
        let packets = spec.and_then(|spec| spec.packets);
        for model in models(snapshot, grant) {
            if grant.gpus > room.count(model) {
                why = Reason::NoRoom;
                continue;
            }
            let (need, locality) = (grant.gpus.0, grant.locality);
            let want = Want { cluster: &snapshot.cluster, room, model, need, locality };
            let chosen = match packets {
                Some(packets) => want.in_packets(packets),
                None => self.0.choose(&want),
            };
            match chosen.filter(|gpus| snapshot.cluster.span_of(gpus) <= grant.locality) {
                Some(gpus) => return Ok(gpus),
                None => why = Reason::Fragmented,
            }
        }
        let mixes = spec.is_some_and(|spec| spec.mixes_models);
        if mixes && packets.is_none() && grant.site == Site::Anywhere && grant.locality == Locality::Cluster {
            return mixed(snapshot, room, grant).ok_or(why);
        }
        Err(why)
    }
}

/// The models a grant may be seated on: the one it names, or those that will do, the fastest first.
fn models(snapshot: &Snapshot, grant: &Grant) -> Vec<ModelIndex> {
    if let Site::Model(model) = grant.site {
        return vec![model];
    }
    let Some(index) = snapshot.jobs.index(grant.job) else { return Vec::new() };
    let (job, forecast) = (snapshot.jobs.get(index), snapshot.forecast(index));
    let speed = |model: &ModelIndex| forecast.speed[*model].mean;
    let mut models: Vec<_> = snapshot
        .cluster
        .model_indices()
        .filter(|m| job.spec.models.allows(*m) && speed(m).get() > 0.0)
        .collect();
    models.sort_by_key(|model| (std::cmp::Reverse(speed(model).key()), *model));
    models
}

/// Whatever is free of the models that will do, the fastest first.
fn mixed(snapshot: &Snapshot, room: &FreeIndex, grant: &Grant) -> Option<GpuSet> {
    let mut seats = Vec::new();
    let mut left = grant.gpus.0;
    for model in models(snapshot, grant) {
        left = fill(&mut seats, &snapshot.cluster, room, room.emptiest(model), left);
    }
    (left == 0).then(|| GpuSet::new(seats))
}

/// Takes GPUs from nodes in order until the need is met; says what is missing.
fn fill(
    seats: &mut Vec<Seat>,
    cluster: &Cluster,
    room: &FreeIndex,
    nodes: impl Iterator<Item = NodeId>,
    need: u32,
) -> u32 {
    let mut left = need;
    for node in nodes {
        if left == 0 {
            break;
        }
        let gpus = close_together(cluster, room, node, left);
        left -= gpus.count();
        seats.push(Seat { node, gpus });
    }
    left
}

/// Up to `need` free GPUs of one node, in as few sockets as may be.
fn close_together(cluster: &Cluster, room: &FreeIndex, node: NodeId, need: u32) -> GpuMask {
    let (free, machine) = (room.on(node), &cluster.nodes[node.index()]);
    if machine.gpus_per_socket == 0 || need >= free.count() {
        return free.lowest(need);
    }
    let size = machine.gpus_per_socket;
    let mut sockets: Vec<GpuMask> = (0..machine.gpus.div_ceil(size))
        .map(|socket| free.and(GpuMask(GpuMask::first(size).0 << (socket * size))))
        .collect();
    // The tightest socket that is enough, or else the emptiest ones first.
    sockets.sort_by_key(|mask| {
        (mask.count() < need, if mask.count() < need { 64 - mask.count() } else { mask.count() })
    });
    let mut taken = GpuMask(0);
    for socket in sockets {
        taken = taken.or(socket.lowest(need - taken.count()));
    }
    taken
}

//! Machines of an engine outside: found, changed, gone. They are known by their names.

use super::{Arrival, World};
use evenhand_core::{
    Bytes, Event, GpuMask, GpuModel, Health, Host, MODELS_MAX, ModelIndex, Node, NodeId, RackId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A machine as an engine outside describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundNode {
    /// What the engine calls it.
    pub name: String,
    /// The model of its GPUs.
    pub model: String,
    /// How many it has.
    pub gpus: u8,
    /// How many of them somebody else in that engine holds.
    pub taken: u8,
    /// Memory of one of them; 0: unknown.
    pub memory: Bytes,
    /// Cores and main memory; 0: unknown.
    pub host: Host,
    /// Whether it may be used.
    pub readiness: Readiness,
}

/// Whether a machine may be used, as its engine says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Takes jobs.
    Ready,
    /// Keeps what is on it and takes nothing new.
    Closed,
    /// Gone, with everything on it.
    Gone,
}

impl World {
    /// Compares all machines with those that are known, and tells what is new.
    pub(super) fn see(&mut self, machines: Vec<FoundNode>) {
        let mut seen = BTreeSet::new();
        let named = self.nodes.values().filter_map(|node| Some((node.name.clone()?, node.id)));
        let known: BTreeMap<Arc<str>, NodeId> = named.collect();
        let held = self.held();
        for machine in machines {
            let id = known.get(machine.name.as_str()).copied();
            let id = id.unwrap_or(NodeId(self.nodes.len() as u32));
            seen.insert(id);
            self.see_one(id, &machine, held.get(&id).copied().unwrap_or(GpuMask(0)));
        }
        let gone: Vec<NodeId> = self.nodes.keys().filter(|id| !seen.contains(id)).copied().collect();
        for id in gone {
            self.take_node(id);
        }
    }

    fn see_one(&mut self, id: NodeId, machine: &FoundNode, held: GpuMask) {
        let Some(model) = self.model(&machine.model) else { return };
        let FoundNode { memory, host, .. } = *machine;
        let name = Some(Arc::from(machine.name.as_str()));
        let drained = self.nodes.get(&id).is_some_and(|node| node.drained);
        let closed = machine.readiness == Readiness::Closed || drained;
        let health = if closed { Health::Draining } else { Health::Up };
        // One that has fewer than it had keeps their numbers, which leases may hold: the missing ones count as taken.
        let most = self.nodes.get(&id).map_or(0, |node| node.gpus).max(machine.gpus);
        let node = Node::new(id, RackId(0), model, most);
        let taken = seats_of_others(&node, held, machine.taken.saturating_add(most - machine.gpus));
        let node = Node { name, memory, host, health, taken, drained, ..node };
        self.runner.learn(&node);
        let before = self.nodes.insert(id, node.clone());
        if machine.readiness == Readiness::Gone {
            // One that was never there need not be lost.
            if before.is_none() {
                self.ready.push_back(Arrival::Seen(Event::NodeUp(node)));
            }
            self.take_node(id);
        } else if self.down.contains(&id) {
            self.returning.insert(id);
        } else if before.as_ref() != Some(&node) {
            self.ready.push_back(Arrival::Seen(Event::NodeUp(node)));
        }
    }

    /// The GPUs of each node that leases hold.
    fn held(&self) -> BTreeMap<NodeId, GpuMask> {
        let mut held = BTreeMap::new();
        for seat in self.running.values().flat_map(|running| running.lease.gpus.seats()) {
            let mask = held.entry(seat.node).or_insert(GpuMask(0));
            *mask = mask.or(seat.gpus);
        }
        held
    }

    /// The index of a GPU model; a new one is told. `None` if there are too many.
    fn model(&mut self, name: &str) -> Option<ModelIndex> {
        let known = self.models.iter().position(|model| model.name == name);
        if known.is_none() && self.models.len() == MODELS_MAX {
            return None;
        }
        let at = known.unwrap_or_else(|| {
            let model = GpuModel { name: name.to_owned() };
            self.models.push(model.clone());
            self.ready.push_back(Arrival::Seen(Event::ModelAdded(model)));
            self.models.len() - 1
        });
        Some(ModelIndex(at as u16))
    }
}

/// Which GPUs somebody outside holds is not known where an engine counts them only: those that no lease holds, from the last one down.
fn seats_of_others(node: &Node, own: GpuMask, count: u8) -> GpuMask {
    let free = node.all().without(own);
    let count = u32::from(count).min(free.count());
    free.without(free.lowest(free.count() - count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::world::idle::Idle;
    use crate::world::{Mail, Setting};
    use std::sync::mpsc::{Sender, channel};

    /// The node that is told next, once there is this machine with so many GPUs, of which others hold so many.
    fn told(world: &mut World, tell: &Sender<Mail>, gpus: u8, taken: u8) -> Option<Node> {
        let (name, model) = ("a".to_owned(), "v100".to_owned());
        let (memory, host, readiness) = (Bytes::ZERO, Host::default(), Readiness::Ready);
        let machine = FoundNode { name, model, gpus, taken, memory, host, readiness };
        tell.send(Mail::Machines(vec![machine])).unwrap();
        std::iter::from_fn(|| world.ready()).find_map(|(_, arrival)| match arrival {
            Arrival::Seen(Event::NodeUp(node)) => Some(node),
            _ => None,
        })
    }

    #[test]
    fn gpus_that_others_hold_or_that_went_missing_keep_their_numbers() {
        let (tell, inbox) = channel();
        let mut world = World::new(Setting::default(), Clock::start(), Box::new(Idle::default()), inbox);
        let node = told(&mut world, &tell, 8, 3).unwrap();
        assert_eq!((node.gpus, node.taken), (8, GpuMask(0b1110_0000)));
        assert_eq!(told(&mut world, &tell, 8, 3), None, "nothing is new");
        let node = told(&mut world, &tell, 6, 3).unwrap();
        assert_eq!((node.gpus, node.taken), (8, GpuMask(0b1111_1000)));
    }

    #[test]
    fn what_an_operator_said_of_a_node_outlives_its_changes() {
        let (tell, inbox) = channel();
        let mut world = World::new(Setting::default(), Clock::start(), Box::new(Idle::default()), inbox);
        let id = told(&mut world, &tell, 8, 0).unwrap().id;
        world.drain(id, true);
        let node = told(&mut world, &tell, 8, 3).unwrap();
        assert_eq!((node.health, node.drained), (Health::Draining, true));
        world.drain(id, false);
        let node = told(&mut world, &tell, 8, 2).unwrap();
        assert_eq!((node.health, node.drained), (Health::Up, false));
    }
}

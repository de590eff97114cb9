//! Who held which GPU when: exact bars while they are few, a heat map in any case.
//!
//! A picture of a million bars is a grey wall and a page of a gigabyte. Up to [`BARS_MAX`] bars are kept as they are;
//! beyond that, only the [`Heat`] is left, whose size does not depend on the run.

use crate::book::Book;
use crate::fact::{Fact, Held};
use crate::heat::Heat;
use evenhand_core::{GpuMask, NodeId, Time};

/// The most bars that are kept, and drawn, one by one.
const BARS_MAX: usize = 3000;

/// Who held which GPU when.
#[derive(Debug, Default)]
pub struct Gantt {
    bars: Vec<Bar>,
    crowded: bool,
    heat: Heat,
}

/// GPUs of one node under one lease.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The node.
    pub node: NodeId,
    /// Which of its GPUs.
    pub gpus: GpuMask,
    /// What people call the job.
    pub job: String,
    /// The place of its tenant.
    pub tenant: usize,
    /// From then.
    pub from: Time,
    /// Until then.
    pub to: Time,
}

impl Gantt {
    /// Takes a fact in.
    pub fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        let Fact::Freed { held, until, .. } = fact else { return };
        let Some(origin) = book.opening else { return };
        fill(&mut self.heat, held, origin, *until);
        self.crowded |= self.bars.len() + held.gpus.seats().len() > BARS_MAX;
        if self.crowded {
            self.bars = Vec::new();
        } else {
            self.bars.extend(bars(held, *until));
        }
    }

    /// Every bar, those of leases still open among them; `None` if they were too many.
    pub fn bars(&self, book: &Book) -> Option<Vec<Bar>> {
        let open = book.leases.values().flat_map(|held| bars(held, book.now));
        let all: Vec<Bar> = self.bars.iter().cloned().chain(open).collect();
        (!self.crowded && all.len() <= BARS_MAX).then_some(all)
    }

    /// The heat map, with leases still open counted up to the last record.
    pub fn heat(&self, book: &Book) -> Heat {
        let mut heat = self.heat.clone();
        for held in book.leases.values() {
            fill(&mut heat, held, book.opening.unwrap_or_default(), book.now);
        }
        heat
    }
}

fn fill(heat: &mut Heat, held: &Held, origin: Time, until: Time) {
    for seat in held.gpus.seats() {
        let amount = (held.spec.tenant.index(), seat.gpus.count());
        heat.add(seat.node, amount, held.since.since(origin), until.since(origin));
    }
}

fn bars(held: &Held, to: Time) -> impl Iterator<Item = Bar> {
    held.gpus.seats().iter().map(move |seat| Bar {
        node: seat.node,
        gpus: seat.gpus,
        job: held.spec.name(),
        tenant: held.spec.tenant.index(),
        from: held.since,
        to,
    })
}

//! What is going to happen, ordered by time, then rank, then the order in which it was noted down.

use evenhand_core::{LeaseId, NodeId, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that will happen unless it is overtaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Item {
    /// The next turn in a running job: it finishes, crashes or changes speed. Void if the run's turn changed since.
    Turn(LeaseId, u32),
    /// A checkpoint on the way out is written, or this grace is over.
    Saved(LeaseId, Span),
    /// A node fails.
    NodeFails(NodeId),
    /// A node comes back.
    NodeReturns(NodeId),
    /// A node becomes slow, or normal again.
    NodeSlows(NodeId, bool),
    /// A lease ends unless it was renewed.
    Expiry(LeaseId),
}

impl Item {
    /// Ties in time: ends first, then nodes; expiry comes after everything else, also after a round.
    fn rank(self) -> u8 {
        match self {
            Self::Turn(..) | Self::Saved(..) => RANK_END,
            Self::NodeFails(_) | Self::NodeReturns(_) | Self::NodeSlows(..) => RANK_NODE,
            Self::Expiry(_) => RANK_EXPIRY,
        }
    }
}

pub(crate) const RANK_END: u8 = 0;
pub(crate) const RANK_NODE: u8 = 1;
pub(crate) const RANK_SUBMISSION: u8 = 2;
pub(crate) const RANK_ROUND: u8 = 3;
pub(crate) const RANK_EXPIRY: u8 = 4;

/// A queue of items by time.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(Time, u8, u64, Item)>>,
    sequence: u64,
}

impl Agenda {
    pub fn add(&mut self, at: Time, item: Item) {
        self.sequence += 1;
        self.heap.push(Reverse((at, item.rank(), self.sequence, item)));
    }

    /// When the next item is due, and its rank.
    pub fn peek(&self) -> Option<(Time, u8)> {
        self.heap.peek().map(|Reverse((at, rank, ..))| (*at, *rank))
    }

    pub fn pop(&mut self) -> Option<(Time, Item)> {
        self.heap.pop().map(|Reverse((at, _, _, item))| (at, item))
    }

    /// Whether anything is coming that could change the cluster or a run: not just expiries.
    pub fn has_news(&self) -> bool {
        self.heap.iter().any(|Reverse((.., item))| !matches!(item, Item::Expiry(_) | Item::NodeSlows(..)))
    }
}

//! Bids by shape, as an auction of whole units.
//!
//! Each GPU model is some nested capacities ([`nested_capacities`]): pieces of one GPU, and pieces of every size of gang
//! that somebody wants in one node. A gang in one node uses pieces of its own and of all smaller sizes; a gang that may be
//! spread uses single GPUs only.

use evenhand_core::{BidTable, Locality, ModelIndex, Offer, Part};
use evenhand_solve::{Auction, AuctionRow, nested_capacities};
use std::collections::{BTreeMap, BTreeSet};

/// The auction of an offer among these bids.
pub(super) fn auction_of(offer: &Offer, bids: &[BidTable]) -> Auction {
    let lots = Lots::new(bids);
    let mut capacity = Vec::new();
    for (model, sizes) in &lots.sizes {
        let free = offer.nodes.iter().filter(|node| node.model == *model).map(|node| node.gpus.0);
        capacity.extend(nested_capacities(&free.collect::<Vec<_>>(), sizes));
    }
    let bidders =
        bids.iter().map(|table| table.rows.iter().map(|row| lots.row(&row.parts, row.rho.get())).collect());
    Auction { capacity, bidders: bidders.collect() }
}

/// The sizes of pieces of each model, and where their capacities begin.
struct Lots {
    sizes: BTreeMap<ModelIndex, Vec<u32>>,
    first: BTreeMap<ModelIndex, usize>,
}

impl Lots {
    fn new(bids: &[BidTable]) -> Self {
        let mut sizes: BTreeMap<ModelIndex, BTreeSet<u32>> = BTreeMap::new();
        for part in bids.iter().flat_map(|table| &table.rows).flat_map(|row| &row.parts) {
            let known = sizes.entry(part.model).or_insert_with(|| BTreeSet::from([1]));
            if in_one_node(part) {
                known.insert(part.gang.0);
            }
        }
        let mut first = BTreeMap::new();
        let mut next = 0;
        for (model, known) in &sizes {
            first.insert(*model, next);
            next += known.len();
        }
        Self {
            sizes: sizes.into_iter().map(|(model, known)| (model, known.into_iter().collect())).collect(),
            first,
        }
    }

    fn row(&self, parts: &[Part], rho: f64) -> AuctionRow {
        let mut uses = Vec::new();
        for part in parts {
            let first = self.first[&part.model];
            // Without a node to be in, a gang is so many GPUs.
            let (gang, sizes) = if in_one_node(part) {
                (part.gang.0, self.sizes[&part.model].len())
            } else {
                (part.gang.0, 1)
            };
            for (at, size) in self.sizes[&part.model][..sizes].iter().enumerate() {
                uses.push((first + at, gang / size * part.gangs));
            }
        }
        AuctionRow { uses, log_value: -rho.ln() }
    }
}

fn in_one_node(part: &Part) -> bool {
    part.span <= Locality::Node
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{
        AGENT_VERSION, BidRow, GpuCount, NodeId, OfferedNode, RackId, Ratio, Round, Span, Time,
    };

    #[test]
    fn a_gang_in_one_node_uses_pieces_of_its_size_and_of_all_smaller_ones() {
        let node = |id, gpus| OfferedNode {
            node: NodeId(id),
            rack: RackId(0),
            model: ModelIndex(0),
            gpus: GpuCount(gpus),
        };
        let nodes = vec![node(0, 7), node(1, 5)];
        let offer =
            Offer { version: AGENT_VERSION, round: Round(1), lease: Span::ZERO, reply_by: Time::ZERO, nodes };
        let row = |gang, gangs, span, rho| {
            let part = Part { model: ModelIndex(0), gang: GpuCount(gang), gangs, span };
            BidRow { parts: vec![part], rho: Ratio::new(rho).unwrap() }
        };
        let nothing = BidRow { parts: Vec::new(), rho: Ratio::ONE };
        let rows = vec![
            nothing,
            row(4, 2, Locality::Node, 0.5),
            row(2, 1, Locality::Node, 0.8),
            row(8, 1, Locality::Cluster, 0.7),
        ];
        let found = auction_of(&offer, &[BidTable { round: Round(1), rows }]);
        assert_eq!(found.capacity, [12, 5, 2]);
        let uses: Vec<_> = found.bidders[0].iter().map(|row| row.uses.clone()).collect();
        assert_eq!(uses, [vec![], vec![(0, 8), (1, 4), (2, 2)], vec![(0, 2), (1, 1), (2, 0)], vec![(0, 8)]]);
    }
}

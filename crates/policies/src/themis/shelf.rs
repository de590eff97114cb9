//! What an offer holds, counted: so that an agent sees at once what still fits into a row.

use evenhand_core::{GpuCount, Locality, ModelIndex, Offer, Part};
use std::collections::BTreeMap;

/// The GPUs of an offer by model, and how many gangs of each size the nodes hold.
pub(super) struct Shelf {
    gpus: BTreeMap<ModelIndex, u32>,
    pieces: BTreeMap<(ModelIndex, GpuCount), u32>,
}

/// What a row takes of it.
#[derive(Default)]
pub(super) struct Taken {
    gpus: BTreeMap<ModelIndex, u32>,
    pieces: BTreeMap<(ModelIndex, GpuCount), u32>,
}

impl Shelf {
    /// Counts an offer for gangs of these sizes.
    pub fn new(offer: &Offer, gangs: impl Iterator<Item = GpuCount>) -> Self {
        let sizes: std::collections::BTreeSet<GpuCount> = gangs.filter(|gang| gang.0 > 0).collect();
        let mut shelf = Self { gpus: BTreeMap::new(), pieces: BTreeMap::new() };
        for node in &offer.nodes {
            *shelf.gpus.entry(node.model).or_default() += node.gpus.0;
            for size in &sizes {
                *shelf.pieces.entry((node.model, *size)).or_default() += node.gpus.0 / size.0;
            }
        }
        shelf
    }

    /// The GPU models there are.
    pub fn models(&self) -> Vec<ModelIndex> {
        self.gpus.keys().copied().collect()
    }

    /// Whether some node can seat a gang of this size.
    pub fn seats(&self, model: ModelIndex, gang: GpuCount) -> bool {
        self.pieces.get(&(model, gang)).is_some_and(|pieces| *pieces > 0)
    }

    /// Takes one gang more, if there is one: by the same count as [`Offer::check`].
    pub fn take(&self, taken: &mut Taken, part: &Part) -> bool {
        let of = |map: &BTreeMap<ModelIndex, u32>| map.get(&part.model).copied().unwrap_or(0);
        let size = (part.model, part.gang);
        let of_size = |map: &BTreeMap<(ModelIndex, GpuCount), u32>| map.get(&size).copied().unwrap_or(0);
        let in_node = part.span <= Locality::Node;
        let fits = of(&taken.gpus) + part.gang.0 <= of(&self.gpus)
            && (!in_node || of_size(&taken.pieces) < of_size(&self.pieces));
        if fits {
            *taken.gpus.entry(part.model).or_default() += part.gang.0;
            *taken.pieces.entry(size).or_default() += u32::from(in_node);
        }
        fits
    }
}

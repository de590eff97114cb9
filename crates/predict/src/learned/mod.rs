//! What was learned from profiles: how much of a GPU a job asks, from its graph, and how much jobs slow each other down.

mod model;
mod told;
mod trees;

pub use model::{
    Foretold, Learned, MemoryModel, ModelError, PAIR_FEATURES, SlowdownModel, VERSION, pair_features,
};
pub use told::{Told, feature_names};
pub use trees::{Node, Tree, Trees};

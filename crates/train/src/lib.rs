//! Fits what `predict` evaluates: profiles in, model files out. The only crate that learns from data.

pub mod boost;
pub mod dataset;
pub mod fit;
pub mod folds;
pub mod foretold;
pub mod linear;
pub mod study;

pub use dataset::{DataError, Dataset, Pair, Profile, Seen, architectures, graph};

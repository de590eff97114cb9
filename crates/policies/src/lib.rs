//! Who gets GPUs, and which: one policy per file, one placer per file, each listed here.
//!
//! To add a policy: write `<name>.rs` with its `ENTRY`, then add it to the two lists below. Being listed is all it
//! takes to appear in `evenhand policies`, in `--policy`, in every comparison and in the law tests.

mod equal_share;
mod fifo;
mod fill;
mod isolated;
mod las;
pub mod placement;
mod registry;
mod srsf;
mod srtf;

pub use registry::{Entry, NameError, Promise, Registered, find, make};

/// All policies.
pub const POLICIES: &[Entry] =
    &[fifo::ENTRY, srtf::ENTRY, srsf::ENTRY, las::ENTRY, equal_share::ENTRY, isolated::ENTRY];

/// The policy of someone who chose none.
pub const DEFAULT_POLICY: &str = "las";

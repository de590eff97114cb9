//! Readers of published traces: hand-made samples with every trap, the real files where they are at hand, and bytes that
//! nobody meant as a trace.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "readers/fuzz.rs"]
mod fuzz;
#[path = "readers/real.rs"]
mod real;
#[path = "readers/samples.rs"]
mod samples;

use evenhand_sim::traces::{Sides, Throughputs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of the repository, or beside it.
fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// A trace together with this table.
fn sides(table: &Path) -> Sides {
    Sides { throughputs: Some(Arc::new(Throughputs::open(table).unwrap())) }
}

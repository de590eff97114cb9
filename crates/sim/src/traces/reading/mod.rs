//! What the readers of published traces have in common: bounded lines, rows by column, clocks, and the gathering of
//! jobs. A format's own file says only what its columns mean.

mod applications;
mod clock;
mod foreign;
mod gather;
mod lines;
mod nodes;
mod table;

pub(crate) use applications::Applications;
pub(crate) use clock::{Clock, civil};
pub(crate) use foreign::refusal;
pub(crate) use gather::{Draft, Gather};
pub(crate) use lines::Lines;
pub use nodes::cluster_from_openb_nodes;
pub(crate) use table::{Row, Table, columns, known, milliseconds, number, read_table, split};

use evenhand_core::Outcome;

/// How a job ended, from the word that Slurm and its logs use; `None` while it has not ended.
pub(crate) fn outcome(state: &str) -> Option<Outcome> {
    // sacct writes `CANCELLED by 1000`, and a `+` where it cut a word short.
    let word = state.split_whitespace().next().unwrap_or_default().trim_end_matches('+');
    match word {
        "COMPLETED" => Some(Outcome::Finished),
        "CANCELLED" | "PREEMPTED" | "REVOKED" => Some(Outcome::Cancelled),
        "FAILED" | "TIMEOUT" | "NODE_FAIL" | "OUT_OF_MEMORY" | "BOOT_FAIL" | "DEADLINE" => {
            Some(Outcome::Failed)
        }
        _ => None,
    }
}

//! Who gets GPUs, and which: one policy per file, one placer per file, each listed here.
//!
//! To add a policy: write `<name>.rs` with its `ENTRY`, then add it to the two lists below. Being listed is all it
//! takes to appear in `evenhand policies`, in `--policy`, in every comparison and in the law tests.

mod allox;
mod division;
mod drf;
mod elastic;
mod equal_share;
mod fifo;
mod fill;
mod gandiva;
mod gandiva_fair;
mod gavel;
mod gavel_rounds;
mod gittins;
mod horizon;
mod horus;
mod isolated;
mod las;
mod nash;
mod oef_cooperative;
mod oef_noncooperative;
mod partial_allocation;
pub mod placement;
mod promise;
mod published;
mod registry;
mod shockwave;
mod srsf;
mod srtf;
mod themis;
mod tiresias;
mod view;

pub use registry::{Divide, DivideError, Entry, NameError, Promise, Registered, find, make};

/// All policies.
pub const POLICIES: &[Entry] = &[
    fifo::ENTRY,
    srtf::ENTRY,
    srsf::ENTRY,
    las::ENTRY,
    equal_share::ENTRY,
    isolated::ENTRY,
    tiresias::ENTRY,
    gittins::ENTRY,
    drf::ENTRY,
    allox::ENTRY,
    gandiva::ENTRY,
    gandiva_fair::ENTRY,
    elastic::optimus::ENTRY,
    elastic::slaq::ENTRY,
    elastic::afs::ENTRY,
    gavel::max_min::ENTRY,
    gavel::max_min_perf::ENTRY,
    gavel::max_min_packed::ENTRY,
    gavel::water_filling::ENTRY,
    gavel::hierarchical::ENTRY,
    gavel::finish_time_fairness::ENTRY,
    gavel::min_total_duration::ENTRY,
    gavel::max_sum_throughput::ENTRY,
    oef_noncooperative::ENTRY,
    oef_cooperative::ENTRY,
    nash::ENTRY,
    partial_allocation::ENTRY,
    themis::ENTRY,
    themis::GREEDY,
    shockwave::ENTRY,
    shockwave::PLUS,
    promise::ENTRY,
    horus::ENTRY,
    horus::PLUS,
    horus::packing::ENTRY,
    horus::lucid::ENTRY,
];

/// Policies that plan ahead, and whose beliefs they plan with unless told otherwise.
pub const PLANNERS: &[(&str, &str)] =
    &[("shockwave", "dirichlet"), ("shockwave-plus", "regimes"), ("promise", "history")];

/// The policy of someone who chose none.
pub const DEFAULT_POLICY: &str = "promise";

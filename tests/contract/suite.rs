//! What every world owes the engine, as checks that drive `next` and `execute` by hand.
//!
//! No check depends on how fast a world is: they assert order and "not before", never "by then".

mod leases;
mod nodes;
mod play;
mod script;
mod stops;
mod time;

pub use leases::*;
pub use nodes::*;
pub use script::{Script, ScriptJob, ScriptOutage};
pub use stops::*;
pub use time::*;

use evenhand_core::{Backend, Span};

/// How a kind of world is set up for the checks.
pub trait Stage {
    /// A fresh world that plays this script, from time zero.
    fn world(&self, script: &Script) -> Box<dyn Backend>;

    /// The unit of all times in the checks: long against what this world needs to start or stop a job, so that the
    /// checks are to the point; they hold for any length.
    fn beat(&self) -> Span;

    /// Whether there can be such a world here; where not, that was said out loud.
    fn is_there(&self) -> bool {
        true
    }
}

/// One test for each check, on this stage; or `contract!(all)`: the checks with their names, for a world that is dear to set up.
macro_rules! contract {
    (all) => {
        $crate::suite::contract! { @each as_list () }
    };
    ($stage:expr) => {
        $crate::suite::contract! { @each as_tests ($stage) }
    };
    (@each $how:ident $with:tt) => {
        $crate::suite::$how! { $with
            the_cluster_is_announced_before_the_first_job,
            a_started_job_runs_and_finishes,
            a_second_start_of_one_lease_does_nothing,
            a_crash_is_reported,
            a_crashed_job_can_be_started_again,
            a_gang_over_several_nodes_starts_and_ends_as_one,
            end_forgets_the_job,
            a_renewed_lease_does_not_end,
            a_lease_that_is_not_renewed_expires,
            a_stopped_job_leaves_and_says_so,
            a_stopped_job_can_be_started_again_and_finishes,
            a_stop_of_an_unknown_lease_does_nothing,
            a_stop_at_the_very_start_ends_the_lease,
            a_job_that_ignores_the_stop_is_killed_after_its_grace,
            a_lost_node_ends_every_lease_on_it,
            jobs_arrive_at_their_time_and_not_before,
            there_is_one_alarm_and_the_later_replaces_the_earlier,
            time_never_goes_back,
            the_world_ends_when_every_job_has_ended,
        }
    };
}
pub(crate) use contract;

/// The checks as tests.
macro_rules! as_tests {
    (($stage:expr) $($check:ident,)*) => {$(
        #[test]
        fn $check() {
            if $crate::suite::Stage::is_there(&$stage) {
                $crate::suite::$check(&$stage);
            }
        }
    )*};
}
pub(crate) use as_tests;

/// The checks with their names.
macro_rules! as_list {
    (() $($check:ident,)*) => {
        [$((stringify!($check), $crate::suite::$check as fn(&dyn $crate::suite::Stage)),)*]
    };
}
pub(crate) use as_list;

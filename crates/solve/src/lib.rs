//! Optimisation without jobs: linear programs by name, and the divisions of a cluster that have faster exact methods of their own.
//!
//! Whatever divides the cluster takes a [`Market`] and gives a [`Division`]: a division that can be carried out, a bound on
//! what any division could reach, and so the gap between the two.

mod auction;
mod best_total;
mod bound;
mod check;
mod clarabel;
mod classes;
mod cooperative;
mod demands;
mod display;
#[cfg(test)]
mod exhaustive;
pub mod generic;
#[cfg(feature = "highs")]
mod highs;
pub mod instances;
mod levels;
mod market;
mod master;
mod microlp;
mod name;
mod nash;
mod ordered;
mod over_time;
mod pairs;
mod partial;
mod problem;
mod solution;
mod total;
mod vertex;
mod window;

pub use auction::{
    Auction, AuctionEffort, AuctionError, AuctionOutcome, AuctionRow, auction, auction_separately,
    nested_capacities, nested_units,
};
pub use best_total::best_total;
pub use classes::Classes;
pub use cooperative::{CooperativeOptions, cooperative};
pub use levels::{Effort, Ladder, Level, equal_throughput, max_min, raise, rise_by, water_filling};
pub use market::{Division, Market, MarketError, Matrix, dot};
pub use name::Name;
pub use nash::nash;
pub use over_time::{DivisionOverTime, MarketOverTime, OverTimeError, nash_over_time};
pub use pairs::{Pair, max_min_paired};
pub use partial::{kept_fractions, partial};
pub use problem::{Constraint, Problem, Variable};
pub use solution::{Solution, SolveError, Status};
pub use total::max_total;
pub use window::{PublishedJob, Window, WindowError, WindowItem, WindowPlan, plan_window, published_utility};

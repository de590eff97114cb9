//! The partial-allocation auction over whole units (Themis, NSDI 2020, after Cole, Gkatzelis and Goel, EC 2013).
//!
//! ```text
//! X*       = argmax sum_i v_i(X_i)   one row per bidder,  sum_i u_i(X_i) <= K  in every capacity,  v = ln(1 / rho)
//! X*_-i    = the same without i
//! kappa_i  = exp( sum_{l != i} v_l(X*) - sum_{l != i} v_l(X*_-i) )  in (0, 1]          i keeps the fraction kappa_i of its row
//! ```
//!
//! What a bidder loses is what its presence costs the others. That discourages misreporting; with whole units and valuations
//! that do not grow in proportion it does not rule it out.
//!
//! Capacities are GPUs, or the pieces into which nodes fall for gangs that must sit inside one node: see
//! [`nested_capacities`]. Nested capacities fold into limits on one sum (`fold.rs`) where every bidder has gangs of one size, and
//! then the exact method does thousands of GPUs; where it is too slow, prices give a bound and a choice close to it
//! (`bounded.rs`). Why not a generic integer program: 1 + n of them would be solved one by one, and share nothing.

mod bids;
mod bounded;
mod choice;
mod exact;
mod exchange;
mod fold;
mod nested;
mod prices;
mod tables;
#[cfg(test)]
mod tests;

pub use bids::{Auction, AuctionError, AuctionOutcome, AuctionRow};
pub use nested::{nested_capacities, nested_units};

use bounded::Bounded;
use exact::{Exact, Grid};
use tables::Tables;

/// A choice that misses its bound by less than this is the best there is.
const EXACT: f64 = 1e-9;

/// How long an auction may take.
#[derive(Clone, Debug)]
pub struct AuctionEffort {
    /// Additions of the exact method at most, a few billion a second; beyond this, or where its tables would take more than
    /// 128 MiB, prices give a choice and a bound.
    pub steps: u64,
}

impl Default for AuctionEffort {
    fn default() -> Self {
        Self { steps: 1_000_000_000 }
    }
}

/// Who wins what, and what it may keep.
///
/// The same auction has the same outcome. Of equally good choices, the exact method takes the one in which whoever is asked first
/// wins something, with its earliest row that will do; bidders are asked as they stand, where they use nested capacities those with the largest gangs first.
pub fn auction(auction: &Auction, effort: &AuctionEffort) -> Result<AuctionOutcome, AuctionError> {
    auction.check()?;
    let tables = Tables::of(auction);
    let found = match Grid::within(&tables, effort.steps) {
        Some(grid) => {
            let exact = Exact::new(&tables, &grid);
            let without = exact.without().into_iter().map(|value| (value, value)).collect();
            Bounded { chosen: exact.chosen(), value: exact.value(), bound: exact.value(), without }
        }
        None => bounded::solve(&tables),
    };
    Ok(outcome(auction, &tables, &found))
}

/// The slow twin of [`auction`]: one problem after the other, each from the beginning.
pub fn auction_separately(auction: &Auction, effort: &AuctionEffort) -> Result<AuctionOutcome, AuctionError> {
    auction.check()?;
    let tables = Tables::of(auction);
    let mut found = choose(&tables, effort);
    for bidder in 0..tables.bidders() {
        if found.chosen[bidder] == tables.nothing(bidder) {
            found.without.push((found.value, found.value));
            continue;
        }
        let mut others = auction.clone();
        others.bidders.remove(bidder);
        let alone = choose(&Tables::of(&others), effort);
        found.without.push((alone.value, alone.bound));
    }
    Ok(outcome(auction, &tables, &found))
}

/// The choice with everybody alone.
fn choose(tables: &Tables, effort: &AuctionEffort) -> Bounded {
    let Some(grid) = Grid::within(tables, effort.steps) else { return bounded::choose(tables) };
    let exact = Exact::new(tables, &grid);
    Bounded { chosen: exact.chosen(), value: exact.value(), bound: exact.value(), without: Vec::new() }
}

fn outcome(auction: &Auction, tables: &Tables, found: &Bounded) -> AuctionOutcome {
    let nothing: f64 = auction.bidders.iter().map(|rows| rows[0].log_value).sum();
    let kept = |bidder: usize, without: f64| {
        let row = found.chosen[bidder];
        let won = row != tables.nothing(bidder);
        if won { (found.value - tables.gains[row] - without).exp().min(1.0) } else { 1.0 }
    };
    let without = || found.without.iter().enumerate();
    AuctionOutcome {
        chosen: found.chosen.iter().map(|row| tables.origins[*row]).collect(),
        value: nothing + found.value,
        bound: nothing + found.bound,
        kept: without().map(|(bidder, (value, _))| kept(bidder, *value)).collect(),
        kept_least: without().map(|(bidder, (value, bound))| kept(bidder, bound.max(*value))).collect(),
    }
}

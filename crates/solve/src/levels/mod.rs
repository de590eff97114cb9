//! Raising everybody's level together: max-min shares, with demands, with levels reached before, one level after the other.
//!
//! ```text
//! raise:  maximise t   subject to  sum_j w_ij x_ij >= base_i + slope_i t ,  sum_j x_ij <= D_i ,  sum_i x_ij <= m_j ,  x >= 0
//!
//! equal throughput (OEF)       base = 0, slope = pi, D infinite
//! max-min (Gavel)              base = 0, slope = pi, w_ij = r_ij / rprop_i, D_i = the gang g_i:  x_ij = g_i y_ij
//! shortest total duration      base = 0, slope_i = g_i left_i, w = r, D = g:  t = 1 / T
//! water filling                base = levels of those who cannot rise, slope = pi for the others, again and again
//! ```
//!
//! The dual has k prices however many parties there are. At prices p the cost of a throughput is convex for each party (for
//! a party with a demand it is the lower hull of the points (w_ij, p_j)), so the largest t that the whole cluster's worth can pay for
//! is the root of a convex function of one variable: that is the bound, and what the parties take at it is one more point for a
//! master program with k + 1 rows (Dantzig-Wolfe). Prices are asked half-way between the master's and the best so far, which
//! keeps them from swinging (Wentges 1997). A point is stored as its prices and t alone; who takes what is worked out again
//! for the few points of the final mixture.

mod answer;
mod root;
mod search;
mod turns;

use crate::{Classes, Division, Market, MarketError, Matrix, ordered};
pub(crate) use search::shrink_to_fit;

use search::Search;
pub use turns::rise_by;

/// When to stop, and where to begin.
#[derive(Clone, Debug)]
pub struct Effort {
    /// The relative gap at which a division is good enough.
    pub gap: f64,
    /// How often the parties are asked at most.
    pub steps: usize,
    /// The prices of the last round: they may save steps and never change what is optimal.
    pub prices: Option<Vec<f64>>,
}

impl Default for Effort {
    fn default() -> Self {
        // The master loosens its rows by a little less than this, so a smaller gap might never be reached.
        Self { gap: 1e-9, steps: 2_000, prices: None }
    }
}

/// Which throughput each party is to have at level t: `base + slope * t`.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// What each party has at level 0.
    pub base: Vec<f64>,
    /// How much more it has one level up; 0 for a party that stays where it is.
    pub slope: Vec<f64>,
}

impl Ladder {
    /// From nothing, in proportion to weight.
    pub fn from_nothing(market: &Market) -> Self {
        Self { base: vec![0.0; market.parties()], slope: market.weights.clone() }
    }
}

/// The highest level.
#[derive(Clone, Debug)]
pub struct Level {
    /// A division that reaches it; `value` and `bound` are levels.
    pub division: Division,
    /// The parties that can rise no further unless another falls.
    pub stuck: Vec<bool>,
}

/// Raises the level as far as it goes. The market has been checked, and everybody can have its base.
pub fn raise(market: &Market, ladder: &Ladder, effort: &Effort) -> Level {
    let mut search = Search::new(market, ladder, effort);
    search.run(effort);
    search.level()
}

/// The division in which the smallest u_i / pi_i is as large as can be.
pub fn max_min(market: &Market, effort: &Effort) -> Result<Division, MarketError> {
    by_classes(market, |classes| raise(classes, &Ladder::from_nothing(classes), effort).division)
}

/// The division in which the smallest u_i / pi_i is as large as can be, after it the second smallest, and so on.
pub fn water_filling(market: &Market, effort: &Effort) -> Result<Division, MarketError> {
    by_classes(market, |classes| rise_in_turn(classes, effort))
}

/// The division in which u_i / pi_i is the same for everybody and as large as can be.
///
/// Where somebody can use only so many GPUs, or cannot run on some model, equality could leave GPUs idle that others want:
/// then this is [`water_filling`].
pub fn equal_throughput(market: &Market, effort: &Effort) -> Result<Division, MarketError> {
    let runs_everywhere = |row: &[f64]| {
        let mut models = row.iter().zip(&market.capacity);
        models.all(|(speedup, gpus)| *speedup > 0.0 || *gpus <= 0.0)
    };
    if market.is_demand_limited() || !market.speedups.rows().all(runs_everywhere) {
        return water_filling(market, effort);
    }
    by_classes(market, |classes| match ordered::equal_throughput(classes) {
        Some(division) => division,
        None => raise(classes, &Ladder::from_nothing(classes), effort).division,
    })
}

fn by_classes(market: &Market, solve: impl Fn(&Market) -> Division) -> Result<Division, MarketError> {
    market.check()?;
    if market.parties() == 0 {
        return Ok(Division::empty(market));
    }
    let classes = Classes::of(market);
    Ok(classes.expand(solve(&classes.market)))
}

/// Raises everybody; whoever is stuck keeps what it has and leaves with it; the others rise on with the rest.
///
/// Nothing is lost by that. At the prices of a turn the stuck spend the cluster's whole worth, so whatever has a price is
/// theirs in every division that keeps them at their level, and the others live on what is free.
fn rise_in_turn(market: &Market, effort: &Effort) -> Division {
    let mut rest = market.clone();
    let mut here: Vec<usize> = (0..market.parties()).collect();
    let mut all = Matrix::zeros(market.parties(), market.models());
    let mut first: Option<Division> = None;
    let mut steps = 0;
    while !here.is_empty() {
        let Level { division, mut stuck } = raise(&rest, &Ladder::from_nothing(&rest), effort);
        if !stuck.contains(&true) {
            stuck.fill(true);
        }
        for (at, party) in here.iter().enumerate() {
            all.row_mut(*party).copy_from_slice(division.shares.row(at));
        }
        steps += division.steps;
        rest = rest.without(&stuck, &division.shares);
        here = here.into_iter().zip(stuck).filter(|(_, stuck)| !stuck).map(|(party, _)| party).collect();
        first.get_or_insert(division);
    }
    // The certificate is that of the first turn: how high everybody can stand.
    Division { shares: all, steps, ..first.unwrap_or_else(|| Division::empty(market)) }
}

#[cfg(test)]
mod tests;

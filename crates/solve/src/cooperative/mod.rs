//! Cooperative OEF: the most throughput that can be divided without envy.
//!
//! ```text
//! maximise    sum_i w_i.x_i
//! subject to  w_i.x_i / pi_i  >=  w_i.x_l / pi_l      for all i != l            (nobody would rather have another's share)
//!             sum_i x_ij <= m_j ,   x >= 0
//! ```
//!
//! The program has a row for every pair of parties, and few of them matter. How it is solved depends on its size:
//!
//! | models | distinct parties | method | file |
//! |---|---|---|---|
//! | 1 | any | in proportion to weight | `tastes` |
//! | 2 | any | thresholds, exact | `thresholds` |
//! | 3 or more | up to [`CooperativeOptions::exact_parties_max`] | rows as they are violated, exact | `exact` |
//! | 3 or more | more | a menu to pick from, not exact | `menus` |
//!
//! Every method gives bundles that can be carried out without envy, and a bound that holds: [`Division::gap`] is what may be lost.

mod certificate;
mod exact;
mod menu;
mod menus;
mod program;
mod rows;
mod tastes;
#[cfg(test)]
mod tests;
mod thresholds;

use crate::{Classes, Division, Market, Matrix, SolveError, demands};
use menu::Menu;
use tastes::Tastes;

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CooperativeOptions {
    /// How many distinct parties are divided exactly where there are three models or more. Time grows with the square:
    /// at 300 it is a quarter of a second for 3 models and two seconds for 10.
    pub exact_parties_max: usize,
    /// How many different bundles there are to start from where there are more than that.
    pub bundles_max: usize,
}

impl Default for CooperativeOptions {
    fn default() -> Self {
        Self { exact_parties_max: 400, bundles_max: 80 }
    }
}

/// A bundle per weight for every taste, and what no bundles can exceed.
pub(crate) struct Bundles {
    shares: Matrix,
    bound: f64,
    steps: usize,
}

impl Bundles {
    /// How much better the best bundles are at most, relative to the bound.
    fn gap(&self, tastes: &Tastes) -> f64 {
        1.0 - tastes.value(&self.shares) / self.bound
    }

    /// Takes the bundles of a menu if they are better.
    fn improve(&mut self, tastes: &Tastes, menu: &Menu) {
        let shares = menu.bundles(tastes);
        if tastes.value(&shares) > tastes.value(&self.shares) {
            self.shares = shares;
        }
    }
}

/// The most throughput without envy. A party with a demand gets at most that, and the rest is divided among the others by the
/// same rule.
pub fn cooperative(market: &Market, options: &CooperativeOptions) -> Result<Division, SolveError> {
    market.check()?;
    demands::within(market, |market| Ok(without_demands(market, options)))
}

fn without_demands(market: &Market, options: &CooperativeOptions) -> Division {
    let classes = Classes::of(market);
    let tastes = Tastes::of(&classes.market);
    let bundles = match tastes.directions.columns() {
        0 => Ok(Bundles { shares: Matrix::zeros(tastes.len(), 0), bound: 0.0, steps: 0 }),
        1 => Ok(tastes.in_proportion()),
        2 => Ok(thresholds::divide(&tastes)),
        _ if tastes.len() <= options.exact_parties_max => exact::divide(&tastes),
        _ => menus::divide(&tastes, options.bundles_max),
    };
    // The program always has an answer, so a failure is one of arithmetic: speedups that are a million millions apart, say.
    // Then everybody gets its part of every model, which nobody envies, and the gap says what that may lose.
    let bundles = bundles.unwrap_or_else(|_| Bundles {
        bound: certificate::bound(&tastes, std::iter::empty()),
        ..tastes.in_proportion()
    });
    let shares = tastes.expand(&classes.market, &bundles.shares);
    let value = (0..shares.len()).map(|party| classes.market.throughput(party, shares.row(party))).sum();
    let (bound, steps) = (bundles.bound.max(value), bundles.steps);
    classes.expand(Division { shares, value, bound, prices: Vec::new(), steps })
}

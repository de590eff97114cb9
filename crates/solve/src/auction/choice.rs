//! A choice of rows that fits, seen from prices: how it begins, and how it is filled.
//!
//! With r_ir the regret of a row (what the bidder's best row gains more at the prices), every choice X is worth
//!
//! ```text
//! value(X) = bound - sum_i r_i,X(i) - prices * (capacity that X leaves)
//! ```
//!
//! so a choice can be better than one that misses the bound by `loss` only with rows of a regret below `loss`. That leaves few.

use super::prices::Prices;
use super::tables::Tables;

/// Differences smaller than this are rounding errors, and no reason to change a choice.
pub(super) const NO_GAIN: f64 = 1e-12;

/// All rows, by what they lose at the prices.
pub(super) struct Priced<'a> {
    pub tables: &'a Tables,
    pub prices: &'a [f64],
    /// The best that each bidder gains at the prices.
    pub best: Vec<f64>,
    /// What each row loses against the best of its bidder.
    pub regrets: Vec<f64>,
    /// All rows with their bidders, by rising regret.
    pub by_regret: Vec<(usize, usize)>,
}

/// One row per bidder.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub rows: Vec<usize>,
    /// What is left of each capacity; less than nothing while it does not fit.
    pub left: Vec<i64>,
    /// What the rows gain over nothing.
    pub value: f64,
    /// No choice in which the one who is gone has nothing gains more than this.
    pub bound: f64,
    /// Whose row stays as it is.
    pub gone: Option<usize>,
}

impl<'a> Priced<'a> {
    pub fn of(tables: &'a Tables, prices: &'a Prices) -> Self {
        let gains: Vec<f64> = (0..tables.gains.len()).map(|row| prices.gain(tables, row)).collect();
        let (mut best, mut regrets, mut by_regret) = (Vec::new(), Vec::new(), Vec::new());
        for bidder in 0..tables.bidders() {
            let most = gains[tables.rows(bidder)].iter().copied().fold(0.0, f64::max);
            best.push(most);
            regrets.extend(gains[tables.rows(bidder)].iter().map(|gain| most - gain));
            by_regret.extend(tables.rows(bidder).map(|row| (row, bidder)));
        }
        by_regret.sort_by(|a, b| regrets[a.0].total_cmp(&regrets[b.0]));
        Self { tables, prices: &prices.prices, best, regrets, by_regret }
    }

    /// What everybody wants at the prices, made to fit and filled up.
    pub fn first(&self, bound: f64) -> Choice {
        let tables = self.tables;
        let left = tables.capacity.iter().map(|units| i64::from(*units)).collect();
        let rows = (0..tables.bidders()).map(|bidder| tables.nothing(bidder)).collect();
        let mut choice = Choice { rows, left, value: 0.0, bound, gone: None };
        for bidder in 0..tables.bidders() {
            let wanted = tables.rows(bidder).min_by(|a, b| self.regrets[*a].total_cmp(&self.regrets[*b]));
            choice.take(tables, bidder, wanted.expect("there is a row for nothing"));
        }
        while let Some((bidder, row)) = self.relief(&choice) {
            choice.take(tables, bidder, row);
        }
        choice
    }

    /// The change that costs least for what it frees where there is too little.
    fn relief(&self, choice: &Choice) -> Option<(usize, usize)> {
        let short: Vec<(usize, f64)> = (choice.left.iter().enumerate())
            .filter(|(_, left)| **left < 0)
            .map(|(at, _)| (at, 1.0 / f64::from(self.tables.capacity[at])))
            .collect();
        if short.is_empty() {
            return None;
        }
        let mut best = (f64::INFINITY, None);
        for (row, bidder) in &self.by_regret {
            let (new, old) = (self.tables.uses(*row), self.tables.uses(choice.rows[*bidder]));
            let freed = |(at, scale): &(usize, f64)| {
                let freed = i64::from(old[*at]) - i64::from(new[*at]);
                freed.min(-choice.left[*at]) as f64 * scale
            };
            let freed: f64 = short.iter().map(freed).sum();
            let cost = (self.regrets[*row] - self.regrets[choice.rows[*bidder]]) / freed;
            // Nothing may become short instead, or two changes could take turns for ever.
            let room = |((new, old), left): ((&u32, &u32), &i64)| {
                i64::from(*new) - i64::from(*old) <= (*left).max(0)
            };
            if freed > 0.0 && cost < best.0 && new.iter().zip(old).zip(&choice.left).all(room) {
                best = (cost, Some((*bidder, *row)));
            }
        }
        best.1
    }

    /// Takes what gains most for its price, as long as something fits.
    pub fn fill(&self, choice: &mut Choice) {
        while let Some((bidder, row)) = self.upgrade(choice) {
            choice.take(self.tables, bidder, row);
        }
    }

    fn upgrade(&self, choice: &Choice) -> Option<(usize, usize)> {
        let loss = choice.bound - choice.value;
        let mut best = (0.0, None);
        for (row, bidder) in self.by_regret.iter().take_while(|(row, _)| self.regrets[*row] < loss) {
            let old = choice.rows[*bidder];
            let gain = self.tables.gains[*row] - self.tables.gains[old];
            if gain <= NO_GAIN || !choice.fits(self.tables, *bidder, *row) || choice.gone == Some(*bidder) {
                continue;
            }
            let price = gain + self.regrets[*row] - self.regrets[old];
            let rate = gain / price.max(NO_GAIN);
            if rate > best.0 {
                best = (rate, Some((*bidder, *row)));
            }
        }
        best.1
    }
}

impl Choice {
    pub fn take(&mut self, tables: &Tables, bidder: usize, row: usize) {
        let old = std::mem::replace(&mut self.rows[bidder], row);
        self.value += tables.gains[row] - tables.gains[old];
        for ((left, new), old) in self.left.iter_mut().zip(tables.uses(row)).zip(tables.uses(old)) {
            *left += i64::from(*old) - i64::from(*new);
        }
    }

    fn fits(&self, tables: &Tables, bidder: usize, row: usize) -> bool {
        let uses = tables.uses(row).iter().zip(tables.uses(self.rows[bidder]));
        uses.zip(&self.left).all(|((new, old), left)| i64::from(*new) - i64::from(*old) <= *left)
    }

    /// The value afresh, without the rounding errors of the changes.
    pub fn settle(&mut self, tables: &Tables) {
        self.value = self.rows.iter().map(|row| tables.gains[*row]).sum();
    }
}

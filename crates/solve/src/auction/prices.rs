//! Prices for the capacities, and with them a bound on what any choice of rows is worth.
//!
//! ```text
//! bound(p) = sum_d p_d K_d + sum_i max_r ( v_ir - p u_ir ) ,  p >= 0
//! ```
//!
//! holds at any prices (Lagrange). The least of these bounds is searched by a master program with one row per capacity, which
//! mixes what the bidders took at earlier prices (Dantzig-Wolfe); they are asked half-way between its prices and the best so far.

use super::tables::Tables;
use crate::master::Master;

/// How often the bidders are asked at most.
const ASKED_MAX: usize = 300;

/// Prices that are this close to the best ones are good enough: a small part of what a choice gains over nothing.
const CLOSE: f64 = 1e-10;

/// Prices, and what they show.
pub(super) struct Prices {
    /// Of a unit of each capacity, as a logarithmic value.
    pub prices: Vec<f64>,
    /// No choice of rows gains more than this over nothing.
    pub bound: f64,
}

impl Prices {
    pub fn of(tables: &Tables) -> Self {
        let mut search = Search {
            tables,
            uses: (0..tables.gains.len())
                .flat_map(|row| tables.uses(row).iter().map(|units| f64::from(*units)))
                .collect(),
            master: Master::of_points(tables.capacity.len(), 0.0),
            best: Self { prices: vec![0.0; tables.capacity.len()], bound: f64::INFINITY },
            asked: 0,
        };
        search.ask(&vec![0.0; tables.capacity.len()]);
        search.run();
        search.best
    }

    /// What a row gains once its units are paid for.
    pub fn gain(&self, tables: &Tables, row: usize) -> f64 {
        let uses = tables.uses(row).iter().zip(&self.prices);
        tables.gains[row] - uses.map(|(units, price)| f64::from(*units) * price).sum::<f64>()
    }
}

struct Search<'a> {
    tables: &'a Tables,
    /// The uses of all rows, as the numbers that prices are.
    uses: Vec<f64>,
    master: Master,
    best: Prices,
    asked: usize,
}

impl Search<'_> {
    fn run(&mut self) {
        while self.asked < ASKED_MAX {
            self.master.optimise();
            if self.best.bound - self.master.value() <= CLOSE * self.best.bound {
                break;
            }
            let worth = self.master.prices();
            let price = |(worth, units): (&f64, &u32)| worth.max(0.0) / f64::from(*units);
            let prices: Vec<f64> = worth.iter().zip(&self.tables.capacity).map(price).collect();
            let best = self.best.prices.iter();
            let between: Vec<f64> =
                best.zip(&prices).map(|(best, price)| f64::midpoint(*best, *price)).collect();
            // Asked in between, the bidders may say nothing new; then the master's own prices decide.
            if !self.ask(&between) && !self.ask(&prices) {
                break;
            }
        }
    }

    /// Asks the bidders what they would take; says whether it is news to the master.
    fn ask(&mut self, prices: &[f64]) -> bool {
        self.asked += 1;
        let tables = self.tables;
        let width = prices.len();
        let capacity = tables.capacity.iter().map(|units| f64::from(*units));
        let mut bound: f64 = capacity.zip(prices).map(|(units, price)| units * price).sum();
        let (mut value, mut used) = (0.0, vec![0.0; width]);
        for bidder in 0..tables.bidders() {
            let mut best = (tables.nothing(bidder), 0.0);
            for row in tables.rows(bidder) {
                let gain = tables.gains[row] - crate::dot(&self.uses[row * width..(row + 1) * width], prices);
                if gain > best.1 {
                    best = (row, gain);
                }
            }
            bound += best.1;
            value += tables.gains[best.0];
            used.iter_mut().zip(&self.uses[best.0 * width..]).for_each(|(used, units)| *used += units);
        }
        if bound < self.best.bound {
            self.best = Prices { prices: prices.to_vec(), bound };
        }
        used.iter_mut().zip(&tables.capacity).for_each(|(used, units)| *used /= f64::from(*units));
        let worth = self.master.prices();
        let (mixing, capacities) = worth.split_last().expect("there is a row for mixing");
        let news = value - crate::dot(capacities, &used) - mixing > 1e-13 * value.abs();
        if news {
            self.master.add(value, used.into_iter().chain([1.0]));
        }
        news
    }
}

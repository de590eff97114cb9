//! The largest total throughput, whoever has it.
//!
//! ```text
//! maximise  sum_ij w_ij x_ij   subject to  sum_i x_ij <= m_j ,  sum_j x_ij <= D_i ,  x >= 0
//! ```
//!
//! At prices p everybody takes all it can use of the model where w_ij - p_j is largest, or nothing if that is negative. What
//! that is worth, plus what the cluster costs at p, is a bound; what is taken is a point for a master program with k + 1 rows
//! (Dantzig-Wolfe), asked half-way between its prices and the best so far, as in [`raise`](crate::raise). Parties with the same
//! row are one, because only their sum matters.

use crate::levels::shrink_to_fit;
use crate::master::Master;
use crate::{Classes, Division, Effort, Market, MarketError, Matrix};

/// The division of the largest total throughput. Weights do not count; of parties with the same row, each has its part by demand.
pub fn max_total(market: &Market, effort: &Effort) -> Result<Division, MarketError> {
    market.check()?;
    if market.parties() == 0 {
        return Ok(Division::empty(market));
    }
    // Nobody can use more than everything, and what a class holds is split by what its members can use.
    let everything: f64 = market.capacity.iter().sum();
    let usable: Vec<f64> = market.demands.iter().map(|demand| demand.min(everything)).collect();
    let classes = Classes::of(&market.clone().weighing(usable.clone()).demanding(usable));
    Ok(classes.expand(Search::new(&classes.market, effort).run(effort)))
}

struct Search<'a> {
    market: &'a Market,
    master: Master,
    /// The prices of each point after the slacks and the start.
    points: Vec<Vec<f64>>,
    bound: f64,
    /// The prices that gave the bound.
    best: Vec<f64>,
    steps: usize,
}

impl<'a> Search<'a> {
    fn new(market: &'a Market, effort: &Effort) -> Self {
        let models = market.models();
        let known = effort.prices.clone().filter(|prices| prices.len() == models);
        let first = known.unwrap_or_else(|| vec![0.0; models]);
        let (master, best) = (Master::of_points(models, 0.0), first.clone());
        let mut search = Self { market, master, points: Vec::new(), bound: f64::INFINITY, best, steps: 0 };
        search.ask(&first);
        search
    }

    fn run(mut self, effort: &Effort) -> Division {
        while self.steps < effort.steps {
            self.master.optimise();
            if self.bound - self.master.value() <= effort.gap * self.bound {
                break;
            }
            let prices = self.prices();
            let between: Vec<f64> =
                self.best.iter().zip(&prices).map(|(best, price)| f64::midpoint(*best, *price)).collect();
            // Asked in between, the parties may say nothing new; then the master's own prices decide.
            if !self.ask(&between) && !self.ask(&prices) {
                break;
            }
        }
        self.master.optimise();
        let shares = self.mix();
        let value = shares.rows().enumerate().map(|(party, row)| self.market.throughput(party, row)).sum();
        Division { shares, value, bound: self.bound, prices: self.best, steps: self.steps }
    }

    /// The master's prices per GPU.
    fn prices(&self) -> Vec<f64> {
        let worth = self.master.prices();
        let price = |(worth, gpus): (&f64, &f64)| if *gpus > 0.0 { worth.max(0.0) / gpus } else { 0.0 };
        worth.iter().zip(&self.market.capacity).map(price).collect()
    }

    /// Asks the parties what they would take; says whether it is news to the master.
    fn ask(&mut self, prices: &[f64]) -> bool {
        self.steps += 1;
        let mut used = vec![0.0; prices.len()];
        let (mut value, mut bound) = (0.0, crate::dot(prices, &self.market.capacity));
        for party in 0..self.market.parties() {
            if let Some((model, gain)) = choice(self.market, party, prices) {
                let gpus = self.market.demands[party];
                used[model] += gpus;
                value += gpus * self.market.speedups.row(party)[model];
                bound += gpus * gain;
            }
        }
        if bound < self.bound {
            (self.bound, self.best) = (bound, prices.to_vec());
        }
        for (used, gpus) in used.iter_mut().zip(&self.market.capacity) {
            *used = if *gpus > 0.0 { *used / gpus } else { 0.0 };
        }
        let worth = self.master.prices();
        let (mixing, capacities) = worth.split_last().expect("there is a row for mixing");
        if value - crate::dot(capacities, &used) - mixing <= 1e-13 * value.abs() {
            return false;
        }
        self.master.add(value, used.into_iter().chain([1.0]));
        self.points.push(prices.to_vec());
        true
    }

    /// The mixture of points that the master chose.
    fn mix(&self) -> Matrix {
        let market = self.market;
        let mut shares = Matrix::zeros(market.parties(), market.models());
        for (column, part) in self.master.mixture() {
            let Some(prices) = column.checked_sub(market.models() + 1).map(|at| &self.points[at]) else {
                continue;
            };
            for party in 0..market.parties() {
                if let Some((model, _)) = choice(market, party, prices) {
                    shares.row_mut(party)[model] += part * market.demands[party];
                }
            }
        }
        shrink_to_fit(market, &mut shares);
        shares
    }
}

/// The model that is worth most more than its price to a party, and by how much; the first of equals.
fn choice(market: &Market, party: usize, prices: &[f64]) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for (model, (speedup, price)) in market.speedups.row(party).iter().zip(prices).enumerate() {
        let gain = speedup - price;
        if *speedup > 0.0 && market.capacity[model] > 0.0 && gain > best.map_or(0.0, |(_, most)| most) {
            best = Some((model, gain));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::best_total;
    use crate::instances::{FAMILIES, benchmark, limited};
    use evenhand_core::Random;

    #[test]
    fn every_gpu_goes_to_whom_it_serves_best() {
        let rows = [[1.0, 1.2, 1.5], [1.0, 1.5, 2.5], [1.0, 2.0, 4.0]];
        let market = Market::new(Matrix::from_rows(&rows), vec![8.0; 3]);
        let division = max_total(&market, &Effort::default()).unwrap();
        assert!((division.value - 56.0).abs() < 1e-9 && division.gap() < 1e-9, "{division:?}");
    }

    #[test]
    fn like_parties_share_by_what_they_can_use() {
        let market = Market::new(Matrix::from_rows(&[[1.0], [1.0]]), vec![9.0]).demanding(vec![4.0, 8.0]);
        let division = max_total(&market, &Effort::default()).unwrap();
        assert_eq!(division.shares, Matrix::from_rows(&[[3.0], [6.0]]));
    }

    #[test]
    fn a_plain_program_agrees() {
        let mut random = Random::new(21);
        for round in 0..400 {
            let market = limited(FAMILIES[round % 3], &mut random);
            let expected = best_total(&market, &vec![0.0; market.parties()]).unwrap().value;
            let division = max_total(&market, &Effort::default()).unwrap();
            assert!(division.gap() <= 1e-9, "round {round}: {} < {}", division.value, division.bound);
            assert!((division.value - expected).abs() <= 1e-7 * expected, "round {round}");
            for (party, row) in division.shares.rows().enumerate() {
                assert!(row.iter().sum::<f64>() <= market.demands[party] * (1.0 + 1e-9), "round {round}");
            }
            for (used, gpus) in division.shares.column_sums().iter().zip(&market.capacity) {
                assert!(*used <= gpus * (1.0 + 1e-12), "round {round}: {used} of {gpus}");
            }
        }
    }

    #[test]
    fn many_parties_are_no_harder_than_few() {
        let market = benchmark(2_000, 5, &mut Random::new(22)).demanding(vec![1.0; 2_000]);
        let division = max_total(&market, &Effort::default()).unwrap();
        assert!(division.gap() <= 1e-9 && division.steps < 400, "{} steps", division.steps);
    }
}

//! With caps on what a party can use in a round: interior point on exponential cones, and a certificate from its duals.
//!
//! ```text
//! minimise -sum_i pi_i s_i   subject to (s_i, 1, u_i.x_i) in K_exp ,  capacities (prices p) ,  caps (prices q) ,  x >= 0
//!
//! for any p, q >= 0:  sum_i pi_i ln u_i <= sum_i pi_i ln( pi_i max_tm u_itm / (p_tm + q_it) ) + B ln( A / B )
//!                     A = p.M + sum_it q_it g_i ,  B = sum_i pi_i
//! ```

use super::{DivisionOverTime, MarketOverTime, by_round, in_rounds};
use crate::levels::shrink_to_fit;
use crate::{Matrix, SolveError};
use ::clarabel::algebra::CscMatrix;
use ::clarabel::solver::{
    DefaultSettings, DefaultSolver, ExponentialConeT, IPSolver, NonnegativeConeT, SolverStatus,
};

/// Relative gap and violation at which the method may stop.
const TOLERANCE: f64 = 1e-10;

/// Where the rows of the program are.
struct Shape {
    goods: usize,
    rounds: usize,
    models: usize,
    parties: usize,
}

impl Shape {
    fn cap_row(&self, party: usize, good: usize) -> usize {
        self.goods + party * self.rounds + good / self.models
    }

    fn sign_row(&self, party: usize, good: usize) -> usize {
        self.goods + self.parties * self.rounds + party * self.goods + good
    }

    /// Rows before those of the cones.
    fn bounds(&self) -> usize {
        self.sign_row(self.parties, 0)
    }
}

pub(super) fn solve(market: &MarketOverTime) -> Result<DivisionOverTime, SolveError> {
    let (rounds, models) = (market.capacity.len(), market.capacity.columns());
    let shape = Shape { goods: rounds * models, rounds, models, parties: market.parties() };
    let matrix = rows(market, &shape);
    let all: f64 = market.capacity.rows().flatten().sum();
    let mut right: Vec<f64> = market.capacity.rows().flatten().copied().collect();
    right.extend(market.caps.iter().flat_map(|cap| std::iter::repeat_n(cap.min(1.0 + all), rounds)));
    right.resize(shape.bounds(), 0.0);
    right.extend((0..shape.parties).flat_map(|_| [0.0, 1.0, 0.0]));
    let mut costs = vec![0.0; shape.parties * shape.goods];
    costs.extend(market.weights.iter().map(|weight| -weight));
    let mut cones = vec![NonnegativeConeT(shape.bounds())];
    cones.extend((0..shape.parties).map(|_| ExponentialConeT()));
    let mut settings = DefaultSettings { verbose: false, max_threads: 1, ..DefaultSettings::default() };
    (settings.tol_gap_abs, settings.tol_gap_rel, settings.tol_feas) = (TOLERANCE, TOLERANCE, TOLERANCE);
    let stalled = |why: String| SolveError::Stalled { method: "cones", steps: 0, why, best: None };
    let quadratic = CscMatrix::zeros((costs.len(), costs.len()));
    let made = DefaultSolver::new(&quadratic, &costs, &matrix, &right, &cones, settings);
    let mut solver = made.map_err(|error| stalled(error.to_string()))?;
    solver.solve();
    let found = &solver.solution;
    // Even if it stopped early, the division is made to fit and bounded by its prices: the gap tells how good it is.
    match found.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress => {}
        other => return Err(stalled(other.to_string())),
    }
    let shares = fitting(market, &shape, &found.x);
    Ok(certified(market, &shape, &shares, &found.z, found.iterations as usize))
}

/// A column for every party and good, then one for the logarithm of every party's utility.
fn rows(market: &MarketOverTime, shape: &Shape) -> CscMatrix {
    let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
    for (party, utilities) in market.utilities.iter().enumerate() {
        // Utilities of one scale: a factor of a party changes no share and no price.
        let scale = utilities.rows().flatten().copied().fold(0.0, f64::max);
        for (good, utility) in utilities.rows().flatten().enumerate() {
            let utility_row = shape.bounds() + 3 * party + 2;
            places.extend([good, shape.cap_row(party, good), shape.sign_row(party, good), utility_row]);
            values.extend([1.0, 1.0, -1.0, -utility / scale]);
            starts.push(places.len());
        }
    }
    for party in 0..shape.parties {
        places.push(shape.bounds() + 3 * party);
        values.push(-1.0);
        starts.push(places.len());
    }
    let columns = shape.parties * (shape.goods + 1);
    CscMatrix::new(shape.bounds() + 3 * shape.parties, columns, starts, places, values)
}

/// The shares found, made to keep caps and capacities exactly.
fn fitting(market: &MarketOverTime, shape: &Shape, found: &[f64]) -> Matrix {
    let mut shares = Matrix::zeros(shape.parties, shape.goods);
    for (party, cap) in market.caps.iter().enumerate() {
        let row = shares.row_mut(party);
        for (good, share) in row.iter_mut().enumerate() {
            *share = found[party * shape.goods + good].max(0.0);
        }
        for round in row.chunks_exact_mut(shape.models) {
            let gpus: f64 = round.iter().sum();
            if gpus > *cap {
                for share in round {
                    *share *= cap / gpus;
                }
            }
        }
    }
    shrink_to_fit(&market.flat(), &mut shares);
    shares
}

fn certified(
    market: &MarketOverTime,
    shape: &Shape,
    shares: &Matrix,
    duals: &[f64],
    steps: usize,
) -> DivisionOverTime {
    let flat = market.flat();
    let budget: f64 = flat.weights.iter().sum();
    // An infinite cap has no price.
    let held = |party: usize, good: usize| {
        if market.caps[party].is_finite() { duals[shape.cap_row(party, good)].max(0.0) } else { 0.0 }
    };
    let utility: Vec<f64> =
        shares.rows().enumerate().map(|(party, row)| flat.throughput(party, row)).collect();
    // What a party would pay for a good, given what it has: a price found too low, by rounding, would let it have that good for nothing.
    let worth_to = |party: usize, good: usize| {
        let part = flat.weights[party] / utility[party].max(f64::MIN_POSITIVE);
        (part * flat.speedups.row(party)[good]).min(f64::MAX) - held(party, good)
    };
    let price = |good: usize| {
        (0..shape.parties).map(|party| worth_to(party, good)).fold(duals[good].max(0.0), f64::max)
    };
    let prices: Vec<f64> = (0..shape.goods).map(price).collect();
    let mut worth: f64 = flat.capacity.iter().zip(&prices).map(|(gpus, price)| gpus * price).sum();
    let (mut value, mut bound) = (0.0, 0.0);
    for (party, (weight, cap)) in flat.weights.iter().zip(&market.caps).enumerate() {
        let first = (0..shape.rounds).map(|round| round * shape.models);
        worth += if cap.is_finite() { cap * first.map(|good| held(party, good)).sum::<f64>() } else { 0.0 };
        let row = flat.speedups.row(party).iter().enumerate().filter(|(good, _)| flat.capacity[*good] > 0.0);
        let best =
            row.map(|(good, utility)| utility / (prices[good] + held(party, good))).fold(0.0, f64::max);
        value += weight * utility[party].ln();
        bound += weight * (weight * best).ln();
    }
    bound += budget * (worth / budget).ln();
    let prices: Vec<f64> = prices.iter().map(|price| price * budget / worth).collect();
    let (value, bound) = ((value / budget).exp(), (bound / budget).exp());
    DivisionOverTime {
        rounds: by_round(shares, &market.capacity),
        prices: in_rounds(&prices, shape.models),
        value,
        bound: bound.max(value),
        steps,
    }
}

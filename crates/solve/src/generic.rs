//! The same divisions by generic solvers, written out in full: slow twins to compare with, in tests and benchmarks.

use crate::{Market, Problem, Solution, SolveError, Variable, Window};
use ::clarabel::algebra::CscMatrix;
use ::clarabel::solver::{
    DefaultSettings, DefaultSolver, ExponentialConeT, IPSolver, NonnegativeConeT, SolverStatus,
};

/// The tolerance at which the interior point method stops, as it comes.
const TOLERANCE: f64 = 1e-8;

/// x_ij for every party and model.
fn shares(problem: &mut Problem, market: &Market, worth: impl Fn(usize, usize) -> f64) -> Vec<Vec<Variable>> {
    let shares: Vec<Vec<Variable>> = (0..market.parties())
        .map(|party| {
            (0..market.models())
                .map(|model| problem.variable(("x", party, model), worth(party, model), 0.0..))
                .collect()
        })
        .collect();
    for model in 0..market.models() {
        let row = shares.iter().map(|row| (row[model], 1.0));
        problem.at_most(("capacity of model", model), row, market.capacity[model]);
    }
    for (party, row) in shares.iter().enumerate() {
        if market.demands[party].is_finite() {
            let row = row.iter().map(|share| (*share, 1.0));
            problem.at_most(("demand of party", party), row, market.demands[party]);
        }
    }
    shares
}

/// `maximise t subject to w_i.x_i >= pi_i t`, capacities and demands.
pub fn max_min_program(market: &Market) -> Problem {
    let mut problem = Problem::maximise();
    let level = problem.variable("t", 1.0, 0.0..);
    let shares = shares(&mut problem, market, |_, _| 0.0);
    for (party, row) in shares.iter().enumerate() {
        let speedups = market.speedups.row(party).iter().copied();
        let row = row.iter().copied().zip(speedups).chain([(level, -market.weights[party])]);
        problem.at_least(("level of party", party), row, 0.0);
    }
    problem
}

/// `maximise sum_i w_i.x_i subject to w_i.x_i / pi_i >= w_i.x_l / pi_l` for every pair, and capacities.
pub fn cooperative_program(market: &Market) -> Problem {
    let mut problem = Problem::maximise();
    let shares = shares(&mut problem, market, |party, model| market.speedups.row(party)[model]);
    for party in 0..market.parties() {
        for other in (0..market.parties()).filter(|other| *other != party) {
            let speedups = market.speedups.row(party).iter();
            let own =
                shares[party].iter().zip(speedups.clone()).map(|(x, w)| (*x, w / market.weights[party]));
            let theirs = shares[other].iter().zip(speedups).map(|(x, w)| (*x, -w / market.weights[other]));
            problem.at_least(("envy", party, other), own.chain(theirs), 0.0);
        }
    }
    problem
}

/// The program of a window with every item in every round, and the variables that are whole in a plan.
///
/// ```text
/// maximise sum_i sum_n gain_in s_in - mu z      s_in in [0, 1]: how much of its n-th round of work i does
/// sum_n s_in = sum_t sum_m rate_im y_itm ,  z >= R_i - sum_n progress_in s_in ,  sum_m y_itm <= 1 ,  capacities
/// ```
///
/// It is the window's only where the progress of an item does not rise, or the later rounds of work would be done first.
pub fn window_program(window: &Window) -> (Problem, Vec<Variable>) {
    let mut problem = Problem::maximise();
    let models = window.capacity.len();
    let left = problem.variable("z", -window.remaining_cost, 0.0..);
    let mut turns: Vec<Variable> = Vec::new();
    for (at, item) in window.items.iter().enumerate() {
        let of = |list: &[f64], round: usize| list.get(round).copied().unwrap_or(0.0);
        let work: Vec<Variable> = (0..window.rounds)
            .map(|round| problem.variable(("s", at, round), of(&item.gains, round), 0.0..=1.0))
            .collect();
        let progress = work.iter().enumerate().map(|(round, work)| (*work, of(&item.progress, round)));
        problem.at_least(("remaining time of item", at), progress.chain([(left, 1.0)]), item.remaining);
        let mut done: Vec<(Variable, f64)> = work.iter().map(|work| (*work, -1.0)).collect();
        for round in 0..window.rounds {
            let turn = |_| problem.variable(("y", at, round), 0.0, 0.0..=1.0);
            let here: Vec<Variable> = (0..models).map(turn).collect();
            if models > 1 {
                problem.at_most(("one model for", at, round), here.iter().map(|turn| (*turn, 1.0)), 1.0);
            }
            done.extend(here.iter().zip(&item.rates).map(|(turn, rate)| (*turn, *rate)));
            turns.extend(here);
        }
        problem.equal(("work of item", at), done, 0.0);
    }
    for place in 0..window.rounds * models {
        let used = window.items.iter().enumerate();
        let used = used.map(|(at, item)| (turns[at * window.rounds * models + place], f64::from(item.gang)));
        problem.at_most(
            ("capacity in round", place / models),
            used,
            f64::from(window.capacity[place % models]),
        );
    }
    (problem, turns)
}

/// The best level by interior point.
pub fn max_min_by_interior_point(market: &Market) -> Result<Solution, SolveError> {
    max_min_program(market).solve_interior_within(TOLERANCE)
}

/// The largest weighted geometric mean of throughputs, by interior point on exponential cones; demands are not looked at.
///
/// `minimise -sum_i pi_i s_i subject to (s_i, 1, w_i.x_i) in K_exp`, capacities.
pub fn nash_by_cones(market: &Market) -> Result<f64, SolveError> {
    let (parties, models) = (market.parties(), market.models());
    let bounds = models + parties * models;
    let (mut starts, mut places, mut values) = (vec![0], Vec::new(), Vec::new());
    for party in 0..parties {
        for (model, speedup) in market.speedups.row(party).iter().enumerate() {
            places.extend([model, models + party * models + model, bounds + 3 * party + 2]);
            values.extend([1.0, -1.0, -speedup]);
            starts.push(places.len());
        }
    }
    for party in 0..parties {
        places.push(bounds + 3 * party);
        values.push(-1.0);
        starts.push(places.len());
    }
    let columns = parties * models + parties;
    let rows = bounds + 3 * parties;
    let matrix = CscMatrix::new(rows, columns, starts, places, values);
    let mut right = market.capacity.clone();
    right.resize(bounds, 0.0);
    right.extend((0..parties).flat_map(|_| [0.0, 1.0, 0.0]));
    let mut costs = vec![0.0; parties * models];
    costs.extend(market.weights.iter().map(|weight| -weight));
    let mut cones = vec![NonnegativeConeT(bounds)];
    cones.extend((0..parties).map(|_| ExponentialConeT()));
    let settings = DefaultSettings { verbose: false, max_threads: 1, ..DefaultSettings::default() };
    let quadratic = CscMatrix::zeros((columns, columns));
    let stalled = |why: String| SolveError::Stalled { method: "cones", steps: 0, why, best: None };
    let made = DefaultSolver::new(&quadratic, &costs, &matrix, &right, &cones, settings);
    let mut solver = made.map_err(|error| stalled(error.to_string()))?;
    solver.solve();
    match solver.solution.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved => {
            Ok((-solver.solution.obj_val / market.weights.iter().sum::<f64>()).exp())
        }
        other => Err(stalled(other.to_string())),
    }
}

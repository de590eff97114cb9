//! The largest total throughput that leaves everybody with at least a floor.
//!
//! ```text
//! maximise   sum_i w_i.x_i
//! subject to w_i.x_i >= f_i ;  sum_i x_ij <= m_j ;  sum_j x_ij <= D_i ;  x >= 0
//! ```
//!
//! Parties with the same row, and the same floor for their demand, are one: what a class holds can be split in proportion to
//! the floors. The program has a variable for each class and model, and a row for each class and each model.

use crate::{Classes, Division, Market, Matrix, Problem, SolveError, Variable, dot};

/// A floor that is a smaller part than this of what the whole cluster would give is as good as none.
const FLOOR_LEAST: f64 = 1e-12;
/// A row with a floor is scaled to the floor, but by no more than this, or its numbers would be too far apart.
const FLOOR_SCALE_LEAST: f64 = 1e-4;

/// The division of the largest total throughput in which party i has at least `floors[i]`.
///
/// The market has been [checked](Market::check), and some division reaches the floors; else there is no answer.
pub fn best_total(market: &Market, floors: &[f64]) -> Result<Division, SolveError> {
    assert_eq!(floors.len(), market.parties(), "a floor for every party");
    // Members of a class share what it holds in proportion to their floors, which stand where weights usually do. Without
    // any floor they share it equally.
    let alone = |party: usize| dot(market.speedups.row(party), &market.capacity);
    let parts = floors.iter().enumerate().map(|(party, floor)| floor.max(FLOOR_LEAST * alone(party)));
    let classes = Classes::of(&market.clone().weighing(parts.collect()));
    let mut class_floors = vec![0.0; classes.market.parties()];
    for (party, floor) in floors.iter().enumerate() {
        class_floors[classes.class_of(party)] += floor;
    }
    let shares = simplex(&classes.market, &class_floors)?;
    let value = shares.rows().enumerate().map(|(class, row)| classes.market.throughput(class, row)).sum();
    // The simplex method ends where no step improves: what it reaches is the best there is.
    Ok(classes.expand(Division { shares, value, bound: value, prices: Vec::new(), steps: 0 }))
}

/// The program in z_ij = x_ij / m_j, rows scaled to numbers around 1, so that the solver's tolerances mean what they say.
fn simplex(market: &Market, floors: &[f64]) -> Result<Matrix, SolveError> {
    let mut problem = Problem::maximise();
    let mut columns: Vec<(usize, usize, Variable)> = Vec::new();
    let largest = market.speedups.rows().map(|row| dot(row, &market.capacity)).fold(0.0, f64::max);
    for (party, row) in market.speedups.rows().enumerate() {
        for (model, speedup) in row.iter().enumerate() {
            let all = speedup * market.capacity[model];
            if all > 0.0 {
                columns.push((party, model, problem.variable(("z", party, model), all / largest, 0.0..)));
            }
        }
    }
    for own in columns.chunk_by(|a, b| a.0 == b.0) {
        let party = own[0].0;
        let alone = dot(market.speedups.row(party), &market.capacity);
        if floors[party] > FLOOR_LEAST * alone {
            let scale = floors[party].max(FLOOR_SCALE_LEAST * alone);
            let rate = |model: usize| market.speedups.row(party)[model] * market.capacity[model] / scale;
            let row = own.iter().map(|(_, model, column)| (*column, rate(*model)));
            problem.at_least(("floor of party", party), row, floors[party] / scale);
        }
        let demand = market.demands[party];
        if demand < market.capacity.iter().sum() {
            let gpus = |model: usize| market.capacity[model] / demand;
            let row = own.iter().map(|(_, model, column)| (*column, gpus(*model)));
            problem.at_most(("demand of party", party), row, 1.0);
        }
    }
    for model in 0..market.models() {
        let row: Vec<_> = columns.iter().filter(|column| column.1 == model).map(|c| (c.2, 1.0)).collect();
        if !row.is_empty() {
            problem.at_most(("capacity of model", model), row, 1.0);
        }
    }
    let solution = problem.solve_vertex()?;
    let mut shares = Matrix::zeros(market.parties(), market.models());
    for (party, model, column) in columns {
        shares.row_mut(party)[model] = solution[column].max(0.0) * market.capacity[model];
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(market: &Market, floors: &[f64]) -> f64 {
        let best = best_total(market, floors).unwrap();
        for (party, row) in best.shares.rows().enumerate() {
            assert!(
                market.throughput(party, row) >= floors[party] * (1.0 - 1e-8),
                "party {party} is worse off"
            );
            assert!(
                row.iter().sum::<f64>() <= market.demands[party] * (1.0 + 1e-8),
                "party {party} has too many"
            );
        }
        for (given, gpus) in best.shares.column_sums().iter().zip(&market.capacity) {
            assert!(*given <= gpus * (1.0 + 1e-8), "{given} of {gpus}");
        }
        best.value
    }

    #[test]
    fn without_floors_every_gpu_goes_to_whom_it_serves_best() {
        let rows = [[1.0, 1.2, 1.5], [1.0, 1.5, 2.5], [1.0, 2.0, 4.0]];
        let market = Market::new(Matrix::from_rows(&rows), vec![8.0; 3]);
        assert!((total(&market, &[0.0; 3]) - 56.0).abs() < 1e-9);
    }

    #[test]
    fn floors_are_kept_and_like_parties_share_by_floor() {
        let rows = [[1.0, 2.0], [1.0, 5.0], [1.0, 5.0], [0.0, 3.0]];
        let market = Market::new(Matrix::from_rows(&rows), vec![2.0, 2.0]);
        // The first needs 1/2 GPU of the second model after both of the first; the last needs 1/3.
        let expected = 3.0 + 1.0 + 5.0 * (2.0 - 0.5 - 1.0 / 3.0);
        assert!((total(&market, &[3.0, 2.0, 1.0, 1.0]) - expected).abs() < 1e-9);
        let shares = best_total(&market, &[3.0, 2.0, 1.0, 1.0]).unwrap().shares;
        assert!((shares.row(1)[1] - 2.0 * shares.row(2)[1]).abs() < 1e-9);
    }

    #[test]
    fn demands_are_kept() {
        let market = Market::new(Matrix::from_rows(&[[1.0, 2.0], [1.0, 5.0]]), vec![4.0, 4.0]);
        let market = market.demanding(vec![f64::INFINITY, 1.0]);
        assert!((total(&market, &[0.0, 0.0]) - (4.0 + 6.0 + 5.0)).abs() < 1e-9);
    }

    #[test]
    fn floors_that_nothing_reaches_have_no_answer() {
        let market = Market::new(Matrix::from_rows(&[[1.0], [1.0]]), vec![1.0]);
        assert!(best_total(&market, &[1.0, 0.5]).is_err());
    }

    /// The least of a convex function on an interval.
    fn least(low: f64, high: f64, f: &dyn Fn(f64) -> f64) -> f64 {
        let (mut low, mut high) = (low, high);
        for _ in 0..100 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if f(a) < f(b) { high = b } else { low = a }
        }
        f(low.midpoint(high))
    }

    #[test]
    fn no_prices_prove_a_lower_bound_than_what_is_reached() {
        // Any prices p_j >= max_i w_ij bound the total by  m.p - sum_i f_i (min_j p_j/w_ij - 1).
        for case in 1..20_u32 {
            let at = |party: u32| f64::from((party * party * 7 + case * 13 + party * case) % 17);
            let rows: Vec<[f64; 2]> = (0..6).map(|party| [1.0, 1.0 + at(party) / 4.0]).collect();
            let market = Market::new(Matrix::from_rows(&rows), vec![3.0, 5.0]);
            let floors: Vec<f64> = rows.iter().map(|row| dot(row, &[0.5, 5.0 / 6.0])).collect();
            let bound = |p: [f64; 2]| {
                let spare = |row: &[f64; 2]| (p[0] / row[0]).min(p[1] / row[1]) - 1.0;
                let kept: f64 = rows.iter().zip(&floors).map(|(row, floor)| floor * spare(row)).sum();
                dot(&p, &market.capacity) - kept
            };
            let fastest = rows.iter().map(|row| row[1]).fold(0.0, f64::max);
            let best = least(1.0, 100.0, &|slow| least(fastest, 500.0, &|fast| bound([slow, fast])));
            let reached = total(&market, &floors);
            assert!((reached - best).abs() < 1e-6 * best, "case {case}: {reached} but {best} is possible");
        }
    }
}

//! Max-min where two parties may share GPUs.
//!
//! ```text
//! maximise t   subject to  sum_j w_ij x_ij + sum_{pairs c with i} v_ic z_c >= pi_i t
//!                          sum_j x_ij + sum_{c with i} z_c <= D_i           (twice z_c for two of the same class)
//!                          sum_i x_ij + sum_{c on j} z_c <= m_j ,   sum_{c on j} z_c <= s_j ,   x, z >= 0
//! z_c    GPUs of model j(c) that both of a pair are on       v_ic  throughput of i on each of them       s_j  GPUs that can be shared
//! ```

use crate::{Division, Market, Matrix, Problem, SolveError, Variable};

/// Two parties, or two members of one, on GPUs of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Who.
    pub parties: [usize; 2],
    /// On which model.
    pub model: usize,
    /// The throughput of each, per GPU.
    pub throughputs: [f64; 2],
}

/// The division in which the smallest u_i / pi_i is as large as can be, and the GPUs of each pair. `shares` counts the GPUs that
/// a party is on, alone or with another, so their sum may exceed the capacity.
///
/// The market has been [checked](Market::check) and is not empty.
pub fn max_min_paired(
    market: &Market,
    pairs: &[Pair],
    shareable: &[f64],
) -> Result<(Division, Vec<f64>), SolveError> {
    let mut problem = Problem::maximise();
    let t = problem.variable("t", 1.0, 0.0..);
    let alone: Vec<Vec<Variable>> = (0..market.parties())
        .map(|party| {
            (0..market.models()).map(|model| problem.variable(("x", party, model), 0.0, 0.0..)).collect()
        })
        .collect();
    let together: Vec<Variable> =
        (0..pairs.len()).map(|pair| problem.variable(("z", pair), 0.0, 0.0..)).collect();
    let mut gains: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); market.parties()];
    let mut times: Vec<Vec<(Variable, f64)>> = vec![Vec::new(); market.parties()];
    for (pair, column) in pairs.iter().zip(&together) {
        let [a, b] = pair.parties;
        let [gain_a, gain_b] = pair.throughputs;
        if a == b {
            gains[a].push((*column, gain_a + gain_b));
            times[a].push((*column, 2.0));
        } else {
            for (party, gain) in [(a, gain_a), (b, gain_b)] {
                gains[party].push((*column, gain));
                times[party].push((*column, 1.0));
            }
        }
    }
    for party in 0..market.parties() {
        let own = alone[party].iter().copied();
        let row = own.clone().zip(market.speedups.row(party).iter().copied());
        let row = row.chain(gains[party].iter().copied()).chain([(t, -market.weights[party])]);
        problem.at_least(("level of party", party), row, 0.0);
        if market.demands[party].is_finite() {
            let row = own.map(|x| (x, 1.0)).chain(times[party].iter().copied());
            problem.at_most(("demand of party", party), row, market.demands[party]);
        }
    }
    for model in 0..market.models() {
        let on = || pairs.iter().zip(&together).filter(move |(pair, _)| pair.model == model);
        let shared: Vec<_> = on().map(|(_, z)| (*z, 1.0)).collect();
        let all = alone.iter().map(|row| (row[model], 1.0)).chain(shared.iter().copied());
        problem.at_most(("capacity of model", model), all, market.capacity[model]);
        problem.at_most(("GPUs to share of model", model), shared, shareable[model]);
    }
    let solution = problem.solve_vertex()?;
    let together: Vec<f64> = together.iter().map(|column| solution[*column].max(0.0)).collect();
    let mut shares = Matrix::zeros(market.parties(), market.models());
    for (party, row) in alone.iter().enumerate() {
        for (model, column) in row.iter().enumerate() {
            shares.row_mut(party)[model] = solution[*column].max(0.0);
        }
    }
    for (pair, gpus) in pairs.iter().zip(&together) {
        for party in pair.parties {
            shares.row_mut(party)[pair.model] += gpus;
        }
    }
    let value = solution.value;
    Ok((Division { shares, value, bound: value, prices: Vec::new(), steps: 0 }, together))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instances::{FAMILIES, small};
    use crate::{Effort, max_min};
    use evenhand_core::Random;

    #[test]
    fn two_on_one_gpu_that_get_along_have_more_than_half_each() {
        let market = Market::new(Matrix::from_rows(&[[1.0], [1.0]]), vec![1.0]).demanding(vec![1.0, 1.0]);
        let pair = Pair { parties: [0, 1], model: 0, throughputs: [0.8, 0.8] };
        let (division, together) = max_min_paired(&market, &[pair], &[1.0]).unwrap();
        assert!((division.value - 0.8).abs() < 1e-9 && (together[0] - 1.0).abs() < 1e-9);
        // As members of one class they have the same.
        let class =
            Market::new(Matrix::from_rows(&[[1.0]]), vec![1.0]).weighing(vec![2.0]).demanding(vec![2.0]);
        let pair = Pair { parties: [0, 0], ..pair };
        let (division, _) = max_min_paired(&class, &[pair], &[1.0]).unwrap();
        assert!((division.value - 0.8).abs() < 1e-9);
        // Where nothing can be shared they take turns.
        let (division, _) = max_min_paired(&class, &[pair], &[0.0]).unwrap();
        assert!((division.value - 0.5).abs() < 1e-9);
    }

    #[test]
    fn without_pairs_it_is_max_min() {
        let mut random = Random::new(31);
        for round in 0..100 {
            let mut market = small(FAMILIES[round % 3], &mut random);
            market.demands.iter_mut().for_each(|demand| *demand = 1.0 + random.below(4) as f64);
            let expected = max_min(&market, &Effort::default()).unwrap().value;
            let (division, _) = max_min_paired(&market, &[], &vec![0.0; market.models()]).unwrap();
            assert!((division.value / expected - 1.0).abs() < 1e-6, "round {round}");
        }
    }
}

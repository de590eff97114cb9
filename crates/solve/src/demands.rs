//! Parties that can use only so many GPUs, for rules that know nothing of demands.

use crate::{Division, Market, Matrix};

/// More than a demand by this part of it is a rounding error.
const OVER: f64 = 1e-9;

/// Divides by a rule for parties that can use whatever they are given. Whoever is given more than it can use leaves with as much
/// as it can, in the mix that the rule gave it; the others divide the rest by the same rule, until nobody has too much.
///
/// What the rule promises then holds among those who did not leave; those who left have as many GPUs as they can use. Value,
/// bound and prices are those of the last division.
pub(crate) fn within<E>(
    market: &Market,
    rule: impl Fn(&Market) -> Result<Division, E>,
) -> Result<Division, E> {
    let mut rest = market.clone();
    let mut here: Vec<usize> = (0..market.parties()).collect();
    let mut shares = Matrix::zeros(market.parties(), market.models());
    let mut steps = 0;
    loop {
        let mut division = rule(&rest)?;
        steps += division.steps;
        let over: Vec<bool> = (0..here.len())
            .map(|at| {
                let (gpus, demand) = (division.shares.row(at).iter().sum::<f64>(), rest.demands[at]);
                let over = gpus > demand * (1.0 + OVER);
                if over {
                    division.shares.row_mut(at).iter_mut().for_each(|share| *share *= demand / gpus);
                }
                over
            })
            .collect();
        for (at, party) in here.iter().enumerate() {
            shares.row_mut(*party).copy_from_slice(division.shares.row(at));
        }
        if !over.contains(&true) || over.iter().all(|over| *over) {
            return Ok(Division { shares, steps, ..division });
        }
        rest = rest.without(&over, &division.shares);
        here = here.into_iter().zip(over).filter(|(_, over)| !over).map(|(party, _)| party).collect();
    }
}

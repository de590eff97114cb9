//! The least rho: nobody finishes more than rho times as late as with a private part of the cluster.
//!
//! ```text
//! rho_i = ( age_i + left_i / y_i ) / isolated_i       so y_i >= left_i / (rho isolated_i - age_i), on the fastest model
//! ```

use super::centre::{INVERSE, centre, division_of};
use evenhand_solve::{Division, Effort, Ladder, Level, Market, raise};

/// How near the least rho is found, relative.
const NEAR: f64 = 1e-7;
/// Everybody has all it can use if not even this rho is out of reach.
const RHO_LEAST: f64 = 1e-6;
/// Nobody is that late.
const RHO_MOST: f64 = 1e12;
/// A level of 1 less a rounding error is reached.
const REACHED: f64 = 1.0 - 1e-8;
/// Halvings of an interval that is known well: enough for every bit.
const HALVINGS: u32 = 60;

/// One job's terms, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub age: f64,
    /// What is left to do, alone on its GPUs of its fastest model.
    pub left: f64,
    /// From submission to the end, with a private part of the cluster.
    pub isolated: f64,
}

/// The division at the least rho.
pub(super) fn least_rho(market: &Market, terms: &[Terms], effort: &Effort) -> Division {
    let mut prices = effort.prices.clone();
    let mut level = |rho: f64| -> Level {
        let slope = terms.iter().zip(&market.demands).map(|(terms, gang)| gang * terms.needs(rho)).collect();
        let ladder = Ladder { base: vec![0.0; market.parties()], slope };
        let found = raise(market, &ladder, &Effort { prices: prices.take(), ..effort.clone() });
        prices = Some(found.division.prices.clone());
        found
    };
    // Some rho that can be, and one that cannot.
    let (mut low, mut high) = (RHO_LEAST, 1.0);
    let mut best = level(high);
    while best.division.value < REACHED && high < RHO_MOST {
        (low, high) = (high, 2.0 * high);
        best = level(high);
    }
    while high > low * (1.0 + NEAR) {
        // Halved on a scale of ratios while far apart.
        let middle = (low * high).sqrt();
        let found = level(middle);
        if found.division.value < REACHED {
            low = middle;
        } else {
            (high, best) = (middle, found);
        }
    }
    Division { value: 1.0 / high, bound: 1.0 / low, ..best.division }
}

/// The originals' answer on one GPU model: the least rho that everybody can have, and the centre of what that allows.
pub(super) fn published(market: &Market, terms: &[Terms]) -> Division {
    let needs = |rho: f64| -> Vec<f64> { terms.iter().map(|terms| terms.needs(rho)).collect() };
    let fits = |rho: f64| evenhand_solve::dot(&needs(rho), &market.demands) <= market.capacity[0];
    let at_once = |terms: &Terms| (terms.age + terms.left) / terms.isolated;
    let mut low = terms.iter().map(at_once).fold(0.0, f64::max);
    if fits(low) {
        let fractions = centre(INVERSE, &needs(low), &market.demands, market.capacity[0]);
        return division_of(&fractions, market, 1.0 / low);
    }
    let mut high = 2.0 * low;
    while !fits(high) && high < RHO_MOST {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if fits(middle) { high = middle } else { low = middle }
    }
    division_of(&needs(high), market, 1.0 / high)
}

impl Terms {
    /// The fraction of time on its fastest model that a job needs for this rho; all of it if that is not enough.
    fn needs(self, rho: f64) -> f64 {
        let until = rho * self.isolated - self.age;
        if until <= self.left { 1.0 } else { self.left / until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_solve::Matrix;

    fn rho(terms: &Terms, fraction: f64) -> f64 {
        (terms.age + terms.left / fraction) / terms.isolated
    }

    #[test]
    fn the_delays_of_all_who_can_be_helped_are_the_same() {
        let market =
            Market::new(Matrix::from_rows(&[[1.0], [1.0], [1.0]]), vec![1.0]).demanding(vec![1.0; 3]);
        let late = Terms { age: 3_000.0, left: 600.0, isolated: 3_600.0 };
        let terms =
            [late, Terms { age: 0.0, left: 1_200.0, isolated: 3_600.0 }, Terms { age: 600.0, ..late }];
        let division = least_rho(&market, &terms, &Effort::default());
        let found: Vec<f64> = (0..3).map(|at| rho(&terms[at], division.shares.row(at)[0])).collect();
        assert!(found.iter().all(|rho| (rho / found[0] - 1.0).abs() < 1e-5), "{found:?}");
        assert!(division.gap() <= 1e-6);
    }

    #[test]
    fn one_who_is_hopelessly_late_does_not_hold_up_the_others() {
        let market = Market::new(Matrix::from_rows(&[[1.0], [1.0]]), vec![2.0]).demanding(vec![1.0, 1.0]);
        let late = Terms { age: 90_000.0, left: 600.0, isolated: 3_600.0 };
        let division = least_rho(&market, &[late, Terms { age: 0.0, ..late }], &Effort::default());
        assert!(division.shares.rows().all(|row| row[0] > 1.0 - 1e-6), "{}", division.shares);
    }

    /// As in docs/policies/gavel.md: two jobs of an hour each, the second has waited an hour; a K80 and a V100.
    #[test]
    fn who_has_waited_has_most_of_the_fast_gpu() {
        let rows = Matrix::from_rows(&[[0.5, 1.0], [0.2, 1.0]]);
        let market = Market::new(rows, vec![1.0, 1.0]).demanding(vec![1.0, 1.0]);
        let ann = Terms { age: 0.0, left: 3_600.0, isolated: 4_800.0 };
        let bob = Terms { age: 3_600.0, left: 3_600.0, isolated: 6_000.0 };
        let division = least_rho(&market, &[ann, bob], &Effort::default());
        assert!((1.0 / division.value - 1.2899).abs() < 1e-3, "{}", division.value);
        assert!((division.shares.row(0)[1] - 0.163).abs() < 1e-3, "{}", division.shares);
    }
}

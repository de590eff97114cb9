//! Which pairs of parties a program forbids envy between.

use super::tastes::Tastes;
use crate::{Matrix, dot};

/// For every taste, those that it must not envy.
#[derive(Clone)]
pub(super) struct Rows(Vec<Vec<usize>>);

/// Rows of each taste at first: this many, or as many as there are models.
const NEIGHBOURS_MIN: usize = 10;
/// Bundles that are nearer than this in every model count as one.
const SAME_BUNDLE: f64 = 1e-5;

impl Rows {
    /// Everybody and the nearest in log-taste: those who are most alike are the hardest to tell apart without envy.
    pub fn nearest(tastes: &Tastes) -> Self {
        let neighbours = tastes.directions.columns().max(NEIGHBOURS_MIN);
        let places = places(&tastes.directions);
        let nearest = |(own, place): (usize, &[f64])| {
            let mut others: Vec<(f64, usize)> =
                places.rows().enumerate().map(|(other, there)| (distance(place, there), other)).collect();
            others.swap_remove(own);
            let kept = neighbours.min(others.len());
            let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if kept < others.len() {
                others.select_nth_unstable_by(kept, order);
            }
            let mut kept: Vec<usize> = others[..kept].iter().map(|(_, other)| *other).collect();
            kept.sort_unstable();
            kept
        };
        Self(places.rows().enumerate().map(nearest).collect())
    }

    /// Forbids the worst envy of every taste, at most so many new rows each and one per bundle. Says how many were added.
    pub fn forbid_worst(&mut self, tastes: &Tastes, bundles: &Matrix, many: usize, tolerance: f64) -> usize {
        let mut added = 0;
        for (own, forbidden) in self.0.iter_mut().enumerate() {
            let direction = tastes.directions.row(own);
            let reached = dot(direction, bundles.row(own)) + tolerance;
            let mut envied: Vec<(f64, usize)> = (bundles.rows().enumerate())
                .map(|(other, bundle)| (dot(direction, bundle) - reached, other))
                .filter(|(envy, _)| *envy > 0.0)
                .collect();
            envied.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut taken: Vec<usize> = Vec::new();
            for (_, other) in envied {
                let bundle = bundles.row(other);
                let again = taken.iter().any(|taken| alike(bundles.row(*taken), bundle, SAME_BUNDLE));
                if let (false, Err(place)) = (again, forbidden.binary_search(&other)) {
                    forbidden.insert(place, other);
                    taken.push(other);
                    added += 1;
                }
                if taken.len() == many {
                    break;
                }
            }
        }
        added
    }

    /// All pairs, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.iter().enumerate().flat_map(|(own, others)| others.iter().map(move |other| (own, *other)))
    }
}

/// Whether two bundles are the same for all that matters.
pub(super) fn alike(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs())))
}

/// Tastes where distance is relative: logarithms, of which nothing is far below 0.
pub(super) fn places(directions: &Matrix) -> Matrix {
    let rows: Vec<Vec<f64>> =
        directions.rows().map(|row| row.iter().map(|value| value.max(1e-3).ln()).collect()).collect();
    Matrix::from_rows(&rows)
}

pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

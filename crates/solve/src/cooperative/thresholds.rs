//! Two models, exactly, in the time it takes to sort.
//!
//! Sort tastes by r = d_2 / d_1. Without envy, y_1 falls and y_2 rises along that order, and only neighbours need be
//! compared: between taste i and the next, y_2 rises by some b >= 0 and y_1 falls by between b r_i and b r_i+1. So whatever
//! is free of envy is a sum of these columns, each of which is free of envy itself:
//!
//! ```text
//! everybody (1, 0) ;    everybody (0, 1) ;    up to i (r, 0) and beyond i (0, 1), where r = r_i or r = r_i+1
//! ```
//!
//! What is left is a program with two rows: columns that use (a, b) of the two models and are worth v. Scaled to v = 1 they
//! are points in the plane; the best total t puts (1, 1)/t on the lower left hull of the points, so on an edge between two
//! columns.

use super::Bundles;
use super::tastes::Tastes;
use crate::Matrix;

/// Who has what when one column is all there is: up to `first` many tastes (in order) have (low, 0), the others (0, high).
#[derive(Clone, Copy)]
struct Column {
    first: usize,
    low: f64,
    high: f64,
    /// What a total of 1 uses of the two models.
    uses: [f64; 2],
}

pub(super) fn divide(tastes: &Tastes) -> Bundles {
    let mut order: Vec<usize> = (0..tastes.len()).collect();
    let side = |taste: usize| tastes.directions.row(taste);
    // Compared crosswise, because d_1 may be 0.
    order.sort_by(|a, b| (side(*a)[1] * side(*b)[0]).total_cmp(&(side(*b)[1] * side(*a)[0])).then(a.cmp(b)));
    let hull = hull(columns(tastes, &order));
    let parts = mix(&hull);
    let mut shares = Matrix::zeros(tastes.len(), 2);
    let mut total = 0.0;
    for (column, part) in &parts {
        total += part;
        for (at, taste) in order.iter().enumerate() {
            if at < column.first {
                shares.row_mut(*taste)[0] += part * column.low;
            } else {
                shares.row_mut(*taste)[1] += part * column.high;
            }
        }
    }
    Bundles { shares, bound: total, steps: hull.len() }
}

/// All columns that are worth anything, scaled to a value of 1.
fn columns(tastes: &Tastes, order: &[usize]) -> Vec<Column> {
    let mut columns = Vec::with_capacity(2 * order.len());
    let all: f64 = tastes.weights.iter().sum();
    let mut right: f64 = order.iter().map(|taste| tastes.values.row(*taste)[1]).sum();
    let (mut weight, mut left) = (0.0, 0.0);
    let mut add = |first: usize, low: f64, high: f64, weight: f64, left: f64, right: f64| {
        let value = low * left + high * right;
        if value > 0.0 {
            let uses = [low * weight / value, high * (all - weight).max(0.0) / value];
            columns.push(Column { first, low: low / value, high: high / value, uses });
        }
    };
    add(0, 0.0, 1.0, 0.0, 0.0, right);
    for (at, taste) in order.iter().enumerate() {
        weight += tastes.weights[*taste];
        left += tastes.values.row(*taste)[0];
        right = (right - tastes.values.row(*taste)[1]).max(0.0);
        if let Some(next) = order.get(at + 1) {
            for threshold in [taste, next] {
                let direction = tastes.directions.row(*threshold);
                // Times d_1: at a threshold without a limit, nobody beyond it has any use for the first model.
                add(at + 1, direction[1], direction[0], weight, left, right);
            }
        }
    }
    add(order.len(), 1.0, 0.0, all, left, 0.0);
    columns
}

/// The lower left hull: from the column that uses least of the first model to the one that uses least of the second.
fn hull(mut columns: Vec<Column>) -> Vec<Column> {
    columns.sort_by(|a, b| a.uses[0].total_cmp(&b.uses[0]).then(a.uses[1].total_cmp(&b.uses[1])));
    let mut hull: Vec<Column> = Vec::new();
    for column in columns {
        if hull.last().is_some_and(|last| last.uses[1] <= column.uses[1]) {
            continue;
        }
        while let [.., a, b] = hull[..] {
            let (ab, ac) = (step(a.uses, b.uses), step(a.uses, column.uses));
            if ab[0] * ac[1] - ab[1] * ac[0] > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(column);
    }
    hull
}

fn step(from: [f64; 2], to: [f64; 2]) -> [f64; 2] {
    [to[0] - from[0], to[1] - from[1]]
}

/// How much of which columns use up both models: a column before and a column beyond the diagonal.
fn mix(hull: &[Column]) -> Vec<(Column, f64)> {
    let beyond = hull.partition_point(|column| column.uses[0] < column.uses[1]);
    match (beyond.checked_sub(1).map(|before| hull[before]), hull.get(beyond)) {
        (Some(a), Some(b)) => {
            let (under, over) = (a.uses[1] - a.uses[0], b.uses[0] - b.uses[1]);
            let uses = (over * a.uses[0] + under * b.uses[0]) / (over + under);
            vec![(a, over / (over + under) / uses), (*b, under / (over + under) / uses)]
        }
        (Some(only), None) => vec![(only, 1.0 / only.uses[1])],
        (None, Some(only)) => vec![(*only, 1.0 / only.uses[0])],
        (None, None) => Vec::new(),
    }
}

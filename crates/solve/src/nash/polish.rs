//! Exact prices from nearly exact ones.
//!
//! At the true prices a few parties find several models equally good. Parties and models that are tied form a graph, and where it has no
//! cycles it decides everything: ratios of prices along ties are ratios of speedups, the budgets that meet in a component fix
//! its scale, and who spends how much on what follows from the leaves inwards. If some amount comes out negative the tie was
//! none, and is cut.

use super::newton::{Newton, best};
use crate::{Division, Matrix};
use std::cmp::Ordering;

/// Parties that are this many smoothing lengths from a tie may be tied.
const NEAR: f64 = 40.0;

/// An amount of money that is negative by no more than this part of the budgets is 0.
const NOTHING: f64 = 1e-12;

/// A party that finds a model as good as its best one, or nearly.
#[derive(Clone, Copy, Debug)]
struct Tie {
    party: usize,
    model: usize,
    /// By how much it is worse.
    below: f64,
}

/// The division with exact ties; `None` if no set of ties works out.
pub(super) fn exact(search: &Newton<'_>, tau: f64) -> Option<Division> {
    let mut ties = forest(search, tau);
    // Each failure cuts a tie.
    for _ in 0..=ties.len() {
        let q = prices(search, &ties)?;
        match money(search, &ties, &q) {
            Ok(money) => return Some(search.sell(money, &q)),
            Err(cut) => ties.retain(|tie| (tie.party, tie.model) != cut),
        }
    }
    None
}

/// The model that a party likes best at the approximate prices.
fn favourite(search: &Newton<'_>, party: usize) -> usize {
    let row = search.logs.row(party);
    let value = |model: &usize| row[*model] - search.q[*model];
    (0..row.len()).max_by(|a, b| value(a).total_cmp(&value(b)).then(b.cmp(a))).unwrap_or(0)
}

/// The closest ties between a party's favourite and other models, without cycles.
fn forest(search: &Newton<'_>, tau: f64) -> Vec<Tie> {
    let mut ties = Vec::new();
    for (party, row) in search.logs.rows().enumerate() {
        let most = best(row, &search.q);
        let own = favourite(search, party);
        for (model, (log, q)) in row.iter().zip(&search.q).enumerate() {
            let below = most - (log - q);
            if model != own && below <= NEAR * tau {
                ties.push(Tie { party, model, below });
            }
        }
    }
    ties.sort_by(|a, b| a.below.total_cmp(&b.below).then((a.party, a.model).cmp(&(b.party, b.model))));
    let mut root: Vec<usize> = (0..search.q.len()).collect();
    ties.retain(|tie| join(&mut root, favourite(search, tie.party), tie.model));
    ties
}

/// Joins the components of two models; says whether they were two.
fn join(root: &mut [usize], a: usize, b: usize) -> bool {
    let (a, b) = (root[a], root[b]);
    for own in root.iter_mut().filter(|own| **own == b) {
        *own = a;
    }
    a != b
}

/// Prices at which all ties are exact and every component costs what is spent in it.
fn prices(search: &Newton<'_>, ties: &[Tie]) -> Option<Vec<f64>> {
    let models = search.q.len();
    let mut q = search.q.clone();
    let mut root: Vec<usize> = (0..models).collect();
    for tie in ties {
        // The component on the far side of the tie moves as one.
        let own = favourite(search, tie.party);
        let row = search.logs.row(tie.party);
        let shift = (q[own] - row[own]) - (q[tie.model] - row[tie.model]);
        for (at, q) in q.iter_mut().enumerate() {
            if root[at] == root[tie.model] {
                *q += shift;
            }
        }
        join(&mut root, own, tie.model);
    }
    let (mut spent, mut costs) = (vec![0.0; models], vec![0.0; models]);
    for party in 0..search.market.parties() {
        spent[root[favourite(search, party)]] += search.market.weights[party];
    }
    for model in (0..models).filter(|model| search.priced[*model]) {
        costs[root[model]] += search.market.capacity[model] * q[model].exp();
    }
    for model in (0..models).filter(|model| search.priced[*model]) {
        let (spent, costs) = (spent[root[model]], costs[root[model]]);
        if spent <= 0.0 {
            return None;
        }
        q[model] += (spent / costs).ln();
    }
    Some(q)
}

/// Who spends how much on what; or the tie along which money would have to flow backwards.
fn money(search: &Newton<'_>, ties: &[Tie], q: &[f64]) -> Result<Matrix, (usize, usize)> {
    let market = search.market;
    let mut money = Matrix::zeros(market.parties(), market.models());
    let mut missing: Vec<f64> = (0..q.len()).map(|model| market.capacity[model] * q[model].exp()).collect();
    let mut tied: Vec<usize> = ties.iter().map(|tie| tie.party).collect();
    tied.sort_unstable();
    tied.dedup();
    for party in 0..market.parties() {
        if tied.binary_search(&party).is_err() {
            let model = favourite(search, party);
            money.row_mut(party)[model] = market.weights[party];
            missing[model] -= market.weights[party];
        }
    }
    let mut edges: Vec<(usize, usize)> = ties.iter().map(|tie| (tie.party, tie.model)).collect();
    edges.extend(tied.iter().map(|party| (*party, favourite(search, *party))));
    let mut left: Vec<f64> = tied.iter().map(|party| market.weights[*party]).collect();
    let place = |party: usize| tied.binary_search(&party).unwrap_or(0);
    let mut worst: (f64, Option<(usize, usize)>) = (-NOTHING * search.budget, None);
    // From the leaves inwards: a party or model with one edge left spends or takes all that is left along it.
    while let Some(at) = leaf(&edges) {
        let (party, model) = edges.swap_remove(at);
        let party_is_leaf = !edges.iter().any(|(other, _)| *other == party);
        let amount = if party_is_leaf { left[place(party)] } else { missing[model] };
        left[place(party)] -= amount;
        missing[model] -= amount;
        money.row_mut(party)[model] = amount.max(0.0);
        if amount < worst.0 {
            worst = (amount, Some((party, model)));
        }
    }
    match worst.1 {
        None => Ok(money),
        // Money that flows backwards to the favourite means that the party belongs to the other side of its weakest tie.
        Some(cut) => Err(weakest(ties, cut)),
    }
}

/// An edge at whose end there is no other.
fn leaf(edges: &[(usize, usize)]) -> Option<usize> {
    let degree = |same: &dyn Fn(&(usize, usize)) -> bool| edges.iter().filter(|edge| same(edge)).count();
    edges.iter().position(|(party, model)| {
        degree(&|edge| edge.0 == *party) == 1 || degree(&|edge| edge.1 == *model) == 1
    })
}

/// The tie itself if it is one, else the party's tie that is furthest from being one.
fn weakest(ties: &[Tie], (party, model): (usize, usize)) -> (usize, usize) {
    if ties.iter().any(|tie| (tie.party, tie.model) == (party, model)) {
        return (party, model);
    }
    let own = ties.iter().filter(|tie| tie.party == party);
    let furthest = own.max_by(|a, b| a.below.partial_cmp(&b.below).unwrap_or(Ordering::Equal));
    furthest.map_or((party, model), |tie| (tie.party, tie.model))
}

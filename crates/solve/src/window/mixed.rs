//! Several GPU models: what no plan can exceed, and which model suits whom.
//!
//! ```text
//! for any prices p_m >= 0 of a GPU of model m in a round:
//! value(z) <= sum_m p_m M_m H - mu z + sum_i max { G_i(a) - cost_i(a) : P_i(a) >= R_i - z }
//! ```
//!
//! a is the work that i does, cost_i(a) the least that it costs in H rounds: the lower hull of the points (rate on m, g_i p_m), so i may mix models
//! and parts of rounds. The bound holds for every plan; it is convex in the prices, which are found one by one, again and again. Over z
//! it is not concave where regimes change the speed, so intervals of z are bounded by their ends and halved where that is too coarse.
//! Plans keep everybody on one model for the whole window, since a change is a restart.

use super::fill;
use super::packing::Packing;
use super::tables::{Course, Tables};

/// Intervals of z are halved at most so often, and until they cost less than this part of what can be gained.
const HALVINGS: usize = 80;
const COARSE: f64 = 1e-6;
/// How often prices are gone through, and how often each is halved.
const SWEEPS: usize = 4;
const HALVES: usize = 24;

/// Prices, and what they prove.
pub(super) struct Priced {
    pub prices: Vec<f64>,
    pub bound: f64,
    /// The remaining time at which the bound is largest.
    pub left: f64,
}

/// Finds prices for the remaining time that is best at the prices before, beginning with any.
pub(super) fn priced(tables: &Tables) -> Priced {
    let most = (0..tables.items()).map(|item| tables.left(item, 0.0)).fold(0.0, f64::max);
    let mut best = at(tables, lowered(tables, most, None));
    for _ in 0..2 {
        let next = at(tables, lowered(tables, best.left, Some(&best.prices)));
        if next.bound >= best.bound {
            break;
        }
        best = next;
    }
    best
}

/// What these prices prove.
fn at(tables: &Tables, prices: Vec<f64>) -> Priced {
    let least = (0..tables.items()).map(|item| tables.left(item, work_max(tables, item))).fold(0.0, f64::max);
    let most = (0..tables.items()).map(|item| tables.left(item, 0.0)).fold(0.0, f64::max);
    let point = |left: f64| (left, dual(tables, &prices, left, &mut vec![0.0; prices.len()]));
    let mut points = vec![point(most)];
    if tables.cost > 0.0 && least < most {
        points.insert(0, point(least));
    }
    // From an end to the next: nobody needs less than at the upper one, and z costs no less than at the lower one.
    let between = |a: (f64, f64), b: (f64, f64)| b.1 + tables.cost * (b.0 - a.0);
    let highest =
        |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let mut bound = highest(&points);
    for _ in 0..HALVINGS {
        let cells = points.windows(2).map(|pair| between(pair[0], pair[1])).enumerate();
        let Some((cell, worst)) = cells.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        bound = worst.max(highest(&points));
        if worst - highest(&points) <= COARSE * (worst - tables.empty()).abs() {
            break;
        }
        points.insert(cell + 1, point(f64::midpoint(points[cell].0, points[cell + 1].0)));
    }
    let left = points.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(most, |point| point.0);
    Priced { prices, bound, left }
}

/// Prices that bound plans that leave this much as well as can be, or nearly.
fn lowered(tables: &Tables, left: f64, known: Option<&[f64]>) -> Vec<f64> {
    let items = (0..tables.items()).filter(|item| work_max(tables, *item) > 0.0);
    let dearest =
        items.map(|item| tables.gain(item, 1.0) / f64::from(tables.gangs[item])).fold(0.0, f64::max);
    let mut prices = known.map_or_else(|| vec![dearest / 8.0; tables.models()], <[f64]>::to_vec);
    let mut used = vec![0.0; tables.models()];
    for sweep in 0..SWEEPS {
        for model in 0..tables.models() {
            let room = f64::from(tables.capacity[model]) * tables.rounds as f64;
            let near = sweep > 0 && prices[model] > 0.0;
            let (mut low, mut high) = if near {
                (prices[model] / 2.0, prices[model] * 2.0)
            } else {
                (0.0, dearest.max(f64::MIN_POSITIVE))
            };
            for _ in 0..if near { HALVES / 2 } else { HALVES } {
                prices[model] = f64::midpoint(low, high);
                dual(tables, &prices, left, &mut used);
                *(if used[model] > room { &mut low } else { &mut high }) = prices[model];
            }
            prices[model] = if low > 0.0 || sweep == 0 { high } else { low };
        }
    }
    prices
}

/// The prices, with 0 for models of which no more is wanted for nothing than there is: a search by halves never gets there.
pub(super) fn scarce(tables: &Tables, priced: &Priced) -> Vec<f64> {
    let mut used = vec![0.0; tables.models()];
    let mut free = |model: usize| {
        let mut prices = priced.prices.clone();
        prices[model] = 0.0;
        dual(tables, &prices, priced.left, &mut used);
        used[model] <= f64::from(tables.capacity[model]) * tables.rounds as f64
    };
    let price = |(model, price): (usize, &f64)| if free(model) { 0.0 } else { *price };
    priced.prices.iter().enumerate().map(price).collect()
}

/// What plans that leave this much are worth at most; `used` becomes the GPU-rounds wanted of each model.
pub(super) fn dual(tables: &Tables, prices: &[f64], left: f64, used: &mut [f64]) -> f64 {
    used.fill(0.0);
    let room = tables.capacity.iter().zip(prices).map(|(gpus, price)| f64::from(*gpus) * price);
    let mut value = room.sum::<f64>() * tables.rounds as f64 - tables.cost * left;
    for item in 0..tables.items() {
        value += surplus(tables, prices, item, needed(tables, item, left), used);
    }
    value
}

/// The work that leaves no more than this.
fn needed(tables: &Tables, item: usize, left: f64) -> f64 {
    let (mut low, mut high) = (0, tables.rounds);
    while low < high {
        let half = usize::midpoint(low, high);
        if tables.left(item, half as f64) > left { low = half + 1 } else { high = half }
    }
    if low == 0 {
        return 0.0;
    }
    let (before, after) = (tables.left(item, (low - 1) as f64), tables.left(item, low as f64));
    if before > after { (low - 1) as f64 + (before - left) / (before - after) } else { low as f64 }
}

/// The most work that an item can do.
fn work_max(tables: &Tables, item: usize) -> f64 {
    let rates = (0..tables.models()).map(|model| tables.rate(item, model));
    rates.fold(0.0, f64::max) * tables.rounds as f64
}

/// What an item gains at most beyond what its work costs, and the GPU-rounds that it takes for that. An item that cannot do what is needed
/// does what it can: that only weakens a bound.
pub(super) fn surplus(tables: &Tables, prices: &[f64], item: usize, needed: f64, used: &mut [f64]) -> f64 {
    let (gang, rounds) = (f64::from(tables.gangs[item]), tables.rounds as f64);
    // From corner to corner of the hull: model, rate, cost of a round.
    let (mut work, mut cost) = (0.0, 0.0);
    let mut corner: (Option<usize>, f64, f64) = (None, 0.0, 0.0);
    loop {
        let slope = |model: usize| {
            let rate = tables.rate(item, model);
            (rate > corner.1).then(|| ((gang * prices[model] - corner.2) / (rate - corner.1), rate, model))
        };
        // The faster of two equally steep ones skips a corner that is none.
        let next =
            (0..prices.len()).filter_map(slope).min_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let (from, mut part) = (corner, 0.0);
        if let Some((unit, rate, model)) = next {
            let end = rounds * rate;
            let wanted = worth(tables, item, unit, work, end).max(needed.min(end)).max(work);
            cost += (wanted - work) * unit;
            part = (wanted - work) / (rate - from.1);
            work = wanted;
            corner = (Some(model), rate, gang * prices[model]);
            if work >= end - 1e-12 * end {
                continue;
            }
        }
        // Between two corners some rounds are spent on each.
        match (from.0, next) {
            (before, Some((_, _, model))) => {
                used[model] += gang * part;
                if let Some(before) = before {
                    used[before] += gang * (rounds - part);
                }
            }
            (Some(last), None) => used[last] += gang * rounds,
            (None, None) => {}
        }
        return tables.gain(item, work) - cost;
    }
}

/// How far work is worth more than this a unit, between two amounts.
fn worth(tables: &Tables, item: usize, unit: f64, from: f64, to: f64) -> f64 {
    let mut work = from;
    while work < to {
        let next = (work.floor() + 1.0).min(to);
        let rise = (tables.gain(item, next) - tables.gain(item, work)) / (next - work);
        if rise <= unit {
            break;
        }
        work = next;
    }
    work
}

/// Everybody on the model that suits it best at these prices, of those on which it can leave no more than this.
pub(super) fn suited(tables: &Tables, prices: &[f64], left: f64) -> Vec<usize> {
    let suits = |item: usize, model: usize| {
        let rate = tables.rate(item, model);
        let price = prices[model] * f64::from(tables.gangs[item]);
        let (mut best, mut enough) = (f64::NEG_INFINITY, false);
        for round in 0..=tables.rounds {
            let work = rate * round as f64;
            if tables.left(item, work) <= left || round == tables.rounds {
                enough |= tables.left(item, work) <= left;
                best = best.max(tables.gain(item, work) - price * round as f64);
            }
        }
        (rate > 0.0 && enough, if rate > 0.0 { best } else { f64::NEG_INFINITY })
    };
    let suited = |item: usize| {
        let models = (0..tables.models()).map(|model| (suits(item, model), model));
        let best = models.max_by(|(a, x), (b, y)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(y.cmp(x)));
        best.map_or(0, |(_, model)| model)
    };
    (0..tables.items()).map(suited).collect()
}

/// Packs for a largest remaining time, at prices at which those who are on a model want no more of it than there is.
pub(super) fn pack<'a>(course: &'a Course<'a>, left: f64, prices: &[f64]) -> Option<Packing<'a>> {
    let tables = course.tables;
    let needed: Vec<usize> = (0..tables.items()).map(|item| course.needed(item, left)).collect();
    let wanted = |model: usize, price: f64| -> f64 {
        let here = (0..tables.items()).filter(|item| course.model[*item] == model && course.runs(*item));
        here.map(|item| f64::from(tables.gangs[item]) * course.wanted(item, price).max(needed[item]) as f64)
            .sum()
    };
    let mut raised = prices.to_vec();
    for (model, price) in raised.iter_mut().enumerate() {
        let room = f64::from(tables.capacity[model]) * tables.rounds as f64;
        let (mut low, mut high) = (*price / 2.0, *price * 2.0);
        for _ in 0..HALVES {
            let half = f64::midpoint(low, high);
            *(if wanted(model, half) > room { &mut low } else { &mut high }) = half;
        }
        *price = high;
    }
    fill::pack(course, left, &raised)
}

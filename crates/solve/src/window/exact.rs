//! Small windows exactly: item by item, over all that the GPUs left in each round can be.
//!
//! ```text
//! state      GPUs left in each round and model, rounds in no order: which round is which does not matter
//! best(i, state') = max over the rounds that i may take, leaving no more than z:   best(i-1, state) + G_i(work)
//! ```
//!
//! States that cannot beat what is already known, at prices that bound the items to come, are dropped.

use super::tables::Tables;
use std::collections::BTreeMap;

/// Steps of the search over all remaining times: a few hundredths of a second.
const STEPS: usize = 400_000;
/// Windows with more items, or more GPU models and rounds, are not even tried.
const ITEMS: usize = 12;
const PLACES: usize = 10;

/// The model on which an item runs in each round, or that it does not.
pub(super) type Turns = Vec<Vec<Option<usize>>>;

/// What a search comes to.
pub(super) enum Found {
    /// It took too long.
    GivenUp,
    /// There is nothing better than what was known.
    NothingBetter,
    /// The best there is, and its value.
    Better(f64, Turns),
}

/// The model of an item in each round, with the work, then the gain.
type Choices = Vec<(Vec<Option<usize>>, f64)>;

/// What is left of the GPUs, round after round, the rounds in order of their numbers.
type State = Vec<u32>;

/// A state that was reached, and how.
struct Reached {
    state: State,
    value: f64,
    from: usize,
    turns: Vec<Option<usize>>,
}

pub(super) struct Exact<'a> {
    tables: &'a Tables,
    /// Large gangs first: they leave the fewest states.
    order: Vec<usize>,
    prices: &'a [f64],
    /// What those from here on can gain at most beyond the price of their GPUs.
    surplus: Vec<f64>,
    steps: usize,
}

impl<'a> Exact<'a> {
    /// `None` if the window is too large. `surplus` holds what each item gains at most beyond these prices.
    pub fn new(tables: &'a Tables, prices: &'a [f64], surplus: &[f64]) -> Option<Self> {
        if tables.items() > ITEMS || tables.rounds * tables.models() > PLACES {
            return None;
        }
        let mut order: Vec<usize> = (0..tables.items()).collect();
        order.sort_by_key(|item| (std::cmp::Reverse(tables.gangs[*item]), tables.rank[*item]));
        let mut rest = vec![0.0; order.len() + 1];
        for at in (0..order.len()).rev() {
            rest[at] = rest[at + 1] + surplus[order[at]];
        }
        Some(Self { tables, order, prices, surplus: rest, steps: 0 })
    }

    /// The best schedule that is better than what is known, among those that leave one of these remaining times; the list is by falling
    /// bound.
    pub fn search(&mut self, lefts: &[(f64, f64)], known: f64) -> Found {
        let mut best: Option<(f64, Turns)> = None;
        for (left, bound) in lefts {
            let known = best.as_ref().map_or(known, |best| best.0);
            if *bound <= known {
                break;
            }
            match self.within(*left, known) {
                Err(()) => return Found::GivenUp,
                Ok(better) => best = better.or(best),
            }
        }
        best.map_or(Found::NothingBetter, |(value, turns)| Found::Better(value, turns))
    }

    fn within(&mut self, left_max: f64, known: f64) -> Result<Option<(f64, Turns)>, ()> {
        let rounds = self.tables.rounds;
        let start: State = (0..rounds).flat_map(|_| self.tables.capacity.iter().copied()).collect();
        let cost = self.tables.cost * left_max;
        let first = Reached { state: start, value: -cost, from: 0, turns: Vec::new() };
        let mut layers = vec![vec![first]];
        for at in 0..self.order.len() {
            let mut places: BTreeMap<State, usize> = BTreeMap::new();
            let mut layer: Vec<Reached> = Vec::new();
            let last = layers.last().map_or(&[][..], |layer| &layer[..]);
            for (from, reached) in last.iter().enumerate() {
                for (turns, gain) in self.choices(self.order[at], &reached.state, left_max)? {
                    let value = reached.value + gain;
                    let state = self.after(self.order[at], &reached.state, &turns);
                    if value + self.surplus[at + 1] + self.worth(&state) <= known {
                        continue;
                    }
                    match places.get(&state) {
                        Some(place) if layer[*place].value >= value => {}
                        Some(place) => layer[*place] = Reached { state, value, from, turns },
                        None => {
                            places.insert(state.clone(), layer.len());
                            layer.push(Reached { state, value, from, turns });
                        }
                    }
                }
            }
            layers.push(layer);
        }
        Ok(self.best(&layers).filter(|best| best.0 > known))
    }

    /// What the GPUs that are left would cost.
    fn worth(&self, state: &State) -> f64 {
        let models = self.tables.models();
        state.iter().enumerate().map(|(place, gpus)| self.prices[place % models] * f64::from(*gpus)).sum()
    }

    /// All that an item may do; rounds that are alike are taken in order.
    fn choices(&mut self, item: usize, state: &State, left_max: f64) -> Result<Choices, ()> {
        let (tables, models) = (self.tables, self.tables.models());
        let mut partial: Choices = vec![(Vec::new(), 0.0)];
        for round in 0..tables.rounds {
            let here = &state[round * models..][..models];
            let alike = round > 0 && *here == state[(round - 1) * models..][..models];
            let mut next = Vec::with_capacity(2 * partial.len());
            for (turns, work) in partial {
                for model in std::iter::once(None).chain((0..models).map(Some)) {
                    let rate = model.map_or(0.0, |model| tables.rate(item, model));
                    let runs = model.is_none_or(|model| rate > 0.0 && here[model] >= tables.gangs[item]);
                    if runs && !(alike && model > turns[round - 1]) {
                        let mut turns = turns.clone();
                        turns.push(model);
                        next.push((turns, work + rate));
                    }
                }
            }
            partial = next;
        }
        self.steps += partial.len();
        if self.steps > STEPS {
            return Err(());
        }
        partial.retain(|(_, work)| tables.left(item, *work) <= left_max);
        for (_, work) in &mut partial {
            *work = tables.gain(item, *work);
        }
        Ok(partial)
    }

    /// What is left, rounds in order.
    fn after(&self, item: usize, state: &State, turns: &[Option<usize>]) -> State {
        let left = self.taken(item, state, turns);
        let mut rounds: Vec<&[u32]> = left.chunks_exact(self.tables.models()).collect();
        rounds.sort_unstable();
        rounds.concat()
    }

    fn taken(&self, item: usize, state: &State, turns: &[Option<usize>]) -> State {
        let mut left = state.clone();
        for (round, model) in turns.iter().enumerate() {
            if let Some(model) = model {
                left[round * self.tables.models() + model] -= self.tables.gangs[item];
            }
        }
        left
    }

    /// The best way through the layers, told forwards: rounds were put in order after every item, so places are followed.
    fn best(&self, layers: &[Vec<Reached>]) -> Option<(f64, Turns)> {
        let last = layers.last()?.iter().enumerate();
        let (mut at, end) = last.max_by(|a, b| a.1.value.total_cmp(&b.1.value).then(b.0.cmp(&a.0)))?;
        let mut way = Vec::new();
        for layer in layers[1..].iter().rev() {
            way.push(&layer[at]);
            at = layer[at].from;
        }
        let (rounds, models) = (self.tables.rounds, self.tables.models());
        let mut places: Vec<usize> = (0..rounds).collect();
        let mut state = layers[0][0].state.clone();
        let mut turns = vec![vec![None; rounds]; self.order.len()];
        for (item, step) in self.order.iter().zip(way.into_iter().rev()) {
            for (place, model) in places.iter().zip(&step.turns) {
                turns[*item][*place] = *model;
            }
            let left = self.taken(*item, &state, &step.turns);
            let mut sorted: Vec<(&[u32], usize)> = left.chunks_exact(models).zip(places).collect();
            sorted.sort_unstable();
            places = sorted.iter().map(|(_, place)| *place).collect();
            state.clone_from(&step.state);
        }
        Some((end.value, turns))
    }
}

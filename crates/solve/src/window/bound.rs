//! What no plan on one GPU model can exceed, for every largest remaining time z that a plan may leave.
//!
//! ```text
//! for any price p >= 0 of a GPU in a round:
//! value(z) <= p C H - mu z + sum_i max { G_i(n) - p g_i n : n whole, n >= n_i(z) }       C = GPUs that gangs can fill, of M
//! ```
//!
//! Packing is left out, whole rounds are not, so the bound holds for every plan. A plan leaves one of finitely many z: one pass over them,
//! from the largest down, gives the bounds of all at one price. Each z has the price that bounds it best; the prices tried are
//! those of the z that is bounded worst so far, and the others profit.

use super::tables::Course;

/// Prices tried at most.
const PRICES: usize = 200;
/// Relative to what there is to gain: closer than this a bound cannot be told from the best.
const CLOSE: f64 = 1e-12;

/// A largest remaining time, and what plans that leave it are worth at most.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub left: f64,
    pub bound: f64,
    /// A price at which no more GPUs are wanted than there are.
    pub price: f64,
    /// The tangents on both sides of the best price.
    below: Option<Tangent>,
    above: Option<Tangent>,
    closed: bool,
    /// Items that need one round more for this level, with that round: this part of the list of raises.
    raises: std::ops::Range<usize>,
}

/// The dual function at a price.
#[derive(Clone, Copy, Debug)]
struct Tangent {
    price: f64,
    value: f64,
    slope: f64,
}

/// All levels, the largest remaining time first.
pub(super) struct Levels<'a> {
    course: &'a Course<'a>,
    /// GPU-rounds that gangs can fill.
    room: f64,
    raises: Vec<(usize, usize)>,
    pub all: Vec<Level>,
}

impl<'a> Levels<'a> {
    pub fn bounded(course: &'a Course<'a>) -> Self {
        let tables = course.tables;
        let room = f64::from(fillable(course)) * tables.rounds as f64;
        let mut levels = Self { course, room, raises: Vec::new(), all: Vec::new() };
        levels.list();
        levels.ask(0.0);
        let dearest = (0..tables.items()).filter(|item| course.runs(*item));
        let dearest =
            dearest.map(|item| course.steps(item)[0] / f64::from(tables.gangs[item])).fold(0.0, f64::max);
        levels.ask(dearest);
        let scale = CLOSE * (levels.bound() - tables.empty()).abs().max(f64::MIN_POSITIVE);
        for turn in 0..PRICES {
            let Some(worst) = levels.worst().filter(|at| !levels.all[*at].closed) else { break };
            match levels.all[worst].next_price(turn, scale) {
                Some(price) => levels.ask(price),
                None => levels.all[worst].closed = true,
            }
        }
        levels
    }

    /// No plan is worth more.
    pub fn bound(&self) -> f64 {
        self.all.iter().map(|level| level.bound).fold(f64::NEG_INFINITY, f64::max)
    }

    fn worst(&self) -> Option<usize> {
        (0..self.all.len()).max_by(|a, b| self.all[*a].bound.total_cmp(&self.all[*b].bound).then(b.cmp(a)))
    }

    /// Lists what a plan may leave, down to what takes more GPUs than there are.
    fn list(&mut self) {
        let (course, tables) = (self.course, self.course.tables);
        let least = (0..tables.items()).map(|item| course.left(item)[tables.rounds]).fold(0.0, f64::max);
        let mut events: Vec<(f64, usize, usize)> = Vec::new();
        if tables.cost > 0.0 {
            for item in 0..tables.items() {
                let above = course.left(item).iter().take_while(|left| **left > least);
                events.extend(above.enumerate().map(|(round, left)| (*left, item, round)));
            }
        }
        events.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        let most = (0..tables.items()).map(|item| course.left(item)[0]).fold(0.0, f64::max);
        self.all.push(Level::new(most, 0..0));
        let (mut at, mut needed) = (0, 0.0);
        while at < events.len() {
            let from = self.raises.len();
            let left = events[at].0;
            while let Some((_, item, round)) = events.get(at).filter(|event| event.0 >= left) {
                self.raises.push((*item, *round));
                needed += f64::from(tables.gangs[*item]);
                at += 1;
            }
            if needed > self.room {
                self.raises.truncate(from);
                break;
            }
            let next = events.get(at).map_or(least, |event| event.0);
            self.all.push(Level::new(next, from..self.raises.len()));
        }
    }

    /// Bounds every level at a price.
    fn ask(&mut self, price: f64) {
        let (course, tables) = (self.course, self.course.tables);
        let mut wanted = Vec::with_capacity(tables.items());
        let (mut surplus, mut used) = (0.0, 0.0);
        for item in 0..tables.items() {
            let rounds = course.wanted(item, price);
            let gpus = f64::from(tables.gangs[item]) * rounds as f64;
            surplus += course.steps(item)[..rounds].iter().sum::<f64>() - price * gpus;
            used += gpus;
            wanted.push(rounds);
        }
        for level in &mut self.all {
            for (item, round) in &self.raises[level.raises.clone()] {
                if *round >= wanted[*item] {
                    let gang = f64::from(tables.gangs[*item]);
                    surplus += course.steps(*item)[*round] - price * gang;
                    used += gang;
                }
            }
            let value = price * self.room - tables.cost * level.left + surplus;
            level.learn(Tangent { price, value, slope: self.room - used });
        }
    }
}

impl Level {
    fn new(left: f64, raises: std::ops::Range<usize>) -> Self {
        let (bound, price) = (f64::INFINITY, f64::INFINITY);
        Self { left, bound, price, below: None, above: None, closed: false, raises }
    }

    fn learn(&mut self, tangent: Tangent) {
        self.bound = self.bound.min(tangent.value);
        if tangent.slope >= 0.0 {
            if self.above.is_none_or(|above| tangent.price < above.price) {
                self.above = Some(tangent);
                self.price = tangent.price;
            }
        } else if self.below.is_none_or(|below| tangent.price > below.price) {
            self.below = Some(tangent);
        }
    }

    /// Where the two tangents meet, or half-way between their prices every third time, since tangents alone can creep; `None` where the
    /// bound cannot get any better.
    fn next_price(&self, turn: usize, scale: f64) -> Option<f64> {
        let (below, above) = (self.below?, self.above?);
        let meet = (below.value - above.value + above.slope * above.price - below.slope * below.price)
            / (above.slope - below.slope);
        let lowest = below.value + below.slope * (meet - below.price);
        let inside = |price: &f64| *price > below.price && *price < above.price;
        if self.bound - lowest <= scale {
            return None;
        }
        let half = (below.price * above.price).sqrt().max(0.1 * meet);
        Some(if turn % 3 == 2 { half } else { meet }).filter(inside).or(Some(meet).filter(inside))
    }
}

/// The most GPUs, of those that there are, that gangs can fill: odd GPUs may be of no use to even gangs.
fn fillable(course: &Course<'_>) -> u32 {
    let capacity = course.tables.capacity[0] as usize;
    let mut reached = vec![false; capacity + 1];
    reached[0] = true;
    let mut gangs: Vec<usize> = (0..course.tables.items())
        .filter(|item| course.runs(*item))
        .map(|item| course.tables.gangs[item] as usize)
        .collect();
    gangs.sort_unstable();
    for gang in gangs {
        if reached[capacity] {
            break;
        }
        for sum in (gang..=capacity).rev() {
            reached[sum] |= reached[sum - gang];
        }
    }
    reached.iter().rposition(|reached| *reached).unwrap_or(0) as u32
}

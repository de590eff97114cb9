//! Random markets for tests and benchmarks: the families in which the claims about fair divisions were checked.

use crate::{Market, MarketOverTime, Matrix, Window, WindowItem};
use evenhand_core::Random;

/// How the speedups of a random market are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Every party is faster on every later model, by factors of its own.
    Mono,
    /// As `Mono`, and whoever gains more from one step up gains more from every step up.
    Ordered,
    /// Any order of models.
    Free,
}

/// All families.
pub const FAMILIES: [Family; 3] = [Family::Mono, Family::Ordered, Family::Free];

/// A market of up to 8 parties and 5 models, of weight 1 and without demands.
pub fn small(family: Family, random: &mut Random) -> Market {
    let parties = 2 + random.below(7) as usize;
    let models = 2 + random.below(4) as usize;
    market(family, parties, models, random)
}

/// A small market in which some parties cannot run everywhere and some can use only so many GPUs.
pub fn limited(family: Family, random: &mut Random) -> Market {
    let mut market = small(family, random);
    for party in 0..market.parties() {
        let barred = random.below(market.models() as u64) as usize;
        if random.chance(0.3) {
            market.speedups.row_mut(party)[barred] = 0.0;
        }
        if random.chance(0.7) {
            market.demands[party] = 0.5 + random.below(6) as f64;
        }
    }
    market
}

/// A market of this size: capacities from 1 to 8 GPUs.
pub fn market(family: Family, parties: usize, models: usize, random: &mut Random) -> Market {
    let mut rows: Vec<Vec<f64>> = (0..parties).map(|_| row(family, models, random)).collect();
    if family == Family::Ordered {
        for step in 1..models {
            let mut factors: Vec<f64> = (0..parties).map(|_| random.between(1.0, 3.0)).collect();
            factors.sort_by(f64::total_cmp);
            for (row, factor) in rows.iter_mut().zip(factors) {
                row[step] = row[step - 1] * factor;
            }
        }
    }
    let capacity = (0..models).map(|_| 1.0 + random.below(8) as f64).collect();
    Market::new(Matrix::from_rows(&rows), capacity)
}

fn row(family: Family, models: usize, random: &mut Random) -> Vec<f64> {
    let mut row = vec![1.0; models];
    for model in 1..models {
        row[model] = match family {
            Family::Free => random.between(0.3, 6.0),
            Family::Mono | Family::Ordered => row[model - 1] * random.between(1.0, 3.0),
        };
    }
    row
}

/// The benchmark's market: all rows distinct, `w_ij = w_i,j-1 (1 + U(0, 3/k))`, `m_j = n/k U(0.5, 1.5)`.
pub fn benchmark(parties: usize, models: usize, random: &mut Random) -> Market {
    let mut speedups = Matrix::zeros(parties, models);
    for party in 0..parties {
        let row = speedups.row_mut(party);
        row[0] = 1.0;
        for model in 1..models {
            row[model] = row[model - 1] * (1.0 + random.between(0.0, 3.0 / models as f64));
        }
    }
    let each = parties as f64 / models as f64;
    let capacity = (0..models).map(|_| each * random.between(0.5, 1.5)).collect();
    Market::new(speedups, capacity)
}

/// A window like those of a busy cluster: logarithmic gains of jobs at different stages, whose gangs are among these.
pub fn window(items: usize, rounds: usize, gpus: u32, gangs: &[u32], random: &mut Random) -> Window {
    let item = |random: &mut Random| {
        let total = random.log_normal(3.5, 1.2).clamp(2.0, 2_000.0);
        let done = total * random.unit();
        let speed = random.between(0.5, 1.5);
        let weight = if random.chance(0.2) { random.between(1.0, 30.0) } else { 1.0 };
        let utility = |rounds: usize| ((done + rounds as f64).min(total).max(0.5) / total).ln();
        let scale = weight / items as f64;
        WindowItem {
            gang: gangs[random.below(gangs.len() as u64) as usize],
            gains: (0..rounds).map(|round| scale * (utility(round + 1) - utility(round))).collect(),
            progress: vec![speed; rounds],
            remaining: (total - done) * speed,
            urgency: weight,
            rates: vec![1.0],
        }
    };
    let items: Vec<WindowItem> = (0..items).map(|_| item(random)).collect();
    let longest = items.iter().map(|item| item.remaining).fold(1.0, f64::max);
    Window { rounds, capacity: vec![gpus], items, remaining_cost: random.between(0.0, 2.0) / longest }
}

/// A market over time of up to 6 parties, 6 rounds and 3 models: utilities that change at some round, some models that will not do.
pub fn over_time(random: &mut Random) -> MarketOverTime {
    let (parties, rounds, models) = (2 + random.below(5), 2 + random.below(5), 1 + random.below(3));
    let party = |random: &mut Random| {
        let (change, factor) = (random.below(rounds), random.between(0.3, 3.0));
        let base: Vec<f64> = (0..models)
            .map(|model| if model > 0 && random.chance(0.2) { 0.0 } else { random.between(0.3, 6.0) })
            .collect();
        let row = |round: u64| -> Vec<f64> {
            base.iter().map(|utility| if round >= change { utility * factor } else { *utility }).collect()
        };
        Matrix::from_rows(&(0..rounds).map(row).collect::<Vec<_>>())
    };
    let utilities = (0..parties).map(|_| party(random)).collect();
    let capacity: Vec<f64> = (0..models).map(|_| 1.0 + random.below(8) as f64).collect();
    MarketOverTime::new(utilities, &capacity)
}

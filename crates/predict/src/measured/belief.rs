//! From measurements and declarations to a row of speeds.
//!
//! ```text
//! m_j, n_j       measured speed and number of measurements of a kind on model j
//! worth_j        mean of measured over declared speed on model j, over the kinds of the tenant (geometric); 1 if there are none
//! d_j            declared speed, times worth_j
//! s_-j           mean of m_k / d_k over the measured models k other than j (geometric); 1 if there are none
//! prior_j        d_j s_-j : the speedups of d, on the scale that was measured elsewhere
//! weight_j       1 / (1 + n_j (DECLARED_OFF / MEASURED_OFF)^2) : each counts by how far off it is wont to be
//! seen           m_j^(1 - weight_j) prior_j^weight_j
//! unseen         m'_j of the kind with the most similar measured speedups, on our scale; failing that, prior_j
//! ```

use evenhand_core::{Estimate, ModelIndex, PerModel, Rate};
use evenhand_measure::{Kind, Row, Speeds};

/// How far off a declared speed is wont to be.
const DECLARED_OFF: f64 = 0.5;

/// How far off one measurement is wont to be.
const MEASURED_OFF: f64 = 0.1;

/// Measurements after which a kind may stand for others.
const KNOWN_MIN: u64 = 8;

/// Kinds whose speedups agree within this factor, on at least two GPU models, are similar.
const SIMILAR: f64 = 1.1;

/// How far a guess may be exceeded.
const GUESS_HIGH: f64 = 4.0;

/// A speed that nobody has seen: without a lower end.
pub(super) fn guess(rate: Rate) -> Estimate<Rate> {
    if rate == Rate::ZERO {
        return Estimate::exact(Rate::ZERO);
    }
    Estimate { mean: rate, low: Rate::ZERO, high: rate.times(GUESS_HIGH) }
}

/// The row of a kind of which something was measured.
pub(super) fn row(
    measured: &Row,
    declared: &PerModel<Rate>,
    all: &Speeds,
    kind: &Kind,
) -> PerModel<Estimate<Rate>> {
    let mut row = PerModel::default();
    for (at, speed) in declared.0.iter().enumerate().filter(|(_, speed)| **speed > Rate::ZERO) {
        let model = ModelIndex(at as u16);
        row[model] = if let Some(window) = measured.on(model) {
            let Estimate { low, high, .. } = window.speed();
            let mean = told(seen(measured, declared, model));
            // What is left of the declaration may lie outside of what was measured.
            let (low, high) = (if low < mean { low } else { mean }, if high > mean { high } else { mean });
            Estimate { mean, low, high }
        } else {
            let like = similar(measured, all, kind, model);
            guess(told(like.unwrap_or_else(|| speed.get() * scale_without(measured, declared, model))))
        };
    }
    row
}

/// What is believed of a GPU model on which something was measured.
pub(super) fn seen(measured: &Row, declared: &PerModel<Rate>, model: ModelIndex) -> f64 {
    let prior = declared[model].get() * scale_without(measured, declared, model);
    let Some(window) = measured.on(model) else { return prior };
    let weight = 1.0 / (1.0 + window.count() as f64 * (DECLARED_OFF / MEASURED_OFF).powi(2));
    let found = window.speed().mean.get();
    if prior > 0.0 { found * (prior / found).powf(weight) } else { found }
}

/// To three digits: more would tell jobs apart that are the same to any policy.
pub(super) fn told(speed: f64) -> Rate {
    // By way of text, because powers of ten are not the same on all machines.
    let rounded = format!("{speed:.2e}").parse().unwrap_or(speed);
    Rate::new(rounded).unwrap_or_default()
}

/// How much faster than declared the kind is on other GPU models than this one.
fn scale_without(measured: &Row, declared: &PerModel<Rate>, model: ModelIndex) -> f64 {
    let others = measured.iter().filter(|(other, _)| *other != model && declared[*other] > Rate::ZERO);
    let ratios = others.map(|(other, window)| (window.speed().mean.get() / declared[other].get()).ln());
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio, count + 1.0));
    if count > 0.0 { f64::exp(sum / count) } else { 1.0 }
}

/// The speed on a GPU model of the kind whose speedups are most like ours where both were measured.
fn similar(own: &Row, all: &Speeds, kind: &Kind, model: ModelIndex) -> Option<f64> {
    // Most kinds are measured too little to be like any other; those need not be compared with all.
    own.iter().filter(|(_, window)| window.count() >= KNOWN_MIN).nth(1)?;
    let likenesses = all.iter().filter(|(other, _)| *other != kind).filter_map(|(_, other)| {
        let there = other.on(model).filter(|window| window.count() >= KNOWN_MIN)?;
        let (spread, scale) = likeness(own, other)?;
        Some((spread, there.speed().mean.get() * scale))
    });
    likenesses.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, speed)| speed)
}

/// By how much the speedups of two kinds differ, and how much faster the first is; `None` if they are not similar.
fn likeness(own: &Row, other: &Row) -> Option<(f64, f64)> {
    let known = |row: &Row, model| {
        row.on(model)
            .filter(|window| window.count() >= KNOWN_MIN)
            .map(|window| window.speed().mean.get().ln())
    };
    let ratios: Vec<f64> =
        own.iter().filter_map(|(model, _)| Some(known(own, model)? - known(other, model)?)).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    (ratios.len() >= 2 && most - least <= SIMILAR.ln()).then(|| (most - least, mean.exp()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{JobId, JobSpec, TenantId, Time};
    use evenhand_measure::Pace;

    /// For each tenant: a GPU model, the speed there, how often it was measured.
    type Cells<'a> = (u32, &'a [(u16, f64, u32)]);

    fn speeds(rows: &[Cells<'_>]) -> Speeds {
        let mut speeds = Speeds::default();
        for (tenant, cells) in rows {
            for (model, speed, count) in *cells {
                for _ in 0..*count {
                    let pace = Pace { model: ModelIndex(*model), speed: Rate::new(*speed).unwrap() };
                    speeds.take(Time(0), &kind(*tenant), pace);
                }
            }
        }
        speeds
    }

    fn kind(tenant: u32) -> Kind {
        Kind::of(&JobSpec::new(JobId(0), TenantId(tenant), 1, None))
    }

    fn believed(rows: &[Cells<'_>], declared: [f64; 3]) -> Vec<f64> {
        let mut spoken = PerModel::default();
        spoken.0[..3].copy_from_slice(&declared.map(|speed| Rate::new(speed).unwrap()));
        let all = speeds(rows);
        let row = row(all.of(&kind(0)).unwrap(), &spoken, &all, &kind(0));
        row.0[..3].iter().map(|estimate| estimate.mean.get()).collect()
    }

    fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * b;
        assert!(found.iter().zip(expected).all(near), "{found:?} is not {expected:?}");
    }

    #[test]
    fn what_was_declared_fades_with_what_is_measured() {
        let after = |count| believed(&[(0, &[(0, 4.0, count), (1, 4.0, 64)])], [1.0, 4.0, 1.0])[0];
        let beliefs = [after(1), after(3), after(10), after(60)];
        assert!(beliefs.is_sorted() && beliefs[0] < 3.9 && (beliefs[3] - 4.0).abs() < 0.01, "{beliefs:?}");
    }

    #[test]
    fn what_was_never_measured_keeps_its_declared_speedup() {
        assert_near(&believed(&[(0, &[(0, 2.0, 60)])], [1.0, 3.0, 0.0]), &[2.0, 6.0, 0.0], 0.006);
    }

    #[test]
    fn a_similar_kind_of_somebody_else_counts_more_than_a_declaration() {
        let own: &[(u16, f64, u32)] = &[(0, 2.0, 60), (1, 4.0, 60)];
        let like: &[(u16, f64, u32)] = &[(0, 1.0, 60), (1, 2.0, 60), (2, 5.0, 60)];
        let unlike: &[(u16, f64, u32)] = &[(0, 1.0, 60), (1, 1.0, 60), (2, 9.0, 60)];
        let found = believed(&[(0, own), (1, unlike), (2, like)], [2.0, 4.0, 6.0]);
        assert_near(&found, &[2.0, 4.0, 10.0], 0.006);
        assert_near(&believed(&[(0, own), (1, unlike)], [2.0, 4.0, 6.0]), &[2.0, 4.0, 6.0], 0.006);
    }
}

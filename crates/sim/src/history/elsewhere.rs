//! How fast jobs are on GPU models where they did not run: as others of their kind were seen to be, and else as was declared.
//!
//! ```text
//! f_m       measured over declared speed of a kind on model m: mean of logarithms, over its jobs that ran on m alone and finished
//! job on a  ran on a, f times as fast as declared
//! on b      declared_b f exp(f_b - f_a), give or take what jobs of the kind differ by on b ; declared_b f, give or take half, if none ran there
//! ```

use evenhand_core::{JobSpec, ModelIndex, PerModel};
use evenhand_measure::Kind;
use std::collections::BTreeMap;

/// How far off a declared speed is wont to be, as a factor: what the predictor that measures goes by.
const DECLARED_OFF: f64 = 1.5;

/// How far off one measurement is wont to be, in logarithms.
const MEASURED_OFF: f64 = 0.1;

/// 80 % of a normal distribution lie within so many deviations.
const DEVIATIONS: f64 = 1.28;

/// Which end of what is believed of speeds that nobody has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lean {
    /// What is expected.
    Expected,
    /// The lower end: 10 % of truths are slower.
    Slower,
    /// The upper end: 10 % of truths are faster.
    Faster,
}

/// What was seen of a kind on one GPU model: logarithms of measured over declared speed.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Seen {
    fn mean(self) -> f64 {
        self.sum / self.count
    }

    /// How far the next job of the kind may be off.
    fn deviation(self) -> f64 {
        let spread = (self.squares / self.count - self.mean().powi(2)).max(0.0);
        (spread + MEASURED_OFF.powi(2) / self.count).sqrt()
    }
}

/// What was seen of all kinds.
#[derive(Clone, Debug, Default)]
pub(super) struct Elsewhere(BTreeMap<Kind, PerModel<Seen>>);

impl Elsewhere {
    /// A job of which all is known was so much faster than declared.
    pub fn learn(&mut self, spec: &JobSpec, model: ModelIndex, faster: f64) {
        let row = self.0.entry(Kind::of(spec)).or_insert_with(|| PerModel::all(Seen::default()));
        let seen = &mut row[model];
        seen.count += 1.0;
        seen.sum += faster.ln();
        seen.squares += faster.ln().powi(2);
    }

    /// How much faster than declared a job is on a model, over what it was on the model where it ran.
    pub fn over(&self, spec: &JobSpec, ran: ModelIndex, model: ModelIndex, lean: Lean) -> f64 {
        let row = self.0.get(&Kind::of(spec));
        let seen =
            row.map(|row| (row[ran], row[model])).filter(|(there, here)| there.count * here.count > 0.0);
        let (ratio, off) = match seen {
            Some((there, here)) => {
                ((here.mean() - there.mean()).exp(), (DEVIATIONS * here.deviation()).exp())
            }
            None => (1.0, DECLARED_OFF),
        };
        match lean {
            Lean::Expected => ratio,
            Lean::Slower => ratio / off,
            Lean::Faster => ratio * off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{JobId, TenantId};

    #[test]
    fn what_was_seen_of_a_kind_counts_more_than_what_was_declared() {
        let spec = JobSpec::new(JobId(1), TenantId(0), 1, None);
        let (slow, fast) = (ModelIndex(0), ModelIndex(1));
        let mut elsewhere = Elsewhere::default();
        let over = |elsewhere: &Elsewhere, lean| elsewhere.over(&spec, slow, fast, lean);
        assert!((over(&elsewhere, Lean::Expected) - 1.0).abs() < 1e-9);
        assert!((over(&elsewhere, Lean::Slower) * DECLARED_OFF - 1.0).abs() < 1e-9);
        for _ in 0..16 {
            elsewhere.learn(&spec, slow, 1.0);
            elsewhere.learn(&spec, fast, 3.0);
        }
        assert!((over(&elsewhere, Lean::Expected) - 3.0).abs() < 1e-9);
        let (low, high) = (over(&elsewhere, Lean::Slower), over(&elsewhere, Lean::Faster));
        assert!(low > 2.8 && low < 3.0 && high > 3.0 && high < 3.2, "{low} to {high}");
    }
}

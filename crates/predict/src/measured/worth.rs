//! What the declarations of a tenant turned out to be worth: measured over declared speed, on each GPU model.

use super::belief::told;
use super::is_off;
use evenhand_core::{Estimate, ModelIndex, PerModel, Rate};
use evenhand_measure::Kind;
use serde::{Deserialize, Serialize};

/// The record of one tenant.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Worth {
    /// Over its kinds, on each GPU model: the sum of the logarithms of measured over declared speed, and their number.
    sums: PerModel<(f64, f64)>,
    /// The factors as they were last told, so that guesses seldom change.
    told: PerModel<f64>,
}

impl Default for Worth {
    fn default() -> Self {
        Self { sums: PerModel::all((0.0, 0.0)), told: PerModel::all(1.0) }
    }
}

impl Worth {
    /// Counts what is believed of a kind in.
    pub fn add(&mut self, kind: &Kind, row: &PerModel<Estimate<Rate>>) {
        self.count(kind, row, 1.0);
    }

    /// Counts it out.
    pub fn take_off(&mut self, kind: &Kind, row: &PerModel<Estimate<Rate>>) {
        self.count(kind, row, -1.0);
    }

    fn count(&mut self, kind: &Kind, row: &PerModel<Estimate<Rate>>, sign: f64) {
        for (at, speed) in row.0.iter().enumerate().filter(|(_, speed)| speed.low > Rate::ZERO) {
            let model = ModelIndex(at as u16);
            let (sum, count) = &mut self.sums[model];
            *sum += sign * (speed.mean.get() / kind.declared(model).get()).ln();
            *count += sign;
        }
    }

    /// What a declared speed is to be multiplied with.
    pub fn told(&self) -> PerModel<f64> {
        self.told
    }

    /// Tells the factors anew if they are off; says whether they were.
    pub fn settle(&mut self) -> bool {
        let factors = self.factors();
        let moved = factors.values().zip(self.told.values()).any(|(now, told)| is_off(told, now));
        if moved {
            self.told = factors;
        }
        moved
    }

    /// The geometric mean on each GPU model; where nothing was measured, as elsewhere on average.
    fn factors(&self) -> PerModel<f64> {
        let mean = |(sum, count): (f64, f64)| (count > 0.5).then(|| told(f64::exp(sum / count)).get());
        let total = self.sums.values().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        let average = mean(total).unwrap_or(1.0);
        PerModel(self.sums.0.map(|sum| mean(sum).unwrap_or(average)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{JobId, JobSpec, TenantId};

    #[test]
    fn a_tenant_is_known_by_what_it_declared() {
        let kind = Kind::of(&JobSpec::new(JobId(0), TenantId(0), 1, None));
        let row = |speed: f64| {
            let mut row = PerModel::default();
            row[ModelIndex(1)] = Estimate::exact(Rate::new(speed).unwrap());
            row
        };
        let mut worth = Worth::default();
        assert!((worth.factors()[ModelIndex(0)] - 1.0).abs() < 1e-12);
        worth.add(&kind, &row(4.0));
        worth.add(&kind, &row(1.0));
        assert!(worth.factors().values().all(|factor| (factor - 2.0).abs() < 1e-9));
        assert!(worth.settle() && !worth.settle());
        worth.take_off(&kind, &row(1.0));
        assert!((worth.factors()[ModelIndex(1)] - 4.0).abs() < 1e-9);
    }
}

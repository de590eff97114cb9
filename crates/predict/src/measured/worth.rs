//! What the declarations of a tenant turned out to be worth: measured over declared speed, on each GPU model.

use super::belief::told;
use evenhand_core::{Estimate, ModelIndex, PerModel, Rate};
use evenhand_measure::Kind;

/// Over the kinds of a tenant, on each GPU model: the sum of the logarithms of measured over declared speed, and their number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worth(PerModel<(f64, f64)>);

impl Default for Worth {
    fn default() -> Self {
        Self(PerModel::all((0.0, 0.0)))
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
            let (sum, count) = &mut self.0[model];
            *sum += sign * (speed.mean.get() / kind.declared(model).get()).ln();
            *count += sign;
        }
    }

    /// The geometric mean on each GPU model, to three digits so that guesses seldom change; where nothing was measured, as
    /// elsewhere on average.
    pub fn factors(&self) -> PerModel<f64> {
        let mean = |(sum, count): (f64, f64)| (count > 0.5).then(|| told(f64::exp(sum / count)).get());
        let total = self.0.values().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        let average = mean(total).unwrap_or(1.0);
        PerModel(self.0.0.map(|sum| mean(sum).unwrap_or(average)))
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
        worth.take_off(&kind, &row(1.0));
        assert!((worth.factors()[ModelIndex(1)] - 4.0).abs() < 1e-9);
    }
}

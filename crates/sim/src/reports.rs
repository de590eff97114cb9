//! What tenants report of their speeds, where that is not the truth.
//!
//! The world runs jobs at their true speeds; what the scheduler is told at submission is multiplied with these factors.

use crate::{ClusterSpec, InputError, Workload};
use evenhand_core::{JobSpec, PerModel, Rate, TenantId};
use std::collections::BTreeMap;

/// Reported over true speed, by tenant and GPU model; 1 unless somebody lies.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    factors: BTreeMap<TenantId, PerModel<f64>>,
}

/// No lie is larger, in either direction.
const FACTOR_MAX: f64 = 100.0;

impl Reports {
    /// The speeds that the submitter of a job reports, if they are not the true ones.
    pub(crate) fn of(&self, truth: &JobSpec) -> Option<PerModel<Rate>> {
        let factors = self.factors.get(&truth.tenant)?;
        // Models that the filter excludes keep their speeds: the filter says already that they will not do.
        let mut speeds = truth.speeds.unwrap_or_else(|| PerModel::all(Rate::ONE));
        for (speed, factor) in speeds.0.iter_mut().zip(factors.values()) {
            *speed = speed.times(factor);
        }
        Some(speeds)
    }
}

impl Workload {
    /// Lets a tenant report a multiple of its true speed on a GPU model; refuses what makes no sense.
    pub fn misreport(
        &mut self,
        cluster: &ClusterSpec,
        (tenant, model, factor): (&str, &str, f64),
    ) -> Result<(), InputError> {
        let wrong = |field: &str, value: &str, allowed: String| InputError::field(0, field, value, allowed);
        let among =
            |what: &str, names: Vec<&str>| format!("there is no such {what}; known: {}", names.join(", "));
        let Some(liar) = self.tenants.iter().find(|known| known.name == tenant).map(|known| known.id) else {
            let names = self.tenants.iter().take(20).map(|known| known.name.as_str()).collect();
            return Err(wrong("a tenant that reports", tenant, among("tenant", names)));
        };
        let Some(at) = cluster.model_index(model) else {
            let names = cluster.models.iter().map(|known| known.name.as_str()).collect();
            return Err(wrong(
                "a GPU model that is reported of",
                model,
                among("model in the cluster", names),
            ));
        };
        if !(1.0 / FACTOR_MAX..=FACTOR_MAX).contains(&factor) {
            let allowed = format!("reported over true speed is from {} to {FACTOR_MAX}", 1.0 / FACTOR_MAX);
            return Err(wrong("a report", &factor.to_string(), allowed));
        }
        let row = self.reports.factors.entry(liar).or_insert_with(|| PerModel::all(1.0));
        let before = std::mem::replace(&mut row[at], factor);
        if (before - 1.0).abs() > 0.0 {
            return Err(wrong("a report", &format!("{tenant}:{model}"), "it is given twice".into()));
        }
        Ok(())
    }
}

/// A report on the command line: `TENANT:MODEL=FACTOR`.
pub fn parse_report(text: &str) -> Result<(String, String, f64), String> {
    let parts = text.rsplit_once('=').and_then(|(who, factor)| Some((who.rsplit_once(':')?, factor)));
    let form = "it is written TENANT:MODEL=FACTOR, such as vision:v100=0.5";
    let ((tenant, model), factor) = parts.ok_or(form)?;
    let factor: f64 = factor.trim().parse().map_err(|_| form)?;
    let (tenant, model) = (tenant.trim(), model.trim());
    if tenant.is_empty() || model.is_empty() || !factor.is_finite() {
        return Err(form.into());
    }
    Ok((tenant.to_owned(), model.to_owned(), factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{JobId, Tenant};

    fn liars() -> (ClusterSpec, Workload) {
        let tenants = vec![Tenant::new(TenantId(0), "ann"), Tenant::new(TenantId(1), "bob")];
        let cluster = ClusterSpec::parse("k80=4,v100=4", None, None).unwrap();
        (cluster, Workload { tenants, ..Workload::default() })
    }

    #[test]
    fn only_the_liar_says_something_else_and_only_of_that_model() {
        let (cluster, mut workload) = liars();
        workload.misreport(&cluster, ("bob", "v100", 0.5)).unwrap();
        let spec = |tenant| JobSpec::new(JobId(0), TenantId(tenant), 1, None);
        assert_eq!(workload.reports.of(&spec(0)), None);
        let said = workload.reports.of(&spec(1)).unwrap();
        assert_eq!((said.0[0].get(), said.0[1].get()), (1.0, 0.5));
    }

    #[test]
    fn nonsense_is_refused() {
        let (cluster, mut workload) = liars();
        for lie in
            [("eve", "v100", 0.5), ("bob", "a100", 0.5), ("bob", "v100", 0.0), ("bob", "v100", f64::NAN)]
        {
            assert!(workload.misreport(&cluster, lie).is_err(), "{lie:?} was accepted");
        }
        workload.misreport(&cluster, ("bob", "v100", 0.5)).unwrap();
        assert!(workload.misreport(&cluster, ("bob", "v100", 0.7)).is_err());
        for text in ["", "bob", "bob:v100", "bob:v100=", "bob=2", ":v100=2", "bob:=2", "bob:v100=much"] {
            assert!(parse_report(text).is_err(), "{text} was accepted");
        }
        assert_eq!(parse_report("a:b:v100=0.5"), Ok(("a:b".into(), "v100".into(), 0.5)));
    }
}

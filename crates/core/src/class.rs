//! Classes: jobs that a policy need not tell apart.
//!
//! Two jobs with the same GPU range, the same GPU models and the same forecast of speed per model are one
//! class: a share program over classes is exact and much smaller than one over jobs.

use crate::{ClassIndex, Forecast, GpuRange, JobSpec, ModelFilter, PerModel, Rate, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What makes two jobs the same class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClassKey {
    gpus: GpuRange,
    models: ModelFilter,
    speed: PerModel<u64>,
}

impl ClassKey {
    /// The class of a job, given what is believed of its speed.
    pub fn of(spec: &JobSpec, forecast: &Forecast) -> Self {
        let mut speed = PerModel::all(0);
        for (key, estimate) in speed.0.iter_mut().zip(&forecast.speed.0) {
            *key = estimate.mean.key();
        }
        Self { gpus: spec.gpus, models: spec.models, speed }
    }
}

/// Jobs that a policy need not tell apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Class {
    /// Their GPU range.
    pub gpus: GpuRange,
    /// Their speed per GPU model.
    pub speed: PerModel<Rate>,
    /// How many active jobs there are.
    pub jobs_count: u32,
    key: ClassKey,
}

/// The classes of the active jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Classes {
    /// The classes in use.
    pub rows: Table<ClassIndex, Class>,
    by_key: BTreeMap<ClassKey, ClassIndex>,
}

impl Classes {
    /// Counts a job into its class.
    pub fn join(&mut self, spec: &JobSpec, forecast: &Forecast) -> ClassIndex {
        let key = ClassKey::of(spec, forecast);
        if let Some(class) = self.by_key.get(&key) {
            self.rows[*class].jobs_count += 1;
            return *class;
        }
        let speed = speed_of(forecast);
        let class = self.rows.insert(Class { gpus: spec.gpus, speed, jobs_count: 1, key: key.clone() });
        self.by_key.insert(key, class);
        class
    }

    /// Something else is believed of all jobs of a class, and the same of all: it stays the class it is, with what it is
    /// owed, unless there is one like it already. Says whether it could stay.
    pub fn change(&mut self, class: ClassIndex, spec: &JobSpec, forecast: &Forecast) -> bool {
        let key = ClassKey::of(spec, forecast);
        if let Some(known) = self.by_key.get(&key) {
            return *known == class;
        }
        let row = &mut self.rows[class];
        row.speed = speed_of(forecast);
        let before = std::mem::replace(&mut row.key, key.clone());
        self.by_key.remove(&before);
        self.by_key.insert(key, class);
        true
    }

    /// Counts a job out; a class without jobs disappears.
    pub fn leave(&mut self, class: ClassIndex) {
        let row = &mut self.rows[class];
        row.jobs_count -= 1;
        if row.jobs_count == 0
            && let Some(row) = self.rows.remove(class)
        {
            self.by_key.remove(&row.key);
        }
    }
}

fn speed_of(forecast: &Forecast) -> PerModel<Rate> {
    let mut speed = PerModel::default();
    for (rate, estimate) in speed.0.iter_mut().zip(&forecast.speed.0) {
        *rate = estimate.mean;
    }
    speed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimate, JobId, TenantId};

    fn forecast(speed: f64) -> Forecast {
        Forecast { speed: PerModel::all(Estimate::exact(Rate::new(speed).unwrap())), ..Forecast::default() }
    }

    #[test]
    fn a_class_stays_itself_when_all_of_it_changes_and_gives_way_to_one_like_it() {
        let spec = JobSpec::new(JobId(0), TenantId(0), 1, None);
        let mut classes = Classes::default();
        let (slow, fast) = (classes.join(&spec, &forecast(1.0)), classes.join(&spec, &forecast(3.0)));
        assert!(classes.change(slow, &spec, &forecast(2.0)));
        assert_eq!(classes.join(&spec, &forecast(2.0)), slow);
        assert!(!classes.change(slow, &spec, &forecast(3.0)));
        assert!(classes.change(fast, &spec, &forecast(3.0)));
        assert_ne!(classes.join(&spec, &forecast(1.0)), slow, "what it was before is forgotten");
    }
}

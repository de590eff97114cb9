//! The work of a comparison: the same in every run, or another one for every seed.

use evenhand_sim::{ClusterSpec, InputError, Scenario, Setup, Workload};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the work comes from.
pub enum Work {
    /// The same in every run.
    Same(Arc<Workload>),
    /// That of a scenario, which depends on the seed.
    BySeed(Box<Scenario>),
}

/// Workloads while there are runs that need them: each is made once, shared by the runs of its seed, and then forgotten.
pub struct Works<'a> {
    cluster: &'a ClusterSpec,
    work: &'a Work,
    slots: BTreeMap<u64, Mutex<Slot>>,
}

#[derive(Default)]
struct Slot {
    /// Runs that have not asked yet.
    left: usize,
    made: Option<Arc<Workload>>,
}

impl<'a> Works<'a> {
    /// For these runs. The workload of the first is made at once, so that what is wrong with it is known.
    pub fn new(cluster: &'a ClusterSpec, work: &'a Work, setups: &[Setup]) -> Result<Self, InputError> {
        let mut slots: BTreeMap<u64, Slot> = BTreeMap::new();
        for setup in setups {
            slots.entry(setup.seed).or_default().left += 1;
        }
        let slots = slots.into_iter().map(|(seed, slot)| (seed, Mutex::new(slot))).collect();
        let works = Self { cluster, work, slots };
        if let (Work::BySeed(scenario), Some(first)) = (work, setups.first()) {
            let made = Arc::new(scenario.workload(cluster, first.seed)?);
            works.slot(first.seed).lock().unwrap_or_else(PoisonError::into_inner).made = Some(made);
        }
        Ok(works)
    }

    /// Jobs of the work, or of its first form.
    pub fn jobs_count(&self) -> usize {
        let made = |slot: &Mutex<Slot>| {
            let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            slot.made.as_ref().map(|workload| workload.jobs.len())
        };
        match self.work {
            Work::Same(workload) => workload.jobs.len(),
            Work::BySeed(_) => self.slots.values().find_map(made).unwrap_or(0),
        }
    }

    /// The workload of one run with this seed; to be asked once for each.
    pub fn take(&self, seed: u64) -> Result<Arc<Workload>, InputError> {
        let scenario = match self.work {
            Work::Same(workload) => return Ok(workload.clone()),
            Work::BySeed(scenario) => scenario,
        };
        // Held while the workload is made: other runs of this seed wait for it, those of other seeds do not.
        let mut slot = self.slot(seed).lock().unwrap_or_else(PoisonError::into_inner);
        slot.left -= 1;
        let made = match slot.made.take() {
            Some(made) => made,
            None => Arc::new(scenario.workload(self.cluster, seed)?),
        };
        slot.made = (slot.left > 0).then(|| made.clone());
        Ok(made)
    }

    fn slot(&self, seed: u64) -> &Mutex<Slot> {
        self.slots.get(&seed).expect("there is a slot for the seed of every run")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_workload_is_made_once_for_its_seed_and_then_forgotten() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/twenty.toml");
        let scenario = Scenario::read(&path).unwrap();
        let cluster = scenario.cluster().unwrap();
        let setup = |seed| Setup { seed, ..Setup::default() };
        let work = Work::BySeed(Box::new(scenario));
        let works = Works::new(&cluster, &work, &[setup(1), setup(2), setup(1)]).unwrap();
        assert_eq!(works.jobs_count(), 20);
        let (first, other, again) = (works.take(1).unwrap(), works.take(2).unwrap(), works.take(1).unwrap());
        assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &other));
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&other)), (2, 1));
    }
}

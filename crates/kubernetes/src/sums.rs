//! What is summed up over the whole cluster, once for each look at it.

use crate::facts::Facts;
use std::collections::BTreeMap;

/// Sums over nodes and Jobs.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// Of each GPU model, how many nodes have so many GPUs.
    nodes: BTreeMap<String, BTreeMap<u8, u32>>,
    /// Of each JobSet, by namespace and name, its Jobs and their pods.
    job_sets: BTreeMap<(String, String), (u32, u32)>,
}

impl Sums {
    pub(crate) fn of(facts: &Facts) -> Self {
        let mut sums = Self::default();
        for node in facts.nodes.values() {
            let model = sums.nodes.entry(node.model.clone()).or_default();
            *model.entry(node.gpus).or_default() += 1;
        }
        for job in facts.batch_jobs.values().filter(|job| !job.over) {
            if let Some(set) = &job.job_set {
                let (jobs, pods) = sums.job_sets.entry(set.clone()).or_default();
                (*jobs, *pods) = (*jobs + 1, *pods + job.pods);
            }
        }
        sums
    }

    /// Pods of a JobSet, once all its Jobs are there.
    pub(crate) fn job_set(&self, namespace: &str, name: &str, all: u32) -> Option<u32> {
        let (jobs, pods) = self.job_sets.get(&(namespace.to_owned(), name.to_owned()))?;
        (*jobs == all).then_some(*pods)
    }

    /// How many pods with so many GPUs each fit at most, if nobody else were there: all on one of these models, or on any one.
    pub(crate) fn fits(&self, gpus: u8, models: &[String]) -> u32 {
        let allowed = |model: &&String| models.is_empty() || models.contains(model);
        let on = |nodes: &BTreeMap<u8, u32>| {
            nodes.iter().map(|(has, count)| u32::from(has / gpus.max(1)) * count).sum::<u32>()
        };
        self.nodes.iter().filter(|(model, _)| allowed(model)).map(|(_, nodes)| on(nodes)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeFacts;
    use crate::owner::BatchJobFacts;
    use evenhand_live::Readiness;

    #[test]
    fn gangs_fit_on_nodes_of_one_model() {
        let mut facts = Facts::default();
        for (name, model, gpus) in [("a", "v100", 8), ("b", "v100", 6), ("c", "a100", 4)] {
            let node =
                NodeFacts { name: name.into(), model: model.into(), gpus, readiness: Readiness::Ready };
            facts.nodes.insert(name.into(), node);
        }
        let sums = Sums::of(&facts);
        assert_eq!(sums.fits(4, &[]), 3);
        assert_eq!(sums.fits(4, &["a100".into()]), 1);
        assert_eq!(sums.fits(8, &["a100".into()]), 0);
        assert_eq!(sums.fits(1, &["h200".into()]), 0);
    }

    #[test]
    fn a_job_set_has_a_size_when_all_its_jobs_are_there() {
        let mut facts = Facts::default();
        let set = Some(("n".to_owned(), "s".to_owned()));
        for (uid, pods) in [("x", 4), ("y", 1)] {
            let job = BatchJobFacts { gang: Some(pods), pods, job_set: set.clone(), over: false };
            facts.batch_jobs.insert(uid.into(), job);
        }
        assert_eq!(Sums::of(&facts).job_set("n", "s", 3), None);
        assert_eq!(Sums::of(&facts).job_set("n", "s", 2), Some(5));
    }
}

//! What is remembered of a batch Job: how many pods it runs, and whether it is over.

use crate::words;
use k8s_openapi::api::batch::v1::Job;

/// What is remembered of a batch Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BatchJobFacts {
    /// Pods at a time, if all of them are needed for one result; `None` if each pod is a piece of work of its own.
    pub gang: Option<u32>,
    /// Pods at a time.
    pub pods: u32,
    /// The namespace and name of the JobSet that it is part of.
    pub job_set: Option<(String, String)>,
    /// Neither more nor other pods will come.
    pub over: bool,
}

impl BatchJobFacts {
    /// The facts of a Job, with its UID.
    pub(crate) fn read(job: &Job) -> Option<(String, Self)> {
        let spec = job.spec.as_ref();
        let at_once = spec.and_then(|spec| spec.parallelism).unwrap_or(1);
        let completions = spec.and_then(|spec| spec.completions);
        // As many at a time as there are altogether: they work on one thing.
        let is_gang = completions.is_none_or(|completions| completions <= at_once);
        let size = completions.map_or(at_once, |completions| completions.min(at_once));
        let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
        let ends = |kind: &str| ["Complete", "Failed"].contains(&kind);
        let over = conditions.into_iter().flatten().any(|it| ends(&it.type_) && it.status == "True");
        let over = over || job.metadata.deletion_timestamp.is_some();
        let (labels, namespace) = (job.metadata.labels.as_ref(), job.metadata.namespace.clone());
        let job_set = labels.and_then(|labels| Some((namespace?, labels.get(words::JOB_SET)?.clone())));
        let pods = size.max(1) as u32;
        Some((job.metadata.uid.clone()?, Self { gang: is_gang.then_some(pods), pods, job_set, over }))
    }
}

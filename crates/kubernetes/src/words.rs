//! The labels, annotations and resources that are read or written, each named once.

/// GPUs, as NVIDIA's device plugin offers them.
pub(crate) const GPU: &str = "nvidia.com/gpu";
/// The GPU model of a node, as NVIDIA's feature discovery labels it.
pub(crate) const GPU_PRODUCT: &str = "nvidia.com/gpu.product";
/// The GPU model of a node, if somebody says it by hand.
pub(crate) const GPU_MODEL: &str = "evenhand.io/gpu-model";
/// The gang that a pod is one of.
pub(crate) const GANG: &str = "evenhand.io/gang";
/// How many pods a gang has.
pub(crate) const GANG_SIZE: &str = "evenhand.io/gang-size";
/// Whose a gang is, if it is not its namespace's.
pub(crate) const TENANT: &str = "evenhand.io/tenant";
/// Steps until a gang is finished.
pub(crate) const STEPS: &str = "evenhand.io/steps";
/// Steps that a gang takes per second.
pub(crate) const STEPS_PER_SECOND: &str = "evenhand.io/steps-per-second";
/// Steps done and saved, as a pod of the gang says itself.
pub(crate) const STEPS_DONE: &str = "evenhand.io/steps-done";
/// The lease by which a pod was bound: the mark of the ledger, and a number.
pub(crate) const LEASE: &str = "evenhand.io/lease";
/// The number of the job that a pod is part of.
pub(crate) const JOB: &str = "evenhand.io/job";
/// The batch Job that a pod belongs to; the second is what it was called before Kubernetes 1.27.
pub(crate) const BATCH_JOBS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
/// The JobSet that a pod belongs to.
pub(crate) const JOB_SET: &str = "jobset.sigs.k8s.io/jobset-name";
/// Its UID, as newer versions say.
pub(crate) const JOB_SET_UID: &str = "jobset.sigs.k8s.io/jobset-uid";
/// How many Jobs a JobSet has altogether.
pub(crate) const JOB_SET_JOBS: &str = "jobset.sigs.k8s.io/global-replicas";
/// Variables in which the training operator says how many pods a PyTorchJob has: newer versions the first.
pub(crate) const TRAINING_PODS: [&str; 2] = ["PET_NNODES", "WORLD_SIZE"];
/// The job of the training operator that a pod belongs to.
pub(crate) const TRAINING_JOB: &str = "training.kubeflow.org/job-name";

//! Jobs: what was asked for, and what has happened so far.

use crate::{
    AppId, Bytes, ClassIndex, Demand, GpuCount, GpuSet, GpuTime, Host, JobId, LeaseId, Loss, MODELS_MAX,
    ModelIndex, PerModel, Rate, Ratio, Span, TenantId, Time, Work,
};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::sync::Arc;

/// More urgent is larger; 0 is ordinary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub i32);

/// How many GPUs a job takes: at least `min` at once, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(GpuCount, GpuCount)", into = "(GpuCount, GpuCount)")]
pub struct GpuRange {
    /// The gang: fewer are of no use.
    pub min: GpuCount,
    /// More are of no use. Equal to `min` for a rigid job.
    pub max: GpuCount,
}

impl GpuRange {
    /// Exactly this many.
    pub fn rigid(count: u32) -> Self {
        Self { min: GpuCount(count), max: GpuCount(count) }
    }
    /// Whether this many will do.
    pub fn contains(self, count: GpuCount) -> bool {
        self.min <= count && count <= self.max
    }
}

impl From<(GpuCount, GpuCount)> for GpuRange {
    fn from((min, max): (GpuCount, GpuCount)) -> Self {
        Self { min, max }
    }
}

impl From<GpuRange> for (GpuCount, GpuCount) {
    fn from(range: GpuRange) -> Self {
        (range.min, range.max)
    }
}

/// Which GPU models will do: one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelFilter(pub u16);

impl ModelFilter {
    /// Every GPU model will do.
    pub const ANY: Self = Self(u16::MAX);

    /// Only these.
    pub fn only(models: impl IntoIterator<Item = ModelIndex>) -> Self {
        Self(models.into_iter().fold(0, |bits, model| bits | 1 << model.0))
    }
    /// Whether this one will do.
    pub fn allows(self, model: ModelIndex) -> bool {
        self.0 & (1 << model.0) != 0
    }
}

impl Default for ModelFilter {
    fn default() -> Self {
        Self::ANY
    }
}

/// How far apart GPUs are. Themis calls the narrowest level a slot; here a slot is a lease on a shared GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Locality {
    /// Wired closely together inside one node.
    Socket,
    /// In one node.
    Node,
    /// In one rack.
    Rack,
    /// Anywhere in the cluster.
    #[default]
    Cluster,
}

/// How speed depends on the number of GPUs and on how far apart they are. Not assumed to be monotone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scaling {
    /// Speed-up over the speed on `gpus.min`, for some counts, smallest count first. Between two counts the
    /// lower one's speed-up holds; empty means in proportion to the count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_count: Vec<(GpuCount, Ratio)>,
    /// Slowdown (at least 1) for a set that spans a socket, a node, a rack, several racks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_span: Option<[Ratio; 4]>,
}

impl Scaling {
    /// The factor on the job's speed for this many GPUs spread this far.
    pub fn factor(&self, range: GpuRange, gpus: GpuCount, span: Locality) -> f64 {
        let slowdown = self.by_span.map_or(1.0, |by_span| by_span[span as usize].get());
        if gpus == range.min && self.by_count.is_empty() {
            return 1.0 / slowdown;
        }
        let speed_up = if self.by_count.is_empty() {
            f64::from(gpus.0) / f64::from(range.min.0)
        } else {
            let known = self.by_count.iter().rev().find(|(count, _)| *count <= gpus);
            known.map_or(1.0, |(_, speed_up)| speed_up.get())
        };
        speed_up / slowdown
    }
}

/// What stopping and starting again costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Restart {
    /// To write a checkpoint when asked to stop. The GPUs are held meanwhile.
    pub save: Span,
    /// To be running again on a start that is not the first.
    pub restore: Span,
    /// Between the checkpoints that the job writes by itself; what came after the last is lost in a crash.
    /// Zero: it checkpoints all the time, so nothing is lost.
    pub interval: Span,
}

impl Default for Restart {
    fn default() -> Self {
        Self { save: Span::ZERO, restore: Span::ZERO, interval: Span::from_minutes(30) }
    }
}

/// A stretch of a job with one batch size, as its submitter announced it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegimeSpec {
    /// It begins when this much work is done.
    pub from: Work,
    /// The batch size; 0 if unknown.
    pub batch: u32,
    /// The speed in it, relative to the job's declared speed.
    pub speed: Ratio,
}

/// A batch size that a job may use. Which comes when, and for how long, is not announced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// The batch size.
    pub batch: u32,
    /// The speed with it, relative to the job's declared speed.
    pub speed: Ratio,
}

/// The batch size in force, and since how much work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Regime {
    /// The batch size; 0 if unknown.
    pub batch: u32,
    /// The work that was done when it began.
    pub from: Work,
    /// The speed in it, as measured, relative to the job's declared speed.
    #[serde(default)]
    pub speed: Ratio,
}

/// A regime that is over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegimeSpan {
    /// What it was.
    pub regime: Regime,
    /// The work that was done when it ended.
    pub until: Work,
}

/// Whether a job may share a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consent {
    /// Never.
    Never,
    /// As long as the promised speed is kept.
    #[default]
    IfContractHolds,
    /// With anybody.
    Freely,
}

/// Names the model's ONNX graph, for the predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GraphDigest(pub u64);

/// One of the jobs of an array: many jobs from one description, told apart by an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The number of the array, which is that of no job.
    pub array: JobId,
    /// Which of its jobs.
    pub index: u32,
    /// Jobs of the array that may be on their way at a time; as many as there are if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
}

pub(crate) fn default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// GPUs that come in packets, as the pods or tasks of a gang take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packets {
    /// GPUs of a packet, all on one node; not 0.
    pub gpus: u8,
    /// No two packets on one node.
    #[serde(default, skip_serializing_if = "default")]
    pub apart: bool,
}

impl Packets {
    /// Whether these GPUs can be divided so.
    pub fn divide(self, gpus: &GpuSet) -> bool {
        let size = u32::from(self.gpus);
        let whole = |count: u32| if self.apart { count == size } else { count.is_multiple_of(size) };
        gpus.seats().iter().all(|seat| whole(seat.gpus.count()))
    }
}

/// What the submitter asked for. Never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Its number.
    pub id: JobId,
    /// What the submitter calls it, if not by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Who submitted it.
    pub tenant: TenantId,
    /// The app it is one of the jobs of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppId>,
    /// More urgent is larger.
    #[serde(default, skip_serializing_if = "default")]
    pub priority: Priority,
    /// How many GPUs.
    pub gpus: GpuRange,
    /// Which GPU models will do.
    #[serde(default, skip_serializing_if = "default")]
    pub models: ModelFilter,
    /// If its GPUs come in packets, of what kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<Packets>,
    /// Whether one lease may mix GPU models; a synchronous job then runs at its slowest.
    #[serde(default, skip_serializing_if = "default")]
    pub mixes_models: bool,
    /// GPU memory per GPU, if declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// What it asks of one GPU of each model, if declared; its memory then stands here, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<Arc<PerModel<Demand>>>,
    /// Cores and main memory per GPU.
    #[serde(default, skip_serializing_if = "default")]
    pub host: Host,
    /// Declared speed on each GPU model, alone on `gpus.min` GPUs in one place; zero = cannot run there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speeds: Option<PerModel<Rate>>,
    /// Declared effect of GPU count and distance.
    #[serde(default, skip_serializing_if = "default")]
    pub scaling: Scaling,
    /// Jobs that must have ended first, well or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<JobId>,
    /// Jobs that must have ended well first; if one of them ends otherwise, this one is cancelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_ok: Vec<JobId>,
    /// Which of the jobs of an array it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Member>,
    /// Whether it may share a GPU.
    #[serde(default, skip_serializing_if = "default")]
    pub sharing: Consent,
    /// Declared work until finished, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// The loss at which it is finished, if it is reached before `work` is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Loss>,
    /// Announced changes of batch size, in the order of work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<RegimeSpec>,
    /// The work of one epoch: batch sizes change where one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Work>,
    /// Batch sizes that it may use, the one that it begins with first; empty if nothing is said of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
    /// Wanted by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// What stopping and starting again costs.
    #[serde(default, skip_serializing_if = "default")]
    pub restart: Restart,
    /// The model's graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphDigest>,
}

impl JobSpec {
    /// A rigid job that asks for nothing special.
    pub fn new(id: JobId, tenant: TenantId, gpus: u32, work: Option<Work>) -> Self {
        Self {
            id,
            label: None,
            tenant,
            app: None,
            priority: Priority::default(),
            gpus: GpuRange::rigid(gpus),
            models: ModelFilter::ANY,
            packets: None,
            mixes_models: false,
            memory: None,
            demand: None,
            host: Host::default(),
            speeds: None,
            scaling: Scaling::default(),
            after: Vec::new(),
            after_ok: Vec::new(),
            array: None,
            sharing: Consent::default(),
            work,
            target: None,
            regimes: Vec::new(),
            epoch: None,
            modes: Vec::new(),
            deadline: None,
            restart: Restart::default(),
            graph: None,
        }
    }

    /// The declared speed on a GPU model: one step per second if none was declared.
    pub fn speed(&self, model: ModelIndex) -> Rate {
        if self.models.allows(model) {
            self.speeds.map_or(Rate::ONE, |speeds| speeds[model])
        } else {
            Rate::ZERO
        }
    }

    /// Declared speeds on all GPU models.
    pub fn speed_row(&self) -> PerModel<Rate> {
        let mut row = PerModel::default();
        for model in (0..MODELS_MAX as u16).map(ModelIndex) {
            row[model] = self.speed(model);
        }
        row
    }

    /// Jobs that it waits for, whichever way they must end.
    pub fn befores(&self) -> impl Iterator<Item = JobId> {
        self.after.iter().chain(&self.after_ok).copied()
    }

    /// What people call the job.
    pub fn name(&self) -> String {
        self.label.as_deref().map_or_else(|| self.id.0.to_string(), str::to_owned)
    }
}

/// Where a job is between submission and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState {
    /// Waits for GPUs, since then.
    Queued {
        /// When it began to wait.
        since: Time,
    },
    /// Has a lease, in whatever state.
    Leased(LeaseId),
    /// Waits for other jobs, or was put on hold: not to be granted anything.
    Held,
}

/// The order of the queue: urgency, submission, number.
pub type QueueKey = (Reverse<Priority>, Time, JobId);

/// A job and what has happened to it so far. Only active jobs are in a snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// What was asked for.
    pub spec: Arc<JobSpec>,
    /// When it was submitted.
    pub submitted: Time,
    /// Where it is.
    pub state: JobState,
    /// Work done, as last heard.
    pub done: Work,
    /// When that was heard; the job may have moved on since.
    pub heard: Time,
    /// Work that survives a failure.
    pub saved: Work,
    /// Time in which it really worked, if it reports that.
    pub worked: Option<Span>,
    /// GPU-time of leases that have ended.
    pub attained: PerModel<GpuTime>,
    /// Time spent waiting for GPUs, up to the last start.
    pub waited: Span,
    /// The batch size in force.
    pub regime: Regime,
    /// Batch sizes seen before.
    pub past: Vec<RegimeSpan>,
    /// The jobs a policy need not tell it from.
    pub class: ClassIndex,
    /// Leases that began.
    pub starts: u32,
    /// Leases that ended in a crash of the job itself.
    pub crashes: u32,
    /// How many of them for lack of GPU memory beside others.
    pub out_of_memory: u32,
}

impl Job {
    /// The lease the job has, if any.
    pub fn lease(&self) -> Option<LeaseId> {
        match self.state {
            JobState::Leased(lease) => Some(lease),
            JobState::Queued { .. } | JobState::Held => None,
        }
    }

    /// Whether the job waits for GPUs.
    pub fn is_queued(&self) -> bool {
        matches!(self.state, JobState::Queued { .. })
    }

    /// Whether the job may be put beside others: it consented, and it has not run out of memory that way.
    pub fn may_share(&self) -> bool {
        self.spec.sharing != Consent::Never && self.out_of_memory == 0
    }

    /// Goes back to the regime in which the work that is left of it was done; whether that is another one.
    pub fn rewind(&mut self) -> bool {
        let before = self.regime;
        while self.done < self.regime.from
            && let Some(past) = self.past.pop()
        {
            self.regime = past.regime;
        }
        self.regime != before
    }

    /// The order of the queue: the most urgent first, then first come first, then by number.
    pub fn queue_key(&self) -> QueueKey {
        (Reverse(self.spec.priority), self.submitted, self.spec.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_follows_the_table_and_the_distance() {
        let ratio = |value| Ratio::new(value).unwrap();
        let range = GpuRange { min: GpuCount(1), max: GpuCount(8) };
        let plain = Scaling::default();
        assert!((plain.factor(range, GpuCount(4), Locality::Cluster) - 4.0).abs() < 1e-12);
        let table = Scaling {
            by_count: vec![(GpuCount(1), ratio(1.0)), (GpuCount(4), ratio(2.5))],
            by_span: Some([1.0, 1.0, 1.3, 2.0].map(ratio)),
        };
        assert!((table.factor(range, GpuCount(6), Locality::Node) - 2.5).abs() < 1e-12);
        assert!((table.factor(range, GpuCount(4), Locality::Cluster) - 1.25).abs() < 1e-12);
    }

    #[test]
    fn a_plain_job_is_one_short_line() {
        let spec = JobSpec::new(JobId(7), TenantId(1), 4, Some(Work::from_steps(60.0)));
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(text, r#"{"id":7,"tenant":1,"gpus":[4,4],"work":60000}"#);
        assert_eq!(serde_json::from_str::<JobSpec>(&text).unwrap(), spec);
    }
}

//! A job from its submission on: its leases, how each began and ended, how far it is, and who is beside it.

use super::scene::{scene, times};
use super::{Front, Trouble, jobs};
use crate::access::Who;
use crate::store::{JobRow, Reader, StoreError};
use axum::extract::{Path, State};
use axum::{Extension, Json};
use evenhand_core::{Command, EndCause, Event, GpuMask, JobId, JobSpec, LeaseId, Record, StopReason, Work};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A lease of a job. Times are in milliseconds since the store was made.
#[derive(Clone, Debug, Serialize)]
pub struct LeaseSpan {
    /// Which.
    pub lease: u64,
    /// When it was decided.
    pub from_ms: u64,
    /// When the job ran, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran_ms: Option<u64>,
    /// When it was asked to stop, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_ms: Option<u64>,
    /// When it ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_ms: Option<u64>,
    /// Its GPUs.
    pub gpus: String,
    /// How many there are.
    pub gpus_count: u32,
    /// Their models.
    pub models: Vec<String>,
    /// Why it was given.
    pub why: String,
    /// `finished`, `preempted`, `moved`, `held`, `cancelled`, `retired`, `crashed`, `lost`, `failed`; nothing while it lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<&'static str>,
}

/// A stretch with one batch size, as declared.
#[derive(Clone, Debug, Serialize)]
pub struct RegimeRow {
    /// It begins when so many steps are done.
    pub from_steps: f64,
    /// The batch size; 0 if unknown.
    pub batch: u32,
    /// The speed in it, relative to the declared one.
    pub speed: f64,
}

/// A job beside this one on a GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Neighbour {
    /// Which, where that may be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// GPUs that both are on.
    pub gpus: u32,
}

/// A job from its submission on.
#[derive(Clone, Debug, Serialize)]
pub struct JobTimeline {
    /// When time began, in milliseconds since 1970.
    pub epoch_ms: u64,
    /// How late it is.
    pub now_ms: u64,
    /// As lists show it.
    pub job: JobRow,
    /// Steps that it takes, if that was declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_total: Option<f64>,
    /// Its leases, oldest first.
    pub leases: Vec<LeaseSpan>,
    /// Its batch sizes, if they were announced.
    pub regimes: Vec<RegimeRow>,
    /// Who is on its GPUs too.
    pub neighbours: Vec<Neighbour>,
}

/// `GET /v1/jobs/{job}/timeline`.
pub(super) async fn timeline(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<JobTimeline>, Trouble> {
    let job = jobs::find(&front, &who, name).await?;
    let fleet = front.vitals().fleet();
    let model = move |node: evenhand_core::NodeId| {
        fleet.nodes.get(node.index()).map_or("?", |node| fleet.model_of(node)).to_owned()
    };
    let (row, mut story) = front.look(move |reader| read(reader, job, &model)).await?;
    let row = row.ok_or_else(|| Trouble::no_job(&job.0.to_string()))?;
    let (epoch_ms, now_ms) = times(&front);
    let neighbours = neighbours(&front, &who, job).await?;
    let spec = story.spec.take();
    Ok(Json(JobTimeline {
        epoch_ms,
        now_ms,
        steps_total: spec.as_ref().and_then(|spec| spec.work).map(Work::steps),
        regimes: spec.map(|spec| regimes(&spec)).unwrap_or_default(),
        leases: story.leases.into_values().collect(),
        neighbours,
        job: row,
    }))
}

#[derive(Default)]
struct Story {
    spec: Option<Arc<JobSpec>>,
    leases: BTreeMap<LeaseId, LeaseSpan>,
    stops: BTreeMap<LeaseId, StopReason>,
}

type Read = (Option<JobRow>, Story);

fn read(
    reader: &Reader,
    job: JobId,
    model: &impl Fn(evenhand_core::NodeId) -> String,
) -> Result<Read, StoreError> {
    let mut story = Story::default();
    for record in reader.about(job, 0)? {
        story.take(job, &record, model);
    }
    Ok((reader.job(job)?, story))
}

impl Story {
    fn take(&mut self, job: JobId, record: &Record, model: &impl Fn(evenhand_core::NodeId) -> String) {
        let at = record.now.0;
        match &record.event {
            Event::Submitted(spec) if spec.id == job => self.spec = Some(spec.clone()),
            Event::LeaseStarted(lease) => {
                if let Some(span) = self.leases.get_mut(lease) {
                    span.ran_ms = Some(at);
                }
            }
            Event::LeaseEnded { lease, cause, .. } => {
                let word = ended(*cause, self.stops.get(lease).copied());
                self.end(*lease, at, word);
            }
            Event::LaunchFailed { lease, .. } => self.end(*lease, at, "failed"),
            _ => {}
        }
        for command in &record.commands {
            match command {
                Command::Start(lease) if lease.job == job => {
                    let mut models: Vec<String> =
                        lease.gpus.seats().iter().map(|seat| model(seat.node)).collect();
                    models.sort();
                    models.dedup();
                    let span = LeaseSpan {
                        lease: lease.id.0,
                        from_ms: at,
                        ran_ms: None,
                        asked_ms: None,
                        to_ms: None,
                        gpus: lease.gpus.to_string(),
                        gpus_count: lease.gpus.count().0,
                        models,
                        why: lease.reason.sentence().to_owned(),
                        ended: None,
                    };
                    self.leases.insert(lease.id, span);
                }
                Command::Stop { lease, reason, .. } => {
                    if let Some(span) = self.leases.get_mut(lease) {
                        span.asked_ms.get_or_insert(at);
                        self.stops.insert(*lease, *reason);
                    }
                }
                _ => {}
            }
        }
    }

    fn end(&mut self, lease: LeaseId, at: u64, word: &'static str) {
        if let Some(span) = self.leases.get_mut(&lease) {
            span.to_ms = Some(at);
            span.ended = Some(word);
        }
    }
}

fn ended(cause: EndCause, stop: Option<StopReason>) -> &'static str {
    match (cause, stop) {
        (EndCause::Finished { .. }, _) => "finished",
        (EndCause::Crashed | EndCause::OutOfMemory, _) => "crashed",
        (EndCause::NodeLost | EndCause::Expired, _) => "lost",
        (EndCause::Stopped, Some(StopReason::Moved)) => "moved",
        (EndCause::Stopped, Some(StopReason::Cancelled)) => "cancelled",
        (EndCause::Stopped, Some(StopReason::Held)) => "held",
        (EndCause::Stopped, Some(StopReason::Retired)) => "retired",
        (EndCause::Stopped, _) => "preempted",
    }
}

fn regimes(spec: &JobSpec) -> Vec<RegimeRow> {
    let row = |regime: &evenhand_core::RegimeSpec| RegimeRow {
        from_steps: regime.from.steps(),
        batch: regime.batch,
        speed: regime.speed.get(),
    };
    spec.regimes.iter().map(row).collect()
}

async fn neighbours(front: &Arc<Front>, who: &Who, job: JobId) -> Result<Vec<Neighbour>, Trouble> {
    let scene = scene(front).await?;
    let Some(own) = scene.seated.iter().find(|seated| seated.job == job) else { return Ok(Vec::new()) };
    let mut beside = BTreeMap::<u32, u32>::new();
    for seat in own.gpus.seats() {
        for (place, gpus) in &scene.on[seat.node.index()] {
            let both: GpuMask = gpus.and(seat.gpus);
            if scene.seated[*place as usize].job != job && !both.is_empty() {
                *beside.entry(*place).or_default() += both.count();
            }
        }
    }
    let neighbour = |(place, gpus): (u32, u32)| {
        let other = &scene.seated[place as usize];
        let known = who.tenant.as_deref().is_none_or(|tenant| tenant == other.tenant);
        Neighbour { job: known.then_some(other.job), name: other.name.clone().filter(|_| known), gpus }
    };
    Ok(beside.into_iter().map(neighbour).collect())
}

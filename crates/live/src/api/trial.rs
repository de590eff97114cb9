//! What would come of a submission if it were made now. Nothing is recorded.

use super::policies::troubles;
use super::submit::{WantedBatch, several};
use super::{Change, Front, Trouble};
use crate::access::Who;
use crate::request::{Answer, Tried, Wish};
use crate::service::Fleet;
use crate::store::{Reader, StoreError, jobs_in_words};
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use evenhand_core::{GpuSet, JobId, JobSpec};
use evenhand_engine::Rehearsal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What would become of a submission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// What the next decision would make of it.
    #[serde(flatten)]
    pub next: Outlook,
    /// What the next regular round would make of it, if that is something else and somebody would wait until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_round: Option<Outlook>,
}

/// What a decision would make of a submission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outlook {
    /// The jobs, in the order in which they were described.
    pub jobs: Vec<TrialJob>,
    /// Jobs that the same decision would stop.
    pub stops: Vec<Change>,
    /// How many jobs of others it would stop, where these are not shown.
    #[serde(default)]
    pub stops_of_others: u32,
    /// Why the policy would not decide, if it would not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<String>,
}

/// What it would make of one job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialJob {
    /// What it would be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// GPUs it would be given; none if it would wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<GpuSet>,
    /// Their GPU models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Whether others would have to leave them first.
    pub when_left: bool,
    /// Why, for people.
    pub why: String,
}

/// `POST /v1/dry-runs`: takes what `POST /v1/batches` takes.
pub(super) async fn dry_run(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    body: Result<Json<WantedBatch>, JsonRejection>,
) -> Result<Json<Trial>, Trouble> {
    let work = several(&who, body)?;
    let turn = front.trials_turn().await;
    let answer = front.ask(&who, Wish::Try(work)).await?;
    drop(turn);
    let Answer::Tried(tried) = answer else { return Err(Trouble::invalid("nothing came of it")) };
    let fleet = front.vitals().fleet();
    front.look(move |reader| told(reader, &tried, &fleet, who.tenant.as_deref())).await.map(Json)
}

fn told(reader: &Reader, tried: &Tried, fleet: &Fleet, tenant: Option<&str>) -> Result<Trial, StoreError> {
    let told = |found: &Rehearsal| outlook(reader, &tried.specs, found, fleet, tenant);
    Ok(Trial { next: told(&tried.next)?, at_round: tried.at_round.as_ref().map(told).transpose()? })
}

fn outlook(
    reader: &Reader,
    specs: &[Arc<JobSpec>],
    found: &Rehearsal,
    fleet: &Fleet,
    tenant: Option<&str>,
) -> Result<Outlook, StoreError> {
    let jobs = specs.iter().map(|spec| trial_job(spec, found, fleet)).collect();
    let (mut stops, mut stops_of_others) = (Vec::new(), 0);
    for stop in &found.stops {
        let Some(row) = reader.job(stop.job)? else { continue };
        // Others' jobs are not there for a tenant.
        if tenant.is_some_and(|tenant| tenant != row.tenant) {
            stops_of_others += 1;
            continue;
        }
        let why = "others would have a better claim".to_owned();
        let (name, gpus) = (row.name, stop.gpus.clone());
        stops.push(Change { job: stop.job, name, tenant: row.tenant, gpus, why });
    }
    Ok(Outlook { jobs, stops, stops_of_others, troubles: troubles(found) })
}

fn trial_job(spec: &JobSpec, found: &Rehearsal, fleet: &Fleet) -> TrialJob {
    let name = spec.label.as_deref().map(str::to_owned);
    let Some(start) = found.starts.iter().find(|start| start.job == spec.id) else {
        return TrialJob {
            name,
            gpus: None,
            models: Vec::new(),
            when_left: false,
            why: why_waits(spec, found),
        };
    };
    let nodes = start.gpus.seats().iter().filter_map(|seat| fleet.nodes.get(seat.node.index()));
    let models: BTreeSet<String> = nodes.map(|node| fleet.model_of(node).to_owned()).collect();
    let taken: BTreeSet<_> = found.stops.iter().flat_map(|stop| stop.gpus.iter()).collect();
    TrialJob {
        name,
        when_left: start.gpus.iter().any(|gpu| taken.contains(&gpu)),
        gpus: Some(start.gpus.clone()),
        models: models.into_iter().collect(),
        why: start.reason.sentence().to_owned(),
    }
}

fn why_waits(spec: &JobSpec, found: &Rehearsal) -> String {
    let befores: Vec<JobId> = spec.befores().collect();
    let wait = found.waits.iter().find(|wait| wait.job == spec.id);
    match (wait.and_then(|wait| wait.reason), spec.array.and_then(|member| member.at_once)) {
        _ if !befores.is_empty() => format!("waits for {}", jobs_in_words(&befores)),
        (Some(reason), _) => reason.sentence().to_owned(),
        (None, Some(at_once)) => format!("waits for its turn in the array, {at_once} at a time"),
        (None, None) => "the policy gives no reason".to_owned(),
    }
}

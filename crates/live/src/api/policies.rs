//! Policies: list, switch, and what a switch would change.

use super::{Front, Trouble};
use crate::access::Who;
use crate::request::{Answer, Wish};
use crate::store::Reader;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use evenhand_core::{Choice, GpuSet, JobId, Note, Parameters, StopReason};
use evenhand_engine::Rehearsal;
use evenhand_policies::{Entry, NameError, POLICIES, find};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A parameter of a policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParameterRow {
    /// Its name.
    pub name: String,
    /// What it is when nobody says.
    pub default: String,
    /// What it does.
    pub summary: String,
}

/// A policy, as lists show it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyRow {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// What can be set.
    pub parameters: Vec<ParameterRow>,
}

/// All policies, and the one that decides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PolicyList {
    /// Who decides now.
    pub current: Choice,
    /// Who could.
    pub policies: Vec<PolicyRow>,
}

/// How a policy is to be set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySettings {
    /// Parameters by name; the rest are at their defaults.
    #[serde(default)]
    pub parameters: Parameters,
}

/// A job that would start, stop or move.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Which.
    pub job: JobId,
    /// What its submitter calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose it is.
    pub tenant: String,
    /// GPUs it would get, or give up.
    pub gpus: GpuSet,
    /// Why, for people.
    pub why: String,
}

/// What another policy would change if a round were due now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DryRun {
    /// The policy.
    pub policy: Choice,
    /// Jobs that would be given GPUs, now or when others have left them.
    pub starts: Vec<Change>,
    /// Jobs that would be stopped for others.
    pub stops: Vec<Change>,
    /// Jobs that would be stopped to go on elsewhere.
    pub moves: Vec<Change>,
    /// Leases that would go on as they are.
    pub kept: u32,
    /// Why the policy would not decide, if it would not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<String>,
}

/// `GET /v1/policies`.
pub(super) async fn list(State(front): State<Arc<Front>>) -> Json<PolicyList> {
    let current = front.vitals().fleet().policy.clone();
    Json(PolicyList { current, policies: POLICIES.iter().map(row).collect() })
}

fn row(entry: &Entry) -> PolicyRow {
    let parameters = entry.parameters.iter().map(|spec| ParameterRow {
        name: spec.name.to_owned(),
        default: spec.default.to_owned(),
        summary: spec.summary.to_owned(),
    });
    let (name, summary) = (entry.name.to_owned(), entry.summary.to_owned());
    PolicyRow { name, summary, parameters: parameters.collect() }
}

type Settings = Result<Option<Json<PolicySettings>>, JsonRejection>;

/// `POST /v1/policies/{policy}/use`: it decides from now on.
pub(super) async fn choose(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    body: Settings,
) -> Result<Json<Choice>, Trouble> {
    let choice = choice(name, body)?;
    front.ask(&who, Wish::ChangePolicy(choice.clone())).await?;
    Ok(Json(choice))
}

/// `POST /v1/policies/{policy}/dry-run`: what it would change, and nothing is changed.
pub(super) async fn dry_run(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    body: Settings,
) -> Result<Json<DryRun>, Trouble> {
    let choice = choice(name, body)?;
    let answer = front.ask(&who, Wish::Rehearse(choice.clone())).await?;
    let Answer::Rehearsed(found) = answer else { return Err(Trouble::invalid("nothing came of it")) };
    front.look(move |reader| Ok(told(reader, choice, &found))).await.map(Json)
}

/// The policy that is meant, checked here so that what is wrong is said in full.
fn choice(name: String, body: Settings) -> Result<Choice, Trouble> {
    let body = body.map_err(|error| Trouble::new(error.status(), "invalid", error.body_text()))?;
    let parameters = body.map(|Json(settings)| settings.parameters).unwrap_or_default();
    let unknown = |error: NameError| Trouble::new(StatusCode::NOT_FOUND, "no-policy", error.to_string());
    let entry = find(POLICIES, "policy", &name).map_err(unknown)?;
    entry.make(&parameters).map_err(|error| Trouble::invalid(format!("{name}: {error}")))?;
    Ok(Choice { name, parameters })
}

fn told(reader: &Reader, policy: Choice, found: &Rehearsal) -> DryRun {
    let change = |job: JobId, gpus: &GpuSet, why: &str| {
        let row = reader.job(job).ok().flatten();
        let (name, tenant) = row.map_or((None, String::new()), |row| (row.name, row.tenant));
        Change { job, name, tenant, gpus: gpus.clone(), why: why.to_owned() }
    };
    let starts = found.starts.iter().map(|start| change(start.job, &start.gpus, start.reason.sentence()));
    let (moved, stopped): (Vec<_>, Vec<_>) =
        found.stops.iter().partition(|stop| stop.reason == StopReason::Moved);
    let stops = stopped.iter().map(|stop| change(stop.job, &stop.gpus, "others have a better claim"));
    let moves = moved.iter().map(|stop| change(stop.job, &stop.gpus, "it would go on elsewhere"));
    DryRun {
        policy,
        starts: starts.collect(),
        stops: stops.collect(),
        moves: moves.collect(),
        kept: found.kept,
        troubles: troubles(found),
    }
}

/// Why a policy would not decide, in words.
pub(super) fn troubles(found: &Rehearsal) -> Vec<String> {
    let troubles = found.notes.iter().filter_map(|note| match note {
        Note::PolicyFailed(error) => Some(format!("the policy has no plan: {error}")),
        Note::PlanRefused(error) => Some(format!("its plan is not valid: {error}")),
        _ => None,
    });
    troubles.collect()
}

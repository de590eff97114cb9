//! What if another policy had decided: the history of this service run again in the background, one at a time, by the same program as in a
//! terminal, in a process of its own that gives way to everything else.

mod run;

use super::scene::times;
use super::{Front, Trouble};
use crate::access::Who;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use evenhand_policies::{POLICIES, find};
use run::Task;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs that are kept; the oldest that has ended goes first.
const KEPT_MAX: usize = 20;

/// Runs that may wait for their turn.
const WAITING_MAX: usize = 5;

/// Policies of one run.
const POLICIES_MAX: usize = 12;

/// What is to be tried.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedWhatIf {
    policies: Vec<String>,
    #[serde(default)]
    since_s: Option<u64>,
}

/// How such a run is.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIf {
    /// Its number.
    pub id: u64,
    /// `waits`, `runs`, `done`, `failed`, `cancelled`.
    pub state: &'static str,
    /// The policies that are tried, besides the one that decided.
    pub policies: Vec<String>,
    /// Only jobs that were submitted in the last so many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_s: Option<u64>,
    /// Who asked for it.
    pub who: String,
    /// When, in milliseconds since the store was made.
    pub asked_ms: u64,
    /// How far it is, from 0 to 1.
    pub progress: f64,
    /// What would do the same in a terminal.
    pub command: String,
    /// What it comes to, in sentences; or why it failed.
    pub told: Vec<String>,
    /// The figures of each policy, its own first; as `evenhand whatif --json` prints them.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub runs: serde_json::Value,
}

/// All that are kept.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIfList {
    /// The latest first.
    pub whatifs: Vec<WhatIf>,
}

/// The runs of a service. They are forgotten when it ends.
#[derive(Debug, Default)]
pub(super) struct WhatIfs {
    tasks: Mutex<Kept>,
    turn: Arc<Mutex<()>>,
}

#[derive(Debug, Default)]
struct Kept {
    last: u64,
    tasks: BTreeMap<u64, Arc<Task>>,
}

impl WhatIfs {
    fn get(&self, name: &str) -> Result<Arc<Task>, Trouble> {
        let kept = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let found = name.parse().ok().and_then(|id: u64| kept.tasks.get(&id).cloned());
        found.ok_or_else(|| {
            Trouble::new(StatusCode::NOT_FOUND, "no-whatif", format!("there is no what-if `{name}`"))
        })
    }

    fn add(&self, make: impl FnOnce(u64) -> Task) -> Result<Arc<Task>, Trouble> {
        let mut kept = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.tasks.values().filter(|task| !task.has_ended()).count() > WAITING_MAX {
            let message = format!("{WAITING_MAX} runs wait already: try again when one has ended");
            return Err(Trouble::new(StatusCode::TOO_MANY_REQUESTS, "busy", message));
        }
        while kept.tasks.len() >= KEPT_MAX {
            let Some(oldest) = kept.tasks.iter().find(|(_, task)| task.has_ended()).map(|(id, _)| *id) else {
                break;
            };
            kept.tasks.remove(&oldest);
        }
        kept.last += 1;
        let task = Arc::new(make(kept.last));
        let id = kept.last;
        kept.tasks.insert(id, task.clone());
        Ok(task)
    }
}

/// `GET /v1/whatifs`.
pub(super) async fn list(State(front): State<Arc<Front>>) -> Json<WhatIfList> {
    let kept = front.whatifs().tasks.lock().unwrap_or_else(PoisonError::into_inner);
    Json(WhatIfList { whatifs: kept.tasks.values().rev().map(|task| task.seen(false)).collect() })
}

/// `GET /v1/whatifs/{whatif}`.
pub(super) async fn one(
    State(front): State<Arc<Front>>,
    Path(name): Path<String>,
) -> Result<Json<WhatIf>, Trouble> {
    Ok(Json(front.whatifs().get(&name)?.seen(true)))
}

/// `GET /v1/whatifs/{whatif}/figures`: what is on its page, as markup without style or script.
pub(super) async fn figures(
    State(front): State<Arc<Front>>,
    Path(name): Path<String>,
) -> Result<Response, Trouble> {
    let markup = front.whatifs().get(&name)?.figures();
    let missing = || Trouble::new(StatusCode::NOT_FOUND, "not-done", "it has not come to its end");
    let markup = markup.ok_or_else(missing)?;
    Ok(([(CONTENT_TYPE, "text/html; charset=utf-8")], markup.to_string()).into_response())
}

/// `POST /v1/whatifs`: begins one, as soon as no other runs.
pub(super) async fn begin(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    body: Result<Json<WantedWhatIf>, JsonRejection>,
) -> Result<(StatusCode, Json<WhatIf>), Trouble> {
    let Json(wanted) = body.map_err(|error| Trouble::new(error.status(), "invalid", error.body_text()))?;
    if wanted.policies.is_empty() || wanted.policies.len() > POLICIES_MAX {
        return Err(Trouble::invalid(format!(
            "policies has {} names: 1 to {POLICIES_MAX} are allowed",
            wanted.policies.len()
        )));
    }
    for name in &wanted.policies {
        find(POLICIES, "policy", name).map_err(|error| Trouble::invalid(error.to_string()))?;
    }
    super::within_store("since_s", wanted.since_s.map(|since| since.saturating_mul(1000)))?;
    if wanted.since_s == Some(0) {
        return Err(Trouble::invalid("since_s is 0: nothing was submitted in no time"));
    }
    let asked_ms = times(&front).1;
    let folder = front.state().join("whatif");
    let task = front.whatifs().add(|id| {
        Task::new(id, wanted.policies, wanted.since_s, who.name, asked_ms, folder.join(id.to_string()))
    })?;
    run::begin(front.clone(), task.clone(), front.whatifs().turn.clone());
    Ok((StatusCode::CREATED, Json(task.seen(true))))
}

/// `DELETE /v1/whatifs/{whatif}`: ends one, or forgets it if it has ended.
pub(super) async fn cancel(
    State(front): State<Arc<Front>>,
    Path(name): Path<String>,
) -> Result<Json<WhatIf>, Trouble> {
    let task = front.whatifs().get(&name)?;
    if task.cancel() {
        return Ok(Json(task.seen(false)));
    }
    let seen = task.seen(false);
    front.whatifs().tasks.lock().unwrap_or_else(PoisonError::into_inner).tasks.remove(&seen.id);
    Ok(Json(seen))
}

//! The ledger so far, folded into a report that grows with it: the pictures of `report.html`, of a run that goes on.

use super::{Front, Trouble};
use crate::access::Who;
use crate::promised::with_promises;
use crate::store::{Reader, StoreError};
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use evenhand_core::Time;
use evenhand_report::{Costs, FIGURES, FigureEntry, Report, WallClock, own_shares, tenant_colours};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// Records that are read at a time.
const PAGE: usize = 1024;

/// A picture is at least this old before it is drawn again.
const AGE_MIN_MS: u64 = 1000;

/// One that took long to draw lasts so many times as long, so that pictures cost little however many look.
const COST_TIMES: u64 = 50;

/// Pictures that are kept; zones are few.
const KEPT_MAX: usize = 256;

/// How far ahead of UTC a clock may be, in seconds: a little more than any is.
const OFFSET_MAX_S: i32 = 16 * 3600;

/// The ledger so far.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Taken by one at a time; others wait without holding a thread up.
    folded: Arc<tokio::sync::Mutex<Folded>>,
    colours: Mutex<BTreeMap<String, String>>,
    drawn: Mutex<BTreeMap<Key, Drawn>>,
}

/// A picture, of whom if of one tenant, by which clock.
type Key = (&'static str, Option<String>, i32);

#[derive(Clone, Debug)]
struct Drawn {
    markup: Arc<str>,
    record: u64,
    at: Time,
    cost_ms: u64,
}

#[derive(Default)]
struct Folded {
    report: Option<Report>,
    last: u64,
}

impl std::fmt::Debug for Folded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Folded up to {}", self.last)
    }
}

impl Folded {
    /// Takes in what came since.
    fn catch_up(&mut self, reader: &Reader) -> Result<Option<&mut Report>, StoreError> {
        if self.report.is_none() {
            self.report = reader.origin()?.map(|origin| Report::watching(&origin.header));
        }
        let Some(report) = self.report.as_mut() else { return Ok(None) };
        loop {
            let page = reader.records(self.last, PAGE)?;
            for (seq, text) in &page {
                report.take(&crate::store::parse_record(*seq, text)?);
                self.last = *seq;
            }
            if page.len() < PAGE {
                return Ok(Some(report));
            }
        }
    }
}

impl History {
    /// The class of each tenant's colour, as far as pictures were drawn.
    pub(super) fn colours(&self) -> BTreeMap<String, String> {
        self.colours.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn kept(&self, key: &Key, now: Time, record: u64) -> Option<Arc<str>> {
        let drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = drawn.get(key)?;
        let lasts_ms = AGE_MIN_MS.max(kept.cost_ms * COST_TIMES);
        (kept.record == record || now.since(kept.at).0 < lasts_ms).then(|| kept.markup.clone())
    }

    fn keep(&self, key: Key, one: Drawn) {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if drawn.len() >= KEPT_MAX {
            drawn.clear();
        }
        drawn.insert(key, one);
    }
}

/// By which clock.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Zone {
    offset_s: Option<i32>,
}

/// `GET /v1/figures/{figure}`: a picture of what happened so far, as markup without style or script. A tenant is shown pictures of all
/// together, and of what it was owed and received itself.
pub(super) async fn figure(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    query: Result<Query<Zone>, QueryRejection>,
) -> Result<Response, Trouble> {
    let Query(zone) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let offset_s = zone.offset_s.unwrap_or(0);
    if offset_s.abs() > OFFSET_MAX_S {
        let message = format!("offset_s is {offset_s}: -{OFFSET_MAX_S} to {OFFSET_MAX_S} are allowed");
        return Err(Trouble::invalid(message));
    }
    let unknown = || {
        let known: Vec<&str> = FIGURES.iter().map(|entry| entry.name).collect();
        let message = format!("there is no picture `{name}`: there are {}", known.join(", "));
        Trouble::new(StatusCode::NOT_FOUND, "no-figure", message)
    };
    let entry = FIGURES.iter().find(|entry| entry.name == name).ok_or_else(unknown)?;
    let own = match &who.tenant {
        Some(tenant) if entry.name == "shares" => Some(tenant.clone()),
        Some(_) if entry.names_somebody => return Err(unknown()),
        _ => None,
    };
    let markup = draw(&front, entry, own, offset_s).await?;
    Ok(([(CONTENT_TYPE, "text/html; charset=utf-8")], markup.to_string()).into_response())
}

async fn draw(
    front: &Arc<Front>,
    entry: &'static FigureEntry,
    own: Option<String>,
    offset_s: i32,
) -> Result<Arc<str>, Trouble> {
    let key = (entry.name, own, offset_s);
    let record = *front.last().borrow();
    if let Some(kept) = front.history().kept(&key, front.clock().now(), record) {
        return Ok(kept);
    }
    // Held while it is drawn: one folds, and others wait for that one without holding a thread up.
    let mut folded = front.history().folded.clone().lock_owned().await;
    if let Some(kept) = front.history().kept(&key, front.clock().now(), record) {
        return Ok(kept);
    }
    let epoch_ms = front.vitals().epoch_ms.load(Ordering::Relaxed);
    let (place, wanted) = (front.clone(), key.clone());
    let look = move |reader: &Reader| {
        let (began, clock) = (place.clock().now(), WallClock { epoch_ms, offset_s: wanted.2 });
        let markup = folded.catch_up(reader)?.map(|report| {
            report.tell_times(clock);
            let colours = tenant_colours(report).into_iter().collect();
            *place.history().colours.lock().unwrap_or_else(PoisonError::into_inner) = colours;
            markup(report, entry, wanted.1.as_deref())
        });
        let at = place.clock().now();
        let markup = markup.unwrap_or_default().into();
        Ok(Drawn { markup, record: folded.last, at, cost_ms: at.since(began).0 })
    };
    let drawn = front.look(look).await?;
    front.history().keep(key, drawn.clone());
    Ok(drawn.markup)
}

fn markup(report: &mut Report, entry: &FigureEntry, own: Option<&str>) -> String {
    if let Some(own) = own {
        return own_shares(report, own).unwrap_or_default();
    }
    if ["prices", "properties"].contains(&entry.name) {
        report.look_into_rounds();
    }
    let summary = entry.needs_summary.then(|| with_promises(report.summary(&Costs::default())));
    (entry.draw)(report, summary.as_ref())
}

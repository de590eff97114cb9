//! What the ledger has said of apps: when they came and went, and what their jobs did.
//!
//! **An app's life** begins when it was opened or when its first job was submitted, whichever is later: a world may
//! announce all its apps at the start. It ends when the app is closed; one that never is, with the last of its jobs.
//! Jobs without an app are apps of one job; the book's own list of lives has those that finished.

use evenhand_core::{AppId, JobSpec, Outcome, Span, TenantId, Time};
use evenhand_fairness::AppJob;
use std::collections::BTreeMap;

/// All apps ever seen.
#[derive(Debug, Default)]
pub struct Apps {
    rows: BTreeMap<AppId, AppRow>,
    /// The lives of jobs without an app that ended otherwise than finished: they were in the way of the others too.
    pub strays: Vec<(Time, Time)>,
}

/// One app.
#[derive(Debug)]
pub struct AppRow {
    /// Who owns it.
    pub tenant: TenantId,
    /// Jobs ever submitted.
    pub jobs: u64,
    /// Jobs that its tuner stopped.
    pub retired: u64,
    /// What its ended jobs did, each on its gang; those that did nothing are left out.
    pub done: Vec<AppJob>,
    opened: Time,
    first_job: Option<Time>,
    last_end: Time,
    closed: Option<Time>,
    active: u64,
}

impl AppRow {
    /// When its life began; `None` if it never had a job.
    pub fn began(&self) -> Option<Time> {
        self.first_job.map(|first| first.max(self.opened))
    }

    /// When its life ended; `None` if it had not when the ledger did.
    pub fn ended(&self) -> Option<Time> {
        self.closed.or_else(|| (self.active == 0 && self.jobs > 0).then_some(self.last_end))
    }
}

impl Apps {
    /// Every app with its number.
    pub fn rows(&self) -> impl Iterator<Item = (AppId, &AppRow)> {
        self.rows.iter().map(|(id, row)| (*id, row))
    }

    /// Whether there are any but those of one job.
    pub fn any(&self) -> bool {
        !self.rows.is_empty()
    }

    /// An app appears.
    pub fn open(&mut self, id: AppId, tenant: TenantId, now: Time) {
        self.row(id, tenant, now);
    }

    /// An app has reached its goal or given up.
    pub fn close(&mut self, id: AppId, now: Time) {
        if let Some(row) = self.rows.get_mut(&id) {
            row.closed.get_or_insert(now);
        }
    }

    /// A job was submitted.
    pub fn arrive(&mut self, spec: &JobSpec, now: Time) {
        let Some(id) = spec.app else { return };
        let row = self.row(id, spec.tenant, now);
        row.first_job.get_or_insert(now);
        row.jobs += 1;
        row.active += 1;
    }

    /// A job that was submitted then has ended, after work that takes `alone` on its gang.
    pub fn leave(&mut self, spec: &JobSpec, submitted: Time, now: Time, alone: Span, outcome: Outcome) {
        let Some(row) = spec.app.and_then(|id| self.rows.get_mut(&id)) else {
            if outcome != Outcome::Finished {
                self.strays.push((submitted, now));
            }
            return;
        };
        row.active -= 1;
        row.last_end = now;
        row.retired += u64::from(outcome == Outcome::Retired);
        if alone > Span::ZERO {
            row.done.push(AppJob { alone_s: alone.seconds(), gang: f64::from(spec.gpus.min.0) });
        }
    }

    /// The row of an app. One never opened is as old as what is first heard of it.
    fn row(&mut self, id: AppId, tenant: TenantId, opened: Time) -> &mut AppRow {
        let (jobs, retired, active, last_end) = (0, 0, 0, opened);
        let (first_job, closed, done) = (None, None, Vec::new());
        let row = AppRow { tenant, jobs, retired, done, opened, first_job, last_end, closed, active };
        self.rows.entry(id).or_insert(row)
    }
}

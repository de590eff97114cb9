//! How fair the run was to each app: its time over what the cluster owed it (Mahajan et al., Themis, NSDI 2020).
//!
//! ```text
//! rho = T_sh / T_id        T_sh = the app's life, T_id as in `evenhand_fairness::ideal_seconds`, goal: all jobs
//! ```
//!
//! T_id is of the work that the app's jobs really did, retired ones included: a finished job counts with its exclusive
//! time, any other with the furthest it got at its declared speed on the reference GPU model. M is the largest capacity
//! seen, N the mean number of open apps during the app's life. A job without an app is an app of one job, which ends by
//! finishing. Over the apps that ended and whose jobs did something:
//!
//! - `app_rho_*`: rho under the ideal as printed, T(M) N; `app_unfair_fraction`: the share above 1.05;
//! - `app_rho_share_worst`, `app_unfair_share_fraction`: the same under the ideal of a private part, T(M/N);
//! - `app_jain`: Jain's index of 1/rho as printed: 1 if all apps were treated alike.
//!
//! `apps` and `app_jct_mean_s` are the number of apps that ended and their mean life, whatever was done in them.

use super::{Entry, Fold, reading};
use crate::apps::AppRow;
use crate::book::Book;
use crate::fact::{Fact, Life};
use crate::presence::Presence;
use crate::quantile::{largest, mean, quantile, share_above, sorted};
use evenhand_core::{AppId, Better, Goal, JobId, Reading, TenantId, Time, Unit};
use evenhand_fairness::{AppJob, Ideal, UNFAIR_ABOVE, ideal_seconds, jain};

pub const ENTRY: Entry = Entry {
    name: "apps",
    summary: "finish-time fairness of apps, as printed and against a private part of the cluster",
    fold: || Box::new(AppFairness),
};

/// What an app is called: by its number, or by that of its only job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppName {
    /// An app.
    App(AppId),
    /// A job without an app.
    Job(JobId),
}

/// One app that ended.
#[derive(Clone, Copy, Debug)]
pub struct AppRatios {
    /// Which.
    pub name: AppName,
    /// Whose.
    pub tenant: TenantId,
    /// Its jobs.
    pub jobs: u64,
    /// Those that its tuner stopped.
    pub retired: u64,
    /// T_sh in seconds.
    pub time_s: f64,
    /// T_id in seconds, as printed; zero if nothing was done, and infinite without GPUs.
    pub ideal_s: f64,
    /// T_id in seconds, on a private part of the cluster.
    pub ideal_share_s: f64,
}

impl AppRatios {
    /// rho under the ideal as printed; `None` if nothing was done.
    pub fn paper(&self) -> Option<f64> {
        ratio(self.time_s, self.ideal_s)
    }

    /// rho under the ideal of a private part; `None` if nothing was done.
    pub fn share(&self) -> Option<f64> {
        ratio(self.time_s, self.ideal_share_s)
    }
}

fn ratio(time_s: f64, ideal_s: f64) -> Option<f64> {
    (ideal_s > 0.0 && ideal_s.is_finite()).then(|| time_s / ideal_s)
}

/// Every app that ended: those of several jobs by number, then those of one job in the order of their ends.
pub fn app_ratios(book: &Book) -> Vec<AppRatios> {
    let presence = Presence::new(&stays(book));
    let gpus = f64::from(book.capacity_max().0);
    let ideals = |jobs: &[AppJob], from: Time, to: Time| {
        let apps_mean = presence.mean(from, to);
        [Ideal::Paper, Ideal::Share].map(|ideal| ideal_seconds(ideal, Goal::AllJobs, jobs, gpus, apps_mean))
    };
    let grouped = |(id, row): (AppId, &AppRow)| {
        let (from, to) = life(row)?;
        let [ideal_s, ideal_share_s] = ideals(&row.done, from, to);
        let (name, time_s) = (AppName::App(id), to.since(from).seconds());
        let AppRow { tenant, jobs, retired, .. } = *row;
        Some(AppRatios { name, tenant, jobs, retired, time_s, ideal_s, ideal_share_s })
    };
    let single = |life: &Life| {
        let job = AppJob { alone_s: life.alone.seconds(), gang: f64::from(life.gang) };
        let [ideal_s, ideal_share_s] = ideals(&[job], life.submitted, life.ended);
        let (name, time_s) = (AppName::Job(life.job), life.jct().seconds());
        AppRatios { name, tenant: life.tenant, jobs: 1, retired: 0, time_s, ideal_s, ideal_share_s }
    };
    let singles = book.lives.iter().filter(|life| !life.in_app).map(single);
    book.apps.rows().filter_map(grouped).chain(singles).collect()
}

/// From when to when an app that ended lived. One that was closed before its first job did not live at all.
fn life(row: &AppRow) -> Option<(Time, Time)> {
    row.began().zip(row.ended()).filter(|(from, to)| from <= to)
}

/// From when to when every app was open, jobs without an app among them; the end of the ledger ends them all.
fn stays(book: &Book) -> Vec<(Time, Time)> {
    let grouped = book.apps.rows().filter_map(|(_, row)| {
        let from = row.began()?;
        let to = row.ended().unwrap_or(book.now);
        (from <= to).then_some((from, to))
    });
    let finished = book.lives.iter().filter(|life| !life.in_app).map(|life| (life.submitted, life.ended));
    let active = book.active_alone().map(|submitted| (submitted, book.now));
    grouped.chain(finished).chain(active).chain(book.apps.strays.iter().copied()).collect()
}

/// The book keeps the lives of apps and jobs; nothing more is needed.
struct AppFairness;

impl Fold for AppFairness {
    fn take(&mut self, _: &Book, _: &Fact<'_>) {}

    fn readings(&self, book: &Book) -> Vec<Reading> {
        let rows = app_ratios(book);
        let times: Vec<f64> = rows.iter().map(|row| row.time_s).collect();
        let paper = sorted(rows.iter().filter_map(AppRatios::paper).collect());
        let share = sorted(rows.iter().filter_map(AppRatios::share).collect());
        let gains: Vec<f64> = paper.iter().filter(|rho| **rho > 0.0).map(|rho| 1.0 / rho).collect();
        let ratio = |name, value| reading(name, value, Unit::Ratio, Better::Down);
        let unfair = |name, values: &[f64]| {
            reading(name, share_above(values, UNFAIR_ABOVE), Unit::Fraction, Better::Down)
        };
        vec![
            reading("apps", rows.len() as f64, Unit::Count, Better::Neutral),
            ratio("app_rho_worst", largest(&paper)),
            ratio("app_rho_mean", mean(&paper)),
            ratio("app_rho_p50", quantile(&paper, 0.50)),
            ratio("app_rho_p95", quantile(&paper, 0.95)),
            unfair("app_unfair_fraction", &paper),
            ratio("app_rho_share_worst", largest(&share)),
            unfair("app_unfair_share_fraction", &share),
            reading("app_jain", jain(&gains), Unit::Fraction, Better::Up),
            reading("app_jct_mean_s", mean(&times), Unit::Seconds, Better::Down),
        ]
    }
}

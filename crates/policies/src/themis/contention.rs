//! What has to be remembered of apps from one decision to the next: how long each had jobs, how many apps there were
//! meanwhile, and how much work each had in all.
//!
//! Time in which an app has no job at all is nobody's fault but its own, and does not count.

use super::standing::Standing;
use evenhand_core::{JobId, Party, Snapshot, Time};
use evenhand_fairness::AppJob;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The contention that apps have met so far. The set of apps changes at decisions only, so sums over time are exact.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Contention {
    /// The last decision.
    at: Time,
    /// Apps since then.
    apps_count: u64,
    /// What is known of each app, by number.
    seen: Vec<(Party, Seen)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Seen {
    /// Milliseconds in which it had jobs.
    lived: u64,
    /// The number of apps, summed over these.
    area: u64,
    /// Whether it has jobs since the last decision.
    present: bool,
    /// Jobs of it that have ended and are booked.
    ended: usize,
    /// Every job that it ever had, as it was last known.
    jobs: BTreeMap<JobId, Known>,
}

/// A job of an app, in seconds alone on its gang.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Known {
    gang: f64,
    whole_s: f64,
    /// Of a job that has ended: what it did.
    done_s: Option<f64>,
    /// Steps per second alone.
    rate: f64,
}

/// What counts of a job that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// What it did: an app that gives a job up has less to do, and should be done sooner.
    Done,
    /// All that it was to do: giving jobs up does not make an app's own yardstick shorter.
    Whole,
}

impl Contention {
    /// What the last decision left, brought up to now.
    pub fn recall(snapshot: &Snapshot) -> Self {
        let kept = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Self>());
        let mut contention = kept.map(|kept| (*kept).clone()).unwrap_or_default();
        let passed = snapshot.now.since(contention.at).0;
        for (_, seen) in contention.seen.iter_mut().filter(|(_, seen)| seen.present) {
            seen.lived += passed;
            seen.area += passed * contention.apps_count;
        }
        contention.at = snapshot.now;
        contention
    }

    /// Takes note of the apps that there are, and forgets those that are gone.
    pub fn meet(&mut self, snapshot: &Snapshot, standings: &[Standing<'_>]) {
        self.apps_count = standings.len() as u64;
        let mut before: BTreeMap<Party, Seen> = std::mem::take(&mut self.seen).into_iter().collect();
        for standing in standings {
            let mut seen = before.remove(&standing.party).unwrap_or_else(|| self.first_seen(standing));
            seen.present = true;
            for member in &standing.members {
                let whole_s = member.left.alone_s + member.done_s(snapshot);
                let known = Known { gang: member.left.gang, whole_s, done_s: None, rate: member.mean_rate };
                seen.jobs.insert(member.job.spec.id, known);
            }
            before.insert(standing.party, seen);
        }
        let there = |party: &Party| match party {
            Party::App(app) => snapshot.apps.contains_key(app),
            _ => standings.binary_search_by_key(party, |standing| standing.party).is_ok(),
        };
        before.retain(|party, _| there(party));
        for (party, seen) in &mut before {
            seen.present = standings.binary_search_by_key(party, |standing| standing.party).is_ok();
            seen.book_ended(snapshot, *party);
        }
        self.seen = before.into_iter().collect();
    }

    /// An app that was there before anybody looked has met, as far as is known, as many apps as there are now.
    fn first_seen(&self, standing: &Standing<'_>) -> Seen {
        let lived = self.at.since(standing.opened).0;
        Seen { lived, area: lived * self.apps_count, ..Seen::default() }
    }

    fn seen(&self, party: Party) -> Option<&Seen> {
        let place = self.seen.binary_search_by_key(&party, |(party, _)| *party).ok()?;
        Some(&self.seen[place].1)
    }

    /// Whether a job is here for the first time.
    pub fn is_new(&self, party: Party, job: JobId) -> bool {
        self.seen(party).is_none_or(|seen| !seen.jobs.contains_key(&job))
    }

    /// Seconds in which an app had jobs.
    pub fn lived_s(&self, party: Party) -> f64 {
        self.seen(party).map_or(0.0, |seen| seen.lived as f64 / 1e3)
    }

    /// How many apps there are.
    pub fn apps_now(&self) -> f64 {
        self.apps_count.max(1) as f64
    }

    /// The mean number of apps while one of them had jobs.
    pub fn apps_mean(&self, party: Party) -> f64 {
        let seen = self.seen(party).filter(|seen| seen.lived > 0);
        seen.map_or_else(|| self.apps_now(), |seen| seen.area as f64 / seen.lived as f64)
    }

    /// Every job that an app ever had.
    pub fn jobs(&self, party: Party, ended: Ended) -> Vec<AppJob> {
        let jobs = self.seen(party).into_iter().flat_map(|seen| seen.jobs.values());
        jobs.map(|known| {
            let done_s = known.done_s.filter(|_| ended == Ended::Done);
            AppJob { alone_s: done_s.unwrap_or(known.whole_s), gang: known.gang }
        })
        .collect()
    }
}

impl Seen {
    /// Books the jobs that have ended since the last decision.
    fn book_ended(&mut self, snapshot: &Snapshot, party: Party) {
        let Party::App(app) = party else { return };
        let ended = snapshot.apps.get(&app).map_or(&[][..], |app| &app.ended);
        for (job, done) in &ended[self.ended.min(ended.len())..] {
            if let Some(known) = self.jobs.get_mut(job).filter(|known| known.rate > 0.0) {
                known.done_s = Some(done.steps() / known.rate);
            }
        }
        self.ended = ended.len();
    }
}

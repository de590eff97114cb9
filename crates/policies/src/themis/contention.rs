//! What has to be remembered of apps from one decision to the next: how many there were while each lived, and how much
//! work each had in all.

use super::standing::Standing;
use evenhand_core::{JobId, Party, Snapshot, Time};
use evenhand_fairness::AppJob;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The contention that apps have met so far. The set of apps changes at decisions only, so the integral is exact.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Contention {
    /// The last decision.
    at: Time,
    /// Apps since then.
    apps_count: u64,
    /// The integral of the number of apps up to then, in app-milliseconds.
    area: u64,
    /// What is known of each app, by number.
    seen: Vec<(Party, Seen)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Seen {
    opened: Time,
    /// `area` when it was first seen.
    area_before: u64,
    /// Every job that it ever had, as it was last known.
    jobs: BTreeMap<JobId, Known>,
}

/// A job of an app, in seconds alone on its gang.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Known {
    gang: f64,
    whole_s: f64,
    done_s: f64,
    /// The last decision at which it was there.
    at: Time,
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
        contention.area += contention.apps_count * snapshot.now.since(contention.at).0;
        contention.at = snapshot.now;
        contention
    }

    /// Takes note of the apps that there are, and forgets those that are gone.
    pub fn meet(&mut self, snapshot: &Snapshot, standings: &[Standing<'_>]) {
        self.apps_count = standings.len() as u64;
        let mut before = std::mem::take(&mut self.seen).into_iter().peekable();
        for standing in standings {
            // Both lists are in the order of parties.
            while before.next_if(|(party, _)| *party < standing.party).is_some() {}
            let known = before.next_if(|(party, _)| *party == standing.party).map(|(_, seen)| seen);
            let mut seen = known.unwrap_or_else(|| self.first_seen(standing));
            for member in &standing.members {
                let (gang, done_s) = (member.left.gang, member.done_s(snapshot));
                let known = Known { gang, whole_s: member.left.alone_s + done_s, done_s, at: self.at };
                seen.jobs.insert(member.job.spec.id, known);
            }
            self.seen.push((standing.party, seen));
        }
    }

    /// An app that was there before anybody looked has met, as far as is known, as many apps as there are now.
    fn first_seen(&self, standing: &Standing<'_>) -> Seen {
        let unseen = self.at.since(standing.opened).0 * self.apps_count;
        Seen { opened: standing.opened, area_before: self.area.saturating_sub(unseen), jobs: BTreeMap::new() }
    }

    fn seen(&self, party: Party) -> Option<&Seen> {
        let place = self.seen.binary_search_by_key(&party, |(party, _)| *party).ok()?;
        Some(&self.seen[place].1)
    }

    /// When an app appeared, if it was seen before.
    pub fn opened(&self, party: Party) -> Option<Time> {
        Some(self.seen(party)?.opened)
    }

    /// How many apps there are.
    pub fn apps_now(&self) -> f64 {
        self.apps_count.max(1) as f64
    }

    /// The mean number of apps over the life of one of them.
    pub fn apps_mean(&self, party: Party) -> f64 {
        let Some(seen) = self.seen(party) else { return self.apps_now() };
        let span = self.at.since(seen.opened).0;
        if span == 0 { self.apps_now() } else { (self.area - seen.area_before) as f64 / span as f64 }
    }

    /// Every job that an app ever had.
    pub fn jobs(&self, party: Party, ended: Ended) -> Vec<AppJob> {
        let jobs = self.seen(party).into_iter().flat_map(|seen| seen.jobs.values());
        jobs.map(|known| {
            let over = known.at < self.at && ended == Ended::Done;
            AppJob { alone_s: if over { known.done_s } else { known.whole_s }, gang: known.gang }
        })
        .collect()
    }
}

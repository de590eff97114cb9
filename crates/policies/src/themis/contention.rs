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
    /// Every job that it ever had: seconds alone, and gang. A job that has ended stays as it was last known, so that
    /// ending jobs early does not make the app's own yardstick shorter.
    jobs: BTreeMap<JobId, (f64, f64)>,
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
                let whole = member.whole(snapshot);
                seen.jobs.insert(member.job.spec.id, (whole.alone_s, whole.gang));
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

    /// Every job that an app ever had, whole.
    pub fn jobs(&self, party: Party) -> Vec<AppJob> {
        let jobs = self.seen(party).into_iter().flat_map(|seen| seen.jobs.values());
        jobs.map(|(alone_s, gang)| AppJob { alone_s: *alone_s, gang: *gang }).collect()
    }
}

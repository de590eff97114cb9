//! Whether jobs finish by when they were promised to.

use evenhand_core::{Command, JobId, Outcome, Record, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A job may be later by this part of the time within which it was promised to be done, when that was told last.
const TOLERATED: f64 = 0.1;

/// What was promised to jobs that have not ended, and how earlier promises turned out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Promises {
    open: BTreeMap<JobId, Time>,
    /// When that was told.
    #[serde(default)]
    since: BTreeMap<JobId, Time>,
    /// Jobs that finished by then, or no later than is tolerated.
    pub kept: u64,
    /// Jobs that finished later.
    pub broken: u64,
}

impl Promises {
    /// By when a job was promised to have ended.
    pub(super) fn by(&self, job: JobId) -> Option<Time> {
        self.open.get(&job).copied()
    }

    /// Takes a record in. What counts is what was told last.
    pub(super) fn take(&mut self, record: &Record) {
        for promised in record.decision.iter().flat_map(|decision| &decision.promises) {
            self.open.insert(promised.job, promised.by);
            self.since.insert(promised.job, record.now);
        }
        for command in &record.commands {
            let Command::End { job, outcome, .. } = command else { continue };
            let (by, since) = (self.open.remove(job), self.since.remove(job));
            let Some(by) = by.filter(|_| *outcome == Outcome::Finished) else { continue };
            let fair_s = since.map_or(0.0, |since| by.since(since).seconds());
            let is_kept = record.now.since(by).seconds() <= TOLERATED * fair_s;
            *(if is_kept { &mut self.kept } else { &mut self.broken }) += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{Decision, Event, GpuTime, Occasion, Promised, Quality, Round};

    fn record(now_s: f64, promised: Vec<Promised>, ends: &[u64]) -> Record {
        let end = |job: &u64| Command::End {
            job: JobId(*job),
            outcome: Outcome::Finished,
            attained: GpuTime::ZERO,
        };
        let decision = Decision {
            round: Round(1),
            occasion: Occasion::Early,
            active: 0,
            running: 0,
            kept: 0,
            due: 0,
            quality: Quality::default(),
            shares: Vec::new(),
            auction: None,
            ahead: None,
            promises: promised,
        };
        let commands = ends.iter().map(end).collect();
        let (now, event) = (Time::from_seconds(now_s), Event::RoundDue(Round(1)));
        Record { now, event, commands, decision: Some(decision), notes: Vec::new() }
    }

    #[test]
    fn a_promise_is_kept_if_the_job_is_no_later_than_by_a_tenth() {
        let by = Time::from_seconds(200.0);
        let told = |job| Promised { job: JobId(job), by, expected: by, at_most: by, behind: 0, until: by };
        let mut promises = Promises::default();
        promises.take(&record(100.0, vec![told(1), told(2), told(3)], &[]));
        assert_eq!(promises.by(JobId(2)), Some(by));
        promises.take(&record(199.0, vec![], &[1]));
        promises.take(&record(210.0, vec![], &[2]));
        promises.take(&record(211.0, vec![], &[3]));
        assert_eq!((promises.kept, promises.broken), (2, 1));
        assert!(promises.open.is_empty() && promises.since.is_empty());
    }
}

//! Whether jobs finish by when they were promised to.

use evenhand_core::{Command, JobId, Outcome, Record, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was promised to jobs that have not ended, and how earlier promises turned out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Promises {
    open: BTreeMap<JobId, Time>,
    /// Jobs that finished by then.
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
        }
        for command in &record.commands {
            let Command::End { job, outcome, .. } = command else { continue };
            let Some(by) = self.open.remove(job) else { continue };
            if *outcome == Outcome::Finished {
                *(if record.now <= by { &mut self.kept } else { &mut self.broken }) += 1;
            }
        }
    }
}

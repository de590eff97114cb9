//! Jobs that wait for others to end.

use crate::state::State;
use crate::{Engine, Step};
use evenhand_core::{JobId, JobSpec, Note, Outcome};
use std::collections::BTreeSet;

impl State {
    /// Notes whom a new job waits for; those that have ended need not be waited for.
    pub fn note_befores(&mut self, spec: &JobSpec) {
        let befores: BTreeSet<JobId> =
            spec.befores().filter(|before| self.jobs.by_id(*before).is_some()).collect();
        for before in &befores {
            self.dependents.entry(*before).or_default().push(spec.id);
        }
        if !befores.is_empty() {
            self.awaited.insert(spec.id, befores.len() as u32);
        }
    }

    /// One of those that a job waits for has ended; whether it was the last.
    fn one_less(&mut self, job: JobId) -> bool {
        let Some(left) = self.awaited.get_mut(&job) else { return false };
        *left -= 1;
        let was_last = *left == 0;
        if was_last {
            self.awaited.remove(&job);
        }
        was_last
    }
}

impl Engine {
    /// Those who waited for a job that has ended may run, unless it was to end well and did not: then they end too, and those who
    /// wait for them. A list of its own, not recursion: chains may be long.
    pub(crate) fn let_go_of_dependents(&mut self, id: JobId, outcome: Outcome, step: &mut Step) {
        let mut ended = vec![(id, outcome)];
        while let Some((by, outcome)) = ended.pop() {
            for job in self.state.dependents.remove(&by).unwrap_or_default() {
                let Some(waiting) = self.state.jobs.by_id(job) else { continue };
                if outcome.is_well() || !waiting.spec.after_ok.contains(&by) {
                    if self.state.one_less(job) {
                        self.wake_job(job);
                    }
                    continue;
                }
                step.notes.push(Note::Forsaken { job, by, outcome });
                self.forget_job(job, Outcome::Cancelled, step);
                ended.push((job, Outcome::Cancelled));
            }
        }
    }
}

//! What happens in a local world when its time has come.

use super::agenda::NodeChange;
use super::running::Running;
use super::{Exit, LocalWorld};
use evenhand_core::{Event, Time};

impl LocalWorld {
    /// What has happened by now. Of things that are due together, ends go first, then nodes, jobs and the alarm.
    pub(super) fn due(&mut self, now: Time) -> Option<Event> {
        self.running.values_mut().for_each(|running| running.kill_if_overdue(now));
        let first = self.ready.pop_front().or_else(|| self.change_node(now)).or_else(|| self.submit(now));
        first.or_else(|| self.ring(now))
    }

    fn change_node(&mut self, now: Time) -> Option<Event> {
        while let Some(change) = self.next_node_change().filter(|change| change.at <= now) {
            self.agenda.node_changes.pop_front();
            if change.up && self.down.remove(&change.node) {
                return self.nodes.get(&change.node).cloned().map(Event::NodeUp);
            }
            if !change.up && self.nodes.contains_key(&change.node) && self.down.insert(change.node) {
                let touched = self.running.values_mut().filter(|running| running.touches(change.node));
                touched.for_each(Running::lose);
                return Some(Event::NodeDown(change.node));
            }
        }
        None
    }

    /// The next node change, unless it must wait: a node comes back when all that was lost with it is gone.
    pub(super) fn next_node_change(&self) -> Option<NodeChange> {
        let change = self.agenda.node_changes.front().copied()?;
        let waits = change.up
            && self.down.contains(&change.node)
            && self.running.values().any(|running| running.touches(change.node));
        (!waits).then_some(change)
    }

    fn submit(&mut self, now: Time) -> Option<Event> {
        let job = self.agenda.take_submission(now)?;
        let spec = job.spec.clone();
        let before = self.jobs.insert(spec.id, job);
        assert!(before.is_none(), "{} is submitted twice", spec.id);
        Some(Event::Submitted(spec))
    }

    /// The alarm, and before it how far each job is.
    fn ring(&mut self, now: Time) -> Option<Event> {
        let alarm = self.agenda.alarm.as_mut().filter(|alarm| alarm.at <= now)?;
        let round = alarm.round;
        if !std::mem::replace(&mut alarm.prepared, true) {
            self.note_progress();
        }
        self.ready.pop_front().or_else(|| {
            self.agenda.alarm = None;
            Some(Event::RoundDue(round))
        })
    }

    fn note_progress(&mut self) {
        for (lease, running) in &mut self.running {
            let done = self.scratch.progress(running.job());
            if running.has_moved(done) {
                self.ready.push_back(Event::Progress {
                    lease: *lease,
                    done,
                    saved: done,
                    regime: None,
                    worked: None,
                    loss: None,
                });
            }
        }
    }

    /// A process exited: its lease has ended, and everything it started is gone.
    pub(super) fn note_exit(&mut self, (lease, status): Exit) {
        let Some(running) = self.running.remove(&lease) else { return };
        let (job, cause) = (running.job(), running.cause(status));
        let done = running.done(cause, self.scratch.progress(job));
        if !self.jobs.contains_key(&job) {
            self.scratch.forget(job);
        }
        self.ready.push_back(Event::LeaseEnded { lease, done, saved: done, cause });
    }
}

//! What happens when its time has come.

use super::{Arrival, Mail, World};
use crate::runner::{Ending, Report};
use evenhand_core::{EndCause, Event, LeaseId, NodeId, Ratio, Regime, Span, Time, Work};

impl World {
    pub(super) fn take(&mut self, mail: Mail) {
        match mail {
            Mail::Look(lease) => self.look(lease),
            Mail::Submit(job) => {
                let event = Event::Submitted(job.spec.clone());
                self.admit(job);
                self.ready.push_back(Arrival::Seen(event));
            }
            Mail::Node { node, up: false } => self.take_node(node),
            Mail::Node { node, up: true } => {
                self.returning.insert(node);
            }
            Mail::Machines(machines) => self.see(machines),
            Mail::Gone(job) if self.jobs.contains_key(&job) => {
                self.ready.push_back(Arrival::Seen(Event::Cancelled(job)));
            }
            Mail::Gone(_) => {}
            Mail::Gauges(gauges) => self.gauge(&gauges),
            Mail::Asked(request) => self.ready.push_back(Arrival::Asked(request)),
            Mail::Close => self.closed = true,
            Mail::Leave => self.left = true,
        }
    }

    /// What has happened by now. The alarm comes last: it is to be answered knowing everything else.
    pub(super) fn due(&mut self, now: Time) -> Option<Arrival> {
        while let Some((at, lease)) = self.again.first().copied().filter(|(at, _)| *at <= now) {
            self.again.remove(&(at, lease));
            self.look(lease);
        }
        let next = self.ready.pop_front().or_else(|| self.return_node());
        next.or_else(|| self.ring(now))
    }

    /// Sees what became of a lease.
    pub(super) fn look(&mut self, lease: LeaseId) {
        if !self.running.contains_key(&lease) {
            return;
        }
        let seen = self.runner.look(lease);
        if let Some(later) = seen.again {
            self.again.insert((self.clock.now() + later, lease));
        }
        if let Some(running) = self.running.get_mut(&lease)
            && seen.started
            && !std::mem::replace(&mut running.started, true)
        {
            let job = running.lease.job;
            self.begin_counting(job);
            self.ready.push_back(Arrival::Seen(Event::LeaseStarted(lease)));
        }
        if let Some(ending) = seen.ended {
            self.note_end(lease, ending);
        }
    }

    /// A lease has ended: nothing of it runs any more.
    pub(super) fn note_end(&mut self, lease: LeaseId, ending: Ending) {
        let Some(running) = self.running.remove(&lease) else { return };
        self.ended.insert(lease);
        while self.ended.len() > super::ENDED_KEPT_MAX {
            self.ended.pop_first();
        }
        let cause = match ending {
            // Whoever is told to leave before it has begun has not failed to.
            Ending::NotLaunched(retry) => {
                let Some(leaving) = running.leaving else {
                    self.ready.push_back(Arrival::Seen(Event::LaunchFailed { lease, retry }));
                    return;
                };
                leaving.cause
            }
            Ending::Done => EndCause::Finished { alone: None },
            Ending::Left(cause) => cause,
            Ending::Crashed => EndCause::Crashed,
            Ending::Lost => EndCause::NodeLost,
        };
        let (done, saved) = self.at_the_end(&running, ending);
        self.ready.push_back(Arrival::Seen(Event::LeaseEnded { lease, done, saved, cause }));
    }

    pub(super) fn take_node(&mut self, node: NodeId) {
        self.returning.remove(&node);
        if !self.nodes.contains_key(&node) || !self.down.insert(node) {
            return;
        }
        self.ready.push_back(Arrival::Seen(Event::NodeDown(node)));
        let touched = self.running.values().filter(|running| running.lease.gpus.touches(node));
        for lease in touched.map(|running| running.lease.id).collect::<Vec<_>>() {
            self.tell_to_leave(lease, EndCause::NodeLost, Span::ZERO);
        }
    }

    /// A node comes back when all that was lost with it is gone.
    fn return_node(&mut self) -> Option<Arrival> {
        let is_free = |node: &NodeId| !self.running.values().any(|running| running.lease.gpus.touches(*node));
        let node = self.returning.iter().copied().find(|node| !self.down.contains(node) || is_free(node))?;
        self.returning.remove(&node);
        self.down.remove(&node).then_some(())?;
        self.nodes.get(&node).cloned().map(Event::NodeUp).map(Arrival::Seen)
    }

    /// The alarm, and before it how far each job is.
    fn ring(&mut self, now: Time) -> Option<Arrival> {
        let alarm = self.alarm.as_mut().filter(|alarm| alarm.at <= now)?;
        let round = alarm.round;
        if !std::mem::replace(&mut alarm.prepared, true) {
            self.note_progress();
        }
        self.ready.pop_front().or_else(|| {
            self.alarm = None;
            Some(Arrival::Seen(Event::RoundDue(round)))
        })
    }

    fn note_progress(&mut self) {
        for (lease, running) in self.running.iter_mut().filter(|(_, running)| running.started) {
            let job = running.lease.job;
            let report = self.runner.report(*lease, job);
            let Some(saved) = self.runner.steps(job).or(report.map(|_| Work::ZERO)) else { continue };
            let told = (saved, report);
            let before = std::mem::replace(&mut running.told, told);
            if before != told {
                self.ready.push_back(Arrival::Seen(progress(*lease, told, before.1)));
            }
        }
    }
}

/// How far a job is: at least as far as what it saved, whatever it says.
fn progress(lease: LeaseId, (saved, report): (Work, Option<Report>), before: Option<Report>) -> Event {
    let report = report.unwrap_or_default();
    let done = report.done.max(saved);
    let changed = report.batch.filter(|_| report.batch != before.and_then(|before| before.batch));
    let regime = changed.map(|(batch, from)| Regime { batch, from: from.min(done), speed: Ratio::ONE });
    Event::Progress { lease, done, saved, regime, worked: None, loss: report.loss }
}

//! How commands are carried out.

use super::gauges::Measured;
use super::{Alarm, Arrival, Running, World};
use evenhand_core::{Command, EndCause, Event, JobId, Lease, Outcome, Retry, Span, Work};

impl World {
    /// Carries one command out; the same twice has the effect of one.
    pub(super) fn carry_out(&mut self, command: &Command) {
        match command {
            Command::Start(lease) => self.start(lease),
            Command::Renew { lease, expires } => {
                if let Some(running) = self.running.get_mut(lease) {
                    running.lease.expires = *expires;
                }
            }
            Command::Stop { lease, grace, .. } => self.stop(*lease, *grace),
            Command::End { job, outcome, .. } => self.end(*job, *outcome),
            Command::WakeAt(at, round) => {
                self.alarm = Some(Alarm { at: *at, round: *round, prepared: false });
            }
            Command::AskForBids(_) => {}
            Command::Resize { lease, .. } => {
                panic!("{lease} cannot be resized: this world has not that ability")
            }
        }
    }

    fn start(&mut self, lease: &Lease) {
        if self.running.contains_key(&lease.id) || self.ended.contains(&lease.id) {
            return;
        }
        let is_up = |node| self.nodes.contains_key(&node) && !self.down.contains(&node);
        let refused = match self.jobs.get(&lease.job) {
            // A job that was never submitted, or was told to be forgotten, cannot be launched anywhere.
            None => Some(Retry::Never),
            Some(_) if !lease.gpus.seats().iter().all(|seat| is_up(seat.node)) => Some(Retry::Freely),
            Some(job) => {
                self.runner.start(lease, job);
                None
            }
        };
        if let Some(retry) = refused {
            self.ended.insert(lease.id);
            self.ready.push_back(Arrival::Seen(Event::LaunchFailed { lease: lease.id, retry }));
            return;
        }
        let told = (Work::ZERO, None);
        let running = Running {
            lease: lease.clone(),
            started: false,
            leaving: None,
            told,
            gauged: Measured::default(),
        };
        self.running.insert(lease.id, running);
        // A supervisor that could not be started at all tells nobody.
        self.look(lease.id);
    }

    fn stop(&mut self, lease: evenhand_core::LeaseId, grace: Span) {
        if self.running.get(&lease).is_some_and(|running| running.leaving.is_none()) {
            self.tell_to_leave(lease, EndCause::Stopped, grace);
        }
    }

    fn end(&mut self, job: JobId, outcome: Outcome) {
        if self.jobs.remove(&job).is_none() {
            return;
        }
        self.far.remove(&job);
        let own = self.running.values().filter(|running| running.lease.job == job);
        for lease in own.map(|running| running.lease.id).collect::<Vec<_>>() {
            self.tell_to_leave(lease, EndCause::Stopped, Span::ZERO);
        }
        self.runner.end(job, outcome);
    }
}

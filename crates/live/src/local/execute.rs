//! How a local world carries commands out.

use super::agenda::Alarm;
use super::group::ProcessGroup;
use super::running::Running;
use super::{LocalWorld, launch};
use evenhand_core::{Command, EndCause, Event, JobId, Lease, Retry};

impl LocalWorld {
    /// Carries one command out; the same twice has the effect of one.
    pub(super) fn carry_out(&mut self, command: &Command) {
        match command {
            Command::Start(lease) => self.start(lease),
            Command::Renew { lease, expires } => {
                if let Some(running) = self.running.get_mut(lease) {
                    running.renew(*expires);
                }
            }
            Command::Stop { lease, grace, .. } => {
                let now = self.clock.now();
                if let Some(running) = self.running.get_mut(lease) {
                    running.stop(now, EndCause::Stopped, *grace);
                }
            }
            Command::End { job, .. } => self.end(*job),
            Command::WakeAt(at, round) => {
                self.agenda.alarm = Some(Alarm { at: *at, round: *round, prepared: false });
            }
            Command::AskForBids(_) => {}
            Command::Resize { lease, .. } => {
                panic!("{lease} cannot be resized: this world has not that ability")
            }
        }
    }

    fn start(&mut self, lease: &Lease) {
        if !self.known.insert(lease.id) {
            return;
        }
        let event = match self.launch(lease) {
            Ok(running) => {
                self.running.insert(lease.id, running);
                Event::LeaseStarted(lease.id)
            }
            Err(retry) => Event::LaunchFailed { lease: lease.id, retry },
        };
        self.ready.push_back(event);
    }

    fn launch(&self, lease: &Lease) -> Result<Running, Retry> {
        // A job that was never submitted, or was told to be forgotten, cannot be launched anywhere.
        let job = self.jobs.get(&lease.job).ok_or(Retry::Never)?;
        let is_up = |node| self.nodes.contains_key(&node) && !self.down.contains(&node);
        if !lease.gpus.seats().iter().all(|seat| is_up(seat.node)) {
            return Err(Retry::Later);
        }
        let mut command = launch::command(&job.program, lease, &self.scratch.checkpoint(lease.job));
        let (id, tell) = (lease.id, self.tell_exit.clone());
        let group = ProcessGroup::spawn(&mut command, move |status| {
            // Nobody listens any more when the world is being dropped.
            let _ = tell.send((id, status));
        });
        let group = group.map_err(|error| launch::retry(&error))?;
        Ok(Running::new(lease.clone(), job.spec.clone(), group))
    }

    fn end(&mut self, job: JobId) {
        if self.jobs.remove(&job).is_none() {
            return;
        }
        let mut is_running = false;
        for running in self.running.values_mut().filter(|running| running.job() == job) {
            running.abandon();
            is_running = true;
        }
        // A job that still runs could write its checkpoint again: then it is removed at the exit.
        if !is_running {
            self.scratch.forget(job);
        }
    }
}

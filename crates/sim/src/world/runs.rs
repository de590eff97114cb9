//! Runs: leases start, go on, are told to stop, and end.

use super::World;
use crate::agenda::Item;
use crate::execution::{Progressing, Turn};
use crate::truth::{alone, regime_at};
use evenhand_core::{
    BackendError, EndCause, Event, Health, JobId, Lease, LeaseId, Outcome, Regime, Retry, Seat, Sharing,
    Span, Time,
};

impl World {
    pub(super) fn turn(&mut self, id: LeaseId, turn: u32) -> Option<Event> {
        let now = self.now;
        let run = self.running.get_mut(&id).filter(|run| run.turn == turn && !run.stopping)?;
        match run.next_turn()?.1 {
            Turn::Finishes => {
                run.arrive(now);
                let alone = alone(&run.truth, self.cluster.models.len());
                Some(self.end_run(id, EndCause::Finished { alone }))
            }
            Turn::Crashes => {
                run.settle(now);
                let cause = if run.out_of_memory { EndCause::OutOfMemory } else { EndCause::Crashed };
                Some(self.end_run(id, cause))
            }
            what @ (Turn::Reports | Turn::ChangesRegime) => {
                run.arrive(now);
                let place = regime_at(&run.truth, run.progress().0).0.filter(|_| what == Turn::ChangesRegime);
                let regime = place.map(|place| &run.truth.regimes[place]);
                let regime = regime.map(|regime| Regime {
                    batch: regime.batch,
                    from: regime.from,
                    speed: regime.speed,
                });
                self.plan_turn(id);
                self.report(id, regime)
            }
        }
    }

    /// A job says how far it is and, at the end of an epoch, what its loss is; who watches over it may have something to
    /// say to that.
    fn report(&mut self, id: LeaseId, regime: Option<Regime>) -> Option<Event> {
        let run = self.running.get(&id)?;
        let (done, saved) = run.progress();
        let loss = run.curve.as_ref().and_then(|curve| curve.reported(self.seed, &run.truth, done));
        if let (Some(loss), Some(curve)) = (loss, &run.curve) {
            self.ready.extend(self.apps.reported(&run.truth, curve.epoch_at(done), loss));
        }
        Some(Event::Progress { lease: id, done, saved, regime, worked: None, loss })
    }

    /// Notes the next turn of a run; the turn noted before no longer counts.
    pub(super) fn plan_turn(&mut self, id: LeaseId) {
        let Some(run) = self.running.get_mut(&id) else { return };
        run.turn += 1;
        if let Some((at, _)) = run.next_turn() {
            self.agenda.add(at.max(self.now), Item::Turn(id, run.turn));
        }
    }

    /// A run is over; whatever it held is free.
    pub(super) fn end_run(&mut self, id: LeaseId, cause: EndCause) -> Event {
        let run = self.running.remove(&id).expect("a run ends once");
        let (done, saved) = run.progress();
        let finished = matches!(cause, EndCause::Finished { .. });
        let saved = if finished { done } else { saved };
        if let Some(pending) = self.pending.get_mut(&run.lease.job) {
            if saved > pending.saved {
                self.futile_rounds = 0;
            }
            pending.saved = saved;
        }
        self.occupied.free(&run.lease);
        self.respeed_neighbours(&run.lease);
        Event::LeaseEnded { lease: id, done, saved, cause }
    }

    /// A stopped job has written its checkpoint, or is killed at the end of its grace. A checkpoint counts from now on
    /// and not earlier: a node that fails meanwhile takes it along.
    pub(super) fn leave(&mut self, id: LeaseId, grace: Span) -> Option<Event> {
        self.running.get_mut(&id).filter(|run| run.stopping)?.save_within(grace);
        Some(self.end_run(id, EndCause::Stopped))
    }

    pub(super) fn expire(&mut self, id: LeaseId) -> Option<Event> {
        let now = self.now;
        let run = self.running.get_mut(&id)?;
        if run.lease.expires > now {
            let expires = run.lease.expires;
            self.agenda.add(expires, Item::Expiry(id));
            return None;
        }
        if run.stopping {
            return None;
        }
        run.halt(now);
        Some(self.end_run(id, EndCause::Expired))
    }

    /// Works out the speed of a run anew.
    pub(super) fn respeed(&mut self, id: LeaseId) {
        let Some(run) = self.running.get(&id) else { return };
        let slowdown = self.slowdowns(run).into_iter().fold(1.0, f64::max);
        let now = self.now;
        if let Some(run) = self.running.get_mut(&id) {
            run.set_speed(now, &self.cluster, &self.node_speed, slowdown);
        }
        self.plan_turn(id);
    }

    pub(super) fn respeed_neighbours(&mut self, lease: &Lease) {
        if lease.sharing == Sharing::Alone {
            return;
        }
        let mut touched: Vec<LeaseId> =
            lease.gpus.iter().flat_map(|gpu| self.occupied.others_on(gpu, lease.id)).collect();
        touched.sort_unstable();
        touched.dedup();
        for id in touched {
            self.respeed(id);
        }
    }

    pub(super) fn start(&mut self, lease: &Lease) -> Result<(), BackendError> {
        if !self.is_new(lease.id) {
            return Ok(());
        }
        let down = |seat: &Seat| self.cluster.nodes[seat.node.index()].health == Health::Down;
        let Some(pending) = self.pending.get_mut(&lease.job).filter(|_| !lease.gpus.seats().iter().any(down))
        else {
            self.ready.push_back(Event::LaunchFailed { lease: lease.id, retry: Retry::Later });
            return Ok(());
        };
        pending.starts += 1;
        pending.lease = Some(lease.id);
        let restart = pending.truth.restart;
        let restore = if pending.starts > 1 { restart.restore } else { Span::ZERO };
        let begins = self.now + restore;
        let scripted = self.crashes.get(&lease.job).copied();
        let crash =
            scripted.or_else(|| self.faults.crash_after(self.seed, lease.job, pending.starts, self.now));
        let what = (pending.truth.clone(), pending.profile.clone(), pending.curve.clone());
        let run = Progressing::new(lease.clone(), what, pending.saved, begins, crash);
        self.occupied.take(lease, &self.cluster)?;
        self.running.insert(lease.id, run);
        self.meet_neighbours(lease.id);
        self.respeed(lease.id);
        self.respeed_neighbours(lease);
        self.agenda.add(lease.expires, Item::Expiry(lease.id));
        self.idle_rounds = 0;
        self.ready.push_back(Event::LeaseStarted(lease.id));
        Ok(())
    }

    pub(super) fn is_new(&mut self, id: LeaseId) -> bool {
        let (word, bit) = ((id.0 / 64) as usize, 1 << (id.0 % 64));
        if self.known_leases.len() <= word {
            self.known_leases.resize(word + 1, 0);
        }
        let new = self.known_leases[word] & bit == 0;
        self.known_leases[word] |= bit;
        new
    }

    pub(super) fn renew(&mut self, id: LeaseId, expires: Time) {
        let every = self.progress_every;
        self.measure(id);
        let Some(run) = self.running.get_mut(&id) else { return };
        run.lease.expires = run.lease.expires.max(expires);
        if let Some((done, saved)) = run.report(self.now, every) {
            self.ready.push_back(Event::Progress {
                lease: id,
                done,
                saved,
                regime: None,
                worked: None,
                loss: None,
            });
        }
    }

    pub(super) fn stop(&mut self, id: LeaseId, grace: Span) {
        let now = self.now;
        let Some(run) = self.running.get_mut(&id).filter(|run| !run.stopping) else { return };
        run.halt(now);
        let save = run.truth.restart.save;
        let leaves = now + save.min(grace);
        if leaves > now {
            self.agenda.add(leaves, Item::Saved(id, grace));
        } else {
            run.save_within(grace);
            let ended = self.end_run(id, EndCause::Stopped);
            self.ready.push_back(ended);
        }
    }

    pub(super) fn forget(&mut self, job: JobId, outcome: Outcome) {
        let Some(pending) = self.pending.remove(&job) else { return };
        let ended = self.apps.ended(&pending.truth, pending.curve.as_deref(), outcome);
        self.ready.extend(ended);
        let held = pending.lease;
        if let Some(lease) = held.filter(|lease| self.running.contains_key(lease)) {
            let ended = self.end_run(lease, EndCause::Stopped);
            self.ready.push_back(ended);
        }
    }
}

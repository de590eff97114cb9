//! One turn: what happened, what came of it, on disk; then what should happen, and answers.

use super::Service;
use super::intake::{Intake, Taken};
use super::vitals::changes_fleet;
use crate::clock::Stopwatch;
use crate::request::{Answer, Refusal, Wish};
use crate::store::{StoreError, jobs_in_words};
use crate::world::Arrival;
use evenhand_core::{Backend, Command, Event, Record, Time};
use evenhand_engine::{Engine, Step};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// Arrivals that share one commit at most.
const ARRIVALS_MAX: usize = 512;

type Reply = Box<dyn FnOnce(Result<Answer, Refusal>) + Send>;

/// An answer that may be given once the batch is on disk.
struct Owed {
    reply: Reply,
    answer: Result<Answer, Refusal>,
}

/// In words, with the number of a job that was made.
fn what_was_asked(told: String, answer: &Result<Answer, Refusal>) -> String {
    match answer {
        Ok(Answer::Job { job, .. }) => format!("{told} job {}", job.0),
        Ok(Answer::Array { array, .. }) => format!("{told} array {}", array.0),
        Ok(Answer::Batch { jobs, .. }) => format!("{told} {}", jobs_in_words(jobs)),
        _ => told,
    }
}

/// An app is over with the last of its jobs.
fn apps_over(engine: &Engine, record: &Record) -> Vec<Event> {
    if !record.commands.iter().any(|command| matches!(command, Command::End { .. })) {
        return Vec::new();
    }
    let snapshot = engine.snapshot();
    let over = snapshot.apps.values().filter(|app| app.jobs.is_empty() && !app.ended.is_empty());
    over.map(|app| Event::AppClosed { app: app.id, best: None }).collect()
}

impl Service {
    /// Takes an arrival, and whatever else is there, through one commit.
    pub(super) fn turn(&mut self, now: Time, first: Arrival) -> Result<(), StoreError> {
        let (mut records, mut owed) = (Vec::new(), Vec::new());
        match self.write(now, first, &mut records, &mut owed) {
            Ok(()) => {
                self.carry_out(&records, owed);
                Ok(())
            }
            Err(error) => {
                let error = self.store.explained(error);
                for Owed { reply, .. } in owed {
                    reply(Err(Refusal::Unavailable(error.to_string())));
                }
                Err(error)
            }
        }
    }

    /// Steps the engine through a batch of arrivals and puts the records on disk.
    fn write(
        &mut self,
        now: Time,
        first: Arrival,
        records: &mut Vec<Record>,
        owed: &mut Vec<Owed>,
    ) -> Result<(), StoreError> {
        let Self { engine, store, world, next_job, terms, vitals, savings, followed, origin, .. } = self;
        let mut batch = match store.batch() {
            Ok(batch) => batch,
            Err(error) => {
                // Nothing was begun, but somebody may wait for an answer.
                if let Arrival::Asked(request) = first {
                    request.into_parts().1(Err(Refusal::Unavailable(error.to_string())));
                }
                return Err(error);
            }
        };
        let mut next = Some((now, first));
        for _ in 0..ARRIVALS_MAX {
            let Some((now, arrival)) = next.take() else { break };
            let events = match arrival {
                Arrival::Seen(event) => vec![event],
                Arrival::Asked(request) => {
                    let asker = request.asker().clone();
                    let (wish, reply) = request.into_parts();
                    let (told, is_noted) = (wish.told(), matches!(wish, Wish::NoteToken(_)));
                    let mut intake = Intake {
                        now,
                        epoch_ms: origin.epoch_ms,
                        asker: asker.tenant.as_deref(),
                        engine: &mut *engine,
                        batch: &mut batch,
                        world,
                        next_job,
                        terms: *terms,
                        promises: &followed.promises,
                        policy: &followed.policy,
                        user: asker.user.clone(),
                    };
                    // Owed before anything can fail: whoever asked hears of it either way.
                    owed.push(Owed { reply, answer: Err(Refusal::Stopping) });
                    let Taken { events, answer } = intake.take(wish)?;
                    if is_noted || !events.is_empty() {
                        let what = what_was_asked(told, &answer);
                        batch.asked(now, &asker, &what, !events.is_empty())?;
                    }
                    if let Some(last) = owed.last_mut() {
                        last.answer = answer;
                    }
                    events
                }
            };
            let mut decided = false;
            let mut events = VecDeque::from(events);
            while let Some(event) = events.pop_front() {
                let began = Stopwatch::start();
                let Step { commands, decision, notes } = engine.step(now, &event);
                savings.stepped(began.elapsed_us());
                if decision.is_some() {
                    decided = true;
                    vitals.decisions.add(began.elapsed_us());
                }
                let record = Record { now, event, commands, decision, notes };
                batch.append(&record)?;
                let over = apps_over(engine, &record).into_iter().filter(|event| !events.contains(event));
                let over: Vec<Event> = over.collect();
                events.extend(over);
                records.push(record);
            }
            // What was decided should happen soon, not after whatever else is there.
            if !decided {
                next = world.ready();
            }
        }
        if let Some((_, arrival)) = next {
            world.put_back(arrival);
        }
        batch.commit()
    }

    /// Everything is on disk: commands are carried out, people answered.
    fn carry_out(&mut self, records: &[Record], owed: Vec<Owed>) {
        for record in records {
            for command in &record.commands {
                self.world.execute(record.now, command).expect("a command that fails is told by events");
            }
            self.world.recorded(&record.event);
            self.followed.take(record);
            let job_of = |lease| self.engine.snapshot().leases.get(lease).map(|lease| lease.job);
            self.vitals.gauge(&record.event, job_of);
        }
        self.vitals.set_promises(&self.followed.promises);
        if records.iter().any(changes_fleet) {
            self.publish();
        }
        self.vitals.set_asked(self.engine.open_offer());
        self.vitals.last.store(self.store.last(), Ordering::Relaxed);
        self.vitals.commits.fetch_add(1, Ordering::Relaxed);
        if let Some(record) = records.last() {
            self.vitals.now_ms.store(record.now.0, Ordering::Relaxed);
            (self.told)(self.store.last());
        }
        for Owed { reply, answer } in owed {
            reply(answer);
        }
    }
}

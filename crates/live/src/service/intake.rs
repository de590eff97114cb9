//! What people ask for, made into events, or refused with a reason.

use super::drafts::{self, Drafts, Stopped, Surroundings, invalid};
use super::promises::Promises;
use super::{Terms, tenants};
use crate::request::{Answer, JobVerb, Refusal, TenantChange, Tried, Wish, Work};
use crate::store::{Batch, StoreError, Submission, Target};
use crate::world::World;
use evenhand_core::{AppId, BidError, Choice, Event, Health, JobId, Node, NodeId, Time};
use evenhand_engine::Engine;
use std::sync::Arc;

/// The longest key, in bytes: that of a client, and before it the tenant for which it counts.
const KEY_MAX: usize = 1024;

/// What a wish came to.
pub(super) struct Taken {
    pub events: Vec<Event>,
    pub answer: Result<Answer, Refusal>,
}

impl From<Refusal> for Taken {
    fn from(refusal: Refusal) -> Self {
        Self { events: Vec::new(), answer: Err(refusal) }
    }
}

/// All that is needed to judge a wish.
pub(super) struct Intake<'a, 'b> {
    pub now: Time,
    /// When time began, in milliseconds of the system clock.
    pub epoch_ms: u64,
    /// The tenant whose the asker is: only its jobs are there for them.
    pub asker: Option<&'a str>,
    pub engine: &'a mut Engine,
    pub batch: &'a mut Batch<'b>,
    pub world: &'a mut World,
    pub next_job: &'a mut JobId,
    pub terms: Terms,
    pub promises: &'a Promises,
    /// Who decides.
    pub policy: &'a Choice,
    /// The system user of whoever wishes.
    pub user: Option<String>,
}

impl Intake<'_, '_> {
    /// Makes events of a wish. An error means that the store failed, and with it the whole batch.
    pub(super) fn take(&mut self, wish: Wish) -> Result<Taken, StoreError> {
        let taken = match wish {
            Wish::Submit { work, key } => return self.submit(&work, key),
            Wish::Try(work) => return self.try_out(&work),
            Wish::Change(verb, target) => self.change(verb, target),
            Wish::CloseApp(app) => self.close_app(app),
            Wish::Bid(app, answer) => self.bid(app, answer),
            Wish::Drain(node) => {
                self.world.drain(node, true);
                self.node(node, |node| Event::NodeDraining(node.id))
            }
            Wish::Return(node) => {
                self.world.drain(node, false);
                let up = |node: &Node| Node { health: Health::Up, drained: false, ..node.clone() };
                self.node(node, |node| Event::NodeUp(up(node)))
            }
            // It goes on with what it remembers.
            Wish::ChangePolicy(choice) if choice == *self.engine.policy().unwrap_or(self.policy) => {
                Ok(Taken { events: Vec::new(), answer: Ok(Answer::Done) })
            }
            Wish::ChangePolicy(choice) if self.engine.knows_policy(&choice) => {
                Ok(done(Event::PolicyChanged(choice)))
            }
            Wish::ChangePolicy(choice) => no_policy(&choice),
            Wish::Rehearse(choice) => match self.engine.rehearse(self.now, &choice) {
                Some(found) => {
                    Ok(Taken { events: Vec::new(), answer: Ok(Answer::Rehearsed(Arc::new(found))) })
                }
                None => no_policy(&choice),
            },
            Wish::Foresee(job) => self.foresee(job),
            Wish::ChangeTenant { name, change } => self.tenant(&name, &change),
            Wish::NoteToken(_) => Ok(Taken { events: Vec::new(), answer: Ok(Answer::Done) }),
        };
        Ok(taken.unwrap_or_else(Taken::from))
    }

    fn foresee(&self, job: JobId) -> Result<Taken, Refusal> {
        let outlook = self.engine.outlook(job, self.now).ok_or(Refusal::NoJob(job))?;
        let answer = Answer::Foreseen(Box::new(outlook), self.promises.by(job));
        Ok(Taken { events: Vec::new(), answer: Ok(answer) })
    }

    /// Does something to a job; of an array, to those of its jobs that have not ended.
    fn change(&self, verb: JobVerb, target: Target) -> Result<Taken, Refusal> {
        let snapshot = self.engine.snapshot();
        let is_there = |job: &&JobId| snapshot.jobs.by_id(**job).is_some();
        let jobs: Vec<JobId> = target.jobs().iter().filter(is_there).copied().collect();
        if jobs.is_empty() {
            return Err(match target {
                Target::Job(job) => Refusal::NoJob(job),
                array @ Target::Array { .. } => Refusal::ArrayOver(array),
            });
        }
        let event = match verb {
            JobVerb::Cancel => Event::Cancelled,
            JobVerb::Hold => Event::Held,
            JobVerb::Release => Event::Released,
            JobVerb::Retire => Event::Retired,
        };
        Ok(Taken { events: jobs.iter().copied().map(event).collect(), answer: Ok(Answer::Changed(jobs)) })
    }

    fn close_app(&self, app: AppId) -> Result<Taken, Refusal> {
        let is_open = self.engine.snapshot().apps.contains_key(&app);
        if is_open { Ok(done(Event::AppClosed { app, best: None })) } else { Err(Refusal::NoApp(app)) }
    }

    /// A bid that does not count is an answer all the same, and recorded, unless nobody waits for it.
    fn bid(&self, app: AppId, answer: evenhand_core::Answer) -> Result<Taken, Refusal> {
        match self.engine.judge_bid(app, &answer) {
            Err(BidError::NotAsked) => Err(Refusal::Bid(BidError::NotAsked)),
            judged => {
                let answered = judged.map(|()| Answer::Done).map_err(Refusal::Bid);
                Ok(Taken { events: vec![Event::Bid { app, answer }], answer: answered })
            }
        }
    }

    fn node(&self, id: NodeId, event: impl Fn(&Node) -> Event) -> Result<Taken, Refusal> {
        let snapshot = self.engine.snapshot();
        Ok(done(event(snapshot.cluster.node(id).ok_or(Refusal::NoNode(id))?)))
    }

    fn tenant(&self, name: &str, change: &TenantChange) -> Result<Taken, Refusal> {
        let (known, snapshot) = (self.batch.tenant(name), self.engine.snapshot());
        let tenant = tenants::changed(name, change, known, &snapshot)?;
        if known.and_then(|id| snapshot.tenants.get(id)) == Some(&tenant) {
            return Ok(Taken { events: Vec::new(), answer: Ok(Answer::Done) });
        }
        Ok(done(Event::TenantChanged(tenant)))
    }

    /// Takes all of a submission, or nothing of it.
    fn submit(&mut self, work: &Work, key: Option<String>) -> Result<Taken, StoreError> {
        let content = serde_json::to_string(work).expect("a submission can be written as JSON");
        if let Some(key) = &key {
            if key.is_empty() || key.len() > KEY_MAX {
                let what = format!("the key has {} bytes: 1 to {KEY_MAX} are allowed", key.len());
                return Ok(Refusal::Invalid(what).into());
            }
            if let Some((first, before, user)) = self.batch.by_key(key)? {
                // Of jobs from before there were users nobody knows whose they are.
                let is_same = before == content && (user.is_none() || user == self.user);
                let answer = if is_same {
                    Ok(drafts::answer(work, first, false))
                } else {
                    Err(Refusal::KeyTaken(first))
                };
                return Ok(Taken { events: Vec::new(), answer });
            }
        }
        let drafts = match self.draft(work)? {
            Ok(drafts) => drafts,
            Err(refusal) => return Ok(refusal.into()),
        };
        *self.next_job = drafts.next_job;
        let (mut key, mut content) = (key, Some(content));
        for job in &drafts.jobs {
            let program = serde_json::to_string(&job.program).expect("a program can be written as JSON");
            // The first job stands for the whole submission: the numbers of the others follow from it.
            let (key, content) = (key.take(), content.take().unwrap_or_default());
            let user = self.user.clone();
            self.batch.submit(&Submission { job: job.spec.id, key, content, program, user })?;
            self.world.admit(job.clone());
        }
        let first = drafts.jobs.first().map_or(*self.next_job, |job| job.spec.id);
        Ok(Taken { answer: Ok(drafts::answer(work, first, true)), events: drafts.events })
    }

    /// Says what would come of a submission.
    fn try_out(&mut self, work: &Work) -> Result<Taken, StoreError> {
        let drafts = match self.draft(work)? {
            Ok(drafts) => drafts,
            Err(refusal) => return Ok(refusal.into()),
        };
        let next = self.engine.rehearse_events(self.now, &drafts.events, false);
        let specs: Vec<_> = drafts.jobs.into_iter().map(|job| job.spec).collect();
        let is_early = self.engine.snapshot().next_round > self.now;
        let all_start = specs.iter().all(|spec| next.starts.iter().any(|start| start.job == spec.id));
        let waits = is_early && !all_start;
        let at_round = waits.then(|| self.engine.rehearse_events(self.now, &drafts.events, true));
        let at_round = at_round.filter(|at_round| *at_round != next);
        let tried = Answer::Tried(Arc::new(Tried { specs, next, at_round }));
        Ok(Taken { events: Vec::new(), answer: Ok(tried) })
    }

    fn draft(&self, work: &Work) -> Result<Result<Drafts, Refusal>, StoreError> {
        if let Some(why) = self.world.runs_no_programs().filter(|_| !matches!(work, Work::Found(_))) {
            return Ok(invalid(why.to_owned()));
        }
        let surroundings = Surroundings {
            now: self.now,
            epoch_ms: self.epoch_ms,
            asker: self.asker,
            user: self.user.as_deref().map(Arc::from),
            snapshot: self.engine.snapshot(),
            batch: &*self.batch,
            terms: self.terms,
        };
        match drafts::draft(work, surroundings, *self.next_job) {
            Ok(drafts) => Ok(Ok(drafts)),
            Err(Stopped::Refused(refusal)) => Ok(Err(refusal)),
            Err(Stopped::Store(error)) => Err(error),
        }
    }
}

fn done(event: Event) -> Taken {
    Taken { events: vec![event], answer: Ok(Answer::Done) }
}

fn no_policy<T>(choice: &Choice) -> Result<T, Refusal> {
    invalid(format!("policy is {}: there is none, or not with these parameters", choice.name))
}

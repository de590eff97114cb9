//! The thread that talks to Slurm: looks at everything, then does what is to be done, again and again.

use super::Log;
use super::claims::{Claim, Claims};
use super::desk::{Desk, Discovery, Errand, News, Picture};
use super::jobs::{SlurmId, SlurmJob};
use super::next::{Blame, Order};
use super::nodes::SlurmNode;
use super::submit::{Submission, write_environment};
use super::tool::{Act, Tool, ToolError};
use super::wanted::wanted;
use crate::clock::Clock;
use crate::local::job_folder;
use crate::request::{Answer, Asker, JobVerb, Refusal, Request, Wish, Work};
use crate::runner::{Ending, LiveJob};
use crate::store::Target;
use crate::world::{FoundNode, Mail, Readiness};
use evenhand_core::{LeaseId, Retry};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest pause after Slurm did not answer.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// What the runner and the thread share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    desk: Mutex<(Desk, Wake)>,
    wake: Condvar,
}

/// Why the thread should not sleep.
#[derive(Debug, Default)]
pub(super) struct Wake {
    nudged: bool,
    /// The runner is gone.
    over: bool,
}

impl Shared {
    pub(super) fn new(desk: Desk) -> Self {
        Self { desk: Mutex::new((desk, Wake::default())), wake: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, (Desk, Wake)> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes or reads what is known.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut Desk) -> T) -> T {
        change(&mut self.lock().0)
    }

    /// Changes what is known, and has it acted upon at once.
    pub(super) fn order(&self, change: impl FnOnce(&mut Desk)) {
        let mut locked = self.lock();
        change(&mut locked.0);
        locked.1.nudged = true;
        self.wake.notify_all();
    }

    pub(super) fn end(&self) {
        self.lock().1.over = true;
        self.wake.notify_all();
    }

    /// Sleeps; whether to go on.
    fn sleep(&self, pause: Duration) -> bool {
        let locked = self.lock();
        let is_quiet = |(_, wake): &mut (Desk, Wake)| !wake.nudged && !wake.over;
        let (mut locked, _) =
            self.wake.wait_timeout_while(locked, pause, is_quiet).unwrap_or_else(PoisonError::into_inner);
        locked.1.nudged = false;
        !locked.1.over
    }
}

/// The thread's own things.
pub(super) struct Watch {
    pub shared: Arc<Shared>,
    pub tool: Tool,
    pub claims: Claims,
    pub state: PathBuf,
    pub tell: Sender<Mail>,
    pub log: Log,
    pub poll: Duration,
    pub clock: Clock,
    /// The machines as they were last told.
    pub told: Option<Vec<FoundNode>>,
    /// It was said that there are no machines.
    pub is_empty: bool,
    /// What was said last about Slurm's silence.
    pub silence: Option<String>,
}

impl Watch {
    /// Goes on until the runner is gone.
    pub(super) fn run(mut self) {
        let mut pause = self.poll;
        while self.shared.sleep(pause) {
            if !self.shared.with(|desk| desk.begun) {
                continue;
            }
            match self.pass() {
                Ok(()) => {
                    if self.silence.take().is_some() {
                        (self.log)("Slurm answers again");
                    }
                    pause = self.poll;
                }
                Err(ToolError::Silent(why) | ToolError::Refused(why)) => {
                    if self.silence.replace(why.clone()).is_none() {
                        (self.log)(&format!(
                            "Slurm does not answer, so nothing is concluded until it does: {why}"
                        ));
                    }
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    /// Looks once, and does what follows from it.
    fn pass(&mut self) -> Result<(), ToolError> {
        let (jobs, nodes) = self.tool.look()?;
        let picture: Picture = jobs.into_iter().map(|job| (job.id, job)).collect();
        let now = self.clock.now();
        let was_silent = self.silence.is_some();
        let (errands, news) = self.shared.with(|desk| {
            if was_silent {
                // Time in which nobody answered is no sign of anything.
                desk.leases.values_mut().for_each(|lease| lease.asked = now);
            }
            desk.take(&picture, now)
        });
        self.tell_machines(&nodes, &picture);
        for news in news {
            self.tell(news);
        }
        errands.into_iter().try_for_each(|errand| self.run_errand(errand))
    }

    fn send(&self, mail: Mail) {
        // The world may have ended.
        let _ = self.tell.send(mail);
    }

    fn tell(&self, news: News) {
        match news {
            News::Look(lease) => self.send(Mail::Look(lease)),
            News::Gone(job) => self.send(Mail::Gone(job)),
            News::Hold(job, held) => {
                let verb = if held { JobVerb::Hold } else { JobVerb::Release };
                // One that has ended meanwhile need not be told.
                self.ask(Wish::Change(verb, Target::Job(job)), |_| {});
            }
            News::Found(job) => match wanted(&job) {
                Ok(found) => {
                    // The number alone may be given away again by a controller that was set up anew.
                    let key = format!("slurm/{}/{}", job.id, job.submitted_s);
                    let (shared, log, id) = (self.shared.clone(), self.log.clone(), job.id);
                    let wish = Wish::Submit { work: Work::Found(Box::new(found)), key: Some(key) };
                    self.ask(wish, move |answer| note_answer(&shared, &log, id, answer));
                }
                Err(why) => leave_alone(&self.shared, &self.log, job.id, &why, &job.admin_comment),
            },
        }
    }

    fn ask(&self, wish: Wish, reply: impl FnOnce(Result<Answer, Refusal>) + Send + 'static) {
        let asker = Asker { name: "slurm".to_owned(), tenant: None, user: None };
        self.send(Mail::Asked(Request::new(wish, asker, reply)));
    }

    /// Nodes on which others hold GPUs take nothing new: how many they leave is not ours to guess.
    fn tell_machines(&mut self, nodes: &[SlurmNode], picture: &Picture) {
        let run = &self.tool.run;
        let mut machines: Vec<FoundNode> = nodes
            .iter()
            .filter(|node| node.partitions.contains(run))
            .map(|node| node.found.clone())
            .collect();
        if machines.is_empty() {
            // That is rather a mistake in a file than the loss of everything.
            if !std::mem::replace(&mut self.is_empty, true) {
                (self.log)(&format!("no node with GPUs is in the partition {run}"));
            }
            return;
        }
        let ours = self.shared.with(|desk| desk.ours());
        let others = picture.values().filter(|job| !ours.contains(&job.id) && job.gpus.any());
        let foreign: Vec<&String> = others.flat_map(SlurmJob::nodes_held).collect();
        for machine in machines.iter_mut().filter(|machine| foreign.contains(&&machine.name)) {
            if machine.readiness == Readiness::Ready {
                machine.readiness = Readiness::Closed;
            }
        }
        if self.told.as_ref() != Some(&machines)
            || self.shared.with(|desk| std::mem::take(&mut desk.tell_machines))
        {
            self.told = Some(machines.clone());
            self.send(Mail::Machines(machines));
        }
    }

    fn run_errand(&self, errand: Errand) -> Result<(), ToolError> {
        match errand {
            Errand::Submit(lease, job) => self.submit(lease, &job),
            Errand::Claim(lease, slurm, restarts) => self.claim(lease, slurm, restarts),
            Errand::Act(lease, slurm, act) => self.act(lease, slurm, &act),
        }
    }

    fn submit(&self, lease: LeaseId, job: &LiveJob) -> Result<(), ToolError> {
        let own = job_folder(&self.state, job.spec.id);
        let store = self.shared.with(|desk| desk.store.clone());
        let submitted = match Submission::prepare(&store, &own, job) {
            Ok(submission) => self.tool.submit(&submission),
            Err(error) => Err(ToolError::Refused(error.to_string())),
        };
        match submitted {
            Ok(slurm) => {
                self.shared.order(|desk| {
                    if let Some(known) = desk.jobs.get_mut(&job.spec.id) {
                        known.slurm = Some(slurm);
                    }
                });
                Ok(())
            }
            Err(ToolError::Refused(why)) => {
                (self.log)(&format!("{} cannot be handed to Slurm: {why}", job.spec.id));
                self.end_lease(lease, Ending::NotLaunched(Retry::Never));
                Ok(())
            }
            Err(silent) => Err(silent),
        }
    }

    fn claim(&self, lease: LeaseId, slurm: SlurmId, restarts: u32) -> Result<(), ToolError> {
        let found = self.shared.with(|desk| {
            let leased = desk.leases.get(&lease).filter(|leased| leased.order == Order::Run)?;
            let known = desk.jobs.get(&leased.job)?.clone();
            Some((leased.clone(), known, desk.orders.get(&lease).cloned()))
        });
        // It may have been told to leave a moment ago.
        let Some((leased, known, order)) = found else { return Ok(()) };
        let claim = Claim { job: leased.job, slurm, restarts, nodes: leased.nodes.clone(), killed: false };
        let own = job_folder(&self.state, leased.job);
        let written = order
            .filter(|_| known.is_own())
            .map_or(Ok(()), |order| write_environment(&own, &order, &known.live));
        if let Err(error) = written.and_then(|()| self.claims.write(lease, &claim)) {
            (self.log)(&format!("{lease} cannot be noted, so it is not started: {error}"));
            self.end_lease(lease, Ending::NotLaunched(Retry::Later));
            return Ok(());
        }
        self.shared.with(|desk| {
            if let Some(leased) = desk.leases.get_mut(&lease) {
                leased.claim = Some(claim);
            }
        });
        self.act(Some(lease), slurm, &Act::Start { nodes: leased.nodes, spread: known.is_own() })
    }

    fn end_lease(&self, lease: LeaseId, ending: Ending) {
        self.shared.with(|desk| {
            if let Some(leased) = desk.leases.get_mut(&lease) {
                leased.ended = Some(ending);
            }
        });
        self.send(Mail::Look(lease));
    }

    fn act(&self, lease: Option<LeaseId>, slurm: SlurmId, act: &Act) -> Result<(), ToolError> {
        if let (Some(lease), Act::Kill) = (lease, act) {
            self.note_kill(lease)?;
        }
        let done = match self.tool.carry_out(slurm, act) {
            Err(ToolError::Refused(why)) => {
                // What is refused is seen for what it is in the next picture; only a start is not tried again.
                (self.log)(&format!("Slurm refuses for its job {slurm}: {why} ({act:?})"));
                Err(why)
            }
            Err(silent) => return Err(silent),
            Ok(()) => Ok(()),
        };
        let now = self.clock.now();
        self.shared.with(|desk| {
            let Some(leased) = lease.and_then(|lease| desk.leases.get_mut(&lease)) else { return };
            match act {
                Act::Start { .. } if done.is_err() && leased.order == Order::Run => {
                    leased.order = Order::GiveUp;
                    leased.blame = Blame::Job;
                }
                Act::Start { .. } => leased.asked = leased.asked.max(now),
                Act::Term => leased.told_to_save = true,
                _ => {}
            }
        });
        Ok(())
    }

    /// Afterwards Slurm cannot tell it from a job that its submitter cancelled.
    fn note_kill(&self, lease: LeaseId) -> Result<(), ToolError> {
        let claim = self.shared.with(|desk| {
            let claim = desk.leases.get_mut(&lease)?.claim.as_mut().filter(|claim| !claim.killed)?;
            claim.killed = true;
            Some(claim.clone())
        });
        let written = claim.map_or(Ok(()), |claim| self.claims.write(lease, &claim));
        written.map_err(|error| ToolError::Silent(error.to_string()))
    }
}

fn note_answer(shared: &Arc<Shared>, log: &Log, id: SlurmId, answer: Result<Answer, Refusal>) {
    match answer {
        Ok(Answer::Job { job, created: false }) => shared.with(|desk| {
            let goes_on = desk.jobs.contains_key(&job);
            desk.discoveries.insert(id, if goes_on { Discovery::Asked } else { Discovery::Over });
        }),
        Ok(_) => {}
        Err(Refusal::Invalid(why)) => leave_alone(shared, log, id, &why, ""),
        Err(refusal @ Refusal::KeyTaken(_)) => leave_alone(shared, log, id, &refusal.to_string(), ""),
        // Asked again at the next look.
        Err(_) => shared.with(|desk| {
            desk.discoveries.remove(&id);
        }),
    }
}

/// A job that Evenhand does not run stays where it is; its submitter finds the reason in its AdminComment.
fn leave_alone(shared: &Arc<Shared>, log: &Log, id: SlurmId, why: &str, told: &str) {
    let comment = format!("evenhand leaves it alone: {why}");
    if told != comment {
        log(&format!("Slurm's job {id} is left alone: {why}"));
    }
    shared.order(|desk| {
        desk.discoveries.insert(id, Discovery::LeftAlone);
        if told != comment {
            desk.comments.push((id, comment));
        }
    });
}

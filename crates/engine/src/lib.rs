//! The engine: events in, commands out.
//!
//! It owns all mutable state, hands out snapshots, asks a policy who should run and a placer where, and keeps the
//! books. It does not know which world it is in: whatever happens arrives as an [`Event`] with its time, and
//! whatever should happen leaves as a [`Command`].

mod account;
mod arrays;
mod beliefs;
mod bids;
mod dependents;
mod gather;
mod intake;
mod leases;
mod nodes;
mod outlook;
mod rehearse;
mod replay;
mod round;
mod saved;
mod seats;
mod sharing;
mod state;

pub use outlook::{Between, Held, Holding, Outlook, Standing};
pub use rehearse::{Rehearsal, RehearsedStart, RehearsedStop, RehearsedWait};
pub use replay::{Difference, ReplayError, Replayed, repeat, replay};
pub use saved::SavedEngine;

use evenhand_core::{
    Abilities, Backend, BackendError, Choice, Command, Decision, EngineConfig, Event, JobId, Limits, Note,
    Placer, Policy, Predictor, Reason, Record, Round, Snapshot, Time,
};
use state::State;

/// Makes a policy from its name and parameters; `None` if there is no such policy.
pub type MakePolicy = Box<dyn Fn(&Choice) -> Option<Box<dyn Policy>> + Send>;

/// What an engine is made of.
pub struct Parts {
    /// Decides who.
    pub policy: Box<dyn Policy>,
    /// Decides where.
    pub placer: Box<dyn Placer>,
    /// Believes how fast.
    pub predictor: Box<dyn Predictor>,
    /// For a change of policy while running.
    pub make_policy: MakePolicy,
    /// How it works.
    pub config: EngineConfig,
    /// How long a policy may think.
    pub limits: Limits,
    /// The seed that policies see.
    pub seed: u64,
    /// What the world can do.
    pub abilities: Abilities,
}

/// Events in, commands out.
pub struct Engine {
    parts: Parts,
    state: State,
}

/// What came of one event.
#[derive(Debug, Default)]
pub struct Step {
    /// What should happen.
    pub commands: Vec<Command>,
    /// The decision that was taken, if one was.
    pub decision: Option<Decision>,
    /// What people should know.
    pub notes: Vec<Note>,
}

impl Engine {
    /// An engine that has seen nothing yet.
    pub fn new(parts: Parts) -> Self {
        let interference = parts.predictor.interference();
        Self { parts, state: State::new(interference) }
    }

    /// Takes one event in. Time never goes back.
    pub fn step(&mut self, now: Time, event: &Event) -> Step {
        assert!(now >= self.state.now, "time went back from {:?} to {now:?}", self.state.now);
        self.state.now = now;
        let mut step = Step::default();
        self.take(event, &mut step);
        self.set_alarm(&mut step);
        step
    }

    fn take(&mut self, event: &Event, step: &mut Step) {
        match event {
            Event::ModelAdded(model) => self.state.model_added(model),
            Event::TenantChanged(tenant) => self.state.tenant_changed(tenant),
            Event::AppOpened(app) => self.state.app_opened(app),
            Event::AppClosed { app, .. } => self.app_closed(*app, step),
            Event::Submitted(spec) => self.submitted(spec, step),
            Event::Cancelled(job) => self.unwanted(*job, evenhand_core::Outcome::Cancelled, step),
            Event::Retired(job) => self.unwanted(*job, evenhand_core::Outcome::Retired, step),
            Event::Held(job) => self.held(*job, step),
            Event::Released(job) => self.released(*job, step),
            Event::NodeUp(node) => self.node_up(node, step),
            Event::NodeDown(node) => self.node_down(*node, step),
            Event::NodeSuspect(node) => self.set_health(*node, evenhand_core::Health::Suspect, step),
            Event::NodeDraining(node) => self.node_drained(*node, step),
            Event::PolicyChanged(choice) => self.policy_changed(choice, step),
            Event::LeaseStarted(lease) => self.lease_started(*lease, event, step),
            Event::Progress { lease, done, saved, regime, .. } => {
                self.progress(*lease, (*done, *saved), *regime, event, step);
            }
            Event::Telemetry { lease, .. } => self.telemetry(*lease, event, step),
            Event::LeaseEnded { lease, done, saved, cause } => {
                self.lease_ended(*lease, (*done, *saved), *cause, event, step);
            }
            Event::LaunchFailed { lease, retry } => self.launch_failed(*lease, *retry, step),
            Event::Bid { app, answer } => self.bid(*app, answer, step),
            Event::RoundDue(round) => self.round_due(*round, step),
        }
    }

    fn policy_changed(&mut self, choice: &Choice, step: &mut Step) {
        match (self.parts.make_policy)(choice) {
            Some(policy) => {
                self.parts.policy = policy;
                self.state.policy = Some(choice.clone());
                // Another policy's memory means nothing to this one.
                self.state.previous = None;
                self.state.ask_early();
            }
            None => step.notes.push(Note::Ignored),
        }
    }

    /// Who decides, if that was changed since the beginning.
    pub fn policy(&self) -> Option<&Choice> {
        self.state.policy.as_ref()
    }

    /// Whether there is such a policy, with such parameters.
    pub fn knows_policy(&self, choice: &Choice) -> bool {
        (self.parts.make_policy)(choice).is_some()
    }

    /// All that a policy would see now.
    pub fn snapshot(&self) -> Snapshot {
        self.state.snapshot(evenhand_core::Occasion::Early, self.parts.seed)
    }

    /// Why a job waits, if a decision said so.
    pub fn why_waiting(&self, job: JobId) -> Option<Reason> {
        self.state.waits.get(&job).copied()
    }

    /// How many decisions were taken.
    pub fn rounds(&self) -> Round {
        self.state.round
    }
}

/// The whole program, in any world: takes what happens, records it, carries out what should.
pub fn run(
    engine: &mut Engine,
    world: &mut dyn Backend,
    record: &mut dyn FnMut(&Record) -> std::io::Result<()>,
) -> Result<(), BackendError> {
    while let Some((now, event)) = world.next()? {
        let Step { commands, decision, notes } = engine.step(now, &event);
        let entry = Record { now, event, commands, decision, notes };
        record(&entry).map_err(BackendError::Ledger)?;
        for command in &entry.commands {
            world.execute(now, command)?;
        }
    }
    Ok(())
}

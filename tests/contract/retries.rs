//! A job that crashes is tried again after a while, twice as long each time, and not for ever; one that could not be launched through no fault of its own as
//! often as need be.

use crate::simulated::Simulated;
use crate::suite::{Script, ScriptJob, Stage};
use evenhand_core::{
    Abilities, Backend, BackendError, Choice, Command, EngineConfig, Event, Note, Outcome, Record, Retry,
    Span, Time,
};
use evenhand_engine::run;
use evenhand_sim::{Setup, engine_for};

#[test]
fn crashed_jobs_wait_twice_as_long_each_time_and_fail_when_their_budget_is_spent() {
    let crashing = ScriptJob { crash_after_ms: Some(1000), ..ScriptJob::running(Span::from_secs(1000)) };
    let mut world = Simulated.world(&Script::of([crashing]));
    let engine = EngineConfig { retry_delay: Span::from_secs(10), crashes_max: 3, ..EngineConfig::default() };
    let setup = Setup { policy: Choice::named("fifo"), engine, ..Setup::default() };
    let mut engine = engine_for(&setup.header(world.abilities(), "either")).expect("fifo is registered");
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    let mut take = |record: &Record| {
        for command in &record.commands {
            match command {
                Command::Start(_) => starts.push(record.now),
                Command::End { outcome, .. } => ends.push((record.now, *outcome)),
                _ => {}
            }
        }
        Ok(())
    };
    run(&mut engine, &mut *world, &mut take).expect("the run comes to its end");
    // Each try lasts a second; then 10, 20 and 40 seconds go by.
    assert_eq!(starts, [0, 11, 32, 73].map(|second| Time(second * 1000)));
    assert_eq!(ends, [(Time(74_000), Outcome::Failed)]);
}

/// A world that takes no lease for a while, through no fault of the job.
struct Busy {
    world: Box<dyn Backend>,
    refusals: u32,
    refused: Option<(Time, Event)>,
}

impl Backend for Busy {
    fn abilities(&self) -> Abilities {
        self.world.abilities()
    }

    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        self.refused.take().map_or_else(|| self.world.next(), |refused| Ok(Some(refused)))
    }

    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError> {
        match command {
            Command::Start(lease) if self.refusals > 0 => {
                self.refusals -= 1;
                self.refused = Some((now, Event::LaunchFailed { lease: lease.id, retry: Retry::Freely }));
                Ok(())
            }
            other => self.world.execute(now, other),
        }
    }
}

#[test]
fn a_launch_that_fails_freely_is_no_crash_and_no_fault_of_a_node() {
    let script = Script::of([ScriptJob::running(Span::from_secs(5))]);
    let mut world = Busy { world: Simulated.world(&script), refusals: 20, refused: None };
    let engine = EngineConfig { retry_delay: Span::from_secs(10), crashes_max: 3, ..EngineConfig::default() };
    let setup = Setup { policy: Choice::named("fifo"), engine, ..Setup::default() };
    let mut engine = engine_for(&setup.header(world.abilities(), "either")).expect("fifo is registered");
    let (mut starts, mut suspected, mut ends) = (0, 0, Vec::new());
    let mut take = |record: &Record| {
        let suspects = |note: &&Note| matches!(note, Note::Suspected(_));
        suspected += record.notes.iter().filter(suspects).count();
        for command in &record.commands {
            match command {
                Command::Start(_) => starts += 1,
                Command::End { outcome, .. } => ends.push((record.now, *outcome)),
                _ => {}
            }
        }
        Ok(())
    };
    run(&mut engine, &mut world, &mut take).expect("the run comes to its end");
    // The pause is the same each time.
    assert_eq!(ends, [(Time(205_000), Outcome::Finished)]);
    assert_eq!((starts, suspected), (21, 0));
}

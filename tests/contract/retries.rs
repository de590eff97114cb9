//! A job that crashes is tried again after a while, twice as long each time, and not for ever.

use crate::simulated::Simulated;
use crate::suite::{Script, ScriptJob, Stage};
use evenhand_core::{Choice, Command, EngineConfig, Outcome, Record, Span, Time};
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

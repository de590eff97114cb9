//! Leases are stopped before their time.

use super::leases::{ages, beats};
use super::play::{Play, concerns, gpus, is_end, is_finished};
use super::{Script, ScriptJob, Stage};
use evenhand_core::{EndCause, Event, LeaseId, Time, Work};

pub fn a_stopped_job_leaves_and_says_so(stage: &dyn Stage) {
    let script = Script::of([ScriptJob::running(ages(stage)), ScriptJob::running(beats(stage, 1))]);
    let mut play = Play::with_jobs(stage, &script, 2);
    let lease = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.until_started(lease);
    play.pass(beats(stage, 2));
    let (stopped, grace) = (play.now, beats(stage, 5_000));
    play.stop(lease, grace);
    play.stop(lease, grace);
    let ending = play.until_ended(lease);
    assert_eq!(ending.cause, EndCause::Stopped);
    assert!(ending.at < stopped + grace, "it did not leave by itself");
    play.stop(lease, grace);
    let other = play.start((2, 1), gpus(&[(0, 0)]), Time::NEVER);
    play.until_ended(other);
    assert_eq!(play.count(|event| is_end(event) && concerns(event, lease)), 1, "it ends once");
}

pub fn a_stopped_job_can_be_started_again_and_finishes(stage: &dyn Stage) {
    let run = beats(stage, 8);
    let mut play = Play::with_jobs(stage, &Script::of([ScriptJob::running(run)]), 1);
    let first = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.until_started(first);
    play.pass(beats(stage, 2));
    play.stop(first, ages(stage));
    let ending = play.until_ended(first);
    if is_finished(ending.cause) {
        // A slow machine let the alarm ring too late; there is nothing left to be started.
        assert_eq!(ending.done, Work(run.0));
        return;
    }
    assert_eq!(ending.cause, EndCause::Stopped);
    assert_eq!(ending.saved, ending.done, "it had all the time to save");
    let (asked, left) = (play.now, Work(run.0).less(ending.saved));
    let second = play.start((2, 0), gpus(&[(1, 0)]), Time::NEVER);
    let ending = play.until_ended(second);
    assert!(is_finished(ending.cause), "{ending:?}");
    assert_eq!(ending.done, Work(run.0));
    assert!(ending.at.since(asked).0 >= left.0, "it skipped work that was not saved");
}

pub fn a_stop_of_an_unknown_lease_does_nothing(stage: &dyn Stage) {
    let unknown = LeaseId(99);
    let mut play = Play::with_jobs(stage, &Script::of([ScriptJob::running(beats(stage, 2))]), 1);
    play.stop(unknown, beats(stage, 1));
    let lease = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.stop(unknown, beats(stage, 1));
    assert!(is_finished(play.until_ended(lease).cause));
    play.stop(lease, beats(stage, 1));
    play.end(0);
    assert_eq!(play.next(), None);
    assert_eq!(play.count(|event| concerns(event, unknown)), 0);
    assert_eq!(play.count(is_end), 1);
}

/// A job that would need ages to save has only its grace.
pub fn a_job_that_ignores_the_stop_is_killed_after_its_grace(stage: &dyn Stage) {
    let job = ScriptJob { save_ms: ages(stage).0, ..ScriptJob::running(ages(stage)) };
    let mut play = Play::with_jobs(stage, &Script::of([job]), 1);
    let lease = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.until_started(lease);
    let (stopped, grace) = (play.now, beats(stage, 2));
    play.stop(lease, grace);
    let ending = play.until_ended(lease);
    assert_eq!(ending.cause, EndCause::Stopped);
    assert_eq!(ending.saved, Work::ZERO, "it had no time to save");
    assert!(ending.at >= stopped + grace, "it was killed before its grace was over");
}

/// A stop may come before the job has been heard to start: the lease ends all the same, and its GPUs are free.
pub fn a_stop_at_the_very_start_ends_the_lease(stage: &dyn Stage) {
    let script = Script::of([ScriptJob::running(ages(stage)), ScriptJob::running(beats(stage, 1))]);
    let mut play = Play::with_jobs(stage, &script, 2);
    let lease = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.stop(lease, beats(stage, 1));
    let is_over = |event: &Event| {
        concerns(event, lease) && matches!(event, Event::LeaseEnded { .. } | Event::LaunchFailed { .. })
    };
    play.until(is_over);
    let other = play.start((2, 1), gpus(&[(0, 0)]), Time::NEVER);
    assert!(is_finished(play.until_ended(other).cause));
    assert_eq!(play.count(is_over), 1, "it ends once");
}

//! Leases start, are renewed and end.

use super::play::{Play, concerns, gpus, is_end, is_finished};
use super::{Script, ScriptJob, Stage};
use evenhand_core::{Command, EndCause, Event, LeaseId, Round, Span, Time, Work};

/// So many beats.
pub(super) fn beats(stage: &dyn Stage, count: u64) -> Span {
    Span(stage.beat().0 * count)
}

/// Longer than any check takes: a job of this length does not finish, a deadline this far off is not reached.
pub(super) fn ages(stage: &dyn Stage) -> Span {
    beats(stage, 10_000)
}

pub fn a_started_job_runs_and_finishes(stage: &dyn Stage) {
    let run = beats(stage, 2);
    let mut play = Play::with_jobs(stage, &Script::of([ScriptJob::running(run)]), 1);
    let asked = play.now;
    let lease = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.until_started(lease);
    let ending = play.until_ended(lease);
    assert!(is_finished(ending.cause), "{ending:?}");
    assert!(ending.at >= asked + run, "it ran for less than its time: {ending:?}");
    assert_eq!((ending.done, ending.saved), (Work(run.0), Work(run.0)), "all declared work is done");
}

pub fn a_second_start_of_one_lease_does_nothing(stage: &dyn Stage) {
    let script = Script::of([ScriptJob::running(beats(stage, 2)), ScriptJob::running(beats(stage, 1))]);
    let mut play = Play::with_jobs(stage, &script, 2);
    let start = |play: &mut Play| play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    let lease = start(&mut play);
    start(&mut play);
    play.until_started(lease);
    start(&mut play);
    play.until_ended(lease);
    start(&mut play);
    let other = play.start((2, 1), gpus(&[(0, 0)]), Time::NEVER);
    play.until_ended(other);
    assert_eq!(play.count(|event| *event == Event::LeaseStarted(lease)), 1);
    assert_eq!(play.count(|event| is_end(event) && concerns(event, lease)), 1);
    assert_eq!(play.count(|event| matches!(event, Event::LaunchFailed { .. })), 0);
}

pub fn a_crash_is_reported(stage: &dyn Stage) {
    let after = beats(stage, 2);
    let job = ScriptJob { crash_after_ms: Some(after.0), ..ScriptJob::running(ages(stage)) };
    let mut play = Play::with_jobs(stage, &Script::of([job]), 1);
    let asked = play.now;
    let lease = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.until_started(lease);
    let ending = play.until_ended(lease);
    assert_eq!(ending.cause, EndCause::Crashed);
    assert!(ending.at >= asked + after);
}

/// A job that still runs when it is forgotten does not keep its GPUs, and they are heard to be free.
pub fn end_forgets_the_job(stage: &dyn Stage) {
    let script = Script::of([ScriptJob::running(ages(stage)), ScriptJob::running(beats(stage, 1))]);
    let mut play = Play::with_jobs(stage, &script, 2);
    let lease = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.until_started(lease);
    play.end(0);
    play.end(0);
    let ending = play.until_ended(lease);
    assert!(!is_finished(ending.cause), "{ending:?}");
    let other = play.start((2, 1), gpus(&[(0, 0)]), Time::NEVER);
    assert!(is_finished(play.until_ended(other).cause));
    play.end(1);
    assert_eq!(play.next(), None, "nothing is heard of forgotten jobs");
}

/// Renewed at each alarm, a lease outlives its first deadline: the alarm of that very time comes first.
pub fn a_renewed_lease_does_not_end(stage: &dyn Stage) {
    let (term, run) = (beats(stage, 1), beats(stage, 4));
    let mut play = Play::with_jobs(stage, &Script::of([ScriptJob::running(run)]), 1);
    let (asked, mut expires) = (play.now, play.now + term);
    let lease = play.start((1, 0), gpus(&[(0, 0)]), expires);
    play.tell(&Command::WakeAt(expires, Round(1)));
    while !play.heard.last().is_some_and(is_end) {
        if let Event::RoundDue(_) = play.next().expect("a job is left") {
            expires = play.now + term;
            play.tell(&Command::Renew { lease, expires });
            play.tell(&Command::WakeAt(expires, Round(1)));
        }
    }
    let finish = play.heard.pop();
    assert!(
        matches!(finish, Some(Event::LeaseEnded { lease: LeaseId(1), cause: EndCause::Finished { .. }, .. })),
        "{finish:?}"
    );
    assert!(play.now >= asked + run);
    assert_eq!(play.count(|event| *event == Event::LeaseStarted(lease)), 1, "a renewal is no restart");
}

pub fn a_lease_that_is_not_renewed_expires(stage: &dyn Stage) {
    let script = Script::of([ScriptJob::running(ages(stage))]);
    let mut play = Play::with_jobs(stage, &script, 1);
    let first = play.now + beats(stage, 1);
    let lease = play.start((1, 0), gpus(&[(0, 0)]), first);
    let second = first + beats(stage, 2);
    play.tell(&Command::Renew { lease, expires: second });
    let ending = play.until_ended(lease);
    assert_eq!(ending.cause, EndCause::Expired);
    assert!(ending.at >= second, "it expired before its deadline");
}

/// A job that crashed is not finished: it can be tried again, elsewhere, and crashes again.
pub fn a_crashed_job_can_be_started_again(stage: &dyn Stage) {
    let after = beats(stage, 1);
    let job = ScriptJob { crash_after_ms: Some(after.0), ..ScriptJob::running(ages(stage)) };
    let mut play = Play::with_jobs(stage, &Script::of([job]), 1);
    for (number, node) in [(1, 0), (2, 1)] {
        let asked = play.now;
        let lease = play.start((number, 0), gpus(&[(node, 0)]), Time::NEVER);
        play.until_started(lease);
        let ending = play.until_ended(lease);
        assert_eq!(ending.cause, EndCause::Crashed);
        assert!(ending.at >= asked + after, "nothing was saved, so nothing is skipped");
    }
}

/// A gang that spans nodes is one lease: it starts once, and ends once, as a whole.
pub fn a_gang_over_several_nodes_starts_and_ends_as_one(stage: &dyn Stage) {
    let run = beats(stage, 2);
    let script = Script::of([ScriptJob { gpus: 4, ..ScriptJob::running(run) }]);
    let mut play = Play::with_jobs(stage, &script, 1);
    let asked = play.now;
    let lease = play.start((1, 0), gpus(&[(0, 0), (0, 1), (1, 0), (1, 1)]), Time::NEVER);
    let ending = play.until_ended(lease);
    assert!(is_finished(ending.cause), "{ending:?}");
    assert!(ending.at >= asked + run);
    play.end(0);
    assert_eq!(play.next(), None);
    assert_eq!(play.count(|event| *event == Event::LeaseStarted(lease)), 1);
    assert_eq!(play.count(is_end), 1);
}

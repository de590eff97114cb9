//! When jobs asked for GPUs, and what they did then: the work that a fair share is held against.
//!
//! A job asks from when it comes until it ends, whatever its end, except while it is on hold: who holds it back, its submitter or its tuner, asks for nothing. So holds cut
//! its life into stretches. What it did in each is known from how far it was when the next one began.

use evenhand_core::{Span, Time, Work};

/// A part of a job's life in which it asked for GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its place among the lives, if the job finished.
    pub life: Option<usize>,
    /// From then.
    pub from: Time,
    /// Until then.
    pub until: Time,
    /// What it did meanwhile, as time alone on GPUs of average speed.
    pub alone: Span,
    /// The least GPUs that the job takes.
    pub gang: u32,
}

/// The stretches of a job that has not ended.
#[derive(Clone, Debug)]
pub struct Asking {
    /// Since when it asks; `None` while it is on hold.
    since: Option<Time>,
    /// Stretches that are over, and how far the job was when it was released after them.
    over: Vec<(Time, Time, Option<Work>)>,
}

impl Asking {
    /// A job has come.
    pub fn new(now: Time) -> Self {
        Self { since: Some(now), over: Vec::new() }
    }

    /// It is put on hold. It may still run for a moment, so how far it comes is not known yet.
    pub fn hold(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.over.push((since, now, None));
        }
    }

    /// It may go on, and is this far.
    pub fn release(&mut self, now: Time, done: Work) {
        if let (None, Some((_, _, reached))) = (self.since, self.over.last_mut()) {
            *reached = Some(done);
            self.since = Some(now);
        }
    }

    /// It has ended, this far: all its stretches, and what part of its work was done in each.
    pub fn end(&self, now: Time, done: Work) -> Vec<(Time, Time, f64)> {
        let open = self.since.map(|since| (since, now, None));
        let all: Vec<_> = self.over.iter().copied().chain(open).collect();
        let mut before = Work::ZERO;
        let part = |(at, (from, until, reached)): (usize, &(Time, Time, Option<Work>))| {
            let reached = reached.unwrap_or(done).max(before);
            let more = reached.less(before);
            before = reached;
            let is_last = at + 1 == all.len();
            let part = if done > Work::ZERO { more.steps() / done.steps() } else { f64::from(is_last) };
            (*from, *until, part)
        };
        all.iter().enumerate().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time(seconds * 1000)
    }

    fn steps(steps: f64) -> Work {
        Work::from_steps(steps)
    }

    #[test]
    fn holds_cut_a_life_and_each_part_has_what_was_done_in_it() {
        let mut asking = Asking::new(at(10));
        asking.hold(at(50));
        asking.hold(at(55));
        // It ran on a little while it was told to stop.
        asking.release(at(100), steps(30.0));
        asking.release(at(110), steps(99.0));
        assert_eq!(asking.end(at(400), steps(120.0)), [(at(10), at(50), 0.25), (at(100), at(400), 0.75)]);
    }

    #[test]
    fn a_job_that_ends_on_hold_asked_for_nothing_any_more() {
        let mut asking = Asking::new(at(0));
        asking.hold(at(20));
        assert_eq!(asking.end(at(90), steps(5.0)), [(at(0), at(20), 1.0)]);
    }

    #[test]
    fn of_a_job_that_never_says_how_far_it_is_all_counts_at_its_end() {
        let mut asking = Asking::new(at(0));
        asking.hold(at(20));
        asking.release(at(30), Work::ZERO);
        assert_eq!(asking.end(at(90), Work::ZERO), [(at(0), at(20), 0.0), (at(30), at(90), 1.0)]);
    }
}

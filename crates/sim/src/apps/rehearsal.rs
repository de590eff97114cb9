//! An app without a cluster: all trials go on side by side, and the tuner says who stays.

use crate::world::AppBook;
use crate::{SimJob, Workload};
use evenhand_core::{Event, JobId, Outcome, Work};
use std::collections::{BTreeMap, VecDeque};

/// One job on its way.
struct Rehearsing<'a> {
    job: &'a SimJob,
    done: Work,
    held: bool,
    over: bool,
}

/// The work that each job does if nobody ever waits for GPUs: in every step each job that is neither over nor held does
/// one epoch, in the order of the workload. A job without a curve is done in one step.
pub fn rehearse(workload: &Workload, seed: u64) -> BTreeMap<JobId, Work> {
    let mut book = AppBook::new(workload);
    let start = |job| Rehearsing { job, done: Work::ZERO, held: false, over: false };
    let mut jobs: Vec<Rehearsing<'_>> = workload.jobs.iter().map(start).collect();
    let places: BTreeMap<JobId, usize> =
        workload.jobs.iter().enumerate().map(|(at, job)| (job.truth.id, at)).collect();
    for job in &workload.jobs {
        book.submitted(&job.truth);
    }
    loop {
        let mut moved = false;
        for at in 0..jobs.len() {
            if !jobs[at].over && !jobs[at].held {
                moved = true;
                let events = jobs[at].step(&mut book, seed);
                carry_out(events, &mut jobs, &places, &mut book);
            }
        }
        if !moved {
            return jobs.iter().map(|job| (job.job.truth.id, job.done)).collect();
        }
    }
}

impl Rehearsing<'_> {
    fn step(&mut self, book: &mut AppBook, seed: u64) -> Vec<Event> {
        let truth = &self.job.truth;
        let total = truth.work.unwrap_or(Work::ZERO);
        let Some(curve) = self.job.curve.as_deref() else {
            (self.done, self.over) = (total, true);
            return book.ended(truth, None, Outcome::Finished);
        };
        self.done = (self.done + curve.epoch.max(Work(1))).min(total);
        if self.done == total {
            self.over = true;
            return book.ended(truth, Some(curve), Outcome::Finished);
        }
        let loss = curve.reported(seed, truth, self.done);
        loss.map_or_else(Vec::new, |loss| book.reported(truth, curve.epoch_at(self.done), loss))
    }
}

/// What a tuner wants is done at once, and may make it want more.
fn carry_out(
    events: Vec<Event>,
    jobs: &mut [Rehearsing<'_>],
    places: &BTreeMap<JobId, usize>,
    book: &mut AppBook,
) {
    let mut events = VecDeque::from(events);
    while let Some(event) = events.pop_front() {
        match event {
            Event::Held(job) => jobs[places[&job]].held = true,
            Event::Released(job) => jobs[places[&job]].held = false,
            Event::Retired(job) => {
                let retired = &mut jobs[places[&job]];
                retired.over = true;
                events.extend(book.ended(&retired.job.truth, None, Outcome::Retired));
            }
            Event::AppClosed { app, .. } => {
                let own = jobs.iter_mut().filter(|job| job.job.truth.app == Some(app));
                own.for_each(|job| job.over = true);
            }
            _ => {}
        }
    }
}

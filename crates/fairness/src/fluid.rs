//! Virtual fluid fair sharing: when every job would finish if GPUs could be divided without end.
//!
//! ```text
//! at every instant each job present progresses at rate  r(t) = min(1, M / sum of gangs present)
//! a job present from a_i with exclusive time T_i and gang g_i leaves when it has progressed by T_i
//! ```
//!
//! This is generalised processor sharing (Parekh and Gallager, IEEE/ACM Transactions on Networking 1(3), 1993) in
//! which a job counts as often as it has GPUs and none runs faster than alone. Its finish times are the promise of
//! `spec/promise.md`, section 3: they need no knowledge of the future and no tuning.
//!
//! All jobs present progress at the same rate, so one virtual clock V(t) = integral of r serves them all: job i is
//! done when V reaches its tag V(a_i) + T_i. A heap of tags gives O(n log n) in all, where a simulation that
//! advances every job would need O(n^2).

use evenhand_core::{GpuCount, Span, Time};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A job as the fluid sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FluidJob {
    /// When it arrives.
    pub arrival: Time,
    /// What it takes alone, without a break.
    pub alone: Span,
    /// The GPUs it takes while it runs alone.
    pub gang: GpuCount,
}

/// When each job finishes under fluid fair sharing of `capacity`, in the order given and rounded to a millisecond.
///
/// Jobs may be given in any order. Without capacity nobody ever finishes: [`Time::NEVER`].
pub fn fluid_finishes(jobs: &[FluidJob], capacity: GpuCount) -> Vec<Time> {
    let mut finishes = vec![Time::NEVER; jobs.len()];
    if capacity == GpuCount::ZERO {
        return finishes;
    }
    let mut arrivals: Vec<usize> = (0..jobs.len()).collect();
    arrivals.sort_by_key(|at| (jobs[*at].arrival, *at));
    let mut fluid = Fluid::new(capacity);
    for at in arrivals {
        let arrival = jobs[at].arrival.0 as f64;
        while let Some((job, finish)) = fluid.leave_before(arrival, jobs) {
            finishes[job] = finish;
        }
        fluid.join(at, arrival, &jobs[at]);
    }
    while let Some((job, finish)) = fluid.leave_before(f64::INFINITY, jobs) {
        finishes[job] = finish;
    }
    finishes
}

/// The virtual clock and the jobs present.
struct Fluid {
    capacity: f64,
    /// Milliseconds since the start of the run.
    now: f64,
    /// V(now), in milliseconds of exclusive time.
    virtual_now: f64,
    /// GPUs asked for by the jobs present.
    gangs: u64,
    tags: BinaryHeap<Reverse<Tag>>,
}

impl Fluid {
    fn new(capacity: GpuCount) -> Self {
        let capacity = f64::from(capacity.0);
        Self { capacity, now: 0.0, virtual_now: 0.0, gangs: 0, tags: BinaryHeap::new() }
    }

    fn rate(&self) -> f64 {
        if self.gangs == 0 { 1.0 } else { (self.capacity / self.gangs as f64).min(1.0) }
    }

    /// Takes out the next job to finish, if it does so by `limit`, and moves the clock to its finish.
    fn leave_before(&mut self, limit: f64, jobs: &[FluidJob]) -> Option<(usize, Time)> {
        let Reverse(next) = self.tags.peek()?;
        let (job, virtual_finish) = (next.job, next.virtual_finish);
        // Rounding may put a tag a hair behind the clock; time never goes back.
        let finish = self.now + (virtual_finish - self.virtual_now).max(0.0) / self.rate();
        if finish > limit {
            return None;
        }
        self.tags.pop();
        self.now = finish;
        self.virtual_now = virtual_finish.max(self.virtual_now);
        self.gangs -= u64::from(jobs[job].gang.0);
        Some((job, Time(finish.round() as u64)))
    }

    fn join(&mut self, at: usize, arrival: f64, job: &FluidJob) {
        self.virtual_now += (arrival - self.now).max(0.0) * self.rate();
        self.now = self.now.max(arrival);
        self.gangs += u64::from(job.gang.0);
        self.tags.push(Reverse(Tag { virtual_finish: self.virtual_now + job.alone.0 as f64, job: at }));
    }
}

/// A job's place in the order of finishing; equal tags leave in the order given.
struct Tag {
    virtual_finish: f64,
    job: usize,
}

impl Ord for Tag {
    fn cmp(&self, other: &Self) -> Ordering {
        self.virtual_finish.total_cmp(&other.virtual_finish).then(self.job.cmp(&other.job))
    }
}

impl PartialOrd for Tag {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Tag {}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Random;

    fn job(arrival_s: u64, alone_s: u64, gang: u32) -> FluidJob {
        FluidJob { arrival: Time(arrival_s * 1000), alone: Span::from_secs(alone_s), gang: GpuCount(gang) }
    }

    /// The definition itself: advance every job present to the next arrival or finish.
    fn slow(jobs: &[FluidJob], capacity: u32) -> Vec<f64> {
        let mut left: Vec<f64> = jobs.iter().map(|job| job.alone.0 as f64).collect();
        let mut finishes = vec![f64::NAN; jobs.len()];
        let mut now = 0.0;
        loop {
            let arrival_of = |at: usize| jobs[at].arrival.0 as f64;
            let open: Vec<usize> = (0..jobs.len()).filter(|at| finishes[*at].is_nan()).collect();
            let (present, future): (Vec<usize>, Vec<usize>) =
                open.into_iter().partition(|at| arrival_of(*at) <= now);
            let gangs: u32 = present.iter().map(|at| jobs[*at].gang.0).sum();
            let rate = (f64::from(capacity) / f64::from(gangs.max(1))).min(1.0);
            let finish = present.iter().map(|at| now + left[*at] / rate).fold(f64::INFINITY, f64::min);
            let arrival = future.iter().map(|at| arrival_of(*at)).fold(f64::INFINITY, f64::min);
            let next = finish.min(arrival);
            if next.is_infinite() {
                return finishes;
            }
            for at in present {
                left[at] -= (next - now) * rate;
                if left[at] < 1e-6 {
                    finishes[at] = next;
                }
            }
            now = next;
        }
    }

    #[test]
    fn two_jobs_that_want_everything_get_half_each() {
        // Together until 200 s, when the short one is done; the long one has 200 s left, alone.
        let found = fluid_finishes(&[job(0, 100, 4), job(0, 300, 4)], GpuCount(4));
        assert_eq!(found, [Time(200_000), Time(400_000)]);
    }

    #[test]
    fn nobody_runs_faster_than_alone_and_gangs_weigh() {
        assert_eq!(fluid_finishes(&[job(5, 10, 1)], GpuCount(64)), [Time(15_000)]);
        // Six GPUs wanted, four there: both at two thirds.
        let found = fluid_finishes(&[job(0, 100, 4), job(0, 100, 2)], GpuCount(4));
        assert_eq!(found, [Time(150_000), Time(150_000)]);
        assert_eq!(fluid_finishes(&[job(0, 1, 1)], GpuCount(0)), [Time::NEVER]);
        assert!(fluid_finishes(&[], GpuCount(4)).is_empty());
    }

    #[test]
    fn the_virtual_clock_agrees_with_its_slow_twin() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let jobs: Vec<FluidJob> = (0..40)
                .map(|_| job(random.below(2000), 1 + random.below(400), 1 << random.below(4)))
                .collect();
            let fast = fluid_finishes(&jobs, GpuCount(8));
            for (at, (fast, slow)) in fast.iter().zip(slow(&jobs, 8)).enumerate() {
                assert!((fast.0 as f64 - slow).abs() < 1.0, "seed {seed}, job {at}: {fast:?} is not {slow}");
            }
        }
    }
}

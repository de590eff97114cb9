//! The virtual system that promises come from: every job present holds its fair share of all GPUs, divided without end.
//!
//! ```text
//! p_i' = min(1, l w_i)          the rate at which job i progresses ;  w_i the weight of its tenant
//! sum_i g_i p_i' = min(M, sum_i g_i)                                  this sets l: no GPU is idle while somebody could use it
//! job i is done when p_i = T_i ;  T_i the time that it takes alone on GPUs of average speed
//! ```
//!
//! A job that ended early in the real system stays in this one until its fair finish: what it was given ahead of its share was
//! nobody's loss, and others must not be promised more for it. Jobs of one weight progress alike, so that one clock serves them all and
//! a walk over their ends in order costs O(n log n).

use evenhand_core::{GpuCount, JobId, TenantId, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A job in the virtual system.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Member {
    /// g.
    pub gang: u32,
    /// Whose it is, and w, its weight.
    pub tenant: TenantId,
    pub weight: f64,
    /// p: seconds of its time that its share has brought so far.
    pub progress_s: f64,
    /// T: seconds that it takes alone on GPUs of average speed, as far as is known now.
    pub total_s: f64,
    /// When it came, in seconds since the start of the run.
    pub since_s: f64,
    /// When its share was enough, if it was.
    pub finish_s: Option<f64>,
    /// What it had done when it came, and when it was last seen: seconds on GPUs of average speed.
    pub before_s: f64,
    pub done_s: f64,
    /// Whether it ran then.
    pub runs: bool,
    /// What it was last told to be promised, and whether it had to wait then.
    pub told: Option<(Time, bool)>,
}

impl Member {
    /// A job that has come just now, with this much of it done.
    pub fn new(gang: u32, tenant: TenantId, now: Time, before_s: f64) -> Self {
        Self {
            gang,
            tenant,
            weight: 1.0,
            progress_s: 0.0,
            total_s: 0.0,
            since_s: now.seconds(),
            finish_s: None,
            before_s,
            done_s: before_s,
            runs: false,
            told: None,
        }
    }

    /// It needs this long in all, it is believed now. If its share had seen it through, it may have to come back.
    pub fn revise(&mut self, total_s: f64) {
        self.total_s = total_s;
        if self.left_s() > 1.0 {
            self.finish_s = None;
        }
    }

    /// What is left of it counts as if it came now.
    pub fn begin_again(&mut self, now: Time) {
        self.total_s -= self.done_s - self.before_s;
        (self.before_s, self.progress_s, self.finish_s) = (self.done_s, 0.0, None);
        self.since_s = now.seconds();
    }

    /// It is gone from the real system, where it has had no more than this.
    pub fn leave(&mut self, elapsed_s: f64) {
        if std::mem::take(&mut self.runs) {
            self.done_s += elapsed_s;
        }
        self.total_s = self.total_s.min(self.done_s - self.before_s);
    }

    /// Whether its share was enough.
    pub fn is_over(&self) -> bool {
        self.finish_s.is_some()
    }

    fn left_s(&self) -> f64 {
        (self.total_s - self.progress_s).max(0.0)
    }
}

/// The jobs of the virtual system at one instant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Fluid {
    then: Time,
    pub members: BTreeMap<JobId, Member>,
}

impl Fluid {
    /// Until when time has passed.
    pub fn then(&self) -> Time {
        self.then
    }

    /// Lets time pass.
    pub fn advance(&mut self, now: Time, gpus: GpuCount) {
        let (from_s, until_s) = (self.then.seconds(), now.seconds());
        self.then = now;
        if gpus == GpuCount::ZERO || until_s <= from_s {
            return;
        }
        let mut walk = Walk::new(&self.members, gpus, from_s);
        let ends = walk.run(until_s);
        let clocks: BTreeMap<u64, f64> =
            walk.groups.iter().map(|group| (group.weight.to_bits(), group.clock_s)).collect();
        for member in self.members.values_mut().filter(|member| member.finish_s.is_none()) {
            member.progress_s += clocks.get(&member.weight.to_bits()).copied().unwrap_or(0.0);
        }
        for (job, finish_s) in ends {
            if let Some(member) = self.members.get_mut(&job) {
                (member.finish_s, member.progress_s) = (Some(finish_s), member.total_s);
            }
        }
    }

    /// When every job would be done if nobody else came, in seconds since the start of the run.
    pub fn finishes(&self, gpus: GpuCount) -> BTreeMap<JobId, f64> {
        let mut finishes: BTreeMap<JobId, f64> =
            self.members.iter().filter_map(|(job, member)| Some((*job, member.finish_s?))).collect();
        if gpus > GpuCount::ZERO {
            finishes.extend(Walk::new(&self.members, gpus, self.then.seconds()).run(f64::INFINITY));
        }
        finishes
    }
}

/// Jobs of one weight.
struct Group {
    weight: f64,
    /// GPUs asked for by those not done.
    gangs: f64,
    /// Seconds by which each of them has progressed since the walk began.
    clock_s: f64,
    rate: f64,
    /// What each has left at the start of the walk: those with the least last.
    left: Vec<(f64, JobId, u32)>,
}

/// Goes from end to end.
struct Walk {
    gpus: f64,
    now_s: f64,
    /// The largest weight first.
    groups: Vec<Group>,
}

impl Walk {
    fn new(members: &BTreeMap<JobId, Member>, gpus: GpuCount, now_s: f64) -> Self {
        let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
        for (job, member) in members.iter().filter(|(_, member)| member.finish_s.is_none()) {
            let weight = member.weight;
            let empty = || Group { weight, gangs: 0.0, clock_s: 0.0, rate: 0.0, left: Vec::new() };
            let group = groups.entry(weight.to_bits()).or_insert_with(empty);
            group.gangs += f64::from(member.gang);
            group.left.push((member.left_s(), *job, member.gang));
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        for group in &mut groups {
            group.left.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        }
        groups.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        Self { gpus: f64::from(gpus.0), now_s, groups }
    }

    /// Goes on until then; those who end on the way, in order.
    fn run(&mut self, until_s: f64) -> Vec<(JobId, f64)> {
        let mut ends = Vec::new();
        loop {
            self.set_rates();
            let next = self.groups.iter().filter_map(|group| {
                let (left_s, ..) = group.left.last()?;
                Some((left_s - group.clock_s).max(0.0) / group.rate)
            });
            let step_s = next.fold(f64::INFINITY, f64::min);
            if self.now_s + step_s > until_s || step_s.is_infinite() {
                self.pass(if until_s.is_finite() { until_s - self.now_s } else { 0.0 });
                return ends;
            }
            self.pass(step_s);
            for group in &mut self.groups {
                // Rounding may leave a hair of what was to be done.
                while let Some((_, job, gang)) = group.left.pop_if(|left| left.0 <= group.clock_s + 1e-6) {
                    group.gangs -= f64::from(gang);
                    ends.push((job, self.now_s));
                }
            }
        }
    }

    fn pass(&mut self, step_s: f64) {
        self.now_s += step_s;
        for group in &mut self.groups {
            group.clock_s += step_s * group.rate;
        }
    }

    /// Fills from the largest weight on: whoever reaches its full speed leaves the rest to the others.
    fn set_rates(&mut self) {
        let mut room = self.gpus;
        let mut claims: f64 = self.groups.iter().map(|group| group.gangs * group.weight).sum();
        for group in &mut self.groups {
            let claim = group.gangs * group.weight;
            group.rate = if claim > 0.0 { (room * group.weight / claims).min(1.0) } else { 1.0 };
            room = (room - group.gangs * group.rate).max(0.0);
            claims -= claim;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{Random, Span};
    use evenhand_fairness::{FluidJob, fluid_finishes};

    fn member(gang: u32, weight: f64, total_s: f64, since_s: f64) -> Member {
        Member { weight, total_s, since_s, ..Member::new(gang, TenantId(0), Time::ZERO, 0.0) }
    }

    #[test]
    fn with_equal_weights_it_is_the_fluid_of_the_reports() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let mut jobs: Vec<(u64, u64, u32)> =
                (0..30).map(|_| (random.below(2000), 1 + random.below(400), 1 << random.below(4))).collect();
            jobs.sort_unstable();
            let rows = jobs.iter().map(|(at, alone, gang)| FluidJob {
                arrival: Time::from_seconds(*at as f64),
                alone: Span::from_secs(*alone),
                gang: GpuCount(*gang),
            });
            let expected = fluid_finishes(&rows.collect::<Vec<_>>(), GpuCount(8));
            let mut fluid = Fluid::default();
            for (number, (at, alone, gang)) in jobs.iter().enumerate() {
                fluid.advance(Time::from_seconds(*at as f64), GpuCount(8));
                fluid.members.insert(JobId(number as u64), member(*gang, 1.0, *alone as f64, *at as f64));
            }
            let found = fluid.finishes(GpuCount(8));
            for (job, finish) in expected.iter().enumerate() {
                let found = found[&JobId(job as u64)];
                assert!(
                    (found - finish.seconds()).abs() < 0.01,
                    "seed {seed}, job {job}: {found}, {finish:?}"
                );
            }
        }
    }

    #[test]
    fn a_heavier_job_has_more_until_it_runs_as_fast_as_alone() {
        let mut fluid = Fluid::default();
        fluid.members.insert(JobId(0), member(1, 3.0, 60.0, 0.0));
        fluid.members.insert(JobId(1), member(1, 1.0, 60.0, 0.0));
        // Three quarters of the GPU until 80 s; the other has had 20 s by then and is alone.
        let found = fluid.finishes(GpuCount(1));
        assert!(
            (found[&JobId(0)] - 80.0).abs() < 1e-6 && (found[&JobId(1)] - 120.0).abs() < 1e-6,
            "{found:?}"
        );
        fluid.members.insert(JobId(2), member(1, 1.0, 60.0, 0.0));
        // Two GPUs: the heavy one at full speed, the others share what is left.
        let found = fluid.finishes(GpuCount(2));
        assert!(
            (found[&JobId(0)] - 60.0).abs() < 1e-6 && (found[&JobId(1)] - 90.0).abs() < 1e-6,
            "{found:?}"
        );
    }
}

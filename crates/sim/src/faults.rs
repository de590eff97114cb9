//! What goes wrong, all from one seed: nodes fail and return, nodes become slow, jobs crash, submitters misjudge.
//!
//! Each kind draws from a stream of its own, so that more of one does not shift another, and each draw belongs to
//! a node or a job, so that the policy under test does not change the weather.

use crate::input::{InputError, within};
use evenhand_core::{Bytes, Demand, Estimate, JobId, JobSpec, NodeId, PerModel, Random, Span, Time, Work};
use serde::{Deserialize, Serialize};

/// How far off the declared work of a job is that lies.
const LIE: f64 = 20.0;

/// What goes wrong. The default is nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Mean time between failures of one node, in seconds; 0 = never.
    pub node_failure_every_s: f64,
    /// Mean time until a failed node is back, in seconds.
    pub node_repair_s: f64,
    /// Mean running time until a job crashes, in seconds; 0 = never.
    pub job_crash_every_s: f64,
    /// Nodes that become slow.
    pub straggling: Straggling,
    /// Spread of declared against true work: the standard deviation of the logarithm of their ratio; 0 = exact.
    pub forecast_error: f64,
    /// Part of the jobs of which a work is declared that is twenty times too small or too large; 0 = none.
    pub forecast_lies: f64,
    /// Spread of declared against true demand and memory, in the same measure; 0 = exact.
    pub demand_error: f64,
    /// Nothing goes wrong from then on, in seconds; 0 = no end.
    pub until_s: f64,
}

/// Nodes that become slow for a while.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Straggling {
    /// Mean time between slow spells of one node, in seconds; 0 = never.
    pub every_s: f64,
    /// Mean length of a slow spell, in seconds.
    pub for_s: f64,
    /// Speed during a slow spell, relative to normal.
    pub speed: f64,
}

impl Default for Straggling {
    fn default() -> Self {
        Self { every_s: 0.0, for_s: 600.0, speed: 0.5 }
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            node_failure_every_s: 0.0,
            node_repair_s: 1800.0,
            job_crash_every_s: 0.0,
            straggling: Straggling::default(),
            forecast_error: 0.0,
            forecast_lies: 0.0,
            demand_error: 0.0,
            until_s: 0.0,
        }
    }
}

impl Faults {
    /// Refuses what makes no sense. Zero means never; otherwise things go wrong at most once a second.
    pub fn check(&self) -> Result<(), InputError> {
        const LONGEST: f64 = 1e12;
        let every = [
            ("node_failure_every_s", self.node_failure_every_s),
            ("job_crash_every_s", self.job_crash_every_s),
            ("straggling.every_s", self.straggling.every_s),
        ];
        for (field, value) in every {
            let least = if value.abs() > 0.0 { 1.0 } else { 0.0 };
            within(&[(field, value, least, LONGEST)])?;
        }
        within(&[
            ("node_repair_s", self.node_repair_s, 0.0, LONGEST),
            ("straggling.for_s", self.straggling.for_s, 0.0, LONGEST),
            ("straggling.speed", self.straggling.speed, 0.01, 1.0),
            ("forecast_error", self.forecast_error, 0.0, 10.0),
            ("forecast_lies", self.forecast_lies, 0.0, 1.0),
            ("demand_error", self.demand_error, 0.0, 10.0),
            ("until_s", self.until_s, 0.0, LONGEST),
        ])
    }

    fn within(&self, at: Time) -> Option<Time> {
        (self.until_s <= 0.0 || at.seconds() < self.until_s).then_some(at)
    }

    /// When a node that is up since `now` fails next, and when it is then back.
    pub(crate) fn node_outage(&self, random: &mut Random, now: Time) -> Option<(Time, Time)> {
        if self.node_failure_every_s <= 0.0 {
            return None;
        }
        let down = now + Span::from_seconds(random.exponential(self.node_failure_every_s));
        let repair = Span::from_seconds(random.exponential(self.node_repair_s).max(1.0));
        Some((self.within(down)?, down + repair))
    }

    /// When a node becomes slow next, and when it is normal again.
    pub(crate) fn slow_spell(&self, random: &mut Random, now: Time) -> Option<(Time, Time)> {
        if self.straggling.every_s <= 0.0 {
            return None;
        }
        let from = now + Span::from_seconds(random.exponential(self.straggling.every_s));
        let length = Span::from_seconds(random.exponential(self.straggling.for_s).max(1.0));
        Some((self.within(from)?, from + length))
    }

    /// How long the n-th start of a job runs until it crashes.
    pub(crate) fn crash_after(&self, seed: u64, job: JobId, starts: u32, now: Time) -> Option<Span> {
        if self.job_crash_every_s <= 0.0 {
            return None;
        }
        let mut random =
            Random::stream(seed ^ job.0.wrapping_mul(0x9e37_79b9) ^ u64::from(starts) << 48, "crash");
        let after = Span::from_seconds(random.exponential(self.job_crash_every_s));
        self.within(now + after).map(|_| after)
    }

    /// What the submitter says of a job, which may be off.
    pub(crate) fn declare(&self, seed: u64, truth: &JobSpec) -> Option<JobSpec> {
        let work = truth.work.filter(|_| self.forecast_error > 0.0 || self.forecast_lies > 0.0)?;
        let stream = |name| Random::stream(seed ^ truth.id.0.wrapping_mul(0x9e37_79b9), name);
        let mut lies = stream("lies");
        let lie = match (lies.chance(self.forecast_lies), lies.below(2)) {
            (false, _) => 1.0,
            (true, 0) => LIE,
            (true, _) => 1.0 / LIE,
        };
        let factor = lie * stream("forecast").log_normal(0.0, self.forecast_error);
        let declared = Work(((work.0 as f64 * factor) as u64).max(1));
        Some(JobSpec { work: Some(declared), ..truth.clone() })
    }

    /// What the submitter says that a job asks of its GPUs, which may be off: all of it by one factor, the memory by another.
    pub(crate) fn declare_demand(
        &self,
        seed: u64,
        job: JobId,
        told: &PerModel<Demand>,
    ) -> Option<PerModel<Demand>> {
        if self.demand_error <= 0.0 {
            return None;
        }
        let mut declared = *told;
        let mut random = Random::stream(seed ^ job.0.wrapping_mul(0x9e37_79b9), "demand");
        let busy = random.log_normal(0.0, self.demand_error);
        let memory = random.log_normal(0.0, self.demand_error);
        let bytes = |bytes: Bytes| Bytes((bytes.0 as f64 * memory) as u64);
        for demand in &mut declared.0 {
            for share in [&mut demand.duty, &mut demand.sm, &mut demand.tensor, &mut demand.bandwidth] {
                *share = (*share * busy).min(1.0);
            }
            let Estimate { mean, low, high } = demand.memory;
            demand.memory = Estimate { mean: bytes(mean), low: bytes(low), high: bytes(high) };
        }
        Some(declared)
    }

    /// The stream of a node.
    pub(crate) fn node_stream(seed: u64, node: NodeId, purpose: &str) -> Random {
        Random::stream(seed ^ u64::from(node.0).wrapping_mul(0x9e37_79b9), purpose)
    }
}

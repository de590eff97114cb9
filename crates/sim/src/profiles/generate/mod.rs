//! Draws jobs from a profile, in the order of submission, everything from one seed.
//!
//! Sizes, durations, tenants and outcomes come from one stream of chance and arrivals from another, so that a different
//! rate moves the same jobs to other times. A batch has one tenant, one size and one kind of job; each of its jobs has
//! its own duration and outcome.
//!
//! Who gets a batch depends on how heavy it is. A batch whose jobs take more GPU-time than the mean job goes to tenants
//! by their rank in GPU-time, others by their rank in jobs: a tenth of the jobs hold nine tenths of the GPU-time, so both
//! concentrations come out, and neither sizes nor durations are bent for it. Outcomes follow the published mixes by jobs
//! and by GPU-time in the same way.

mod arrivals;
mod drafts;
mod durations;
mod kinds;
mod plan;
mod regimes;
mod table;

pub use plan::{Plan, Wanted};
pub use table::ProfileTable;

use crate::traces::{Trace, TraceJob};
use drafts::{Draft, Drafts};
use evenhand_core::{JobId, JobSpec, Random, Time, Work};

/// The jobs of a plan, one after the other.
pub struct Generator<'a> {
    drafts: Drafts<'a>,
    made: u64,
    dynamic: f64,
    changes: Random,
}

impl Plan {
    /// The jobs, one after the other: as many as there shall be, without holding them all.
    pub fn jobs(&self) -> Generator<'_> {
        let changes = Random::stream(self.wanted.seed, "regimes");
        Generator { drafts: self.drafts(), made: 0, dynamic: self.profile.dynamic, changes }
    }

    /// A trace with the GPU models and tenants of the jobs, but no jobs yet.
    pub fn shell(&self) -> Trace {
        Trace {
            format: "generated",
            models: kinds::MODELS.map(str::to_owned).to_vec(),
            tenants: (1..=self.profile.tenants.count).map(|rank| format!("team-{rank}")).collect(),
            ..Trace::default()
        }
    }

    /// All of it at once.
    pub fn trace(&self) -> Trace {
        Trace { jobs: self.jobs().collect(), ..self.shell() }
    }
}

impl Generator<'_> {
    fn written(&mut self, draft: &Draft) -> TraceJob {
        let mut spec = JobSpec::new(
            JobId(self.made),
            draft.tenant,
            draft.gpus,
            Some(Work::from_steps(draft.duration_s)),
        );
        spec.speeds = Some(draft.kind.speeds());
        if self.dynamic > 0.0 && self.changes.chance(self.dynamic) {
            let (work, regimes) = regimes::regimes(draft.kind, draft.duration_s, &mut self.changes);
            spec.work = Some(work);
            spec.regimes = regimes;
        }
        if self.dynamic > 0.0 {
            spec.epoch = draft.kind.epoch();
            spec.modes = regimes::modes(draft.kind, &spec.regimes);
        }
        let submit = Time::from_seconds(draft.submit_s);
        let name = self.made.to_string();
        // Which batch sizes there are is declared, and not when they change.
        let announces = spec.modes.is_empty();
        TraceJob { outcome: Some(draft.outcome), announces, ..TraceJob::new(self.made, name, submit, spec) }
    }
}

impl Iterator for Generator<'_> {
    type Item = TraceJob;

    fn next(&mut self) -> Option<TraceJob> {
        let draft = self.drafts.next()?;
        self.made += 1;
        Some(self.written(&draft))
    }
}

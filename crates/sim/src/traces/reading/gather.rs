//! Jobs as a reader finds them become jobs in our units: named once, counted, with time 0 at the first submission.

use crate::InputError;
use crate::traces::{Trace, TraceJob, Warning};
use evenhand_core::{
    JobId, JobSpec, MODELS_MAX, ModelFilter, ModelIndex, Outcome, Span, TenantId, Time, Work,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a row says about a job.
pub(crate) struct Draft<'a> {
    /// Its name; may occur again.
    pub name: Cow<'a, str>,
    /// When it was submitted, in milliseconds on the clock of the file.
    pub submit: i64,
    /// The same as the file writes it, if that is a wall clock.
    pub clock: Option<&'a str>,
    /// GPUs of one instance; may be a fraction.
    pub gpus: f64,
    /// Instances that run at once.
    pub instances: f64,
    /// How long it ran.
    pub seconds: f64,
    /// Who submitted it.
    pub tenant: Cow<'a, str>,
    /// GPU models that will do; none means all.
    pub models: Vec<&'a str>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// How long it waited.
    pub queued: Option<f64>,
    /// Wanted this many seconds after its submission; less than 0 counts as 0, which nobody can keep.
    pub deadline: Option<f64>,
}

impl<'a> Draft<'a> {
    /// A job of which the file says no more than this.
    pub(crate) fn new(name: impl Into<Cow<'a, str>>, submit: i64, gpus: f64, seconds: f64) -> Self {
        Self {
            name: name.into(),
            submit,
            clock: None,
            gpus,
            instances: 1.0,
            seconds,
            tenant: Cow::Borrowed("everybody"),
            models: Vec::new(),
            outcome: None,
            queued: None,
            deadline: None,
        }
    }
}

/// The jobs so far.
#[derive(Default)]
pub(crate) struct Gather {
    /// What they have become; times are set at the end.
    pub trace: Trace,
    submits: Vec<i64>,
    first: i64,
    anchor: Option<String>,
    names: BTreeMap<String, u32>,
    tenants: BTreeMap<String, TenantId>,
}

impl Gather {
    /// Adds a job, or counts why it is none.
    pub(crate) fn add(&mut self, line: u64, draft: Result<Draft<'_>, Warning>) -> Result<(), InputError> {
        let sized = draft.and_then(|draft| Ok((self.gpus(line, &draft)?, draft)));
        let (gpus, draft) = match sized {
            Ok(found) => found,
            Err(warning) => {
                self.trace.warnings.add(warning, line);
                return Ok(());
            }
        };
        self.note_time(line, &draft);
        let tenant = self.tenant(&draft.tenant);
        let mut spec = JobSpec::new(JobId(0), tenant, gpus, Some(Work::from_steps(draft.seconds)));
        spec.models = self.models(line, &draft.models)?;
        // After the submission for now, like the submission itself.
        spec.deadline = draft.deadline.map(Time::from_seconds);
        let name = self.name(line, &draft.name);
        let mut job = TraceJob::new(line, name, Time::ZERO, spec);
        job.outcome = draft.outcome;
        job.queued = draft.queued.filter(|queued| *queued >= 0.0).map(Span::from_seconds);
        self.trace.jobs.push(job);
        Ok(())
    }

    /// GPUs in whole, after everything about the size and the duration is found in order.
    fn gpus(&mut self, line: u64, draft: &Draft<'_>) -> Result<u32, Warning> {
        if !(draft.gpus.is_finite() && draft.gpus >= 0.0 && draft.instances >= 0.0) {
            return Err(Warning::BadRow);
        }
        // Each instance needs its own GPUs: two halves on two machines are two GPUs.
        let whole = draft.gpus.ceil() * draft.instances.ceil();
        if whole < 1.0 {
            return Err(Warning::ZeroGpu);
        }
        if whole > 1e6 || !draft.seconds.is_finite() || draft.seconds > 1e12 {
            return Err(Warning::BadRow);
        }
        if draft.seconds < 0.001 {
            return Err(Warning::NoDuration);
        }
        let whole_gpus = whole as u32;
        if draft.gpus.fract() > 0.0 {
            self.trace.warnings.add(Warning::Fraction, line);
        }
        if !whole_gpus.is_power_of_two() {
            self.trace.warnings.add(Warning::OddSize, line);
        }
        Ok(whole_gpus)
    }

    fn note_time(&mut self, line: u64, draft: &Draft<'_>) {
        if self.submits.last().is_some_and(|before| draft.submit < *before) {
            self.trace.warnings.add(Warning::Unsorted, line);
        }
        if self.trace.jobs.is_empty() || draft.submit < self.first {
            self.anchor = draft.clock.map(str::to_owned);
            self.first = draft.submit;
        }
        self.submits.push(draft.submit);
    }

    fn tenant(&mut self, name: &str) -> TenantId {
        if let Some(tenant) = self.tenants.get(name) {
            return *tenant;
        }
        let tenant = TenantId(self.tenants.len() as u32);
        self.trace.tenants.push(name.to_owned());
        self.tenants.insert(name.to_owned(), tenant);
        tenant
    }

    fn models(&mut self, line: u64, names: &[&str]) -> Result<ModelFilter, InputError> {
        if names.is_empty() {
            return Ok(ModelFilter::ANY);
        }
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let at = match self.trace.models.iter().position(|known| known == name) {
                Some(at) => at,
                None if self.trace.models.len() + 1 < MODELS_MAX => {
                    self.trace.models.push((*name).to_owned());
                    self.trace.models.len() - 1
                }
                None => {
                    let allowed = format!("a trace names at most {} GPU models", MODELS_MAX - 1);
                    return Err(InputError::field(line, "a GPU model", name, allowed));
                }
            };
            found.push(ModelIndex(at as u16));
        }
        Ok(ModelFilter::only(found))
    }

    /// The name, with a number behind it if another job has it.
    fn name(&mut self, line: u64, name: &str) -> String {
        if !self.names.contains_key(name) {
            self.names.insert(name.to_owned(), 1);
            return name.to_owned();
        }
        self.trace.warnings.add(Warning::Duplicate, line);
        loop {
            let count = self.names.entry(name.to_owned()).or_insert(1);
            *count += 1;
            let other = format!("{name}#{count}");
            if !self.names.contains_key(&other) {
                self.names.insert(other.clone(), 1);
                return other;
            }
        }
    }

    /// The first submission so far, in milliseconds on the clock of the file.
    pub(crate) fn first(&self) -> Option<i64> {
        (!self.trace.jobs.is_empty()).then_some(self.first)
    }

    /// All jobs, with time 0 at the first submission.
    pub(crate) fn finish(mut self) -> Trace {
        let first = self.first;
        for (job, submit) in self.trace.jobs.iter_mut().zip(&self.submits) {
            job.submit = Time(submit.abs_diff(first));
            job.spec.deadline = job.spec.deadline.map(|after| job.submit + Span(after.0));
        }
        self.trace.anchor = self.trace.anchor.or(self.anchor);
        self.trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(drafts: Vec<Draft<'_>>) -> Trace {
        let mut gather = Gather::default();
        for (line, draft) in (1..).zip(drafts) {
            gather.add(line, Ok(draft)).unwrap();
        }
        gather.finish()
    }

    #[test]
    fn time_begins_at_the_first_submission_and_the_anchor_belongs_to_it() {
        let at = |submit, clock| Draft {
            clock: Some(clock),
            deadline: Some(5.0),
            ..Draft::new("a", submit, 1.0, 1.0)
        };
        let trace = gathered(vec![at(-3000, "later"), at(-5000, "first"), at(1000, "last")]);
        let submits: Vec<_> = trace.jobs.iter().map(|job| job.submit.0).collect();
        assert_eq!((submits, trace.anchor.as_deref()), (vec![2000, 0, 6000], Some("first")));
        assert_eq!(trace.jobs[2].spec.deadline, Some(Time(11_000)));
        assert_eq!(trace.warnings.count(Warning::Unsorted), 1);
    }

    #[test]
    fn names_stay_unique() {
        let trace = gathered(["a", "a#2", "a", "a"].map(|name| Draft::new(name, 0, 1.0, 1.0)).into());
        let names: Vec<_> = trace.jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["a", "a#2", "a#3", "a#4"]);
        assert_eq!(trace.warnings.count(Warning::Duplicate), 2);
    }

    #[test]
    fn sizes_are_whole_and_what_cannot_be_used_is_counted() {
        let sized = |gpus, instances, seconds| Draft { instances, ..Draft::new("a", 0, gpus, seconds) };
        let trace = gathered(vec![
            sized(0.5, 2.0, 1.0),
            sized(400.0, 1.0, 12_528_000.0),
            sized(0.0, 9.0, 1.0),
            sized(1.0, 1.0, 0.0),
            sized(-1.0, 1.0, 1.0),
            sized(1.0, 1e9, 1.0),
            sized(f64::NAN, 1.0, 1.0),
        ]);
        let sizes: Vec<_> = trace.jobs.iter().map(|job| job.spec.gpus.min.0).collect();
        assert_eq!(sizes, [2, 400]);
        let counted =
            [Warning::Fraction, Warning::OddSize, Warning::ZeroGpu, Warning::NoDuration, Warning::BadRow];
        assert_eq!(counted.map(|warning| trace.warnings.count(warning)), [1, 1, 1, 1, 3]);
    }
}

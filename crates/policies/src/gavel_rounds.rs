//! Fractions of time realised in rounds by priorities: the mechanism of Gavel (OSDI 2020, section 5), with the reset delay
//! of its published simulator and of Shockwave's fork.
//!
//! ```text
//! y_ij      fraction of time that job i should run on GPU model j, worked out anew at a reset
//! f_ij      time i ran on j since the last reset, over the sum of such times of all jobs; each starts with half a round
//! priority  y_ij / f_ij ; ties by deficit, then y_ij, then arrival
//! deficit   y_ij * elapsed - time received, added up at resets
//! reset     when jobs came or went, and the last reset is `reset` ago (or was at time 0)
//! ```
//!
//! A job that came after the last reset has no y yet and does not run, even while GPUs idle: with a long delay this is an
//! artefact of the originals, kept because their published tables contain it.

use evenhand_core::{
    GpuCount, Grant, Job, JobId, JobState, Memory, ModelIndex, Occasion, Others, ParameterError,
    ParameterSpec, Parameters, PerModel, Plan, Reason, Site, Snapshot, Span, Time,
};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const VARIANT: ParameterSpec = ParameterSpec {
    name: "variant",
    default: "exact",
    summary: "`exact`, or `fork` as in the published simulators (implied by --semantics original)",
};

pub(crate) const RESET: ParameterSpec = ParameterSpec {
    name: "reset",
    default: "1000s",
    summary: "variant=fork: the least time between two workings-out of the fractions",
};

pub(crate) const ROUND: ParameterSpec = ParameterSpec {
    name: "round",
    default: "120s",
    summary: "variant=fork: the length of a round (that of the run under --semantics original)",
};

/// The settings of the mechanism; `None` unless the published variant was asked for.
pub(crate) fn fork(parameters: &Parameters) -> Result<Option<GavelRounds>, ParameterError> {
    if !parameters.word(&VARIANT, &[("exact", false), ("fork", true)])? {
        return Ok(None);
    }
    let allowed = "it is a duration such as 90s, 20m or 6h";
    let (reset, round) = (parameters.read(&RESET, allowed)?, parameters.read(&ROUND, allowed)?);
    Ok(Some(GavelRounds { reset, round, runs_without_priority: true }))
}

/// Fractions of time, per job and GPU model.
pub(crate) type Fractions = BTreeMap<JobId, PerModel<f64>>;

/// How fractions are realised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GavelRounds {
    /// The least time between two resets.
    pub reset: Span,
    /// The length of a round.
    pub round: Span,
    /// Whether jobs of priority zero run while GPUs are left.
    pub runs_without_priority: bool,
}

/// What the mechanism remembers, and what its policy does.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Books<T> {
    reset_at: Option<Time>,
    decided: Time,
    rounds_count: u64,
    jobs: BTreeSet<JobId>,
    fractions: Fractions,
    time: BTreeMap<JobId, PerModel<f64>>,
    deficit: BTreeMap<JobId, PerModel<f64>>,
    /// How long each job had worked at the last decision.
    worked: BTreeMap<JobId, Span>,
    /// The model each job ran on in the last round, and whether it was started for it.
    ran: BTreeMap<JobId, (ModelIndex, bool)>,
    /// What the policy itself remembers.
    pub own: T,
}

impl GavelRounds {
    /// Decides a round; `work_out` is asked for new fractions at a reset.
    pub fn decide<T>(
        &self,
        snapshot: &Snapshot,
        work_out: impl Fn(&Snapshot, &Fractions, &mut T) -> Fractions,
    ) -> Plan
    where
        T: Clone + Default + Serialize + for<'de> Deserialize<'de> + Send + Sync + 'static,
    {
        let previous = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Books<T>>());
        let mut books = previous.map_or_else(Books::default, |books| (*books).clone());
        if snapshot.occasion != Occasion::Regular {
            let memory = Memory::new(books);
            return Plan { others: Others::Keep, memory, ..Plan::default() };
        }
        self.book_last_round(&mut books, snapshot);
        if self.is_reset_due(&mut books, snapshot) {
            self.close_interval(&mut books, snapshot);
            books.fractions = work_out(snapshot, &books.fractions, &mut books.own);
            books.reset_at = Some(snapshot.now);
        }
        let grants = self.grants(&mut books, snapshot);
        books.worked = snapshot.jobs.iter().filter_map(|(_, job)| Some((job.spec.id, job.worked?))).collect();
        books.decided = snapshot.now;
        books.rounds_count += 1;
        Plan { grants, memory: Memory::new(books), ..Plan::default() }
    }

    /// Adds the last round to the time of the jobs that ran in it.
    fn book_last_round<T>(&self, books: &mut Books<T>, snapshot: &Snapshot) {
        let half = self.round.0 as f64 / 2.0;
        let models = snapshot.cluster.model_indices();
        let fresh = models.fold(PerModel::all(0.0), |mut row, model| {
            row[model] = half;
            row
        });
        books.time.retain(|job, _| snapshot.jobs.by_id(*job).is_some());
        for (_, job) in snapshot.jobs.iter() {
            books.time.entry(job.spec.id).or_insert(fresh);
        }
        let elapsed = snapshot.now.since(books.decided);
        // A job that says how long it worked is believed; otherwise what a restart takes is not work.
        for (id, (model, started)) in &books.ran {
            if let (Some(job), Some(row)) = (snapshot.jobs.by_id(*id), books.time.get_mut(id)) {
                let lost = if *started { job.spec.restart.restore } else { Span::ZERO };
                let before = books.worked.get(id).copied().unwrap_or_default();
                let worked = job.worked.map_or(elapsed.less(lost), |worked| worked.less(before));
                row[*model] += worked.0 as f64;
            }
        }
    }

    fn is_reset_due<T>(&self, books: &mut Books<T>, snapshot: &Snapshot) -> bool {
        let jobs: BTreeSet<JobId> = snapshot.jobs.iter().map(|(_, job)| job.spec.id).collect();
        // A change that no reset has answered yet stays pending.
        let pending = jobs != books.fractions.keys().copied().collect();
        books.jobs = jobs;
        let due = books.reset_at.is_none_or(|at| at == Time::ZERO || snapshot.now.since(at) >= self.reset);
        pending && due
    }

    /// What each job should have had and did not; then everybody starts with half a round again.
    fn close_interval<T>(&self, books: &mut Books<T>, snapshot: &Snapshot) {
        let half = self.round.0 as f64 / 2.0;
        if let Some(at) = books.reset_at {
            let elapsed = snapshot.now.since(at).0 as f64;
            for (job, fractions) in books.fractions.iter().filter(|(job, _)| books.jobs.contains(job)) {
                let (time, deficit) =
                    (&books.time[job], books.deficit.entry(*job).or_insert(PerModel::all(0.0)));
                for model in snapshot.cluster.model_indices() {
                    deficit[model] += fractions[model] * elapsed - (time[model] - half);
                }
            }
        }
        books.deficit.retain(|job, _| books.jobs.contains(job));
        for row in books.time.values_mut() {
            for model in snapshot.cluster.model_indices() {
                row[model] = half;
            }
        }
    }

    /// Model by model: the largest priority first, whoever fits.
    fn grants<T>(&self, books: &mut Books<T>, snapshot: &Snapshot) -> Vec<Grant> {
        let mut jobs: Vec<&Job> = snapshot.jobs.iter().map(|(_, job)| job).collect();
        jobs.retain(|job| job.state != JobState::Held && books.fractions.contains_key(&job.spec.id));
        jobs.sort_unstable_by_key(|job| (job.submitted, job.spec.id));
        let mut grants = Vec::new();
        let mut ran = BTreeMap::new();
        for model in snapshot.cluster.model_indices() {
            let total: f64 = books.time.values().map(|row| row[model]).sum();
            let fitting = jobs.iter().filter(|job| runs_on(snapshot, job, model));
            let mut ranked: Vec<_> = fitting.map(|job| (rank(books, job, model, total), *job)).collect();
            ranked.sort_by(|(a, _), (b, _)| descending(*a, *b));
            let mut free = snapshot.cluster.capacity(model);
            for ((priority, ..), job) in ranked {
                let runs = priority > 0.0 || self.runs_without_priority;
                let gang = job.spec.gpus.min;
                if !runs || gang > free || free == GpuCount::ZERO || ran.contains_key(&job.spec.id) {
                    continue;
                }
                free = free.less(gang);
                // The very first round costs nobody a restart.
                let started = books.rounds_count > 0 && !books.ran.contains_key(&job.spec.id);
                ran.insert(job.spec.id, (model, started));
                grants.push(Grant::new(job.spec.id, gang, Site::Model(model), Reason::MostOwed));
            }
        }
        books.ran = ran;
        grants
    }
}

/// Whether a job can run on a GPU model at all.
pub(crate) fn runs_on(snapshot: &Snapshot, job: &Job, model: ModelIndex) -> bool {
    let index = snapshot.jobs.index(job.spec.id);
    let speed = index.map_or(0.0, |index| snapshot.forecast(index).speed[model].mean.get());
    job.spec.models.allows(model) && speed > 0.0
}

fn rank<T>(books: &Books<T>, job: &Job, model: ModelIndex, total: f64) -> (f64, f64, f64) {
    let id = job.spec.id;
    let fraction = books.fractions[&id][model];
    let share = books.time.get(&id).map_or(0.0, |row| row[model]) / total;
    let priority = if fraction <= 0.0 {
        0.0
    } else if share > 0.0 {
        fraction / share
    } else {
        fraction * 1e9
    };
    (priority, books.deficit.get(&id).map_or(0.0, |row| row[model]), fraction)
}

fn descending(a: (f64, f64, f64), b: (f64, f64, f64)) -> Ordering {
    b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(b.2.total_cmp(&a.2))
}

/// The same fraction of every GPU model's time, for a job that should have this many GPUs of each.
pub(crate) fn spread(snapshot: &Snapshot, gpus_of: impl Fn(ModelIndex) -> f64) -> PerModel<f64> {
    let mut row = PerModel::all(0.0);
    for model in snapshot.cluster.model_indices() {
        row[model] = gpus_of(model);
    }
    let sum: f64 = row.values().sum();
    if sum > 1.0 {
        for value in &mut row.0 {
            *value /= sum;
        }
    }
    row
}

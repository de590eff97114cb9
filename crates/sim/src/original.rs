//! The round rules of the published simulators (Gavel, and Shockwave's fork of it), so that their tables can be compared on
//! equal terms.
//!
//! ```text
//! round     a job takes steps = min(int(rate * tau), steps left) and is busy for steps / rate; the round ends when the last
//!           one is done; others wait. Jobs enter at round boundaries.
//! overhead  a job that was not in the last round, and would be busy for more than tau - 5 s, loses 20 s of it
//! batches   a change of batch size is asked for at the end of a round, and takes effect at the end of the job's next run:
//!           progress is then rounded up to a whole epoch
//! ```
//!
//! Two things were found by comparing with reference runs of the originals, round by round: the round lasts as long as
//! though there were no overhead, and a job whose change of batch size leaves it without steps is tried five times in vain
//! before it counts as done.

use crate::recipe::{Adaptation, Recipe};
use crate::workload::Workload;
use evenhand_core::{
    Abilities, Backend, BackendError, Command, EndCause, Event, GpuModel, JobId, Lease, LeaseId, ModelIndex,
    Node, Rate, Ratio, Regime, RegimeSpec, Round, Span, Time, Work,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Time that a started job loses.
pub(crate) const OVERHEAD_S: f64 = 20.0;
/// Runs shorter than a round by this much lose nothing.
const OVERHEAD_SLACK_S: f64 = 5.0;
/// Runs without a step after which a job counts as done.
const EMPTY_RUNS_MAX: u32 = 5;
/// Rounds in a row in which nothing runs and nothing comes, after which nothing ever will.
const IDLE_ROUNDS_MAX: u32 = 1000;

/// A job as the originals see it: in steps of its present batch size.
#[derive(Debug)]
struct Training {
    recipe: Arc<Recipe>,
    /// The work of one sample.
    sample: Work,
    batch: u32,
    total: u64,
    done: u64,
    /// The batch size asked for.
    pending: Option<u32>,
    empty_runs: u32,
    /// Whether a change of batch size left it without steps.
    spent: bool,
    /// Time in which it took steps.
    busy_s: f64,
}

impl Training {
    fn new(recipe: &Arc<Recipe>, sample: Work) -> Self {
        let (batch, total) = (recipe.batch, recipe.steps);
        Self {
            recipe: recipe.clone(),
            sample,
            batch,
            total,
            done: 0,
            pending: None,
            empty_runs: 0,
            spent: false,
            busy_s: 0.0,
        }
    }

    fn rate(&self, model: ModelIndex) -> f64 {
        self.recipe.rates.get(&self.batch).map_or(0.0, |rates| rates[model].get())
    }

    /// Samples done, and what would be done if the batch size stayed: the unit of work does not change with it.
    fn work(&self) -> Work {
        Work(self.sample.0 * self.done * u64::from(self.batch.max(1)))
    }

    /// The speed in samples, relative to that at the first batch size.
    fn speed(&self, model: ModelIndex) -> Ratio {
        let first = self.recipe.rates.get(&self.recipe.batch).map_or(0.0, |rates| rates[model].get());
        let ratio = self.rate(model) * f64::from(self.batch) / (first * f64::from(self.recipe.batch.max(1)));
        Ratio::new(ratio).unwrap_or_default()
    }

    fn epoch(&self) -> u64 {
        self.done.div_ceil(self.recipe.steps_per_epoch(self.batch))
    }

    /// The batch size that the job's rule asks for now, if it is another.
    fn wanted(&self) -> Option<u32> {
        let recipe = &self.recipe;
        let largest = recipe.batch_max().filter(|largest| recipe.batch < *largest)?;
        let epoch = self.epoch();
        match recipe.adaptation {
            Adaptation::Static => None,
            Adaptation::Accordion => {
                let wanted = if recipe.is_critical(epoch) { recipe.batch } else { largest };
                (wanted != self.batch).then_some(wanted)
            }
            Adaptation::Gns => {
                let grows = [epoch, epoch + 1].into_iter().any(|epoch| recipe.gns_batch(epoch) > self.batch);
                grows.then_some(self.batch * 2)
            }
        }
    }

    /// Changes the batch size; says whether it did.
    fn change_batch(&mut self, batch: u32, model: ModelIndex) -> bool {
        let measured = self.recipe.rates.get(&batch).is_some_and(|rates| rates[model] > Rate::ZERO);
        if !measured || batch == self.batch {
            return false;
        }
        let (before, after) = (self.recipe.steps_per_epoch(self.batch), self.recipe.steps_per_epoch(batch));
        let epochs = self.total.div_ceil(before);
        let scaled = (self.total * u64::from(self.batch)).div_ceil(u64::from(batch));
        self.done = self.epoch() * after;
        self.total = if scaled.div_ceil(after) == epochs { scaled } else { epochs * after };
        self.batch = batch;
        self.spent = self.done >= self.total;
        true
    }
}

/// One run of one round.
struct Run {
    lease: LeaseId,
    steps: u64,
    ends_s: f64,
}

/// A world with the round rules of the published simulators.
pub struct OriginalWorld {
    workload: Arc<Workload>,
    tau_s: f64,
    now_s: f64,
    nodes: Vec<Node>,
    ready: VecDeque<(Time, Event)>,
    arrivals_next: usize,
    alarm: Option<Round>,
    training: BTreeMap<JobId, Training>,
    leases: BTreeMap<LeaseId, Lease>,
    known: BTreeSet<LeaseId>,
    /// Jobs of the last round.
    last_round: BTreeSet<JobId>,
    rounds_count: u64,
    idle_rounds: u32,
    /// Whether the boundary at `now_s` has been announced.
    rung: bool,
}

impl OriginalWorld {
    /// A world with these machines and this work, in rounds of `tau`.
    pub fn new(models: Vec<GpuModel>, nodes: &[Node], workload: Arc<Workload>, tau: Span) -> Self {
        let start_s = workload.jobs.first().map_or(0.0, |job| job.submit.seconds());
        let at = Time::from_seconds(start_s);
        let opening = models.into_iter().map(Event::ModelAdded);
        let tenants = workload.tenants.iter().cloned().map(Event::TenantChanged);
        let up = nodes.iter().cloned().map(Event::NodeUp);
        let ready = opening.chain(tenants).chain(up).map(|event| (at, event)).collect();
        Self {
            tau_s: tau.seconds(),
            now_s: start_s,
            nodes: nodes.to_vec(),
            ready,
            arrivals_next: 0,
            alarm: None,
            training: BTreeMap::new(),
            leases: BTreeMap::new(),
            known: BTreeSet::new(),
            last_round: BTreeSet::new(),
            rounds_count: 0,
            idle_rounds: 0,
            rung: false,
            workload,
        }
    }

    fn submit_next(&mut self) -> Event {
        let job = &self.workload.jobs[self.arrivals_next];
        self.arrivals_next += 1;
        let mut declared = (*job.truth).clone();
        if let Some(recipe) = &job.recipe {
            self.training.insert(declared.id, Training::new(recipe, Work::from_steps(1.0)));
            if !job.announces {
                // The batch size at the start is known; nobody announces how it will change.
                let first = RegimeSpec { from: Work::ZERO, batch: recipe.batch, speed: Ratio::ONE };
                declared.regimes = vec![first];
            }
        } else {
            // These rules know no regimes but those of recipes.
            declared.regimes.clear();
            declared.modes.clear();
            let recipe = plain(&declared);
            self.training.insert(declared.id, Training::new(&Arc::new(recipe), SMALLEST));
        }
        if let Some(curve) = &job.curve {
            declared.work = Some(curve.limit);
        }
        // These rules know no distance between GPUs: nobody is slower for it.
        declared.scaling.by_span = None;
        declared.speeds = self.workload.reports.of(&declared).or(declared.speeds);
        Event::Submitted(Arc::new(declared))
    }

    fn arrival_s(&self) -> Option<f64> {
        self.workload.jobs.get(self.arrivals_next).map(|job| job.submit.seconds())
    }

    /// Puts everything that happens until the next boundary into `ready`.
    fn play_round(&mut self) -> Result<(), BackendError> {
        let runs = self.runs();
        let end_s = match (runs.is_empty(), self.arrival_s()) {
            (false, _) => runs.iter().map(|(_, full_s)| *full_s).fold(self.now_s, f64::max),
            (true, Some(arrival_s)) => arrival_s.max(self.now_s),
            (true, None) => self.now_s + self.tau_s,
        };
        self.idle_rounds = if runs.is_empty() { self.idle_rounds + 1 } else { 0 };
        if self.idle_rounds > IDLE_ROUNDS_MAX {
            let first = self.training.keys().next().copied().unwrap_or(JobId(0));
            return Err(BackendError::Stalled { jobs: self.training.len() as u64, first });
        }
        let mut happenings: Vec<(f64, u8, Event)> = Vec::new();
        for (run, _) in &runs {
            if let Some(event) = self.finish_run(run) {
                happenings.push((run.ends_s, 0, event));
            }
        }
        self.change_batches(&runs, end_s, &mut happenings);
        while self.arrival_s().is_some_and(|at| at <= end_s) {
            let at = self.arrival_s().unwrap_or(end_s);
            let event = self.submit_next();
            happenings.push((at, 1, event));
        }
        happenings.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.ready.extend(happenings.into_iter().map(|(at, _, event)| (Time::from_seconds(at), event)));
        self.now_s = end_s;
        self.rounds_count += u64::from(!runs.is_empty());
        Ok(())
    }

    /// What every job that holds GPUs does in this round, and when it would be done without overhead.
    fn runs(&mut self) -> Vec<(Run, f64)> {
        let mut runs = Vec::new();
        let mut round = BTreeSet::new();
        for (id, lease) in &self.leases {
            let Some(training) = self.training.get(&lease.job) else { continue };
            let model = self.nodes[lease.gpus.seats()[0].node.index()].model;
            let rate = training.rate(model);
            // Where a step is longer than a round the originals never end; here it makes the round longer.
            let most = ((rate * self.tau_s) as u64).max(u64::from(rate > 0.0));
            let mut steps = most.min(training.total.saturating_sub(training.done));
            let full_s = if rate > 0.0 { steps as f64 / rate } else { 0.0 };
            let mut busy_s = full_s;
            let started = !self.last_round.contains(&lease.job) && self.rounds_count > 0;
            if started && full_s > self.tau_s - OVERHEAD_SLACK_S {
                // In rounds shorter than the overhead nothing but that is done.
                busy_s = f64::max(full_s - OVERHEAD_S, 0.0);
                steps = (steps as f64 * busy_s / full_s) as u64;
            }
            round.insert(lease.job);
            runs.push((Run { lease: *id, steps, ends_s: self.now_s + busy_s }, self.now_s + full_s));
        }
        if !runs.is_empty() {
            self.last_round = round;
        }
        runs
    }

    /// Books the steps of a run; the event of its job's end, if that was the last.
    fn finish_run(&mut self, run: &Run) -> Option<Event> {
        let lease = self.leases.get(&run.lease)?;
        let training = self.training.get_mut(&lease.job)?;
        training.done += run.steps;
        training.busy_s += run.ends_s - self.now_s;
        if training.spent {
            training.empty_runs += 1;
        }
        let ends =
            training.done >= training.total && (!training.spent || training.empty_runs >= EMPTY_RUNS_MAX);
        if !ends {
            return None;
        }
        let alone = training.recipe.profile_time(ModelIndex(0));
        let done = training.work();
        self.leases.remove(&run.lease);
        Some(Event::LeaseEnded { lease: run.lease, done, saved: done, cause: EndCause::Finished { alone } })
    }

    /// At a boundary: changes asked for take effect in the jobs that ran, then every job may ask for the next.
    fn change_batches(&mut self, runs: &[(Run, f64)], end_s: f64, happenings: &mut Vec<(f64, u8, Event)>) {
        for (run, _) in runs {
            let Some(lease) = self.leases.get(&run.lease) else { continue };
            let model = self.nodes[lease.gpus.seats()[0].node.index()].model;
            let Some(training) = self.training.get_mut(&lease.job) else { continue };
            let changed = training.pending.take().is_some_and(|batch| training.change_batch(batch, model));
            let done = training.work();
            let regime =
                changed.then(|| Regime { batch: training.batch, from: done, speed: training.speed(model) });
            let worked = Some(Span::from_seconds(training.busy_s));
            let event = Event::Progress { lease: run.lease, done, saved: done, regime, worked, loss: None };
            happenings.push((end_s, 2, event));
        }
        let ended: Vec<JobId> =
            self.training.iter().filter(|(_, training)| training.is_over()).map(|(id, _)| *id).collect();
        for (id, training) in &mut self.training {
            if !ended.contains(id) && training.pending.is_none() {
                training.pending = training.wanted();
            }
        }
    }

    fn is_over(&self) -> bool {
        self.arrivals_next == self.workload.jobs.len() && self.training.is_empty()
    }
}

impl Training {
    fn is_over(&self) -> bool {
        self.done >= self.total && !self.spent
    }
}

/// The smallest amount of work that can be told.
const SMALLEST: Work = Work(1);

/// A job without a recipe: one batch size for ever, in steps of the smallest amount of work.
fn plain(spec: &evenhand_core::JobSpec) -> Recipe {
    let steps = spec.work.unwrap_or_default().0.max(1);
    let rates = evenhand_core::PerModel(spec.speed_row().0.map(|rate| rate.times(1e3)));
    Recipe {
        model: String::new(),
        batch: 1,
        adaptation: Adaptation::Static,
        dataset: steps,
        steps,
        gang: spec.gpus.min.0,
        rates: [(1, rates)].into(),
    }
}

impl Backend for OriginalWorld {
    fn abilities(&self) -> Abilities {
        Abilities { resize: false, share: false, grace: true, bids: false }
    }

    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Ok(Some(next));
            }
            if self.is_over() {
                return Ok(None);
            }
            if !self.rung {
                // The boundary: whatever the engine does about it is done before the next round begins.
                self.rung = true;
                if let Some(round) = self.alarm.take() {
                    return Ok(Some((Time::from_seconds(self.now_s), Event::RoundDue(round))));
                }
                continue;
            }
            self.rung = false;
            self.play_round()?;
        }
    }

    fn execute(&mut self, _now: Time, command: &Command) -> Result<(), BackendError> {
        let at = Time::from_seconds(self.now_s);
        match command {
            Command::Start(lease) if self.known.insert(lease.id) => {
                self.leases.insert(lease.id, lease.clone());
                self.ready.push_back((at, Event::LeaseStarted(lease.id)));
            }
            Command::Stop { lease, .. } => {
                if let Some(held) = self.leases.remove(lease) {
                    let done = self.training.get(&held.job).map_or(Work::ZERO, Training::work);
                    let cause = EndCause::Stopped;
                    self.ready.push_back((at, Event::LeaseEnded { lease: *lease, done, saved: done, cause }));
                }
            }
            Command::End { job, .. } => {
                self.training.remove(job);
            }
            Command::WakeAt(_, round) => self.alarm = Some(*round),
            _ => {}
        }
        Ok(())
    }
}

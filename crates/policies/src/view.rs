//! Jobs as a planner sees them: how far they are, how long they still need, and when they should be done.

use evenhand_core::{GpuCount, Job, JobIndex, JobState, ModelIndex, Snapshot, Work};

/// Epochs of a job that declares none.
const EPOCHS: f64 = 100.0;

/// One job.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    pub index: JobIndex,
    pub job: &'a Job,
    /// g: its gang.
    pub gang: u32,
    /// E: epochs in all.
    pub epochs: f64,
    /// e: epochs done, rounded down.
    pub done: f64,
    /// Seconds that the epochs done take alone, in the batch sizes in which they were done.
    pub done_s: f64,
    /// R: seconds that it is believed to need still, alone on its gang of its fastest model.
    pub left_s: f64,
    /// As little as it may well need: one in ten needs less.
    pub left_low_s: f64,
    /// As much as it may well need: one in ten needs more.
    pub left_high_s: f64,
    /// Seconds of the current epoch, at the speed in force.
    epoch_now_s: f64,
    /// Seconds of the current epoch that are still to come.
    epoch_left_s: f64,
    /// Its speed on each model against the fastest, 0 where it cannot run.
    pub rates: Vec<f64>,
}

impl<'a> View<'a> {
    /// All jobs that may be granted GPUs, by number.
    pub fn all(snapshot: &'a Snapshot) -> Vec<Self> {
        let mut views: Vec<_> = snapshot
            .jobs
            .iter()
            .filter(|(_, job)| job.state != JobState::Held)
            .map(|(index, job)| Self::new(snapshot, index, job))
            .collect();
        views.sort_unstable_by_key(|view| view.job.spec.id);
        views
    }

    fn new(snapshot: &Snapshot, index: JobIndex, job: &'a Job) -> Self {
        let forecast = snapshot.forecast(index);
        let speed = |model: ModelIndex| {
            let runs = job.spec.models.allows(model) && job.spec.gpus.min <= snapshot.cluster.capacity(model);
            if runs { forecast.speed[model].mean.get() } else { 0.0 }
        };
        let models = || snapshot.cluster.model_indices();
        let fastest = models().reduce(|a, b| if speed(b) > speed(a) { b } else { a });
        let best = fastest.map_or(0.0, speed);
        let rates =
            models().map(|model| if best > 0.0 { (speed(model) / best).min(1.0) } else { 0.0 }).collect();
        let done = done(snapshot, index, job, best);
        let believed = forecast.total_after(Work::from_steps(done));
        let total = believed.map_or(2.0 * done, |total| total.mean.steps()).max(done).max(1e-3);
        let epoch = job.spec.epoch.map_or(total / EPOCHS, Work::steps).max(1e-6);
        let known = fastest.and_then(|model| forecast.seconds_from(model, Work::from_steps(done)));
        // Of a job that nothing is known of, as much is expected to be left as it has done.
        let left_s = known.map_or(if best > 0.0 { done / best } else { 0.0 }, |left| left.mean).max(1.0);
        let left_low_s = known.map_or(left_s, |left| left.low).clamp(1.0, left_s);
        let left_high_s = known.map_or(left_s, |left| left.high).max(left_s);
        let epochs = (total / epoch).ceil().max(1.0);
        let in_epoch = done / epoch - (done / epoch).floor();
        let epoch_now_s = if best > 0.0 { epoch / best } else { left_s };
        Self {
            epoch_now_s,
            epoch_left_s: epoch_now_s * (1.0 - in_epoch),
            index,
            job,
            gang: job.spec.gpus.min.0,
            epochs,
            done: (done / epoch).floor().min(epochs),
            done_s: done_seconds(job, done, best),
            left_s,
            left_low_s,
            left_high_s,
            rates,
        }
    }

    /// d: mean seconds of its epochs until now, the current one included.
    pub fn epoch_s(&self) -> f64 {
        if self.done >= self.epochs {
            return self.epoch_now_s;
        }
        (self.done_s + self.epoch_left_s) / (self.done + 1.0)
    }
}

/// Steps that a job has done. One that says nothing of its size may not say how far it is either, and begins anew whenever it was interrupted: then
/// what it has received counts, or two such jobs would interrupt each other for ever.
fn done(snapshot: &Snapshot, index: JobIndex, job: &Job, best: f64) -> f64 {
    let done = snapshot.done(index, job).steps();
    if job.spec.work.is_some() {
        return done;
    }
    let received_s = snapshot.attained(job).hours() * 3600.0 / f64::from(job.spec.gpus.min.0.max(1));
    done.max(received_s * best)
}

/// Seconds that work done takes alone, each part at the speed of its regime; `now` is the speed of the regime in force.
fn done_seconds(job: &Job, done: f64, now: f64) -> f64 {
    if now <= 0.0 {
        return 0.0;
    }
    let declared = now / job.regime.speed.get().max(1e-9);
    let past = job.past.iter().map(|span| {
        let work = span.until.steps() - span.regime.from.steps();
        work.max(0.0) / (declared * span.regime.speed.get().max(1e-9))
    });
    past.sum::<f64>() + (done - job.regime.from.steps()).max(0.0) / now
}

/// s: the part of its time that a job would run with a private part of the cluster.
pub(crate) fn private_part(snapshot: &Snapshot, jobs: usize) -> f64 {
    let GpuCount(gpus) = snapshot.cluster.capacity_total();
    (f64::from(gpus) / jobs.max(1) as f64).min(1.0)
}

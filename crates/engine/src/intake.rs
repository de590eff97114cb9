//! Jobs come, are held, and are no longer wanted.

use crate::{Engine, Step};
use evenhand_core::{
    AppId, Command, Event, GpuTime, Job, JobId, JobSpec, JobState, LeaseState, Note, Outcome, PerModel,
    Regime, Span, StopReason, Work,
};
use std::sync::Arc;

impl Engine {
    pub(crate) fn submitted(&mut self, spec: &Arc<JobSpec>, step: &mut Step) {
        let state = &mut self.state;
        if state.jobs.by_id(spec.id).is_some() {
            step.notes.push(Note::Ignored);
            return;
        }
        state.note_befores(spec);
        state.join_array(spec);
        let mut job = Job {
            spec: spec.clone(),
            submitted: state.now,
            state: state.resting_state(spec),
            done: Work::ZERO,
            heard: state.now,
            saved: Work::ZERO,
            worked: None,
            attained: PerModel::all(GpuTime::ZERO),
            waited: Span::ZERO,
            regime: Regime::default(),
            past: Vec::new(),
            class: evenhand_core::ClassIndex(0),
            starts: 0,
            crashes: 0,
            out_of_memory: 0,
        };
        let forecast = self.parts.predictor.forecast(&job, &state.cluster);
        job.class = Arc::make_mut(&mut state.classes).join(spec, &forecast);
        Arc::make_mut(&mut state.jobs).insert(job);
        state.set_forecast(spec.id, forecast);
        if let Some(app) = spec.app.and_then(|app| Arc::make_mut(&mut state.apps).get_mut(&app)) {
            app.jobs.push(spec.id);
        }
        let fits = state.cluster.model_indices().any(|model| {
            spec.models.allows(model) && (spec.mixes_models || spec.gpus.min <= state.cluster.capacity(model))
        });
        if !fits || spec.gpus.min > state.cluster.capacity_total() {
            step.notes.push(Note::TooLarge { job: spec.id, gpus: spec.gpus.min });
        }
        state.ask_early();
    }

    /// A job is to end: now if it holds no GPUs, otherwise when its lease has ended.
    pub(crate) fn unwanted(&mut self, id: JobId, outcome: Outcome, step: &mut Step) {
        let Some(job) = self.state.jobs.by_id(id) else {
            step.notes.push(Note::Ignored);
            return;
        };
        let reason = if outcome == Outcome::Retired { StopReason::Retired } else { StopReason::Cancelled };
        let lease = job.lease();
        if let Some(lease) = lease {
            self.state.unwanted.insert(id, outcome);
            self.stop(lease, reason, step);
        }
        if self.state.jobs.by_id(id).is_some_and(|job| job.lease().is_none()) {
            self.end_job(id, outcome, step);
        }
    }

    /// An app is over, and with it all its jobs.
    pub(crate) fn app_closed(&mut self, id: AppId, step: &mut Step) {
        let Some(app) = Arc::make_mut(&mut self.state.apps).remove(&id) else {
            step.notes.push(Note::Ignored);
            return;
        };
        for job in app.jobs {
            self.unwanted(job, Outcome::Retired, step);
        }
    }

    pub(crate) fn held(&mut self, id: JobId, step: &mut Step) {
        let Some(job) = self.state.jobs.by_id(id) else {
            step.notes.push(Note::Ignored);
            return;
        };
        let lease = job.lease();
        self.state.holds.insert(id);
        // When it is released, why it waits is news again.
        self.state.waits.remove(&id);
        match lease {
            Some(lease) => self.stop(lease, StopReason::Held, step),
            None => Arc::make_mut(&mut self.state.jobs).change(id, |job| job.state = JobState::Held),
        }
        self.give_turns(id);
    }

    pub(crate) fn released(&mut self, id: JobId, step: &mut Step) {
        if !self.state.holds.remove(&id) {
            step.notes.push(Note::Ignored);
        }
        self.wake_job(id);
        self.give_turns(id);
    }

    /// Jobs that have waited long enough after a crash go back to the queue.
    pub(crate) fn try_again(&mut self) {
        let now = self.state.now;
        let ready = self.state.retries.iter().filter(|(_, at)| **at <= now).map(|(job, _)| *job);
        for job in ready.collect::<Vec<_>>() {
            self.state.retries.remove(&job);
            self.wake_job(job);
        }
    }

    /// A job whose reason to be held may be gone goes back to the queue.
    pub(crate) fn wake_job(&mut self, id: JobId) {
        if let Some(job) = self.state.jobs.by_id(id).filter(|job| job.state == JobState::Held) {
            let resting = self.state.resting_state(&job.spec);
            Arc::make_mut(&mut self.state.jobs).change(id, |job| job.state = resting);
        }
        self.state.ask_early();
    }

    /// The job has ended; forget it, and whoever cannot run without it.
    pub(crate) fn end_job(&mut self, id: JobId, outcome: Outcome, step: &mut Step) {
        self.forget_job(id, outcome, step);
        self.let_go_of_dependents(id, outcome, step);
        self.state.ask_early();
    }

    pub(crate) fn forget_job(&mut self, id: JobId, outcome: Outcome, step: &mut Step) {
        let state = &mut self.state;
        let job = Arc::make_mut(&mut state.jobs).remove(id).expect("a job ends while it is active, and once");
        assert!(job.lease().is_none(), "{id} ends while it holds GPUs");
        let attained = job.attained.values().sum();
        Arc::make_mut(&mut state.classes).leave(job.class);
        if let Some(app) = job.spec.app.and_then(|app| Arc::make_mut(&mut state.apps).get_mut(&app)) {
            app.jobs.retain(|member| *member != id);
            app.ended.push((id, job.done));
        }
        if !state.apart.is_empty() {
            Arc::make_mut(&mut state.apart).retain(|(host, guest)| *host != id && *guest != id);
        }
        state.waits.remove(&id);
        state.unwanted.remove(&id);
        state.holds.remove(&id);
        state.retries.remove(&id);
        state.awaited.remove(&id);
        step.commands.push(Command::End { job: id, outcome, attained });
        self.leave_array(&job.spec);
    }

    pub(crate) fn progress(
        &mut self,
        lease: evenhand_core::LeaseId,
        (done, saved): (Work, Work),
        regime: Option<Regime>,
        event: &Event,
        step: &mut Step,
    ) {
        let Some(lease) = self.state.leases.get(lease).filter(|lease| lease.state != LeaseState::Waiting)
        else {
            step.notes.push(Note::Ignored);
            return;
        };
        let (id, now) = (lease.job, self.state.now);
        Arc::make_mut(&mut self.state.jobs).change(id, |job| {
            (job.done, job.saved, job.heard) = (done, saved, now);
            if let Event::Progress { worked: Some(worked), .. } = event {
                job.worked = Some(*worked);
            }
            // One that would begin before the one in force is a job's mistake.
            let is_next = |regime: &Regime| *regime != job.regime && regime.from >= job.regime.from;
            if let Some(regime) = regime.filter(is_next) {
                job.past.push(evenhand_core::RegimeSpan { regime: job.regime, until: regime.from });
                job.regime = regime;
            }
        });
        if regime.is_some() {
            self.state.ask_early();
        }
        self.observe(id, event, None);
    }

    pub(crate) fn telemetry(&mut self, lease: evenhand_core::LeaseId, event: &Event, step: &mut Step) {
        match self.state.leases.get(lease) {
            Some(seen) => {
                self.observe(seen.job, event, None);
                if let Event::Telemetry { slowdown: Some(slowdown), .. } = event {
                    self.check_contract(lease, *slowdown, step);
                }
            }
            None => step.notes.push(Note::Ignored),
        }
    }
}

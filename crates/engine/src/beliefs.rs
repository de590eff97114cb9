//! What the predictor is shown, and what follows when it believes something else.

use crate::Engine;
use evenhand_core::{ClassIndex, Event, Forecast, JobId, JobSpec, Lease, Moved, Sample, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A lease that has just ended.
#[derive(Clone, Copy)]
pub(crate) struct Ended<'a> {
    pub lease: &'a Lease,
    /// When its job was asked to stop.
    pub halted: Option<Time>,
    /// Whether the job fell back into an earlier regime.
    pub rewound: bool,
}

/// Jobs of one class, with what is believed of them now.
type Members = Vec<(Arc<JobSpec>, Arc<Forecast>)>;

impl Engine {
    /// Shows an event to the predictor, and asks again about everybody of whom it believes something else.
    pub(crate) fn observe(&mut self, id: JobId, event: &Event, ended: Option<Ended<'_>>) {
        let state = &self.state;
        let Some(job) = state.jobs.by_id(id) else { return };
        let demand = match event {
            Event::Telemetry { demand, .. } => Some(*demand),
            _ => None,
        };
        let lease = ended.map(|ended| ended.lease).or_else(|| state.leases.of_job(Some(job)));
        let halted = match ended {
            Some(ended) => ended.halted,
            None => lease.and_then(|lease| state.stopping.get(&lease.id)).copied(),
        };
        let sample = Sample { now: state.now, job, event, demand, lease, halted, cluster: &state.cluster };
        let predictor = &mut self.parts.predictor;
        let moved: Vec<_> = match predictor.observe(&sample) {
            Moved::Nothing if ended.is_none_or(|ended| !ended.rewound) => return,
            Moved::Nothing | Moved::Job => vec![job],
            Moved::Alike => {
                let all = state.jobs.iter().map(|(_, other)| other);
                all.filter(|other| predictor.alike(&other.spec, &job.spec)).collect()
            }
        };
        let mut classes: BTreeMap<ClassIndex, Members> = BTreeMap::new();
        for job in moved {
            let forecast = predictor.forecast(job, &state.cluster);
            classes.entry(job.class).or_default().push((job.spec.clone(), forecast));
        }
        self.state.interference = self.parts.predictor.interference();
        for (class, members) in classes {
            self.reclass(class, &members);
            for (spec, forecast) in members {
                self.state.set_forecast(spec.id, forecast);
            }
        }
    }

    /// Jobs of a class are not what they were: if that is all of them, the class goes with them and keeps its balance.
    fn reclass(&mut self, class: ClassIndex, members: &Members) {
        let Some((first, forecast)) = members.first() else { return };
        let classes = Arc::make_mut(&mut self.state.classes);
        let all = members.len() as u32 == classes.rows[class].jobs_count;
        let same = members.iter().all(|(_, other)| other.speed == forecast.speed);
        if all && same && classes.change(class, first, forecast) {
            return;
        }
        let jobs = Arc::make_mut(&mut self.state.jobs);
        for (spec, forecast) in members {
            let joined = classes.join(spec, forecast);
            classes.leave(class);
            jobs.change(spec.id, |job| job.class = joined);
        }
    }
}

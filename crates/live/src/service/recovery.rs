//! Everything as the ledger has it.

use super::promises::Promises;
use super::{Machines, MakeEngine, ServiceError};
use crate::program::Program;
use crate::runner::LiveJob;
use crate::store::{Store, StoreError};
use crate::world::Remembered;
use evenhand_core::{Choice, Command, Event, Header, JobId, Lease, Record, Round, Time};
use evenhand_engine::{Engine, repeat};
use std::sync::Arc;

/// What a ledger amounts to.
pub(super) struct Found {
    pub engine: Engine,
    pub is_new: bool,
    pub now: Time,
    pub next_job: JobId,
    pub policy: Choice,
    pub promises: Promises,
    pub machines: Machines,
    pub remembered: Remembered,
}

/// Feeds the whole ledger to a new engine; every decision must be the recorded one.
pub(super) fn recover(store: &Store, header: &Header, make: &MakeEngine) -> Result<Found, ServiceError> {
    let mut engine = make(header).map_err(ServiceError::Engine)?;
    let (mut now, mut alarm, mut policy) = (Time::ZERO, None, header.policy.clone());
    let mut promises = Promises::default();
    store.replay(|seq, record| {
        repeat(&mut engine, &record).map_err(|_| differs(seq, &record))?;
        promises.take(&record);
        now = record.now;
        follow_alarm(&record, &mut alarm);
        if let Event::PolicyChanged(choice) = &record.event {
            policy = choice.clone();
        }
        Ok::<(), ServiceError>(())
    })?;
    let snapshot = engine.snapshot();
    let mut programs = store.programs()?;
    let mut jobs = Vec::new();
    for (_, job) in snapshot.jobs.iter() {
        let id = job.spec.id;
        let missing = || StoreError::Damaged { what: format!("the program of {id} is missing") };
        let (text, user) = programs.remove(&id).ok_or_else(missing)?;
        let damaged = |error| StoreError::Damaged { what: format!("the program of {id}: {error}") };
        let program: Program = serde_json::from_str(&text).map_err(damaged)?;
        let user = user.map(Arc::from);
        jobs.push(LiveJob { spec: job.spec.clone(), program: Arc::new(program), user });
    }
    let remembered = Remembered {
        nodes: snapshot.cluster.nodes.clone(),
        jobs,
        leases: snapshot.leases.iter().filter(|lease| Lease::is_seated(lease)).cloned().collect(),
        alarm,
        grace: header.engine.grace,
    };
    let machines = (snapshot.cluster.models.clone(), snapshot.cluster.nodes.clone());
    let next_job = store.last_job()?.map_or(JobId(1), |last| JobId(last.0 + 1));
    let is_new = store.last() == 0;
    Ok(Found { engine, is_new, now, next_job, policy, promises, machines, remembered })
}

/// The alarm that is set after a record.
fn follow_alarm(record: &Record, alarm: &mut Option<(Time, Round)>) {
    if let Event::RoundDue(_) = record.event {
        *alarm = None;
    }
    for command in &record.commands {
        if let Command::WakeAt(at, round) = command {
            *alarm = Some((*at, *round));
        }
    }
}

fn differs(seq: u64, record: &Record) -> ServiceError {
    let mut event = serde_json::to_string(&record.event).unwrap_or_default();
    event.truncate(event.char_indices().nth(120).map_or(event.len(), |(at, _)| at));
    ServiceError::Differs { seq, event }
}

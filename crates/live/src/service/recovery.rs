//! Everything as the ledger has it.

use super::followed::Followed;
use super::{Machines, MakeEngine, ServiceError};
use crate::program::Program;
use crate::runner::LiveJob;
use crate::store::{Store, StoreError};
use crate::world::{Far, Remembered};
use evenhand_core::{Header, Job, JobId, Lease, Record, SaveError, Saved};
use evenhand_engine::{Engine, SavedEngine, repeat};
use std::sync::Arc;

/// What a ledger amounts to.
pub(super) struct Found {
    pub engine: Engine,
    pub followed: Followed,
    /// Records that were repeated.
    pub repeated: u64,
    pub is_new: bool,
    pub next_job: JobId,
    pub machines: Machines,
    pub remembered: Remembered,
}

/// Takes what was last saved, or a new engine, and feeds it the rest of the ledger; every decision must be the recorded one.
pub(super) fn recover(store: &Store, header: &Header, make: &MakeEngine) -> Result<Found, ServiceError> {
    let mut starts = starts(store, header, make)?;
    let (engine, followed, repeated) = loop {
        let Start { after, mut engine, mut followed } = starts.remove(0);
        let replayed = store.replay(after, |seq, record| {
            repeat(&mut engine, &record).map_err(|_| differs(seq, &record))?;
            followed.take(&record);
            Ok::<(), ServiceError>(())
        });
        match replayed {
            Ok(()) => break (engine, followed, store.last() - after),
            // What was saved is not the truth. The ledger is.
            Err(ServiceError::Differs { .. }) if !starts.is_empty() => {}
            Err(error) => return Err(error),
        }
    };
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
        models: snapshot.cluster.models.clone(),
        nodes: snapshot.cluster.nodes.clone(),
        jobs,
        far: snapshot.jobs.iter().map(|(_, job)| (job.spec.id, far(job))).collect(),
        leases: snapshot.leases.iter().filter(|lease| Lease::is_seated(lease)).cloned().collect(),
        alarm: followed.alarm,
        grace: header.engine.grace,
    };
    let machines = (snapshot.cluster.models.clone(), snapshot.cluster.nodes.clone());
    let next_job = store.last_job()?.map_or(JobId(1), |last| JobId(last.0 + 1));
    let is_new = store.last() == 0;
    Ok(Found { engine, followed, repeated, is_new, next_job, machines, remembered })
}

fn far(job: &Job) -> Far {
    Far { done: job.done, saved: job.saved, at: job.heard }
}

/// Where a start may begin: everything after some record.
struct Start {
    after: u64,
    engine: Engine,
    followed: Followed,
}

/// What was saved and can be read, the last first; and before the first record, where nothing has happened.
fn starts(store: &Store, header: &Header, make: &MakeEngine) -> Result<Vec<Start>, ServiceError> {
    let mut starts = Vec::new();
    for (after, body) in store.saved()? {
        let Ok((saved, followed)) = Saved(body).read::<(SavedEngine, Followed)>() else { continue };
        let engine = make(header).map_err(ServiceError::Engine)?;
        if let Ok(engine) = engine.resume(&saved) {
            starts.push(Start { after, engine, followed });
        }
    }
    let (engine, followed) =
        (make(header).map_err(ServiceError::Engine)?, Followed::new(header.policy.clone()));
    starts.push(Start { after: 0, engine, followed });
    Ok(starts)
}

/// Everything as it is, for the next start.
pub(super) fn saved(engine: &Engine, followed: &Followed) -> Result<Saved, SaveError> {
    Saved::of(&(engine.save()?, followed))
}

fn differs(seq: u64, record: &Record) -> ServiceError {
    let mut event = serde_json::to_string(&record.event).unwrap_or_default();
    event.truncate(event.char_indices().nth(120).map_or(event.len(), |(at, _)| at));
    ServiceError::Differs { seq, event }
}

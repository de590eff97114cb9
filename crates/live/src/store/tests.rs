//! The store keeps what it promised, and nothing else.

use super::*;
use evenhand_core::{
    Abilities, Choice, Command, EngineConfig, Event, GpuTime, JobSpec, LEDGER_VERSION, Limits, Outcome,
    Tenant, Time,
};
use std::sync::Arc;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("evenhand-store-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn origin() -> Origin {
    let header = Header {
        evenhand: LEDGER_VERSION,
        policy: Choice::named("fifo"),
        placer: Choice::named("packed"),
        predictor: Choice::named("declared"),
        seed: 1,
        engine: EngineConfig::default(),
        limits: Limits::default(),
        abilities: Abilities::default(),
        world: "local".into(),
    };
    Origin { header, epoch_ms: 17, mark: "m".into() }
}

fn record(now: u64, event: Event, commands: Vec<Command>) -> Record {
    Record { now: Time(now), event, commands, decision: None, notes: vec![] }
}

fn ann() -> Record {
    record(0, Event::TenantChanged(Tenant::new(TenantId(0), "ann")), vec![])
}

fn job(id: u64) -> Record {
    record(id, Event::Submitted(Arc::new(JobSpec::new(JobId(id), TenantId(0), 2, None))), vec![])
}

fn new_store(folder: &Folder) -> Store {
    let mut store = Store::open(&folder.0).unwrap();
    store.begin(&origin()).unwrap();
    let mut batch = store.batch().unwrap();
    batch.append(&ann()).unwrap();
    batch.append(&job(1)).unwrap();
    let (key, content) = (Some("k".to_owned()), "c".to_owned());
    batch
        .submit(&Submission { job: JobId(1), key, content, program: "p".into(), user: Some("u".into()) })
        .unwrap();
    batch.commit().unwrap();
    store
}

fn all(store: &Store) -> Vec<Record> {
    let mut records = Vec::new();
    store
        .replay(0, |_, record| {
            records.push(record);
            Ok::<(), StoreError>(())
        })
        .unwrap();
    records
}

#[test]
fn what_was_committed_comes_back_and_what_was_not_never_was() {
    let folder = Folder::new("comes-back");
    let mut store = new_store(&folder);
    let mut batch = store.batch().unwrap();
    batch.append(&job(2)).unwrap();
    drop(batch);
    drop(store);
    let mut store = Store::open(&folder.0).unwrap();
    assert_eq!(all(&store), [ann(), job(1)]);
    assert_eq!(store.last(), 2);
    assert_eq!(store.origin().unwrap().map(|origin| origin.epoch_ms), Some(17));
    assert_eq!(
        store.batch().unwrap().by_key("k").unwrap(),
        Some((JobId(1), "c".to_owned(), Some("u".to_owned())))
    );
    assert_eq!(store.programs().unwrap().len(), 1);
}

#[test]
fn the_job_table_follows_the_ledger() {
    let folder = Folder::new("follows");
    let mut store = new_store(&folder);
    let end = Command::End { job: JobId(1), outcome: Outcome::Cancelled, attained: GpuTime(5) };
    let mut batch = store.batch().unwrap();
    batch.append(&job(2)).unwrap();
    batch.append(&record(9, Event::Cancelled(JobId(1)), vec![end])).unwrap();
    batch.commit().unwrap();
    let reader = Reader::open(&folder.0).unwrap();
    let filter = JobFilter { tenant: Some("ann".into()), ..JobFilter::default() };
    let page = reader.jobs(&filter, 1).unwrap();
    assert_eq!(
        (page.jobs[0].id, page.jobs[0].phase, page.jobs[0].ended_ms),
        (JobId(1), Phase::Cancelled, Some(9))
    );
    let rest = reader.jobs(&JobFilter { after: page.next_after, ..filter }, 10).unwrap();
    assert_eq!((rest.jobs.len(), rest.jobs[0].phase, rest.next_after), (1, Phase::Queued, None));
    assert_eq!(reader.about(JobId(1), 10).unwrap().len(), 2);
    assert_eq!(store.programs().unwrap().len(), 0, "an ended job runs nothing");
}

#[test]
fn a_job_that_is_held_while_it_runs_is_on_hold_once_it_has_stopped() {
    let folder = Folder::new("held");
    let mut store = new_store(&folder);
    let lease: evenhand_core::Lease = serde_json::from_str(
        r#"{"id": 4, "job": 1, "gpus": [[0, 3]], "starts": 2, "expires": 9, "reason": "first-come"}"#,
    )
    .unwrap();
    let ended = Event::LeaseEnded {
        lease: lease.id,
        done: evenhand_core::Work::ZERO,
        saved: evenhand_core::Work::ZERO,
        cause: evenhand_core::EndCause::Stopped,
    };
    let (id, reader) = (lease.id, Reader::open(&folder.0).unwrap());
    let mut next = |event: Event, commands: Vec<Command>| {
        let mut batch = store.batch().unwrap();
        batch.append(&record(5, event, commands)).unwrap();
        batch.commit().unwrap();
        reader.job(JobId(1)).unwrap().unwrap().phase
    };
    assert_eq!(next(Event::RoundDue(evenhand_core::Round(1)), vec![Command::Start(lease)]), Phase::Starting);
    assert_eq!(next(Event::LeaseStarted(id), vec![]), Phase::Running);
    assert_eq!(next(Event::Held(JobId(1)), vec![]), Phase::Running);
    assert_eq!(next(ended, vec![]), Phase::Held);
    assert_eq!(next(Event::Released(JobId(1)), vec![]), Phase::Queued);
}

#[test]
fn a_store_that_cannot_be_written_says_so_and_loses_nothing() {
    let folder = Folder::new("full");
    let mut store = new_store(&folder);
    // As small as it is: every page more is one too many, as on a full disk.
    let pages: u32 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let most: u32 =
        store.connection.pragma_update_and_check(None, "max_page_count", pages, |row| row.get(0)).unwrap();
    assert_eq!(most, pages);
    let mut batch = store.batch().unwrap();
    let refused = (2..10_000).find_map(|id| batch.append(&job(id)).err());
    assert!(matches!(refused, Some(StoreError::Full)), "{refused:?}");
    assert!(refused.is_some_and(|error| error.may_pass()));
    drop(batch);
    drop(store);
    assert_eq!(all(&Store::open(&folder.0).unwrap()).len(), 2);
}

#[test]
fn a_copy_is_whole_and_a_store_from_the_future_is_refused() {
    let folder = Folder::new("copy");
    let store = new_store(&folder);
    let copy = folder.0.join("copy.db");
    backup(&folder.0, &copy).unwrap();
    assert_eq!(verify(&copy).unwrap().mark, "m");
    store.connection.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    assert!(matches!(Store::open(&folder.0), Err(StoreError::Newer { found: 99, .. })));
}

#[test]
fn the_last_two_times_that_everything_was_saved_are_kept_and_damaged_ones_left_out() {
    let folder = Folder::new("saved");
    let mut store = new_store(&folder);
    assert_eq!(store.saved().unwrap(), []);
    for (id, body) in [(2, b"two"), (3, b"thr"), (4, b"fou")] {
        let mut batch = store.batch().unwrap();
        batch.append(&job(id)).unwrap();
        batch.commit().unwrap();
        store.save(body).unwrap();
    }
    assert_eq!(store.saved().unwrap(), [(5, b"fou".to_vec()), (4, b"thr".to_vec())]);
    store.connection.execute("UPDATE saved SET body = x'00' WHERE seq = 5", []).unwrap();
    assert_eq!(store.saved().unwrap(), [(4, b"thr".to_vec())]);
    let mut after = Vec::new();
    let take = |seq, _| {
        after.push(seq);
        Ok::<(), StoreError>(())
    };
    store.replay(4, take).unwrap();
    assert_eq!(after, [5]);
}

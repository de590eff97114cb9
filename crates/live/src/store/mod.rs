//! The ledger on disk: SQLite with a write-ahead log, synced at every commit.
//!
//! One [`Store`] writes, from the engine's thread; any number of [`Reader`]s look on, each on a connection of its own, and neither waits
//! for the other. What a [`Batch`] commits is on disk when `commit` returns, and nothing of a batch that is dropped ever was.

mod apps;
mod batch;
mod error;
mod groups;
mod looks;
mod own;
mod reader;
mod rows;
mod saved;
mod schema;
mod usage;

pub use apps::AppRow;
pub use batch::{Batch, Submission};
pub use error::StoreError;
pub use groups::Target;
pub(crate) use groups::member_name;
pub use looks::{Decided, Seated};
pub use own::OwnRecords;
pub(crate) use reader::jobs_in_words;
pub use reader::{Asked, JobFilter, JobRow, Page, Phase, Reader};
pub(crate) use rows::record as parse_record;
pub use usage::{Holder, Usage, WAIT_BOUNDS_S, Waits};

use error::while_doing;
use evenhand_core::{Header, JobId, LeaseId, Record, TenantId};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file in the state folder.
pub const STORE_FILE: &str = "ledger.db";

/// What a store was made with, once and for all.
#[derive(Clone, Debug)]
pub struct Origin {
    /// All that is needed to make the engine again.
    pub header: Header,
    /// When time began, in milliseconds of the system clock.
    pub epoch_ms: u64,
    /// Tells this store from others: jobs carry it as a mark.
    pub mark: String,
}

/// The ledger, to append to.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// The number of the last record.
    last: u64,
    /// Whose each lease is that has not ended.
    leases: BTreeMap<LeaseId, JobId>,
    tenants: BTreeMap<String, TenantId>,
}

impl Store {
    /// Opens the store in this folder, or makes one; brings an older one up to date.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(STORE_FILE);
        let mut connection = Connection::open(&path).map_err(while_doing("opening the store"))?;
        prepare(&connection)?;
        schema::migrate(&mut connection)?;
        let mut store = Self { connection, path, last: 0, leases: BTreeMap::new(), tenants: BTreeMap::new() };
        store.recall()?;
        Ok(store)
    }

    /// Reads back what is kept in memory about the last record.
    fn recall(&mut self) -> Result<(), StoreError> {
        let doing = "reading the store";
        let last =
            self.connection.query_row("SELECT coalesce(max(seq), 0) FROM ledger", [], |row| row.get(0));
        self.last = last.map_err(while_doing(doing))?;
        self.leases =
            pairs(&self.connection, "SELECT lease, id FROM job WHERE lease IS NOT NULL", |lease, job| {
                (LeaseId(lease), JobId(job))
            })?;
        let mut tenants =
            self.connection.prepare("SELECT name, id FROM tenant").map_err(while_doing(doing))?;
        let rows = tenants.query_map([], |row| Ok((row.get(0)?, TenantId(row.get(1)?))));
        self.tenants =
            rows.map_err(while_doing(doing))?.collect::<Result<_, _>>().map_err(while_doing(doing))?;
        Ok(())
    }

    /// What the store was made with; nothing if it is new.
    pub fn origin(&self) -> Result<Option<Origin>, StoreError> {
        read_origin(&self.connection)
    }

    /// Says what the store is made with. Only a new one can be told.
    pub fn begin(&mut self, origin: &Origin) -> Result<(), StoreError> {
        let doing = "beginning the ledger";
        let header = serde_json::to_string(&origin.header).expect("a header can be written as JSON");
        let facts =
            [("header", header), ("epoch_ms", origin.epoch_ms.to_string()), ("mark", origin.mark.clone())];
        let transaction = self.connection.transaction().map_err(while_doing(doing))?;
        for (name, value) in facts {
            transaction
                .execute("INSERT INTO fact (name, value) VALUES (?1, ?2)", (name, value))
                .map_err(while_doing(doing))?;
        }
        transaction.commit().map_err(while_doing(doing))
    }

    /// Begins a batch: all of it is on disk after its commit, or none.
    pub fn batch(&mut self) -> Result<Batch<'_>, StoreError> {
        let transaction = self
            .connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .map_err(while_doing("beginning a batch"))?;
        let (last, leases, tenants) = (&mut self.last, &mut self.leases, &mut self.tenants);
        Ok(Batch::new(transaction, last, leases, tenants))
    }

    /// Hands out every record after a number, oldest first; stops at the first error of the taker.
    pub fn replay<E: From<StoreError>>(
        &self,
        after: u64,
        mut take: impl FnMut(u64, Record) -> Result<(), E>,
    ) -> Result<(), E> {
        let doing = "reading the ledger";
        let mut select = self
            .connection
            .prepare("SELECT seq, record FROM ledger WHERE seq > ?1 ORDER BY seq")
            .map_err(while_doing(doing))?;
        let mut rows = select.query([after]).map_err(while_doing(doing))?;
        let mut expected = after + 1;
        while let Some(row) = rows.next().map_err(while_doing(doing))? {
            let seq: u64 = row.get(0).map_err(while_doing(doing))?;
            if seq != expected {
                return Err(StoreError::Damaged { what: format!("record {expected} is missing") }.into());
            }
            expected += 1;
            let text = row.get_ref(1).and_then(|value| Ok(value.as_str()?)).map_err(while_doing(doing))?;
            take(seq, rows::record(seq, text)?)?;
        }
        Ok(())
    }

    /// The programs of jobs that have not ended, each with the system user as whom it runs.
    pub fn programs(&self) -> Result<BTreeMap<JobId, (String, Option<String>)>, StoreError> {
        let doing = "reading programs";
        let select = "SELECT job, program, user FROM submission JOIN job ON id = job WHERE ended IS NULL";
        let mut select = self.connection.prepare(select).map_err(while_doing(doing))?;
        let rows = select.query_map([], |row| Ok((JobId(row.get(0)?), (row.get(1)?, row.get(2)?))));
        let rows = rows.map_err(while_doing(doing))?;
        rows.collect::<Result<_, _>>().map_err(while_doing(doing))
    }

    /// The largest number of a job so far.
    pub fn last_job(&self) -> Result<Option<JobId>, StoreError> {
        let last =
            self.connection.query_row("SELECT max(id) FROM job", [], |row| row.get::<_, Option<u64>>(0));
        Ok(last.map_err(while_doing("reading the last job"))?.map(JobId))
    }

    /// The number of the last record.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Lets the ledger grow up to this size and no further; what would not fit is refused like on a full disk.
    pub fn limit(&mut self, bytes_max: u64) -> Result<(), StoreError> {
        let doing = "limiting the store";
        let page: u64 = self
            .connection
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .map_err(while_doing(doing))?;
        let pages = bytes_max / page.max(1);
        let set = self.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()));
        set.map_err(while_doing(doing))
    }

    /// Tries whether as much as a batch can be written, without leaving a trace.
    pub fn probe(&mut self) -> Result<(), StoreError> {
        let doing = "trying to write";
        let put = "INSERT INTO fact (name, value) VALUES ('probe', hex(zeroblob(65536)))";
        let written = self.connection.execute(put, []).map_err(while_doing(doing));
        let removed = self.connection.execute("DELETE FROM fact WHERE name = 'probe'", []);
        written?;
        removed.map_err(while_doing(doing))?;
        Ok(())
    }

    /// The same error, or a clearer one: the database only says that the disk failed, which it also does where nobody may write any more.
    pub fn explained(&self, error: StoreError) -> StoreError {
        let StoreError::Disk { .. } = error else { return error };
        let probe = self.path.with_extension("probe");
        let tried = std::fs::File::create(&probe);
        // Nothing need be there.
        let _ = std::fs::remove_file(probe);
        match tried {
            Err(tried) if tried.kind() == std::io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly,
            _ => error,
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Copies a store, also one in use, as it is at one moment.
pub fn backup(folder: &Path, to: &Path) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let doing = "copying the store";
    let connection =
        Connection::open_with_flags(folder.join(STORE_FILE), flags).map_err(while_doing(doing))?;
    let target = to.to_string_lossy();
    connection.execute("VACUUM INTO ?1", [target.as_ref()]).map_err(while_doing(doing))?;
    Ok(())
}

/// Checks that a file is a store that this program can use, and whole.
pub fn verify(file: &Path) -> Result<Origin, StoreError> {
    let doing = "checking the store";
    let connection =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(while_doing(doing))?;
    let verdict: String = connection
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .map_err(while_doing(doing))?;
    if verdict != "ok" {
        return Err(StoreError::Damaged { what: verdict });
    }
    let what = "it has no header".to_owned();
    read_origin(&connection)?.ok_or(StoreError::Damaged { what })
}

fn prepare(connection: &Connection) -> Result<(), StoreError> {
    let doing = "setting the store up";
    connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(while_doing(doing))?;
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(while_doing(doing))?;
    if mode != "wal" {
        return Err(StoreError::Damaged { what: format!("its journal mode is {mode}, not wal") });
    }
    for (name, value) in [("synchronous", "full"), ("foreign_keys", "on"), ("temp_store", "memory")] {
        connection.pragma_update(None, name, value).map_err(while_doing(doing))?;
    }
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

fn read_origin(connection: &Connection) -> Result<Option<Origin>, StoreError> {
    let fact = |name: &str| {
        let found = connection.query_row("SELECT value FROM fact WHERE name = ?1", [name], |row| row.get(0));
        found.optional().map_err(while_doing("reading what the store was made with"))
    };
    let found: (Option<String>, Option<String>, Option<String>) =
        (fact("header")?, fact("epoch_ms")?, fact("mark")?);
    let (Some(header), Some(epoch), Some(mark)) = found else { return Ok(None) };
    let damaged = |what: String| StoreError::Damaged { what };
    let header = serde_json::from_str(&header).map_err(|error| damaged(format!("its header: {error}")))?;
    let epoch_ms = epoch.parse().map_err(|_| damaged(format!("its epoch is `{epoch}`")))?;
    Ok(Some(Origin { header, epoch_ms, mark }))
}

fn pairs<K: Ord, V>(
    connection: &Connection,
    select: &str,
    make: impl Fn(u64, u64) -> (K, V),
) -> Result<BTreeMap<K, V>, StoreError> {
    let doing = "reading the store";
    let mut select = connection.prepare(select).map_err(while_doing(doing))?;
    let rows = select.query_map([], |row| Ok(make(row.get(0)?, row.get(1)?))).map_err(while_doing(doing))?;
    rows.collect::<Result<_, _>>().map_err(while_doing(doing))
}

#[cfg(test)]
mod tests;

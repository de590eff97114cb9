//! The tables, and how older stores become newer ones.

use super::error::{StoreError, while_doing};
use rusqlite::Connection;

/// One step from each schema to the next; the number of steps taken is the schema's version. Steps that have been released never change.
const STEPS: &[&str] = &[FIRST, ASKED, SAVED, GROUPS, USERS];

/// `ledger` is the truth. `submission` holds what is not in it: programs and client keys. The others follow from the ledger and are
/// kept with it in the same transactions, so that lists and explanations need not read all of it.
const FIRST: &str = "
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE ledger (seq INTEGER PRIMARY KEY, record TEXT NOT NULL) STRICT;
CREATE TABLE submission (
    job INTEGER PRIMARY KEY, key TEXT UNIQUE, content TEXT NOT NULL, program TEXT NOT NULL
) STRICT;
CREATE TABLE tenant (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL) STRICT;
CREATE TABLE job (
    id INTEGER PRIMARY KEY, name TEXT, tenant INTEGER NOT NULL, priority INTEGER NOT NULL, gpus INTEGER NOT NULL,
    phase TEXT NOT NULL, submitted INTEGER NOT NULL, started INTEGER, ended INTEGER,
    on_hold INTEGER NOT NULL DEFAULT 0, lease INTEGER, held TEXT, starts INTEGER NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0,
    steps INTEGER NOT NULL DEFAULT 0, attained INTEGER NOT NULL DEFAULT 0, why TEXT, seq INTEGER NOT NULL
) STRICT;
CREATE INDEX job_by_phase ON job (phase, id);
CREATE INDEX job_by_tenant ON job (tenant, id);
CREATE INDEX job_by_name ON job (name, id) WHERE name IS NOT NULL;
CREATE INDEX job_by_lease ON job (lease) WHERE lease IS NOT NULL;
CREATE TABLE mention (job INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (job, seq)) STRICT, WITHOUT ROWID;
";

/// Who asked for which change, in the transactions of the changes themselves; not part of the ledger, which tells what happened and not who
/// wanted it.
const ASKED: &str = "
CREATE TABLE asked (
    number INTEGER PRIMARY KEY, at INTEGER NOT NULL, seq INTEGER NOT NULL, who TEXT NOT NULL, tenant TEXT, what TEXT NOT NULL
) STRICT;
";

/// Everything as it was after a record, so that a start need not repeat all of the ledger. Not the truth: whatever cannot be read is left out.
const SAVED: &str = "
CREATE TABLE saved (seq INTEGER PRIMARY KEY, version INTEGER NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL) STRICT;
";

/// Jobs that belong together: arrays, apps, and those that wait for others. All of it follows from the ledger. `after` holds only what is still
/// waited for.
const GROUPS: &str = "
ALTER TABLE job ADD COLUMN array INTEGER;
ALTER TABLE job ADD COLUMN array_index INTEGER;
ALTER TABLE job ADD COLUMN at_once INTEGER;
ALTER TABLE job ADD COLUMN app INTEGER;
ALTER TABLE job ADD COLUMN deadline INTEGER;
CREATE INDEX job_by_array ON job (array, array_index) WHERE array IS NOT NULL;
CREATE INDEX job_by_app ON job (app, id) WHERE app IS NOT NULL;
CREATE TABLE array (id INTEGER PRIMARY KEY, name TEXT, tenant INTEGER NOT NULL) STRICT;
CREATE INDEX array_by_name ON array (name, id) WHERE name IS NOT NULL;
CREATE TABLE app (
    id INTEGER PRIMARY KEY, name TEXT, tenant INTEGER NOT NULL, opened INTEGER NOT NULL, closed INTEGER
) STRICT;
CREATE INDEX app_by_name ON app (name, id) WHERE name IS NOT NULL;
CREATE TABLE after (job INTEGER NOT NULL, before INTEGER NOT NULL, PRIMARY KEY (before, job)) STRICT, WITHOUT ROWID;
CREATE INDEX after_by_job ON after (job);
";
/// As whom a job runs: nobody in particular for those from before.
const USERS: &str = "ALTER TABLE submission ADD COLUMN user TEXT;";

/// Brings a store up to date, or says that it is from the future.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let doing = "bringing the store up to date";
    let known = STEPS.len() as u32;
    let found: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(while_doing("reading the schema's version"))?;
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    for (step, to) in STEPS.iter().zip(1_u32..).skip(found as usize) {
        let transaction = connection.transaction().map_err(while_doing(doing))?;
        transaction.execute_batch(step).map_err(while_doing(doing))?;
        transaction.pragma_update(None, "user_version", to).map_err(while_doing(doing))?;
        transaction.commit().map_err(while_doing(doing))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_of_the_first_schema_is_brought_up_to_date_and_keeps_what_it_has() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(FIRST).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        connection.execute("INSERT INTO ledger (seq, record) VALUES (1, 'kept')", []).unwrap();
        migrate(&mut connection).unwrap();
        let count = |table: &str| -> u64 {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
        };
        assert_eq!((count("ledger"), count("asked"), count("saved"), count("app")), (1, 0, 0, 0));
    }
}

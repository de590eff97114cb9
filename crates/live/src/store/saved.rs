//! Everything as it was after a record: the last two times it was saved.

use super::{Store, StoreError, while_doing};
use sha2::{Digest, Sha256};

/// Bodies of another version are not read.
const VERSION: u32 = 1;

/// How many are kept: the last may turn out to be unreadable.
const KEPT: u32 = 2;

impl Store {
    /// Keeps this as everything after the last record.
    pub fn save(&mut self, body: &[u8]) -> Result<(), StoreError> {
        let doing = "saving everything as it is";
        let transaction = self.connection.transaction().map_err(while_doing(doing))?;
        let put = "INSERT OR REPLACE INTO saved (seq, version, digest, body) VALUES (?1, ?2, ?3, ?4)";
        let digest = Sha256::digest(body);
        transaction
            .execute(put, (self.last, VERSION, digest.as_slice(), body))
            .map_err(while_doing(doing))?;
        let drop = "DELETE FROM saved WHERE seq > ?2 OR seq NOT IN (SELECT seq FROM saved WHERE seq <= ?2 ORDER BY seq DESC LIMIT ?1)";
        transaction.execute(drop, (KEPT, self.last)).map_err(while_doing(doing))?;
        transaction.commit().map_err(while_doing(doing))
    }

    /// What was saved and is whole, the last first, with the number of the record after which it was so.
    pub fn saved(&self) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let doing = "reading what was saved";
        let select = "SELECT seq, digest, body FROM saved WHERE version = ?1 AND seq <= ?2 ORDER BY seq DESC";
        let mut select = self.connection.prepare(select).map_err(while_doing(doing))?;
        let rows = select.query_map([u64::from(VERSION), self.last], |row| {
            Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, Vec<u8>>(2)?))
        });
        let mut found = Vec::new();
        for row in rows.map_err(while_doing(doing))? {
            let (seq, digest, body) = row.map_err(while_doing(doing))?;
            if Sha256::digest(&body).as_slice() == digest {
                found.push((seq, body));
            }
        }
        Ok(found)
    }
}

//! What can go wrong with the store, told apart by what to do about it.

use rusqlite::ErrorCode;
use std::path::PathBuf;
use thiserror::Error;

/// Why the store did not do what was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No room is left: nothing was written. Passes when somebody makes room.
    #[error("the disk is full, so nothing new can be recorded")]
    Full,
    /// It may only be read: nothing was written.
    #[error("the store is read-only, so nothing new can be recorded")]
    ReadOnly,
    /// The disk failed underneath.
    #[error("the disk failed while {doing}: {source}")]
    Disk {
        /// What was being done.
        doing: &'static str,
        /// What the database said.
        source: rusqlite::Error,
    },
    /// Another server has it open.
    #[error("{} is in use by another server", .0.display())]
    InUse(PathBuf),
    /// Made by a newer version of this program.
    #[error(
        "the store has schema {found}, but this program knows schemas up to {known}: use the newer program"
    )]
    Newer {
        /// As found.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// What is in it cannot be what was written.
    #[error("the store is damaged: {what}")]
    Damaged {
        /// Where and how.
        what: String,
    },
    /// Anything else the database says.
    #[error("{doing} failed: {source}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// What the database said.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Whether waiting may help: then the service goes on without new work.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Full | Self::ReadOnly | Self::Disk { .. })
    }
}

/// Names what was being done, and sorts the error by what to do about it.
pub(super) fn while_doing(doing: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |source| match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly,
        // A file that cannot be opened for writing is one more way of being read-only or full; the text says which.
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => StoreError::Disk { doing, source },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { what: format!("{doing}: {source}") }
        }
        _ => StoreError::Database { doing, source },
    }
}

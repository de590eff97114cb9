//! A ledger back in: every command and every decision must be the same.

use crate::{Engine, Step};
use evenhand_core::{LedgerError, LedgerReader, Record};
use std::io::BufRead;
use thiserror::Error;

/// A ledger whose every decision was repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Lines compared.
    pub records: u64,
    /// Decisions among them.
    pub decisions: u64,
}

/// The first line where the engine did something else.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The line in the ledger.
    pub line: u64,
    /// What the ledger says.
    pub recorded: Record,
    /// What the engine does now.
    pub repeated: Record,
}

/// Why a replay did not come to its end.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The engine did something else.
    #[error("line {}: the decision differs from the recorded one", .0.line)]
    Differs(Box<Difference>),
}

/// Feeds a ledger's events to a fresh engine and compares all that comes of them.
pub fn replay<R: BufRead>(
    engine: &mut Engine,
    ledger: &mut LedgerReader<R>,
) -> Result<Replayed, ReplayError> {
    let mut replayed = Replayed { records: 0, decisions: 0 };
    while let Some(recorded) = ledger.read()? {
        replayed.records += 1;
        replayed.decisions += u64::from(recorded.decision.is_some());
        if let Err(repeated) = repeat(engine, &recorded) {
            let difference = Difference { line: ledger.line(), recorded, repeated: *repeated };
            return Err(ReplayError::Differs(Box::new(difference)));
        }
    }
    Ok(replayed)
}

/// Feeds one record's event to an engine; if something else comes of it than was recorded, gives that.
pub fn repeat(engine: &mut Engine, recorded: &Record) -> Result<(), Box<Record>> {
    let Step { commands, decision, notes } = engine.step(recorded.now, &recorded.event);
    let repeated = Record { now: recorded.now, event: recorded.event.clone(), commands, decision, notes };
    if same(recorded, &repeated) { Ok(()) } else { Err(Box::new(repeated)) }
}

/// Compares as the ledger writes: fields that are not written do not count.
fn same(recorded: &Record, repeated: &Record) -> bool {
    let text = |record: &Record| serde_json::to_string(record).ok();
    text(recorded) == text(repeated)
}

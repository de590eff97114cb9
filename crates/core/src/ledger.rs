//! The ledger as lines of JSON: a header, then one record a line, append-only.
//!
//! It is written as a stream and never held in memory. A last line without its line end was being written when
//! the writer died: it is dropped, and the reader says so. Anything else that cannot be read is an error that
//! names its line.

use crate::{Header, LEDGER_VERSION, Record};
use std::io::{self, BufRead, Write};
use thiserror::Error;

/// Writes a ledger.
#[derive(Debug)]
pub struct LedgerWriter<W: Write> {
    to: W,
    line: Vec<u8>,
}

impl<W: Write> LedgerWriter<W> {
    /// Begins a ledger with its header.
    pub fn new(to: W, header: &Header) -> io::Result<Self> {
        let mut writer = Self { to, line: Vec::with_capacity(4096) };
        writer.put(header)?;
        Ok(writer)
    }

    /// Appends a record.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        self.put(record)
    }

    /// Writes out what is buffered and gives the stream back.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }

    fn put<T: serde::Serialize>(&mut self, value: &T) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)?;
        self.line.push(b'\n');
        self.to.write_all(&self.line)
    }
}

/// What is wrong with a ledger.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// It could not be read at all.
    #[error("line {line}: {source}")]
    Io {
        /// Where.
        line: u64,
        /// What came back.
        source: io::Error,
    },
    /// It has no lines.
    #[error("line 1: the ledger is empty: expected a header")]
    Empty,
    /// The first line is not a header.
    #[error("line 1: not the header of a ledger: {0}")]
    Header(serde_json::Error),
    /// Written by another version.
    #[error(
        "line 1: field `evenhand` is {found}, but this program reads ledgers of version {LEDGER_VERSION}"
    )]
    Version {
        /// As found.
        found: u32,
    },
    /// A line in the middle is not a record.
    #[error("line {line}: not a record: {source}")]
    Record {
        /// Where.
        line: u64,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// A last line that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornLine {
    /// Which.
    pub line: u64,
    /// How much of it there is.
    pub bytes: usize,
}

/// What every version of the header has.
#[derive(serde::Deserialize)]
struct Version {
    evenhand: u32,
}

/// Reads a ledger record by record.
#[derive(Debug)]
pub struct LedgerReader<R: BufRead> {
    from: R,
    text: Vec<u8>,
    line: u64,
    header: Header,
    torn: Option<TornLine>,
}

impl<R: BufRead> LedgerReader<R> {
    /// Reads the header.
    pub fn new(from: R) -> Result<Self, LedgerError> {
        let placeholder = Header {
            evenhand: LEDGER_VERSION,
            policy: crate::Choice::default(),
            placer: crate::Choice::default(),
            predictor: crate::Choice::default(),
            seed: 0,
            engine: crate::EngineConfig::default(),
            limits: crate::Limits::default(),
            abilities: crate::Abilities::default(),
            world: String::new(),
        };
        let mut reader = Self { from, text: Vec::new(), line: 0, header: placeholder, torn: None };
        if !reader.advance()? {
            return Err(LedgerError::Empty);
        }
        let version: Version = serde_json::from_slice(&reader.text).map_err(LedgerError::Header)?;
        if version.evenhand != LEDGER_VERSION {
            return Err(LedgerError::Version { found: version.evenhand });
        }
        reader.header = serde_json::from_slice(&reader.text).map_err(LedgerError::Header)?;
        Ok(reader)
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The last line, if it was cut off; known when all records have been read.
    pub fn torn(&self) -> Option<TornLine> {
        self.torn
    }

    /// The number of the line last read.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next record; `None` at the end.
    pub fn read(&mut self) -> Result<Option<Record>, LedgerError> {
        if !self.advance()? {
            return Ok(None);
        }
        let whole = self.text.last() == Some(&b'\n');
        if !whole {
            self.torn = Some(TornLine { line: self.line, bytes: self.text.len() });
            return Ok(None);
        }
        let record = serde_json::from_slice(&self.text);
        record.map(Some).map_err(|source| LedgerError::Record { line: self.line, source })
    }

    fn advance(&mut self) -> Result<bool, LedgerError> {
        self.text.clear();
        self.line += 1;
        let read = self.from.read_until(b'\n', &mut self.text);
        Ok(read.map_err(|source| LedgerError::Io { line: self.line, source })? > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, EngineConfig, Event, JobId, Round, Time};

    fn ledger() -> Vec<u8> {
        let header = Header {
            evenhand: LEDGER_VERSION,
            policy: Choice::named("fifo"),
            placer: Choice::named("packed"),
            predictor: Choice::named("declared"),
            seed: 1,
            engine: EngineConfig::default(),
            limits: crate::Limits::default(),
            abilities: crate::Abilities::default(),
            world: "simulated".into(),
        };
        let mut writer = LedgerWriter::new(Vec::new(), &header).unwrap();
        for round in 0..3 {
            let event = Event::RoundDue(Round(round));
            let record = Record { now: Time(round), event, commands: vec![], decision: None, notes: vec![] };
            writer.write(&record).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<(usize, Option<TornLine>), LedgerError> {
        let mut reader = LedgerReader::new(bytes)?;
        let mut count = 0;
        while reader.read()?.is_some() {
            count += 1;
        }
        Ok((count, reader.torn()))
    }

    #[test]
    fn a_ledger_comes_back() {
        assert_eq!(read(&ledger()).unwrap(), (3, None));
    }

    #[test]
    fn a_torn_last_line_is_dropped_at_any_byte() {
        let whole = ledger();
        let start = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        for cut in start + 1..whole.len() {
            let (count, torn) = read(&whole[..cut]).unwrap();
            assert_eq!((count, torn), (2, Some(TornLine { line: 4, bytes: cut - start })));
        }
    }

    #[test]
    fn a_broken_line_in_the_middle_is_named() {
        let text = String::from_utf8(ledger()).unwrap();
        let broken = text.replacen("\"round-due\":1", "\"round-due\":x", 1);
        assert!(read(broken.as_bytes()).unwrap_err().to_string().starts_with("line 3: not a record"));
        assert!(matches!(read(b""), Err(LedgerError::Empty)));
        let newer = text.replacen("\"evenhand\":1", "\"evenhand\":9", 1);
        assert!(matches!(read(newer.as_bytes()), Err(LedgerError::Version { found: 9 })));
    }

    #[test]
    fn events_have_stable_names() {
        let text = serde_json::to_string(&Event::Cancelled(JobId(3))).unwrap();
        assert_eq!(text, r#"{"cancelled":3}"#);
    }
}

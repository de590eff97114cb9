//! A window over a seekable reader: what is skipped is never read.

use crate::error::GraphError;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// Bytes read at once. Small, since each weight that is skipped ends the use of a window.
const WINDOW_BYTES: usize = 8 << 10;

/// A reader with a place in it.
pub struct Source<R> {
    reader: R,
    window: Vec<u8>,
    /// The next byte, as a place in the window.
    at: usize,
    /// The offset of the window's first byte.
    window_offset: u64,
    length: u64,
}

impl<R: Read + Seek> Source<R> {
    /// All of a reader, from its first byte.
    pub fn new(mut reader: R) -> Result<Self, GraphError> {
        let length = reader.seek(SeekFrom::End(0))?;
        reader.seek(SeekFrom::Start(0))?;
        Ok(Self { reader, window: Vec::with_capacity(WINDOW_BYTES), at: 0, window_offset: 0, length })
    }

    /// Where the next byte lies.
    pub fn offset(&self) -> u64 {
        self.window_offset + self.at as u64
    }

    /// How long it is.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, GraphError> {
        if self.at == self.window.len() {
            self.refill()?;
        }
        let byte = self.window[self.at];
        self.at += 1;
        Ok(byte)
    }

    /// Appends the next `count` bytes.
    pub fn take(&mut self, count: u64, into: &mut Vec<u8>) -> Result<(), GraphError> {
        let mut missing = count as usize;
        while missing > 0 {
            if self.at == self.window.len() {
                self.refill()?;
            }
            let part = missing.min(self.window.len() - self.at);
            into.extend_from_slice(&self.window[self.at..self.at + part]);
            self.at += part;
            missing -= part;
        }
        Ok(())
    }

    /// Goes on behind the next `count` bytes, which are not read unless they are in the window.
    pub fn skip(&mut self, count: u64) -> Result<(), GraphError> {
        let inside = (self.window.len() - self.at) as u64;
        if count <= inside {
            self.at += count as usize;
            return Ok(());
        }
        let target = self.offset().saturating_add(count);
        self.reader.seek(SeekFrom::Start(target))?;
        self.window_offset = target;
        self.window.clear();
        self.at = 0;
        Ok(())
    }

    /// The next window: at least a byte of it.
    fn refill(&mut self) -> Result<(), GraphError> {
        self.window_offset = self.offset();
        self.at = 0;
        self.window.resize(WINDOW_BYTES, 0);
        let count = loop {
            match self.reader.read(&mut self.window) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.window.truncate(count);
        if count == 0 {
            return Err(GraphError::Truncated { offset: self.window_offset, needed: 1 });
        }
        Ok(())
    }
}

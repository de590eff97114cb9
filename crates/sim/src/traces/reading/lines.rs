//! Lines of text with a limit: a file without line ends, or a small archive that unpacks to one endless line, must not
//! fill the memory.

use crate::InputError;
use std::io::{self, BufRead};

/// No line of a trace is longer. The longest real ones have a few kilobytes.
const LINE_BYTES_MAX: usize = 1 << 20;

/// The lines of a file, one at a time.
pub(crate) struct Lines<'a> {
    source: &'a mut dyn BufRead,
    number: u64,
    bytes: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(source: &'a mut dyn BufRead) -> Self {
        Self { source, number: 0, bytes: Vec::new() }
    }

    /// Goes to the next line; false at the end of the file.
    pub(crate) fn advance(&mut self) -> Result<bool, InputError> {
        self.bytes.clear();
        self.number += 1;
        loop {
            let part = match self.source.fill_buf() {
                Ok(part) => part,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(self.number, &error)),
            };
            if part.is_empty() {
                return Ok(!self.bytes.is_empty());
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(part.len());
            if self.bytes.len() + taken > LINE_BYTES_MAX {
                let allowed = format!(
                    "the line is longer than {LINE_BYTES_MAX} bytes: this is no trace, or its line ends are lost"
                );
                return Err(InputError { line: self.number, allowed, ..InputError::default() });
            }
            self.bytes.extend_from_slice(&part[..taken]);
            self.source.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// The number of this line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// This line without its end; `None` if it is not UTF-8.
    pub(crate) fn text(&self) -> Option<&str> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        let text = if self.number == 1 { text.trim_start_matches('\u{feff}') } else { text };
        Some(text.strip_suffix('\r').unwrap_or(text))
    }
}

fn unreadable(line: u64, error: &io::Error) -> InputError {
    InputError { line, allowed: format!("the file cannot be read on: {error}"), ..InputError::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn line_ends_of_all_kinds_are_taken_off() {
        let mut source = &b"\xef\xbb\xbfone\r\ntwo\n\n\xff\nlast"[..];
        let mut lines = Lines::new(&mut source);
        let mut found = Vec::new();
        while lines.advance().unwrap() {
            found.push((lines.number(), lines.text().map(str::to_owned)));
        }
        let expected = [Some("one"), Some("two"), Some(""), None, Some("last")];
        assert_eq!(found, (1..).zip(expected.map(|text| text.map(str::to_owned))).collect::<Vec<_>>());
    }

    #[test]
    fn an_endless_line_is_refused_with_its_number() {
        let mut source = io::BufReader::new(b"short\n".chain(io::repeat(b'x')));
        let mut lines = Lines::new(&mut source);
        assert!(lines.advance().unwrap());
        let error = lines.advance().unwrap_err();
        assert!(error.line == 2 && error.allowed.contains("longer than 1048576 bytes"), "{error}");
    }
}

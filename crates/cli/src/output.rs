//! Results go to stdout, everything else to stderr. A reader that goes away is no failure.

use anyhow::Context;
use serde::Serialize;
use std::fmt;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

/// Nobody reads our stdout any more.
#[derive(Debug)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdout is closed")
    }
}

impl std::error::Error for Closed {}

/// A result.
pub fn say(text: &str) -> anyhow::Result<()> {
    say_bytes(format!("{text}\n").as_bytes())
}

/// Bytes as they are.
pub fn say_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(bytes);
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Closed.into()),
        other => other.context("stdout cannot be written"),
    }
}

/// A result as the one JSON document.
pub fn say_json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    say(&serde_json::to_string_pretty(value)?)
}

/// Something about the work, or a warning.
pub fn note(text: &str) {
    // There is nowhere left to complain when stderr is gone.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Whether bold text would be seen as such.
pub fn is_styled() -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !plain
}

/// Columns of the terminal that shows our results, if one does.
pub fn terminal_width() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| rustix::termios::tcgetwinsize(&stdout).ok()).flatten();
    size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Writes a whole file; its folder is made if there is none.
pub fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_folder(folder)?;
    }
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Makes a folder for results.
pub fn make_folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("the folder {} cannot be made", folder.display()))
}

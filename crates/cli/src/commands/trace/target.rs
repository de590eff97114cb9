//! Where a trace is written: a file, or stdout.

use crate::failure::wrong;
use crate::output::{self, Closed};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file, or stdout; nothing is made before [`Target::write`].
pub struct Target {
    path: PathBuf,
    stdout: bool,
}

const BUFFER: usize = 1 << 16;

impl Target {
    /// Refuses what cannot be meant.
    pub fn new(path: &Path, source: Option<&Path>) -> Result<Self> {
        let stdout = path.as_os_str() == "-";
        if path.extension().is_some_and(|extension| extension == "gz") {
            let hint = "a trace is written as plain text; leave out .gz, or write to - and pipe it into gzip";
            return Err(wrong("--out", format!("{}: {hint}", path.display())));
        }
        if path.is_dir() {
            return Err(wrong("--out", format!("{} is a folder; name a file in it", path.display())));
        }
        let same = |source: &Path| {
            source.canonicalize().ok().is_some_and(|source| Some(source) == path.canonicalize().ok())
        };
        if !stdout && source.is_some_and(same) {
            return Err(wrong("--out", format!("{} is the trace itself", path.display())));
        }
        Ok(Self { path: path.to_owned(), stdout })
    }

    /// Writes it.
    pub fn write<T>(&self, work: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<T> {
        if self.stdout {
            let mut stdout = BufWriter::with_capacity(BUFFER, io::stdout().lock());
            let written = work(&mut stdout).and_then(|value| stdout.flush().map(|()| value));
            return match written {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    // What is left in the buffer has nowhere to go.
                    let _ = stdout.into_parts();
                    Err(Closed.into())
                }
                other => other.context("stdout cannot be written"),
            };
        }
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            output::make_folder(folder)?;
        }
        let cannot = || format!("{} cannot be written", self.path.display());
        let mut file = BufWriter::with_capacity(BUFFER, File::create(&self.path).with_context(cannot)?);
        let value = work(&mut file).with_context(cannot)?;
        file.flush().with_context(cannot)?;
        Ok(value)
    }

    /// Says what was written: beside it if it went to stdout.
    pub fn say(&self, text: &str) -> Result<()> {
        if self.stdout {
            output::note(text);
            return Ok(());
        }
        output::say(text)
    }

    /// What to call it.
    pub fn name(&self) -> String {
        if self.stdout { "stdout".into() } else { self.path.display().to_string() }
    }
}

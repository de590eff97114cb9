//! Ledgers on disk: opened, folded, and complained about.

use crate::client::Client;
use crate::failure::wrong;
use crate::live_args::Server;
use crate::output;
use anyhow::{Context, Result};
use evenhand_core::{LedgerError, LedgerReader, LedgerWriter};
use evenhand_live::LOCAL_ABILITIES;
use evenhand_live::shadow::{Journal, SHADOW_WORLD, is_journal, records};
use evenhand_sim::Setup;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Write};
use std::path::{Path, PathBuf};

/// A ledger that is being read.
pub type Reader = LedgerReader<Box<dyn BufRead>>;

const BUFFER: usize = 1 << 16;

/// Opens a ledger and reads its header. What was seen of an engine outside is told as one.
pub fn open(path: &Path) -> Result<Reader> {
    let place = path.display();
    let lines: Box<dyn BufRead> = if is_journal(path) {
        Box::new(Cursor::new(told(path)?))
    } else {
        let file =
            File::open(path).map_err(|error| wrong(place, format!("the ledger cannot be read: {error}")))?;
        Box::new(BufReader::with_capacity(BUFFER, file))
    };
    LedgerReader::new(lines).map_err(|error| refuse(path, &error))
}

/// A journal as the text of a ledger.
fn told(path: &Path) -> Result<Vec<u8>> {
    let journal = Journal::read(path).map_err(|error| wrong(path.display(), error))?;
    let told = records(&journal, Setup::default().header(LOCAL_ABILITIES, SHADOW_WORLD));
    if told.left_out > 0 {
        output::note(&format!(
            "note: {} jobs are left out: they have no GPUs, or some on nodes that were not seen or have not so many",
            told.left_out
        ));
    }
    if journal.torn {
        output::note(&format!(
            "warning: {}: the last line was cut off, as when its writer died; left out",
            path.display()
        ));
    }
    let mut writer = LedgerWriter::new(Vec::new(), &told.header)?;
    told.records.iter().try_for_each(|record| writer.write(record))?;
    Ok(writer.finish()?)
}

/// The ledger of the service as it is now, as a file.
pub fn of_service(server: &Server) -> Result<PathBuf> {
    let path = PathBuf::from("evenhand-ledger.jsonl");
    let mut ledger = Client::new(server)?.lines("/v1/ledger")?;
    let mut file = File::create(&path).with_context(|| format!("{} cannot be written", path.display()))?;
    std::io::copy(&mut ledger, &mut file).context("the ledger did not come to its end")?;
    Ok(path)
}

/// A ledger that cannot be read is wrong input; a disk that cannot be read is not.
pub fn refuse(path: &Path, error: &LedgerError) -> anyhow::Error {
    match error {
        LedgerError::Io { source, .. } if source.kind() != std::io::ErrorKind::IsADirectory => {
            anyhow::anyhow!("{}: {error}", path.display())
        }
        _ => wrong(path.display(), error),
    }
}

/// Says so if the last line was cut off.
pub fn warn_if_torn(path: &Path, ledger: &Reader) {
    if let Some(torn) = ledger.torn() {
        let (place, line, bytes) = (path.display(), torn.line, torn.bytes);
        output::note(&format!(
            "warning: {place}: line {line}: cut off after {bytes} bytes, as when its writer died; left out"
        ));
    }
}

/// A new ledger's stream.
pub fn create(path: &Path) -> std::io::Result<Box<dyn Write + Send>> {
    Ok(Box::new(BufWriter::with_capacity(BUFFER, File::create(path)?)))
}

//! What was seen, a line for every change, so that nothing is lost when the watcher is killed.
//!
//! The first line says whose jobs these are. Of several lines about one job the last holds, but its runs add up.

use super::{SeenEnd, SeenJob, SeenNode, SeenRun, Sight};
use evenhand_core::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::Path;
use thiserror::Error;

/// The version of the format.
const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The version of the format.
    pub evenhand_shadow: u32,
    /// The engine that was watched: `slurm`, `kubernetes`.
    pub engine: String,
}

/// Every other line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Node(SeenNode),
    Job(SeenJob),
    /// Everything was looked at.
    Looked(u64),
}

/// Why a journal cannot be read or written.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The disk.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is not what it should be.
    #[error("line {line}: {what}")]
    Line {
        /// Which.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// It is about another engine.
    #[error("it is about {found}, not about {wanted}: name another file")]
    Engine {
        /// About which.
        found: String,
        /// Which was asked for.
        wanted: String,
    },
}

/// A job and all its runs.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    pub job: SeenJob,
    /// By their number; the last one is over when the job is.
    pub runs: BTreeMap<u32, SeenRun>,
}

/// All that was seen.
#[derive(Debug)]
pub struct Journal {
    file: Option<File>,
    /// Its last line was cut off, as when its writer died: it is left out.
    pub torn: bool,
    /// Whose jobs these are.
    pub header: JournalHeader,
    pub(super) nodes: BTreeMap<String, SeenNode>,
    pub(super) jobs: BTreeMap<String, Whole>,
    /// When everything was looked at first and last, in milliseconds since 1970.
    pub(super) looked_ms: Option<(u64, u64)>,
}

/// Whether a file is a journal: its first line says so.
pub fn is_journal(path: &Path) -> bool {
    let mut line = String::new();
    let read = File::open(path).and_then(|file| BufReader::new(file).read_line(&mut line));
    read.is_ok() && serde_json::from_str::<JournalHeader>(&line).is_ok()
}

impl Journal {
    /// A journal to be gone on with, or a new one, about an engine.
    pub fn open(path: &Path, engine: &str) -> Result<Self, JournalError> {
        let mut file = File::options().read(true).append(true).create(true).open(path)?;
        let header = JournalHeader { evenhand_shadow: VERSION, engine: engine.to_owned() };
        if file.metadata()?.len() == 0 {
            put(&mut file, &header)?;
            file.sync_all()?;
        }
        file.rewind()?;
        let (mut journal, whole) = Self::take_in(&file)?;
        if journal.header != header {
            return Err(JournalError::Engine { found: journal.header.engine, wanted: header.engine });
        }
        // What was cut off when its writer died would run into the next line.
        file.set_len(whole)?;
        journal.file = Some(file);
        Ok(journal)
    }

    /// A journal to be read.
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        Ok(Self::take_in(&File::open(path)?)?.0)
    }

    /// What is in it, and how many bytes are whole lines.
    fn take_in(file: &File) -> Result<(Self, u64), JournalError> {
        let mut lines = BufReader::new(file);
        let (mut text, mut number, mut whole) = (String::new(), 0, 0);
        let mut journal: Option<Self> = None;
        loop {
            text.clear();
            let read = lines.read_line(&mut text)?;
            if !text.ends_with('\n') {
                break;
            }
            (number, whole) = (number + 1, whole + read as u64);
            let wrong =
                |error: serde_json::Error| JournalError::Line { line: number, what: error.to_string() };
            match &mut journal {
                Some(journal) => journal.learn(serde_json::from_str(&text).map_err(wrong)?),
                None => journal = Some(Self::new(serde_json::from_str(&text).map_err(wrong)?)),
            }
        }
        let empty = || JournalError::Line { line: 1, what: "the journal is empty".to_owned() };
        let mut journal = journal.ok_or_else(empty)?;
        journal.torn = !text.is_empty();
        Ok((journal, whole))
    }

    fn new(header: JournalHeader) -> Self {
        Self {
            file: None,
            torn: false,
            header,
            nodes: BTreeMap::new(),
            jobs: BTreeMap::new(),
            looked_ms: None,
        }
    }

    /// How many jobs were seen, and how many of them have ended.
    pub fn counts(&self) -> (usize, usize) {
        (self.jobs.len(), self.jobs.values().filter(|whole| whole.job.ended.is_some()).count())
    }

    /// Notes what is new in a sight.
    pub fn note(&mut self, sight: Sight, now_ms: u64) -> Result<(), JournalError> {
        let mut lines: Vec<Line> = Vec::new();
        let is_new = |node: &SeenNode| self.nodes.get(&node.name) != Some(node);
        lines.extend(sight.nodes.into_iter().filter(is_new).map(Line::Node));
        let there: std::collections::BTreeSet<String> =
            sight.jobs.iter().map(|job| job.key.clone()).collect();
        let is_new = |job: &SeenJob| self.jobs.get(&job.key).is_none_or(|known| known.job != *job);
        lines.extend(sight.jobs.into_iter().filter(is_new).map(Line::Job));
        let open = self.jobs.values().map(|whole| &whole.job).filter(|job| job.ended.is_none());
        lines
            .extend(open.filter(|job| !there.contains(&job.key)).map(|job| Line::Job(vanished(job, now_ms))));
        lines.push(Line::Looked(now_ms));
        if let Some(file) = &mut self.file {
            let mut text = Vec::new();
            for line in &lines {
                put(&mut text, line)?;
            }
            file.write_all(&text)?;
            file.sync_data()?;
        }
        for line in lines {
            self.learn(line);
        }
        Ok(())
    }

    fn learn(&mut self, line: Line) {
        match line {
            Line::Node(node) => {
                self.nodes.insert(node.name.clone(), node);
            }
            Line::Looked(now_ms) => {
                self.looked_ms = Some(self.looked_ms.map_or((now_ms, now_ms), |(first, _)| (first, now_ms)));
            }
            Line::Job(job) => {
                let runs = self.jobs.remove(&job.key).map(|whole| whole.runs).unwrap_or_default();
                self.jobs.insert(job.key.clone(), Whole { job, runs }.after(self.looked_ms));
            }
        }
    }
}

impl Whole {
    /// Takes its last run in, and ends those that must be over.
    fn after(mut self, looked_ms: Option<(u64, u64)>) -> Self {
        let open = self.job.run.as_ref().map(|run| run.number);
        let seen_ms = looked_ms.map_or(0, |(_, last)| last);
        // A run that was there at the last look and is not any more ended then, or when the next one began.
        let until_ms = self.job.run.as_ref().map_or(seen_ms, |run| run.started_ms.min(seen_ms));
        for (number, run) in &mut self.runs {
            if Some(*number) != open && run.ended_ms.is_none() {
                run.ended_ms = Some(until_ms.max(run.started_ms));
            }
        }
        if let Some(run) = &self.job.run {
            self.runs.insert(run.number, run.clone());
        }
        self
    }
}

/// One that is not there any more has ended between two looks. If it ran, it is taken to have come to its end.
fn vanished(job: &SeenJob, now_ms: u64) -> SeenJob {
    let mut job = job.clone();
    let outcome = if job.run.is_some() { Outcome::Finished } else { Outcome::Cancelled };
    if let Some(run) = &mut job.run {
        run.ended_ms.get_or_insert(now_ms);
    }
    job.ended = Some(SeenEnd { at_ms: now_ms, outcome });
    job
}

fn put<T: Serialize>(to: &mut impl Write, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shadow::records;
    use evenhand_core::{Command, Event};

    fn job(key: &str, run: Option<(u32, u64, Option<u64>)>, ended: Option<u64>) -> SeenJob {
        let run = run.map(|(number, started_ms, ended_ms)| SeenRun {
            number,
            started_ms,
            ended_ms,
            seats: vec![("a".to_owned(), 2)],
        });
        SeenJob {
            key: key.to_owned(),
            name: key.to_owned(),
            tenant: "vision".to_owned(),
            gpus: 2,
            model: None,
            packet: None,
            submitted_ms: 1000,
            run,
            ended: ended.map(|at_ms| SeenEnd { at_ms, outcome: Outcome::Finished }),
        }
    }

    fn sight(jobs: Vec<SeenJob>) -> Sight {
        Sight { nodes: vec![SeenNode { name: "a".to_owned(), model: "v100".to_owned(), gpus: 2 }], jobs }
    }

    #[test]
    fn what_was_seen_is_gone_on_with_and_told_as_a_ledger() {
        let path = std::env::temp_dir().join(format!("evenhand-journal-{}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut journal = Journal::open(&path, "slurm").unwrap();
        journal.note(sight(vec![job("1", Some((0, 2000, None)), None), job("2", None, None)]), 3000).unwrap();
        // Cut off, as when the watcher is killed; then it goes on.
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"job\":").unwrap();
        let mut journal = Journal::open(&path, "slurm").unwrap();
        // The first was put back into the queue and runs again; the second is gone without having run.
        journal.note(sight(vec![job("1", Some((1, 5000, Some(7000))), Some(7000))]), 8000).unwrap();
        assert!(matches!(Journal::open(&path, "kubernetes"), Err(JournalError::Engine { .. })));
        assert!(is_journal(&path));
        let journal = Journal::read(&path).unwrap();
        assert!(!journal.torn, "what was cut off is gone");
        assert_eq!(journal.counts(), (2, 2));
        let told = records(&journal, header());
        let at = |wanted: fn(&Event) -> bool| -> Vec<u64> {
            told.records.iter().filter(|record| wanted(&record.event)).map(|record| record.now.0).collect()
        };
        assert_eq!(at(|event| matches!(event, Event::Submitted(_))), [0, 0]);
        assert_eq!(at(|event| matches!(event, Event::LeaseStarted(_))), [1000, 4000]);
        assert_eq!(at(|event| matches!(event, Event::LeaseEnded { .. })), [2000, 6000]);
        assert_eq!(at(|event| matches!(event, Event::Cancelled(_))), [7000]);
        let ends = told.records.iter().flat_map(|record| &record.commands);
        assert_eq!(ends.filter(|command| matches!(command, Command::End { .. })).count(), 2);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_makes_no_sense_is_left_out_and_counted() {
        let mut journal =
            Journal::new(JournalHeader { evenhand_shadow: VERSION, engine: "slurm".to_owned() });
        let mut odd =
            sight(vec![job("none", None, None), job("ok", Some((0, 2000, Some(3000))), Some(3000))]);
        odd.jobs[0].gpus = 0;
        odd.jobs.push(job("unseen", Some((0, 2000, Some(3000))), Some(3000)));
        odd.jobs[2].run.as_mut().unwrap().seats = vec![("huge".to_owned(), 1)];
        odd.nodes.push(SeenNode { name: "huge".to_owned(), model: "v100".to_owned(), gpus: 200 });
        journal.note(odd, 4000).unwrap();
        let told = records(&journal, header());
        assert_eq!(told.left_out, 2);
        let comes = |record: &&evenhand_core::Record| matches!(record.event, Event::Submitted(_));
        assert_eq!(told.records.iter().filter(comes).count(), 1);
    }

    fn header() -> evenhand_core::Header {
        let placeholder = evenhand_core::Choice::default;
        evenhand_core::Header {
            evenhand: evenhand_core::LEDGER_VERSION,
            policy: placeholder(),
            placer: placeholder(),
            predictor: placeholder(),
            seed: 1,
            engine: evenhand_core::EngineConfig::default(),
            limits: evenhand_core::Limits::default(),
            abilities: crate::LOCAL_ABILITIES,
            world: String::new(),
        }
    }
}

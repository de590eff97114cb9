//! One run of a history: its state, and the process that does it.

use super::WhatIf;
use crate::api::Front;
use crate::store::{Reader, StoreError};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Records that are copied at a time.
const PAGE: usize = 1024;

/// What of its complaints is told at most, in lines.
const COMPLAINTS_MAX: usize = 5;

/// The most that a page may have, in bytes.
const FIGURES_MAX: u64 = 16 << 20;

/// How it is.
#[derive(Debug)]
enum State {
    Waits,
    Runs(Option<Child>),
    Done {
        runs: serde_json::Value,
        figures: Arc<str>,
    },
    Failed,
    /// What still runs of it has been killed; whoever started it sees to it that it is gone.
    Cancelled(Option<Child>),
}

/// A run of this service's history.
#[derive(Debug)]
pub(super) struct Task {
    id: u64,
    policies: Vec<String>,
    since_s: Option<u64>,
    who: String,
    asked_ms: u64,
    folder: PathBuf,
    now: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    state: State,
    progress: f64,
    told: Vec<String>,
}

impl Task {
    pub(super) fn new(
        id: u64,
        policies: Vec<String>,
        since_s: Option<u64>,
        who: String,
        asked_ms: u64,
        folder: PathBuf,
    ) -> Self {
        let now = Mutex::new(Now { state: State::Waits, progress: 0.0, told: Vec::new() });
        Self { id, policies, since_s, who, asked_ms, folder, now }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_ended(&self) -> bool {
        !matches!(self.now().state, State::Waits | State::Runs(_))
    }

    /// As it is told; with its figures or without.
    pub(super) fn seen(&self, whole: bool) -> WhatIf {
        let now = self.now();
        let (state, runs) = match &now.state {
            State::Waits => ("waits", None),
            State::Runs(_) => ("runs", None),
            State::Done { runs, .. } => ("done", Some(runs.clone())),
            State::Failed => ("failed", None),
            State::Cancelled(_) => ("cancelled", None),
        };
        WhatIf {
            id: self.id,
            state,
            policies: self.policies.clone(),
            since_s: self.since_s,
            who: self.who.clone(),
            asked_ms: self.asked_ms,
            progress: now.progress,
            command: format!("evenhand whatif {}", self.words().join(" ")),
            told: now.told.clone(),
            runs: runs.filter(|_| whole).unwrap_or_default(),
        }
    }

    pub(super) fn figures(&self) -> Option<Arc<str>> {
        match &self.now().state {
            State::Done { figures, .. } => Some(figures.clone()),
            _ => None,
        }
    }

    /// Ends it; says whether there was something to end.
    pub(super) fn cancel(&self) -> bool {
        let mut now = self.now();
        let child = match &mut now.state {
            State::Waits => None,
            State::Runs(child) => child.take(),
            _ => return false,
        };
        now.state = killed(child);
        true
    }

    /// What is typed after `whatif`.
    fn words(&self) -> Vec<String> {
        let policies = self.policies.iter().flat_map(|policy| ["--policy".to_owned(), policy.clone()]);
        let since = self.since_s.into_iter().flat_map(|since| ["--since".to_owned(), span(since)]);
        policies.chain(since).collect()
    }

    fn fail(&self, told: Vec<String>) {
        let mut now = self.now();
        if !matches!(now.state, State::Cancelled(_)) {
            now.state = State::Failed;
            now.told = told;
        }
    }
}

/// Without its process, if it has one; one that is gone already needs no killing.
fn killed(mut child: Option<Child>) -> State {
    let _ = child.as_mut().map(Child::kill);
    State::Cancelled(child)
}

/// As people type a length of time.
fn span(seconds: u64) -> String {
    let unit =
        [(86_400, "d"), (3600, "h"), (60, "m")].into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{seconds}s"), |(unit, name)| format!("{}{name}", seconds / unit))
}

/// Does it on a thread of its own, when it is its turn.
pub(super) fn begin(front: Arc<Front>, task: Arc<Task>, turn: Arc<Mutex<()>>) {
    let failed = task.clone();
    let work = move || {
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        if task.has_ended() {
            return;
        }
        if let Err(error) = work(&front, &task) {
            task.fail(vec![error.to_string()]);
        }
        // What is left is of no use to anybody.
        let _ = fs::remove_dir_all(&task.folder);
    };
    if let Err(error) = std::thread::Builder::new().name("whatif".to_owned()).spawn(work) {
        failed.fail(vec![error.to_string()]);
    }
}

fn work(front: &Front, task: &Task) -> io::Result<()> {
    let _ = fs::remove_dir_all(&task.folder);
    fs::create_dir_all(&task.folder)?;
    let ledger = task.folder.join("ledger.jsonl");
    copy(front.state(), &ledger).map_err(io::Error::other)?;
    // This very binary, also if another was put in its place meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.arg("whatif").arg(&ledger).args(task.words()).args([
        "--json",
        "--parts",
        "--threads",
        "1",
        "--out",
    ]);
    command.arg(&task.folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    {
        let mut now = task.now();
        let is_cancelled = matches!(now.state, State::Cancelled(_));
        now.state = if is_cancelled { killed(Some(child)) } else { State::Runs(Some(child)) };
    }
    // It prints little, and all of it at its end.
    let complaints = listen(task, stderr);
    let mut printed = String::new();
    stdout.map(|mut stdout| stdout.read_to_string(&mut printed)).transpose()?;
    let child = match &mut task.now().state {
        State::Runs(child) | State::Cancelled(child) => child.take(),
        _ => None,
    };
    let Some(mut child) = child else { return Ok(()) };
    if !child.wait()?.success() {
        // One that was cancelled stays so.
        task.fail(complaints);
        return Ok(());
    }
    finish(task, &printed, complaints)
}

fn finish(task: &Task, printed: &str, complaints: Vec<String>) -> io::Result<()> {
    let runs = serde_json::from_str(printed).map_err(io::Error::other)?;
    let mut figures = String::new();
    File::open(task.folder.join("parts.html"))?.take(FIGURES_MAX).read_to_string(&mut figures)?;
    let told = fs::read_to_string(task.folder.join("told.txt"))?;
    let mut now = task.now();
    if !matches!(now.state, State::Cancelled(_)) {
        now.told = told.lines().map(str::to_owned).chain(complaints).collect();
        now.progress = 1.0;
        now.state = State::Done { runs, figures: figures.into() };
    }
    Ok(())
}

/// Hears how far it is, until it has nothing more to say; gives back what else it said.
fn listen(task: &Task, stderr: Option<impl Read>) -> Vec<String> {
    let mut others = Vec::new();
    let lines = stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok);
    for line in lines {
        match line.strip_prefix("progress ").and_then(|part| part.parse::<f64>().ok()) {
            Some(part) => task.now().progress = part.clamp(0.0, 1.0),
            None if others.len() < COMPLAINTS_MAX => others.push(line),
            None => {}
        }
    }
    others
}

/// The ledger as it is now, as a file.
fn copy(state: &Path, to: &Path) -> Result<(), StoreError> {
    let reader = Reader::open(state)?;
    let failed = |error: io::Error| StoreError::Damaged {
        what: format!("{} cannot be written: {error}", to.display()),
    };
    let mut file = BufWriter::new(File::create(to).map_err(failed)?);
    if let Some(origin) = reader.origin()? {
        serde_json::to_writer(&mut file, &origin.header).map_err(|error| failed(error.into()))?;
        writeln!(file).map_err(failed)?;
    }
    let mut last = 0;
    loop {
        let page = reader.records(last, PAGE)?;
        let Some((seq, _)) = page.last() else { break };
        last = *seq;
        for (_, record) in &page {
            writeln!(file, "{record}").map_err(failed)?;
        }
    }
    file.flush().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_cancelled_is_killed_and_stays_cancelled() {
        let task = Task::new(1, vec!["las".into()], None, "me".into(), 0, PathBuf::new());
        task.now().state = State::Runs(Command::new("sleep").arg("600").spawn().ok());
        assert!(task.cancel() && !task.cancel(), "it is ended once");
        task.fail(vec!["killed".to_owned()]);
        assert_eq!(task.seen(false).state, "cancelled");
        let State::Cancelled(Some(child)) = &mut task.now().state else {
            panic!("whoever started it reaps it")
        };
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn what_is_typed_in_a_terminal_is_what_is_run() {
        let task =
            Task::new(1, vec!["las".into(), "fifo".into()], Some(604_800), "me".into(), 0, PathBuf::new());
        assert_eq!(task.seen(false).command, "evenhand whatif --policy las --policy fifo --since 7d");
        assert_eq!([90, 3600, 86_400, 7200].map(span), ["90s", "1h", "1d", "2h"]);
    }
}

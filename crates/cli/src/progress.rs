//! A bar for whoever waits at a terminal longer than a second.

use crate::{clock, output};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How far several runs of the same work are.
pub struct Progress {
    bar: Option<ProgressBar>,
    ended: Vec<AtomicU64>,
    begun: f64,
    shown: AtomicBool,
    /// All jobs of all runs.
    all: u64,
    /// Thousandths that programs were told.
    told: AtomicU64,
}

/// Comparisons of which a program wants to know how far they are together; 0 if none does.
static FOR_PROGRAMS: AtomicU64 = AtomicU64::new(0);

/// Comparisons that are over.
static OVER: AtomicU64 = AtomicU64::new(0);

/// Shorter work needs no bar.
const PATIENCE_S: f64 = 1.0;

impl Progress {
    /// For this many runs of this many jobs each.
    pub fn new(runs: usize, jobs: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some((runs * jobs) as u64), ProgressDrawTarget::hidden());
            let style =
                ProgressStyle::with_template("[{bar:40}] {human_pos} of {human_len} jobs, {eta} left");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let ended = (0..runs).map(|_| AtomicU64::new(0)).collect();
        let (all, told) = ((runs * jobs) as u64, AtomicU64::new(0));
        Self { bar, ended, begun: clock::wall_s(), shown: AtomicBool::new(false), all, told }
    }

    /// From now on, tells a program that listens how far so many comparisons are, from 0 to 1.
    pub fn tell_programs(comparisons: u64) {
        FOR_PROGRAMS.store(comparisons, Ordering::Relaxed);
    }

    /// One run has ended this many jobs.
    pub fn tell(&self, run: usize, ended: u64) {
        self.ended[run].store(ended, Ordering::Relaxed);
        let done = || self.ended.iter().map(|ended| ended.load(Ordering::Relaxed)).sum::<u64>();
        let over = OVER.load(Ordering::Relaxed) * 1000 + done() * 1000 / self.all.max(1);
        if let Some(thousandths) = over.checked_div(FOR_PROGRAMS.load(Ordering::Relaxed)) {
            let thousandths = thousandths.min(1000);
            if self.told.fetch_max(thousandths, Ordering::Relaxed) < thousandths {
                output::note(&format!("progress {}", thousandths as f64 / 1e3));
            }
        }
        let Some(bar) = &self.bar else { return };
        bar.set_position(done());
        let late = clock::wall_s() - self.begun > PATIENCE_S;
        if late && !self.shown.swap(true, Ordering::Relaxed) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        OVER.fetch_add(1, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A sign of life for work of which nobody knows how long it takes.
pub struct Waiting {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    /// Says what is going on, from a second on.
    pub fn for_work(what: String) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { end: None, thread: None };
        }
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            let patience = ended.recv_timeout(Duration::from_secs_f64(PATIENCE_S));
            if patience != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what);
            while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A bar that failed to draw is no reason to fail.
            let _ = thread.join();
        }
    }
}

//! A bar for whoever waits at a terminal longer than a second.

use crate::clock;
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
}

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
        Self { bar, ended, begun: clock::wall_s(), shown: AtomicBool::new(false) }
    }

    /// One run has ended this many jobs.
    pub fn tell(&self, run: usize, ended: u64) {
        let Some(bar) = &self.bar else { return };
        self.ended[run].store(ended, Ordering::Relaxed);
        bar.set_position(self.ended.iter().map(|ended| ended.load(Ordering::Relaxed)).sum());
        let late = clock::wall_s() - self.begun > PATIENCE_S;
        if late && !self.shown.swap(true, Ordering::Relaxed) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
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

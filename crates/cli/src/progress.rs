//! A bar for whoever waits at a terminal longer than a second.

use crate::clock;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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

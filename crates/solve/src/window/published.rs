//! The utility that Shockwave's planner was published with, to compare with: the logarithm of progress by six points.
//!
//! ```text
//! U(p)  straight between p = 0, .2, .4, .6, .8, 1 ,  U(p) = ln p ,  U(0) = ln 1e-6
//! maximise (1 / (N H)) sum_i omega_i U_i - beta max_i max(0, R_i - work_i)            H rounds, N jobs
//! ```
//!
//! Its slopes, 61.0, 3.5, 2.0, 1.4 and 1.1, mostly say that everybody is to get past a fifth.

use super::WindowItem;

/// Steps of progress between two points.
const STEP: f64 = 0.2;
/// What stands for no progress at all.
const ORIGIN: f64 = 1e-6;

/// A job as the published planner sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedJob {
    /// GPUs that it takes.
    pub gang: u32,
    /// e: epochs done.
    pub epochs_done: f64,
    /// E: all its epochs.
    pub epochs: f64,
    /// dbar / tau: rounds that an epoch takes.
    pub rounds_per_epoch: f64,
    /// R / tau: rounds that it is thought to need from here.
    pub remaining: f64,
    /// omega: its priority.
    pub priority: f64,
}

/// U: the logarithm of a part of the work, by six points.
pub fn published_utility(progress: f64) -> f64 {
    let progress = progress.clamp(0.0, 1.0);
    let at = (progress / STEP).floor().min(4.0);
    let point = |at: f64| if at > 0.0 { (at * STEP).ln() } else { ORIGIN.ln() };
    point(at) + (progress / STEP - at) * (point(at + 1.0) - point(at))
}

impl PublishedJob {
    /// As an item of a window of so many rounds, with so many jobs in all, on one GPU model.
    pub fn item(&self, rounds: usize, jobs: usize) -> WindowItem {
        let step = 1.0 / self.rounds_per_epoch;
        let epochs = |round: usize| (self.epochs_done + round as f64 * step).min(self.epochs);
        let utility = |round: usize| published_utility(epochs(round) / self.epochs);
        let scale = self.priority / (jobs * rounds).max(1) as f64;
        WindowItem {
            gang: self.gang,
            gains: (0..rounds).map(|round| scale * (utility(round + 1) - utility(round)).max(0.0)).collect(),
            progress: (0..rounds).map(|round| (epochs(round + 1) - epochs(round)) / step).collect(),
            remaining: self.remaining,
            urgency: self.priority,
            rates: vec![1.0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slopes_are_the_published_ones() {
        let slopes = [61.03, 3.466, 2.027, 1.438, 1.116];
        for (at, slope) in slopes.into_iter().enumerate() {
            let from = at as f64 * STEP;
            let found = (published_utility(from + STEP) - published_utility(from)) / STEP;
            assert!((found / slope - 1.0).abs() < 5e-4, "{found} is not {slope}");
        }
    }

    #[test]
    fn a_job_gains_and_works_until_its_epochs_are_done() {
        let job = PublishedJob {
            gang: 2,
            epochs_done: 8.0,
            epochs: 10.0,
            rounds_per_epoch: 0.8,
            remaining: 1.6,
            priority: 1.0,
        };
        let item = job.item(4, 1);
        assert!((item.progress.iter().sum::<f64>() - 1.6).abs() < 1e-12);
        assert!((4.0 * item.gains.iter().sum::<f64>() + 0.8_f64.ln()).abs() < 1e-12);
        assert!(item.gains[2] <= 0.0);
    }
}

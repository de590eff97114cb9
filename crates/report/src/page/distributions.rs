//! Distributions: how many jobs are done within a time, and how many jobs or apps stay below a fairness ratio.

use super::axis::Axis;
use super::parts::{figure, lines_legend};
use super::plot::{Pen, Plot};
use crate::quantile::{quantile, sorted};
use evenhand_fairness::UNFAIR_ABOVE;

/// Points of one curve.
const POINTS_MAX: usize = 200;

/// A name and the values whose distribution is drawn.
pub type Sample = (String, Vec<f64>);

/// Whose ratios are drawn.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// Of jobs that finished.
    Jobs,
    /// Of apps that ended.
    Apps,
}

impl Who {
    /// What a share of them is called.
    fn share(self) -> &'static str {
        match self {
            Self::Jobs => "share of finished jobs",
            Self::Apps => "share of apps that ended",
        }
    }
}

/// The distribution of completion times, in seconds.
pub fn completion(title: &str, who: Who, samples: Vec<Sample>) -> String {
    let samples = in_order(samples);
    let (low, high) = range(&samples, 1.0, 10.0);
    let axis = Axis::durations("completion time (logarithmic)", low, high);
    let plot = Plot::new(axis, Axis::shares(who.share()));
    let (they, begin) = match who {
        Who::Jobs => ("jobs", "submission"),
        Who::Apps => ("apps", "their first job"),
    };
    let reading =
        format!("How many {they} were done within a time, from {begin} to end. Further left is faster.");
    finish(title, &reading, plot, &samples)
}

/// The distribution of fairness ratios.
pub fn fairness(title: &str, who: Who, samples: Vec<Sample>) -> String {
    let samples = in_order(samples);
    let (low, high) = range(&samples, 0.5, 1.5);
    let low = low.min(0.5);
    // Room for the word beside the second mark, however far to the left the curves reach.
    let high = high.max(UNFAIR_ABOVE * low.powf(-0.6)).max(2.0);
    let axis = Axis::ratios("fairness ratio (logarithmic; smaller is better)", low, high);
    let they = match who {
        Who::Jobs => "Jobs",
        Who::Apps => "Apps",
    };
    let mut plot = Plot::new(axis, Axis::shares(who.share()));
    plot.upright(1.0, "1 = fair", true);
    plot.upright(UNFAIR_ABOVE, "unfair above 1.05", false);
    let reading = format!(
        "Completion time over what a fair part of the cluster would have given. {they} right of the second mark were treated \
         unfairly."
    );
    finish(title, &reading, plot, &samples)
}

/// The distribution of predicted over actual lives.
pub fn foresight(title: &str, samples: Vec<Sample>) -> String {
    let samples = in_order(samples);
    let (low, high) = range(&samples, 0.5, 2.0);
    let axis =
        Axis::ratios("predicted over actual completion time (logarithmic)", low.min(0.5), high.max(2.0));
    let mut plot = Plot::new(axis, Axis::shares(Who::Jobs.share()));
    plot.upright(1.0, "1 = right", true);
    let reading = "Left of the mark jobs were thought to be done sooner than they were, right of it later. The steeper a curve \
                   at the mark, the better the foresight.";
    finish(title, reading, plot, &samples)
}

fn in_order(samples: Vec<Sample>) -> Vec<Sample> {
    let keep = |values: Vec<f64>| sorted(values.into_iter().filter(|value| value.is_finite()).collect());
    samples.into_iter().map(|(name, values)| (name, keep(values))).collect()
}

fn range(samples: &[Sample], low: f64, high: f64) -> (f64, f64) {
    let all = || samples.iter().flat_map(|(_, values)| [values.first(), values.last()]).flatten();
    let least = all().copied().fold(f64::INFINITY, f64::min);
    let most = all().copied().fold(0.0, f64::max);
    if least.is_finite() { (least * 0.95, most * 1.05) } else { (low, high) }
}

fn finish(title: &str, reading: &str, mut plot: Plot, samples: &[Sample]) -> String {
    for (at, (name, values)) in samples.iter().enumerate() {
        plot.line(&points(values), Pen::number(at), name);
    }
    let legend = lines_legend(samples.iter().map(|(name, _)| name.as_str()));
    let legend = if samples.len() > 1 { legend } else { String::new() };
    figure(title, reading, &(plot.draw(title) + &legend))
}

/// Points of the distribution of sorted values: stairs if they are few, quantiles if they are many.
fn points(values: &[f64]) -> Vec<(f64, f64)> {
    let share = |rank: usize, of: usize| rank as f64 / of as f64;
    if values.len() > POINTS_MAX {
        let at = |rank| (quantile(values, share(rank, POINTS_MAX)), share(rank, POINTS_MAX));
        return (0..=POINTS_MAX).map(at).collect();
    }
    let stair = |(rank, value): (usize, &f64)| {
        [(*value, share(rank, values.len())), (*value, share(rank + 1, values.len()))]
    };
    values.iter().enumerate().flat_map(stair).collect()
}

//! Where a job may end, with the odds of each: what is believed of a size that nobody knows.

use crate::{Estimate, Work};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Part of the jobs that lie below the low end of an interval, and above the high one.
const TAIL: f64 = 0.1;

/// A possible end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndPoint {
    /// The work from the first step to the last, in units of [`Ends::unit`].
    pub at: f64,
    /// How likely it is, of a job that has not begun.
    pub odds: f64,
}

/// Where a job may end. Jobs that were foretold alike share their points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ends {
    /// Steps in a unit: the declared work, say.
    pub unit: f64,
    /// Possible ends, the earliest first.
    pub points: Arc<[EndPoint]>,
}

impl Ends {
    /// All the work of a job that is not over after so much; `None` once it has passed every end that was thought possible.
    ///
    /// ```text
    /// low, high   one in ten ends before, after
    /// mean        done + min_x E[min(T, x) - done] / P[T <= x]        the work to be done for an end, where that is cheapest
    /// ```
    ///
    /// The guess is not the expected end, which a rare monster would rule: its reciprocal is the Gittins index, and giving way to
    /// the smallest is the best order for mean completion. Of an end that is certain it is the end.
    pub fn after(&self, done: Work) -> Option<Estimate<Work>> {
        let (done, points, all) = self.beyond(done)?;
        let (mut ended, mut spent, mut cheapest) = (0.0, 0.0, f64::INFINITY);
        let (mut low, mut high) = (None, None);
        for EndPoint { at, odds } in points {
            ended += odds;
            spent += odds * (at - done);
            cheapest = cheapest.min((spent + (all - ended) * (at - done)) / ended);
            low = low.or_else(|| (ended >= TAIL * all).then_some(*at));
            high = high.or_else(|| (ended >= (1.0 - TAIL) * all).then_some(*at));
        }
        let last = points.last().map_or(done, |point| point.at);
        let steps = |at: f64| Work::from_steps(at * self.unit);
        Some(Estimate {
            mean: steps(done + cheapest),
            low: steps(low.unwrap_or(last)),
            high: steps(high.unwrap_or(last)),
        })
    }

    /// What is still possible after so much, which is given in units, and its odds together; `None` if nothing is.
    fn beyond(&self, done: Work) -> Option<(f64, &[EndPoint], f64)> {
        let done = done.steps() / self.unit;
        let points = &self.points[self.points.partition_point(|point| point.at <= done)..];
        let all: f64 = points.iter().map(|point| point.odds).sum();
        (all > 0.0).then_some((done, points, all))
    }

    /// How unsure the end is after so much: the standard deviation of its logarithm.
    pub fn spread(&self, done: Work) -> f64 {
        let Some((_, points, all)) = self.beyond(done) else { return 0.0 };
        let mean = |value: &dyn Fn(f64) -> f64| {
            points.iter().map(|point| point.odds * value(point.at.ln())).sum::<f64>() / all
        };
        let middle = mean(&|log| log);
        mean(&|log| (log - middle).powi(2)).max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(points: &[(f64, f64)]) -> Ends {
        Ends {
            unit: 10.0,
            points: points.iter().map(|(at, odds)| EndPoint { at: *at, odds: *odds }).collect(),
        }
    }

    #[test]
    fn an_end_that_is_certain_is_the_guess() {
        let steps = Work::from_steps;
        let certain = ends(&[(2.0, 1.0)]);
        assert_eq!(certain.after(steps(5.0)), Some(Estimate::exact(steps(20.0))));
        assert_eq!(certain.after(steps(20.0)), None, "it is past all that was thought possible");
    }

    #[test]
    fn a_rare_monster_does_not_rule_the_guess_until_it_shows() {
        let steps = Work::from_steps;
        let mixed = ends(&[(1.0, 0.96), (100.0, 0.04)]);
        let young = mixed.after(Work::ZERO).unwrap();
        assert!((young.mean.steps() - 10.0 / 0.96).abs() < 1e-2, "{young:?}");
        assert_eq!((young.low, young.high), (steps(10.0), steps(10.0)));
        assert_eq!(mixed.after(steps(11.0)), Some(Estimate::exact(steps(1000.0))));
    }

    #[test]
    fn the_guess_is_the_reciprocal_of_the_index() {
        // One in two ends after 1, the others after 2 or 9: stopping at 2, (0.5 * 1 + 0.3 * 2 + 0.2 * 2) / 0.8 for an end.
        let guess = ends(&[(1.0, 0.5), (2.0, 0.3), (9.0, 0.2)]).after(Work::ZERO).unwrap();
        assert!((guess.mean.steps() - 10.0 * 1.5 / 0.8).abs() < 1e-2, "{guess:?}");
    }
}

//! By when all the work that is there should be done. It is fixed when work arrives: worked out anew in every round, it would move on
//! with whatever is put off.
//!
//! ```text
//! C       = max( C , now + (1 + eps) max( max_i R_i , sum_i g_i R_i / M ) )      at every arrival; no schedule ends before eps = 0
//! must_i  = ceil( (Rhigh_i - (C - now - tau H)) / tau )                          rounds of a window without which job i passes C
//! ```
//!
//! Where work arrives without end, whoever was put off would put the horizon off with it at the next arrival, and room in proportion to the work is more than can be of use: whoever knows better
//! how long the work takes says so ([`Horizon::extend`]).
//!
//! R is what is expected, Rhigh what one in ten exceeds: a long job taken for a short one is found out when it is too late.

use evenhand_core::{GpuCount, Span, Time};
use serde::{Deserialize, Serialize};

/// C.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Horizon(Time);

impl Horizon {
    /// Work has arrived: this much is there now, each job with its gang and the seconds that it needs.
    /// `room` is eps, for what cannot be packed.
    pub fn renew(&mut self, now: Time, gpus: GpuCount, room: f64, jobs: impl Iterator<Item = (u32, f64)>) {
        let (mut longest_s, mut area_s) = (0.0_f64, 0.0);
        for (gang, left_s) in jobs {
            longest_s = longest_s.max(left_s);
            area_s += left_s * f64::from(gang);
        }
        let spread_s = area_s / f64::from(gpus.0.max(1));
        self.0 = self.0.max(now + Span::from_seconds((1.0 + room) * longest_s.max(spread_s)));
    }

    /// Work has arrived, and is to have this much time.
    pub fn extend(&mut self, now: Time, within_s: f64) {
        self.0 = self.0.max(now + Span::from_seconds(within_s));
    }

    /// C, in seconds since the start of the run.
    pub fn seconds(self) -> f64 {
        self.0.seconds()
    }

    /// How many of the next rounds a job that needs so long must have, not to pass it.
    pub fn must(self, now: Time, left_s: f64, rounds: usize, round_s: f64) -> usize {
        let after_s = self.0.seconds() - now.seconds() - rounds as f64 * round_s;
        (((left_s - after_s) / round_s).ceil().max(0.0) as usize).min(rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_must_have_the_rounds_that_it_cannot_make_good_later() {
        let horizon = Horizon(Time::from_seconds(10_000.0));
        let now = Time::from_seconds(4_000.0);
        let must = |left_s: f64| horizon.must(now, left_s, 20, 120.0);
        // 3,600 s are left after the window of 2,400 s.
        assert_eq!(must(3_000.0), 0);
        assert_eq!(must(3_600.0), 0);
        assert_eq!(must(3_601.0), 1);
        assert_eq!(must(4_800.0), 10);
        assert_eq!(must(6_000.0), 20);
        assert_eq!(must(60_000.0), 20);
    }
}

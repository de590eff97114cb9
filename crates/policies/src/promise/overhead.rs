//! What starting jobs again takes from all GPUs: promises come from what is left of them.
//!
//! ```text
//! o   = sum g_i restart_i / sum g_i (T_i + restart_i)         over all who came, or came back from hold, with a size that is known within a factor of 1.8, those before counting for a thousandth less with each
//! M'  = M (1 - min( 1.5 max( 0 , o - 0.02 ) , 1/2 ))          GPUs of the virtual system
//! ```
//!
//! A virtual system that never starts anything promises what no real one can keep. Then everybody is at risk, those at risk stop others who are at risk by that, and GPUs do little else than start: with 10 minutes
//! to start again jobs of an hour were 10 % slower on average, and the worst a fifth later, than with this. A job is interrupted about once (0.8 times on those 28 traces), and some starts are undone before they
//! are over: of 1, 1.5 and 2, 1.5 had the smallest worst ratio. Up to a fiftieth is paid out of the tolerance: with 20 s nothing changes. Guesses of sizes do not count, because they are
//! short as long as a job may well be short: starts seemed to take a lot of Venus, and its worst job was twice as late.

use serde::{Deserialize, Serialize};

/// Of what is lost to starts so much is within the tolerance.
const TOLERATED: f64 = 0.02;
/// Interruptions of a job, with starts that are undone.
const STARTS: f64 = 1.5;
const PART_MOST: f64 = 0.5;
/// What is left of what was seen before, with everybody who comes.
const KEEPS: f64 = 0.999;

/// GPU-seconds of starting again and of work, of all who came.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Overhead {
    starting_s: f64,
    work_s: f64,
}

impl Overhead {
    /// Somebody came.
    pub fn came(&mut self, gang: u32, restart_s: f64, total_s: f64) {
        let gang = f64::from(gang);
        self.starting_s = KEEPS * self.starting_s + gang * restart_s;
        self.work_s = KEEPS * self.work_s + gang * total_s;
    }

    /// Which part of all GPUs starting again takes, beyond what is tolerated.
    pub fn part(self) -> f64 {
        let lost = self.starting_s / (self.starting_s + self.work_s).max(1.0);
        (STARTS * (lost - TOLERATED)).clamp(0.0, PART_MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(restart_s: f64) -> f64 {
        let mut overhead = Overhead::default();
        (0..10).for_each(|_| overhead.came(4, restart_s, 3600.0));
        overhead.part()
    }

    #[test]
    fn what_starting_takes_is_left_out_of_promises_where_it_is_much() {
        assert!(Overhead::default().part() <= 0.0 && part(20.0) <= 0.0 && part(60.0) <= 0.0);
        assert!((part(600.0) - 1.5 * (600.0 / 4200.0 - 0.02)).abs() < 1e-9);
        assert!((part(1e6) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn who_came_long_ago_hardly_counts() {
        let mut overhead = Overhead::default();
        (0..20_000).for_each(|at| overhead.came(1, if at < 10_000 { 600.0 } else { 0.0 }, 3600.0));
        assert!(overhead.part() <= 0.0);
    }
}

//! Who need not stop anybody, because GPUs come free for it soon.
//!
//! ```text
//! w_x = min { t : of the GPUs that come free by t, those before x in the queue leave g_x }
//! ```
//!
//! Stopping a job for another brings that one forward by w_x, and costs the first what starting again takes. If w_x is of that order, nothing is won but an interruption. (Where
//! w_x is less than what x itself takes, the two would only change places, but whoever comes after them would not: to wait for that as well makes interruptions half as many
//! and the mean up to 3 % larger.) On one GPU model only: with several, GPUs that come free are not those that x needs.

/// GPUs that come free by themselves.
pub(super) struct Soon {
    /// Free now; less than nothing if others are about to take more.
    free: i64,
    /// When and how many, the first first.
    ends: Vec<(f64, i64)>,
}

impl Soon {
    /// `free` is what those who run and those who come before all others leave; `running` what is left of each who runs, in seconds, and its gang. Nobody looks further ahead
    /// than so many seconds.
    pub fn new(free: i64, running: impl Iterator<Item = (f64, u32)>, ahead_s: f64) -> Self {
        let near = running.filter(|(left_s, _)| *left_s <= ahead_s);
        let mut ends: Vec<(f64, i64)> = near.map(|(left_s, gang)| (left_s, i64::from(gang))).collect();
        ends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Self { free, ends }
    }

    /// Takes GPUs that are free now, if there are enough.
    pub fn take_now(&mut self, gang: u32) -> bool {
        let fits = i64::from(gang) <= self.free;
        if fits {
            self.free -= i64::from(gang);
        }
        fits
    }

    /// Takes GPUs that come free within so many seconds, if there will be enough.
    pub fn take_within(&mut self, gang: u32, seconds: f64) -> bool {
        let near = self.ends.partition_point(|(at_s, _)| *at_s <= seconds);
        let mut missing = i64::from(gang) - self.free;
        let enough = self.ends[..near].iter().map(|(_, gpus)| gpus).sum::<i64>() >= missing;
        if enough {
            self.free = 0;
            for (_, gpus) in &mut self.ends {
                let taken = missing.min(*gpus);
                *gpus -= taken;
                missing -= taken;
            }
            self.ends.retain(|(_, gpus)| *gpus > 0);
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_free_is_given_to_one_after_the_other() {
        let mut soon = Soon::new(1, [(30.0, 2), (10.0, 4), (500.0, 8)].into_iter(), 60.0);
        assert!(!soon.take_now(2) && !soon.take_within(8, 60.0));
        // One is free and three of the four that come first are taken; then one and two are left.
        assert!(soon.take_within(4, 10.0) && !soon.take_within(2, 10.0));
        assert!(soon.take_within(3, 30.0) && !soon.take_within(1, 60.0));
    }

    #[test]
    fn whoever_comes_before_all_others_takes_what_comes_free_first() {
        let mut soon = Soon::new(-3, [(10.0, 4)].into_iter(), 60.0);
        assert!(!soon.take_now(1) && !soon.take_within(2, 60.0) && soon.take_within(1, 60.0));
    }
}

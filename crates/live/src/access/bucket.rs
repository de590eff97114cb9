//! How fast each token may ask: a bucket that fills at a steady rate, and from which every request takes one.

use evenhand_core::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Requests that a full bucket holds, in seconds of its rate.
const BURST_S: u64 = 2;

/// One bucket per name.
#[derive(Debug)]
pub(super) struct Buckets {
    per_second: u32,
    levels: Mutex<BTreeMap<String, Level>>,
}

/// In thousandths of a request, so that what a millisecond adds is whole.
#[derive(Clone, Copy, Debug)]
struct Level {
    thousandths: u64,
    at: Time,
}

impl Buckets {
    pub(super) fn new(per_second: u32) -> Self {
        Self { per_second: per_second.max(1), levels: Mutex::default() }
    }

    /// Takes one request out of somebody's bucket, or says in how many seconds that may succeed.
    pub(super) fn take(&self, name: &str, now: Time) -> Result<(), u64> {
        let rate = u64::from(self.per_second);
        let full = rate * BURST_S * 1000;
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if !levels.contains_key(name) {
            levels.insert(name.to_owned(), Level { thousandths: full, at: now });
        }
        let level = levels.get_mut(name).expect("it was just put there");
        let passed_ms = now.0.saturating_sub(level.at.0);
        level.thousandths = level.thousandths.saturating_add(passed_ms.saturating_mul(rate)).min(full);
        level.at = now.max(level.at);
        if level.thousandths < 1000 {
            let missing_ms = (1000 - level.thousandths).div_ceil(rate);
            return Err(missing_ms.div_ceil(1000).max(1));
        }
        level.thousandths -= 1000;
        Ok(())
    }

    /// Forgets whoever is not among these, so that names that come and go leave nothing behind.
    pub(super) fn keep(&self, is_known: impl Fn(&str) -> bool) {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).retain(|name, _| is_known(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_fills_at_its_rate_and_is_nobody_elses() {
        let buckets = Buckets::new(2);
        assert!((0..4).all(|_| buckets.take("a", Time(0)).is_ok()), "two seconds' worth at once");
        assert_eq!(buckets.take("a", Time(0)), Err(1));
        assert_eq!(buckets.take("b", Time(0)), Ok(()));
        assert_eq!(buckets.take("a", Time(499)), Err(1));
        assert_eq!(buckets.take("a", Time(500)), Ok(()));
        assert_eq!(buckets.take("a", Time(500)), Err(1));
        assert!((0..4).all(|_| buckets.take("a", Time(1_000_000)).is_ok()), "never more than full");
        assert_eq!(buckets.take("a", Time(1_000_000)), Err(1));
    }
}

//! The wall clock: the only one.

use evenhand_core::Time;
use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// Counts milliseconds since time began. Monotonic, so time never goes back, and across restarts it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    /// What it showed when it was started.
    shown: Time,
}

impl Clock {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self { start: Instant::now(), shown: Time::ZERO }
    }

    /// A clock for time that began at `epoch_ms` of the system clock, and was `at_least` this when it was last looked at. The system
    /// clock may have been set back since: then time goes on from there.
    pub fn resume(epoch_ms: u64, at_least: Time) -> Self {
        let shown = Time(system_ms().saturating_sub(epoch_ms)).max(at_least);
        Self { start: Instant::now(), shown }
    }

    /// Whole milliseconds, rounded down: an alarm that waits for a time never rings before it.
    pub fn now(self) -> Time {
        Time(self.shown.0 + self.start.elapsed().as_millis() as u64)
    }
}

/// Measures how long something takes, for figures only: nothing is decided by it.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since then.
    pub fn elapsed_us(self) -> u64 {
        self.0.elapsed().as_micros() as u64
    }
}

/// Milliseconds of the system clock since 1970. It can jump, so it is read only to begin with.
pub fn system_ms() -> u64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_clock_that_was_set_back_does_not_turn_time_back() {
        let future = system_ms() + 1_000_000;
        assert!(Clock::resume(future, Time(77)).now() >= Time(77));
        assert!(Clock::resume(system_ms() - 5000, Time(77)).now() >= Time(5000));
    }
}

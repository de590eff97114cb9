//! The wall clock: the only one.

use evenhand_core::Time;
use std::time::Instant;

/// Counts milliseconds from the moment it was made. Monotonic, so time never goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that shows zero now.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Whole milliseconds since the start, rounded down: an alarm that waits for a time never rings before it.
    pub(crate) fn now(self) -> Time {
        Time(self.start.elapsed().as_millis() as u64)
    }
}

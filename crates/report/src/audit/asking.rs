//! How many GPUs each kind of job asked for, added up over the run.
//!
//! Few kinds change at a time, so each is brought up to date when it does, and all of them when the capacity changes.

use evenhand_core::{GpuCount, Span, Time};

/// One kind's demand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asking {
    now: u64,
    since: Time,
    /// GPU-milliseconds asked for until `since`, never more than there were.
    area: f64,
}

impl Asking {
    /// The demand so far, at this time and with this many GPUs up.
    pub fn until(&self, now: Time, capacity: GpuCount) -> f64 {
        let Span(span) = now.since(self.since);
        self.area + self.now.min(u64::from(capacity.0)) as f64 * span as f64
    }

    /// Brings it up to date.
    pub fn settle(&mut self, now: Time, capacity: GpuCount) {
        (self.area, self.since) = (self.until(now, capacity), now);
    }

    /// A job comes that can use this many.
    pub fn more(&mut self, gpus: GpuCount) {
        self.now += u64::from(gpus.0);
    }

    /// A job goes that could use this many.
    pub fn fewer(&mut self, gpus: GpuCount) {
        self.now = self.now.saturating_sub(u64::from(gpus.0));
    }
}

//! Waits for what a service does in its own time.

use evenhand_core::Time;
use evenhand_live::Clock;
use std::thread;
use std::time::Duration;

/// Looks again and again until it is there.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = Clock::start();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock.now() < Time(60_000), "not within a minute: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

//! Times of the service as the clock on the wall shows them, in the zone of whoever looks.

use crate::clock;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Turns seconds since the service began into times of day.
pub struct LocalClock {
    epoch_ms: u64,
    zone: TimeZone,
    /// Today, to leave the date out where it says nothing.
    today: jiff::civil::Date,
}

impl LocalClock {
    /// For a service whose time began then.
    pub fn new(epoch_ms: u64) -> Self {
        let zone = TimeZone::system();
        let now = Timestamp::from_millisecond((clock::since_1970_s() * 1e3) as i64).unwrap_or_default();
        Self { epoch_ms, today: now.to_zoned(zone.clone()).date(), zone }
    }

    /// The time of day, with the date if that is not today's.
    pub fn at(&self, seconds: f64) -> String {
        let ms = self.epoch_ms as f64 + seconds * 1e3;
        let Ok(at) = Timestamp::from_millisecond(ms as i64) else { return "some day".to_owned() };
        let at = at.to_zoned(self.zone.clone());
        let format = if at.date() == self.today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M" };
        at.strftime(format).to_string()
    }
}

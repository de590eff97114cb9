//! Axes: where a value lies, and which values get a tick.

use super::text::{amount, count};

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spread {
    Even,
    Logarithmic,
}

/// One axis of a plot.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// Values that get a tick, and what is written there.
    pub ticks: Vec<(f64, String)>,
    low: f64,
    high: f64,
    spread: Spread,
}

/// Durations that people count in, in seconds.
const DURATIONS: [(f64, &str); 22] = [
    (1.0, "1 s"),
    (2.0, "2 s"),
    (5.0, "5 s"),
    (10.0, "10 s"),
    (20.0, "20 s"),
    (60.0, "1 min"),
    (120.0, "2 min"),
    (300.0, "5 min"),
    (600.0, "10 min"),
    (1200.0, "20 min"),
    (3600.0, "1 h"),
    (7200.0, "2 h"),
    (18_000.0, "5 h"),
    (36_000.0, "10 h"),
    (86_400.0, "1 d"),
    (172_800.0, "2 d"),
    (432_000.0, "5 d"),
    (864_000.0, "10 d"),
    (1_728_000.0, "20 d"),
    (4_320_000.0, "50 d"),
    (8_640_000.0, "100 d"),
    (31_536_000.0, "1 y"),
];

/// Steps between two times of day that people count in, in seconds.
const CLOCK_STEPS: [f64; 18] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0,
    21_600.0, 43_200.0, 86_400.0,
];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A time of day, or the date where a day begins.
fn moment(at_s: f64, step_s: f64) -> String {
    let at = at_s.round() as i64;
    let (days, second) = (at.div_euclid(86_400), at.rem_euclid(86_400));
    let (hour, minute) = (second / 3600, second / 60 % 60);
    match second {
        0 => {
            let (month, day) = month_and_day(days);
            format!("{day} {}", MONTHS[month])
        }
        _ if step_s < 60.0 => format!("{hour:02}:{minute:02}:{:02}", second % 60),
        _ => format!("{hour:02}:{minute:02}"),
    }
}

/// Month from 0 and day from 1 of a day after 1970 began, by the calendar that repeats every 400 years.
fn month_and_day(days: i64) -> (usize, i64) {
    let day = (days + 719_468).rem_euclid(146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Counted from March, so that the odd day comes last.
    let month = (5 * day + 2) / 153;
    (((month + 2) % 12) as usize, day - (153 * month + 2) / 5 + 1)
}

impl Axis {
    /// Even steps from `low` to `high`, with about `ticks` of them.
    pub fn even(label: &str, low: f64, high: f64, ticks: usize) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = round_step((high - low) / ticks as f64);
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        let ticks = (first..=last).map(|at| at as f64 * step).map(|value| (value, tick(value, step)));
        Self { label: label.into(), ticks: ticks.collect(), low, high, spread: Spread::Even }
    }

    /// From zero to the first round number that `high` does not exceed.
    pub fn from_zero(label: &str, high: f64, ticks: usize) -> Self {
        let step = round_step(high.max(1e-9) / ticks as f64);
        Self::even(label, 0.0, (high / step - 1e-9).ceil().max(1.0) * step, ticks)
    }

    /// Shares from none to all.
    pub fn shares(label: &str) -> Self {
        let mut axis = Self::even(label, 0.0, 1.0, 4);
        axis.ticks = [0, 25, 50, 75, 100].map(|at| (f64::from(at) / 100.0, format!("{at} %"))).into();
        axis
    }

    /// Time from `low` to `high`, in the unit that suits its length; give values in seconds.
    pub fn time(label: &str, low: f64, high: f64, ticks: usize) -> Self {
        let (unit_s, unit) = match high {
            s if s <= 300.0 => (1.0, "s"),
            s if s <= 10_800.0 => (60.0, "min"),
            s if s <= 345_600.0 => (3600.0, "h"),
            _ => (86_400.0, "d"),
        };
        let mut axis = Self::even(&format!("{label} ({unit})"), low / unit_s, high / unit_s, ticks);
        axis.low *= unit_s;
        axis.high *= unit_s;
        axis.ticks.iter_mut().for_each(|(at, _)| *at *= unit_s);
        axis
    }

    /// The time of day from `low` to `high`, in seconds after a moment that is so many seconds after 1970 on the clock of whoever looks.
    pub fn clock(low: f64, high: f64, began_s: f64, ticks: usize) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let wanted = (high - low) / ticks as f64;
        let step = CLOCK_STEPS
            .into_iter()
            .find(|step| *step >= wanted)
            .unwrap_or(86_400.0 * (wanted / 86_400.0).ceil());
        let (first, last) =
            (((began_s + low) / step).ceil() as i64, ((began_s + high) / step).floor() as i64);
        let ticks = (first..=last).map(|at| at as f64 * step).map(|at| (at - began_s, moment(at, step)));
        Self { label: String::new(), ticks: ticks.collect(), low, high, spread: Spread::Even }
    }

    /// Durations in seconds, by orders of magnitude.
    pub fn durations(label: &str, low: f64, high: f64) -> Self {
        let (low, high) = (low.max(0.1), high.max(low.max(0.1) * 2.0));
        let inside: Vec<_> = DURATIONS.iter().filter(|(at, _)| (low..=high).contains(at)).collect();
        let every = inside.len().div_ceil(7).max(1);
        let ticks = inside.iter().step_by(every).map(|(at, text)| (*at, (*text).to_owned())).collect();
        Self { label: label.into(), ticks, low, high, spread: Spread::Logarithmic }
    }

    /// Ratios by orders of magnitude.
    pub fn ratios(label: &str, low: f64, high: f64) -> Self {
        let low = low.max(1e-3);
        let decades = (-3..6).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
        let inside: Vec<f64> = decades.filter(|at| (low * 0.999..=high * 1.001).contains(at)).collect();
        let every = inside.len().div_ceil(9).max(1);
        // One is the ratio that matters, so it is never the tick that is left out.
        let start = inside.iter().position(|at| (at - 1.0).abs() < 1e-9).map_or(0, |one| one % every);
        let text = |at: f64| if at < 1.0 { at.to_string() } else { count(at as u64) };
        let ticks = inside.iter().skip(start).step_by(every).map(|at| (*at, text(*at))).collect();
        Self { label: label.into(), ticks, low, high, spread: Spread::Logarithmic }
    }

    /// Where a value lies: 0 at the beginning, 1 at the end.
    pub fn place(&self, value: f64) -> f64 {
        let part = match self.spread {
            Spread::Even => (value - self.low) / (self.high - self.low),
            Spread::Logarithmic => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        part.clamp(0.0, 1.0)
    }
}

/// The round number (1, 2 or 5 times a power of ten) nearest above a step.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let digit = step / power;
    power
        * if digit <= 1.0 + 1e-9 {
            1.0
        } else if digit <= 2.0 + 1e-9 {
            2.0
        } else if digit <= 5.0 + 1e-9 {
            5.0
        } else {
            10.0
        }
}

fn tick(value: f64, step: f64) -> String {
    match step {
        s if s >= 1.0 => count(value.abs().round() as u64),
        s if s >= 0.1 => format!("{value:.1}"),
        _ => amount(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn times_of_day_are_round_and_days_begin_with_their_date() {
        // 2026-11-15 23:50:30 on somebody's clock.
        let axis = Axis::clock(0.0, 3600.0, 1_794_786_630.0, 4);
        assert_eq!(labels(&axis), ["16 Nov", "00:15", "00:30", "00:45"]);
        assert!((axis.ticks[0].0 - 570.0).abs() < 1e-6);
        assert_eq!((month_and_day(0), month_and_day(59), month_and_day(11_016)), ((0, 1), (2, 1), (1, 29)));
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(&Axis::from_zero("", 37.0, 4)), ["0", "10", "20", "30", "40"]);
        assert_eq!(labels(&Axis::time("t", 0.0, 9000.0, 5)), ["0", "50", "100", "150"]);
        assert_eq!(Axis::time("t", 0.0, 9000.0, 5).label, "t (min)");
        assert_eq!(labels(&Axis::ratios("", 0.4, 3.0)), ["0.5", "1", "2"]);
        assert_eq!(labels(&Axis::durations("", 50.0, 1000.0)), ["1 min", "2 min", "5 min", "10 min"]);
    }

    #[test]
    fn places_run_from_zero_to_one() {
        let axis = Axis::ratios("", 0.1, 10.0);
        assert!((axis.place(1.0) - 0.5).abs() < 1e-12);
        assert!(axis.place(1e9) <= 1.0 && axis.place(-1.0) >= 0.0);
        assert!(Axis::even("", 3.0, 3.0, 4).place(3.0).is_finite());
    }
}

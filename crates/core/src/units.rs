//! A number without a unit never crosses a function boundary.
//!
//! Times, counts and amounts of work are integers, so that two runs agree to the bit. `Rate`, `Ratio` and
//! `Weight` are floats that are never NaN: they can only be built through a check.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use thiserror::Error;

macro_rules! integer {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// Nothing of it.
            pub const ZERO: Self = Self(0);
            /// What is left after taking `other` away, never below zero.
            pub fn less(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
    };
}

macro_rules! additive {
    ($($name:ident),*) => {$(
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self { Self(self.0.saturating_add(other.0)) }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) { *self = *self + other; }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self { items.fold(Self::ZERO, Add::add) }
        }
    )*};
}

integer!(/// Milliseconds since the start of the run.
    Time(u64));
integer!(/// A length of time in milliseconds.
    Span(u64));
integer!(/// A number of GPUs.
    GpuCount(u32));
integer!(/// GPU-milliseconds: GPUs held, times how long.
    GpuTime(u64));
integer!(/// Bytes of memory.
    Bytes(u64));
integer!(/// The number of a decision, from 1.
    Round(u64));
integer!(/// Thousandths of a step of training. A step is the job's own unit and does not change with its
    /// batch size; where a trace only knows durations, a step is a second on the reference GPU model.
    Work(u64));
additive!(Span, GpuCount, GpuTime, Bytes, Work);

impl Time {
    /// The end of time: "never".
    pub const NEVER: Self = Self(u64::MAX);

    /// How long after `earlier` this is; zero if it is not after.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// Seconds since the start of the run.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// The instant this many seconds after the start, rounded to a millisecond.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e3).round().max(0.0) as u64)
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Span {
    /// This length in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// A length of whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1000)
    }
    /// A length of whole minutes.
    pub const fn from_minutes(minutes: u64) -> Self {
        Self(minutes * 60_000)
    }
    /// A length in seconds, rounded to a millisecond.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e3).round().max(0.0) as u64)
    }
}

impl GpuTime {
    /// What `gpus` amount to over `span`.
    pub fn new(gpus: GpuCount, span: Span) -> Self {
        Self(u64::from(gpus.0).saturating_mul(span.0))
    }
    /// In GPU-hours.
    pub fn hours(self) -> f64 {
        self.0 as f64 / 3.6e6
    }
}

impl Work {
    /// An amount of work in steps, rounded to a thousandth.
    pub fn from_steps(steps: f64) -> Self {
        Self((steps * 1e3).round().max(0.0) as u64)
    }
    /// In steps.
    pub fn steps(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// How long this takes at `rate`, rounded up to a millisecond; `None` if it never ends.
    pub fn span_at(self, rate: Rate) -> Option<Span> {
        if self.0 == 0 {
            return Some(Span::ZERO);
        }
        // Thousandths of a step over steps per second are milliseconds.
        let milliseconds = (self.0 as f64 / rate.0).ceil();
        (milliseconds.is_finite() && milliseconds < u64::MAX as f64).then_some(Span(milliseconds as u64))
    }
}

/// Why a number was refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum UnitError {
    /// Weights are positive and finite.
    #[error("a weight is a positive number, not {0}")]
    Weight(f64),
    /// Rates are finite and not negative.
    #[error("a rate is a number of at least 0, not {0}")]
    Rate(f64),
    /// Ratios are finite and not negative.
    #[error("a ratio is a number of at least 0, not {0}")]
    Ratio(f64),
    /// Losses are finite and not negative.
    #[error("a loss is a number of at least 0, not {0}")]
    Loss(f64),
}

macro_rules! float {
    ($(#[$doc:meta])* $name:ident, $allowed:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            /// Checks the number and gives it its unit.
            pub fn new(value: f64) -> Result<Self, UnitError> {
                let allowed: fn(f64) -> bool = $allowed;
                if allowed(value) { Ok(Self(value)) } else { Err(UnitError::$name(value)) }
            }
            /// The bare number.
            pub fn get(self) -> f64 {
                self.0
            }
            /// A key that sorts as the number does.
            pub fn key(self) -> u64 {
                self.0.to_bits()
            }
        }
        impl TryFrom<f64> for $name {
            type Error = UnitError;
            fn try_from(value: f64) -> Result<Self, UnitError> { Self::new(value) }
        }
        impl From<$name> for f64 {
            fn from(value: $name) -> f64 { value.0 }
        }
    };
}

float!(/// How much one tenant counts against another: positive.
    Weight, |v| v.is_finite() && v > 0.0);
float!(/// Steps per second: zero means "cannot run".
    Rate, |v| v.is_finite() && v >= 0.0);
float!(/// A slowdown, a speed-up or a fairness ratio: at least 0.
    Ratio, |v| v.is_finite() && v >= 0.0);
float!(/// How wrong a model still is, in the job's own measure: at least 0, less is better.
    Loss, |v| v.is_finite() && v >= 0.0);

impl Weight {
    /// The weight of someone who has none set.
    pub const ONE: Self = Self(1.0);
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

impl Rate {
    /// Cannot run.
    pub const ZERO: Self = Self(0.0);
    /// One step per second: the speed on the reference GPU model when nothing else is known.
    pub const ONE: Self = Self(1.0);

    /// The work done in `span`, rounded down to a thousandth of a step.
    pub fn work_in(self, span: Span) -> Work {
        Work((self.0 * span.0 as f64).floor() as u64)
    }
    /// This rate times a speed-up (or divided by a slowdown, given its inverse).
    pub fn times(self, factor: f64) -> Self {
        Self::new(self.0 * factor).unwrap_or(Self::ZERO)
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Ratio {
    /// No change.
    pub const ONE: Self = Self(1.0);
    /// As a contract: more than any slowdown that jobs on one GPU cause, so that none breaks it.
    pub const UNLIMITED: Self = Self(1e6);
}

impl Default for Ratio {
    fn default() -> Self {
        Self::ONE
    }
}

/// A guess and how sure it is: 80 % of truths lie in `low..=high`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate<T> {
    /// The expected value.
    pub mean: T,
    /// One in ten lies below.
    pub low: T,
    /// One in ten lies above.
    pub high: T,
}

impl<T: Copy> Estimate<T> {
    /// A value known exactly.
    pub fn exact(value: T) -> Self {
        Self { mean: value, low: value, high: value }
    }
}

impl fmt::Display for Span {
    /// In the largest unit that keeps it readable: `90s`, `20.5m`, `6.0h`, `3.2d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds();
        match seconds {
            s if s < 120.0 => write!(f, "{s:.0}s"),
            s if s < 7200.0 => write!(f, "{:.1}m", s / 60.0),
            s if s < 172_800.0 => write!(f, "{:.1}h", s / 3600.0),
            s => write!(f, "{:.1}d", s / 86_400.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_at_a_rate_takes_its_time_rounded_up() {
        let rate = Rate::new(3.0).unwrap();
        assert_eq!(Work::from_steps(1.0).span_at(rate), Some(Span(334)));
        assert_eq!(Work::from_steps(1.0).span_at(Rate::ZERO), None);
        assert_eq!(Work::ZERO.span_at(Rate::ZERO), Some(Span::ZERO));
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        assert!(Rate::new(f64::NAN).is_err());
        assert!(Ratio::new(-1.0).is_err());
        assert!(Weight::new(0.0).is_err());
        assert!(serde_json::from_str::<Weight>("-2").is_err());
    }
}

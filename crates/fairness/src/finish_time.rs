//! Finish-time fairness: how long a job took against what a fair part of the cluster would have taken
//! (Mahajan et al., Themis, NSDI 2020; as measured in `spec/shockwave.md`, section 8).
//!
//! ```text
//! rho_static  = JCT / ( T_excl * max(1, N / M) )      N jobs in the whole trace, M GPUs
//! rho_dynamic = JCT / ( T_excl * max(1, n / M) )      n = mean number of active jobs during the job's life
//! ```
//!
//! 1 is fair, more is worse. The static ratio makes sense for closed traces only; the dynamic one divides by the
//! contention that the schedule itself caused, so it punishes emptying the queue. Neither knows gangs. The ratio
//! against [fluid fair sharing](crate::fluid_finishes) has none of these defects; all three are always shown.

use evenhand_core::{GpuCount, Span};

/// A ratio above this counts as unfair: the 5 % that the published comparisons leave for noise.
pub const UNFAIR_ABOVE: f64 = 1.05;

/// The finish-time-fairness ratio with static contention: `jobs` in the trace over `capacity`.
///
/// NaN for a job that takes no time alone.
pub fn rho_static(jct: Span, alone: Span, jobs: u64, capacity: GpuCount) -> f64 {
    rho_dynamic(jct, alone, jobs as f64, capacity)
}

/// The finish-time-fairness ratio with the contention met: the mean number of active jobs over `capacity`.
///
/// NaN for a job that takes no time alone.
pub fn rho_dynamic(jct: Span, alone: Span, active_mean: f64, capacity: GpuCount) -> f64 {
    if alone == Span::ZERO {
        return f64::NAN;
    }
    let contention = (active_mean / f64::from(capacity.0.max(1))).max(1.0);
    jct.seconds() / (alone.seconds() * contention)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contention_below_one_does_not_make_a_job_faster() {
        let (jct, alone) = (Span::from_secs(300), Span::from_secs(100));
        assert!((rho_static(jct, alone, 120, GpuCount(32)) - 0.8).abs() < 1e-12);
        assert!((rho_static(jct, alone, 3, GpuCount(32)) - 3.0).abs() < 1e-12);
        assert!((rho_dynamic(jct, alone, 48.0, GpuCount(32)) - 2.0).abs() < 1e-12);
        assert!(rho_static(jct, Span::ZERO, 1, GpuCount(1)).is_nan());
    }
}

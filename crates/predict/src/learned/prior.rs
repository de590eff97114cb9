//! What physics says of two jobs on one GPU, before anything is learned.
//!
//! ```text
//! time-slicing   processor sharing: who wants less than its turn has all it wants, the other has the rest
//!                s = d / min(d, max(1/2, 1 - d'))                             d, d' the shares of time in which each wants the GPU alone
//! MPS            what is wanted of the scarcest resource:  s = max(1, max_r (r + r'))      r: multiprocessors, tensor cores, bandwidth
//! ```

use evenhand_core::{Demand, SharingMode};

/// The slowdown (at least 1) of a job beside others.
pub fn slowdown(own: &Demand, others: &[&Demand], mode: SharingMode) -> f64 {
    match mode {
        SharingMode::TimeSlicing => {
            let wanted: f64 = others.iter().map(|other| other.duty).sum();
            let turn = 1.0 / (1.0 + others.len() as f64);
            let share = turn.max(1.0 - wanted);
            (own.duty / own.duty.min(share).max(1e-6)).max(1.0)
        }
        SharingMode::Mps => {
            let sum =
                |part: fn(&Demand) -> f64| part(own) + others.iter().map(|other| part(other)).sum::<f64>();
            let most =
                sum(|demand| demand.sm).max(sum(|demand| demand.tensor)).max(sum(|demand| demand.bandwidth));
            most.max(1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Estimate;

    fn demand(duty: f64, sm: f64, bandwidth: f64) -> Demand {
        Demand { duty, sm, tensor: 0.0, bandwidth, memory: Estimate::default() }
    }

    #[test]
    fn who_wants_little_is_not_slowed_by_turns() {
        let (busy, idle) = (demand(1.0, 0.9, 0.3), demand(0.25, 0.2, 0.1));
        let slow = |own, other| slowdown(own, &[other], SharingMode::TimeSlicing);
        assert!((slow(&busy, &busy) - 2.0).abs() < 1e-12);
        assert!((slow(&busy, &idle) - 1.0 / 0.75).abs() < 1e-12);
        assert!((slow(&idle, &busy) - 1.0).abs() < 1e-12);
        assert!((slow(&demand(0.0, 0.0, 0.0), &busy) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_scarcest_resource_decides_under_mps() {
        let (one, other) = (demand(1.0, 0.6, 0.3), demand(1.0, 0.7, 0.9));
        assert!((slowdown(&one, &[&other], SharingMode::Mps) - 1.3).abs() < 1e-12);
        assert!((slowdown(&one, &[&demand(0.1, 0.1, 0.1)], SharingMode::Mps) - 1.0).abs() < 1e-12);
        assert!((slowdown(&one, &[&other, &other], SharingMode::Mps) - 2.1).abs() < 1e-12);
    }
}

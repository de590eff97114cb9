//! How the loss of a job really falls as it trains; the scheduler sees it only through what the job reports.
//!
//! ```text
//! loss(k) = floor + (start - floor) (1 + k / scale)^-power      after k steps
//! ```

use evenhand_core::{JobSpec, Loss, Random, Work};

/// The loss of one job over its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Before the first step.
    pub start: f64,
    /// What it would come to if it trained for ever.
    pub floor: f64,
    /// The steps after which it falls more slowly.
    pub scale: f64,
    /// How fast it falls.
    pub power: f64,
    /// How much a reported loss is off: the deviation of its logarithm.
    pub noise: f64,
    /// Work between two reports.
    pub epoch: Work,
    /// The iteration limit: the work that is declared. The job ends earlier if it reaches its target.
    pub limit: Work,
}

impl Curve {
    /// The loss after so much work, without noise.
    pub fn at(&self, done: Work) -> f64 {
        self.floor + (self.start - self.floor) * (1.0 + done.steps() / self.scale).powf(-self.power)
    }

    /// What is reported after so much work, at the end of an epoch: the same every time the job comes by, also after a
    /// crash.
    pub fn reported(&self, seed: u64, job: &JobSpec, done: Work) -> Option<Loss> {
        if !done.0.is_multiple_of(self.epoch.0.max(1)) {
            return None;
        }
        let mut random = Random::stream(seed ^ done.0.wrapping_mul(0x9e37_79b9_7f4a_7c15), &job.name());
        let factor = if self.noise > 0.0 { random.log_normal(0.0, self.noise) } else { 1.0 };
        Loss::new(self.at(done) * factor).ok()
    }

    /// The work after which the loss is at most this, without noise; `None` if it never is.
    pub fn work_to(&self, target: Loss) -> Option<Work> {
        let target = target.get();
        if target >= self.start {
            return Some(Work::ZERO);
        }
        let ratio = (self.start - self.floor) / (target - self.floor);
        let steps = self.scale * (ratio.powf(1.0 / self.power) - 1.0);
        (target > self.floor && steps < 1e15).then(|| Work::from_steps(steps))
    }

    /// All the work of a job with this target: up to the target, or up to the limit. Never nothing at all.
    pub fn work(&self, target: Option<Loss>) -> Work {
        let to_target = target.and_then(|target| self.work_to(target));
        to_target.map_or(self.limit, |work| work.min(self.limit)).max(Work(1))
    }

    /// Reports up to the limit.
    pub fn epochs(&self) -> u32 {
        (self.limit.0 / self.epoch.0.max(1)).try_into().unwrap_or(u32::MAX)
    }

    /// The place of the report after so much work, from 1.
    pub fn epoch_at(&self, done: Work) -> u32 {
        (done.0 / self.epoch.0.max(1)).try_into().unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{JobId, TenantId};

    fn curve() -> Curve {
        let (epoch, limit) = (Work::from_steps(10.0), Work::from_steps(100.0));
        Curve { start: 2.0, floor: 1.0, scale: 10.0, power: 1.0, noise: 0.1, epoch, limit }
    }

    #[test]
    fn a_job_ends_at_its_target_or_at_its_limit() {
        let loss = |value| Loss::new(value).unwrap();
        assert_eq!(curve().work(Some(loss(1.25))), Work::from_steps(30.0));
        assert_eq!(curve().work(Some(loss(1.05))), Work::from_steps(100.0));
        assert_eq!(curve().work(Some(loss(0.5))), Work::from_steps(100.0));
        assert_eq!(curve().work(Some(loss(3.0))), Work(1));
        assert_eq!((curve().work(None), curve().epochs()), (Work::from_steps(100.0), 10));
    }

    #[test]
    fn a_report_is_the_same_every_time_and_near_the_truth() {
        let job = JobSpec::new(JobId(3), TenantId(0), 1, None);
        let at = |seed, steps| curve().reported(seed, &job, Work::from_steps(steps)).unwrap().get();
        assert!(
            at(1, 10.0).to_bits() == at(1, 10.0).to_bits() && at(1, 10.0).to_bits() != at(2, 10.0).to_bits()
        );
        let mean = (1..=200).map(|seed| at(seed, 10.0)).sum::<f64>() / 200.0;
        assert!((mean - 1.5).abs() < 0.03, "{mean}");
    }
}

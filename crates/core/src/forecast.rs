//! What is believed of a job. Beliefs and truths are different objects: this is the former.

use crate::{
    Bytes, Ends, Estimate, GpuCount, GpuModel, Locality, ModelIndex, PerModel, Rate, Ratio, Scaling,
    SharingMode, Span, Work,
};
use serde::{Deserialize, Serialize};

/// What a job asks of one GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Share of time in which some kernel runs, 0 to 1.
    pub duty: f64,
    /// Share of streaming multiprocessors in use, 0 to 1.
    pub sm: f64,
    /// Share of tensor throughput in use, 0 to 1.
    pub tensor: f64,
    /// Share of memory bandwidth in use, 0 to 1.
    pub bandwidth: f64,
    /// GPU memory; `high` is what admission counts with.
    pub memory: Estimate<Bytes>,
    /// Jobs that ask for the same, as the predictor numbers them to remember what it saw of them; the default: it does not.
    #[serde(default, skip_serializing_if = "crate::job::default")]
    pub class: DemandClass,
}

/// The number of a class of jobs that ask for the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DemandClass(pub u32);

/// The regime in force, or one still to come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegimeForecast {
    /// Its work; of the regime in force, what was left of it.
    pub work: Estimate<Work>,
    /// Its speed relative to `Forecast::speed`, which is that of the regime in force.
    pub speed: Ratio,
}

/// What the predictor believes of one job, on every GPU model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Speed alone, in one place, on `gpus.min` GPUs, in the regime in force; zero = cannot run there.
    pub speed: PerModel<Estimate<Rate>>,
    /// The effect of GPU count and distance.
    pub scaling: Scaling,
    /// All the work from the first step to the last, done or not, when this was told; `None` if nothing is known.
    pub total: Option<Estimate<Work>>,
    /// Where it may end, if that is not as good as certain: then this counts, given what is done, and not `total`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Ends>,
    /// Regimes from the one in force to the last, in order; the last goes on to the end. Empty: it stays as it is.
    pub regimes: Vec<RegimeForecast>,
    /// The work done where the first of them begins.
    pub from: Work,
    /// How much longer than `regimes` say the rest of the job takes: its time is theirs, times this.
    pub stretch: Estimate<Ratio>,
    /// What it asks of one GPU of each model.
    pub demand: PerModel<Demand>,
    /// Time lost by stopping and starting again.
    pub restart: Estimate<Span>,
}

impl Forecast {
    /// The expected speed on this many GPUs of a model, spread this far.
    pub fn rate(&self, model: ModelIndex, range: crate::GpuRange, gpus: GpuCount, span: Locality) -> Rate {
        self.speed[model].mean.times(self.scaling.factor(range, gpus, span))
    }

    /// All the work from the first step to the last, of a job that is not over after so much. `None` if nothing is known.
    pub fn total_after(&self, done: Work) -> Option<Estimate<Work>> {
        self.ends.as_ref().and_then(|ends| ends.after(done)).or(self.total)
    }

    /// Seconds that the rest of a job takes after so much work, alone on `gpus.min` GPUs of a model in one place, with all
    /// changes of regime. `None` if its work is unknown or it cannot run there. How sure the speed is does not count.
    pub fn seconds_from(&self, model: ModelIndex, done: Work) -> Option<Estimate<f64>> {
        let (total, speed) = (self.total_after(done)?, self.speed[model].mean.get());
        let until = |end: Work, stretch: Ratio| {
            let seconds = self.units_between(done.steps(), end.steps()) / speed * stretch.get();
            seconds.is_finite().then_some(seconds)
        };
        let Estimate { mean, low, high } = self.stretch;
        Some(Estimate {
            mean: until(total.mean, mean)?,
            low: until(total.low, low)?,
            high: until(total.high, high)?,
        })
    }

    /// Work between two points, each part of it over its speed relative to that in force.
    fn units_between(&self, from: f64, end: f64) -> f64 {
        let (mut units, mut at, mut edge) = (0.0, from, self.from.steps());
        let mut slowness = 1.0;
        for regime in &self.regimes {
            edge += regime.work.mean.steps();
            slowness = 1.0 / regime.speed.get();
            let to = edge.min(end);
            if to > at {
                units += (to - at) * slowness;
                at = to;
            }
        }
        units + (end - at).max(0.0) * slowness
    }
}

/// How much slower a job runs beside others. A pure function, carried by the snapshot.
pub trait Interference: Send + Sync {
    /// The slowdown (at least 1) of a job that asks `own` beside jobs that ask `others`.
    fn slowdown(
        &self,
        own: &Demand,
        others: &[&Demand],
        model: &GpuModel,
        mode: SharingMode,
    ) -> Estimate<Ratio>;
    /// Names the function, so that a capture can say which one was used.
    fn version(&self) -> &str;
}

/// Follows from what the jobs ask for, and from nothing else.
///
/// ```text
/// time-slicing:  1 + d_i sum_j d_j                     processor sharing on duty: waits when both want the GPU
/// MPS:           max(1, max over resources of the sum of demands)
/// ```
///
/// A job that declares no demand is taken to keep its GPU busy all the time: beside one such job it runs at half speed
/// in either mode. The upper end of the interval, `1.04 + 1.3 (mean - 1)`, follows the ninetieth percentiles of 1,388
/// published pairs on an RTX 3090 (1.09 where the mean is 1.04, 1.96 where it is 1.70).
#[derive(Clone, Copy, Debug, Default)]
pub struct DemandSharing;

impl DemandSharing {
    /// The slowdown of a job beside others, by the rule alone.
    pub fn rule(own: &Demand, others: &[&Demand], mode: SharingMode) -> f64 {
        match mode {
            SharingMode::TimeSlicing => 1.0 + own.duty * others.iter().map(|other| other.duty).sum::<f64>(),
            SharingMode::Mps => {
                let mut sums = own.resources();
                for other in others {
                    sums.iter_mut().zip(other.resources()).for_each(|(sum, share)| *sum += share);
                }
                sums.into_iter().fold(1.0, f64::max)
            }
        }
    }
}

impl Interference for DemandSharing {
    fn slowdown(
        &self,
        own: &Demand,
        others: &[&Demand],
        _model: &GpuModel,
        mode: SharingMode,
    ) -> Estimate<Ratio> {
        if others.is_empty() {
            return Estimate::default();
        }
        let mean = Self::rule(own, others, mode);
        let ratio = |value: f64| Ratio::new(value).unwrap_or(Ratio::UNLIMITED);
        Estimate { mean: ratio(mean), low: Ratio::ONE, high: ratio(1.04 + 1.3 * (mean - 1.0)) }
    }
    fn version(&self) -> &'static str {
        "demand-1"
    }
}

impl Demand {
    /// Shares of what jobs side by side compete for. Of a job of which only the duty is known: all of it that long.
    fn resources(&self) -> [f64; 3] {
        let known = self.sm > 0.0 || self.tensor > 0.0 || self.bandwidth > 0.0;
        if known { [self.sm, self.tensor, self.bandwidth] } else { [self.duty; 3] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(steps: f64) -> Work {
        Work::from_steps(steps)
    }

    #[test]
    fn the_rest_of_a_job_counts_its_regimes_from_where_they_were_told() {
        let regime = |work: f64, speed: f64| RegimeForecast {
            work: Estimate::exact(steps(work)),
            speed: Ratio::new(speed).unwrap(),
        };
        let ratio = |value| Ratio::new(value).unwrap();
        let forecast = Forecast {
            speed: PerModel::all(Estimate::exact(Rate::new(2.0).unwrap())),
            total: Some(Estimate::exact(steps(100.0))),
            regimes: vec![regime(30.0, 1.0), regime(60.0, 3.0)],
            from: steps(10.0),
            stretch: Estimate { mean: ratio(1.0), low: ratio(0.5), high: ratio(2.0) },
            ..Forecast::default()
        };
        let left = |done: f64| forecast.seconds_from(ModelIndex(0), steps(done)).unwrap();
        assert_eq!(left(10.0), Estimate { mean: 25.0, low: 12.5, high: 50.0 });
        assert!((left(70.0).mean - 5.0).abs() < 1e-9 && left(100.0).mean.abs() < 1e-9);
        assert!((left(0.0).mean - 30.0).abs() < 1e-9, "a job that fell back does it again as it was");
        let plain = Forecast { regimes: Vec::new(), stretch: Estimate::default(), ..forecast };
        assert_eq!(plain.seconds_from(ModelIndex(0), steps(10.0)), Some(Estimate::exact(45.0)));
        let stuck = Forecast { speed: PerModel::default(), ..plain };
        assert_eq!(stuck.seconds_from(ModelIndex(0), steps(10.0)), None);
    }
}

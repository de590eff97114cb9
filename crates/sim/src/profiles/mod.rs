//! Made-up work that looks like published clusters: one profile per file, each listed here.
//!
//! A profile holds published statistics as numbers: when jobs come, how many GPUs they want, how long they take, whose
//! they are and how they end. [`generate`] draws jobs from them, everything from one seed; [`portrait`] measures any
//! trace in the same terms, so that a profile can be held against what was drawn from it.

mod elasticflow;
pub mod generate;
mod helios;
mod openb;
mod pai;
mod philly;
pub mod portrait;
mod shockwave_like;

pub use generate::{Generator, Plan, ProfileTable, Wanted};
pub use portrait::Portrait;

/// All profiles.
pub const PROFILES: &[Profile] =
    &[philly::ENTRY, helios::ENTRY, pai::ENTRY, openb::ENTRY, elasticflow::ENTRY, shockwave_like::ENTRY];

/// The profile of this name.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// Published statistics of the work of one cluster.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its fixed name.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where the numbers come from, and under which licence.
    pub source: &'static str,
    /// When jobs come.
    pub arrivals: Arrivals,
    /// How often each gang size comes up: GPUs and weight.
    pub sizes: &'static [(u32, f64)],
    /// How long jobs take on the reference GPU model.
    pub durations: Durations,
    /// Whose they are.
    pub tenants: Tenants,
    /// How they end.
    pub outcomes: Outcomes,
    /// The part of jobs that change their batch size while they train.
    pub dynamic: f64,
    /// How often each model is trained; empty means every entry of the table of speeds equally often.
    pub families: &'static [(&'static str, f64)],
}

/// When jobs come: batches as a Poisson process whose rate follows the hour, the weekday and the mood of the day.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Mean over a whole week.
    pub jobs_per_hour: f64,
    /// The rate in each hour of the day; only ratios count.
    pub hours: [f64; 24],
    /// The rate on each day from Monday; only ratios count.
    pub weekdays: [f64; 7],
    /// Some days are busier than others for no reason: the deviation of the logarithm of a day's factor.
    pub day_sigma: f64,
    /// Jobs that come together.
    pub batches: Batches,
}

/// Jobs of one tenant and one size that come together, as from a script.
#[derive(Clone, Copy, Debug)]
pub struct Batches {
    /// The part of batches that are a single job (q).
    pub single: f64,
    /// Otherwise the size is Pareto with this tail (a), cut to 2..=`max` and rounded down.
    pub tail: f64,
    /// The largest batch.
    pub max: u32,
    /// Mean gap between two jobs of a batch, in seconds; a gap is at most [`portrait::BATCH_GAP_S`].
    pub gap_mean_s: f64,
}

/// One part of a mixture of log-normals: weight, mean and deviation of the logarithm of seconds.
pub type Part = (f64, f64, f64);

/// How long jobs take: a mixture of log-normals for each class of gang sizes.
#[derive(Clone, Debug)]
pub struct Durations {
    /// Classes by their smallest gang, in ascending order, the first from 1.
    pub classes: &'static [(u32, &'static [Part])],
    /// Nothing is shorter: shorter draws are drawn again.
    pub min_s: f64,
    /// Nothing is longer.
    pub max_s: f64,
    /// Whether longer draws become `max_s`, as in traces that were cut off there; otherwise they are drawn again.
    pub clamped: bool,
}

/// Whose jobs they are: Zipf by rank, with ranks of their own for jobs and for GPU-time.
#[derive(Clone, Copy, Debug)]
pub struct Tenants {
    /// How many.
    pub count: u32,
    /// The slope for the number of jobs.
    pub jobs_slope: f64,
    /// The slope for GPU-time.
    pub gpu_time_slope: f64,
}

/// How jobs end: finished, cancelled, failed. Whatever the end, a job runs for its whole duration first.
#[derive(Clone, Copy, Debug)]
pub struct Outcomes {
    /// By number of jobs.
    pub jobs: [f64; 3],
    /// By GPU-time.
    pub gpu_time: [f64; 3],
}

/// The default mix where nothing was published (spec: 60 / 20 / 20).
const USUAL_OUTCOMES: Outcomes = Outcomes { jobs: [0.6, 0.2, 0.2], gpu_time: [0.6, 0.2, 0.2] };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_makes_sense() {
        for profile in PROFILES {
            let name = profile.name;
            assert!(profile.summary.ends_with('.') && !profile.source.is_empty(), "{name} is not described");
            assert!(profile.sizes.iter().all(|(gpus, weight)| *gpus > 0 && *weight > 0.0), "{name}");
            assert!(profile.sizes.windows(2).all(|pair| pair[0].0 < pair[1].0), "{name}: sizes in order");
            assert_eq!(profile.durations.classes[0].0, 1, "{name}: the first class begins at one GPU");
            for (_, parts) in profile.durations.classes {
                let weight: f64 = parts.iter().map(|part| part.0).sum();
                assert!((weight - 1.0).abs() < 0.005, "{name}: parts weigh {weight}");
            }
            let hours: f64 = profile.arrivals.hours.iter().sum();
            assert!((hours / 24.0 - 1.0).abs() < 0.01, "{name}: hours average {}", hours / 24.0);
            for mix in [profile.outcomes.jobs, profile.outcomes.gpu_time] {
                assert!((mix.iter().sum::<f64>() - 1.0).abs() < 0.01, "{name}: outcomes");
            }
        }
    }
}

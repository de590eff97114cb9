//! Jobs that change their batch size while they train, in two ways.
//!
//! Like Accordion: the initial batch in a critical stretch at the start (20 to 40 % of the work, as where Accordion's
//! published profiles switch), then the largest batch, with a second critical stretch of 5 to 10 % after the learning
//! rate decays in half of the jobs. Like gradient-noise scaling: the batch climbs through the table's sizes at points
//! that are uniform between 5 and 90 % of the work, and never comes back. Speeds are those of the table of kinds.

use super::kinds::Kind;
use evenhand_core::{Mode, Random, Ratio, RegimeSpec, Work};

/// A stretch from this fraction of the work on, with this batch and this speed relative to the first.
type Stretch = (f64, u32, f64);

/// The regimes of a job and its work in steps of the first batch's second, so that alone on the reference GPU model it
/// takes `duration_s` in all.
pub(super) fn regimes(kind: &Kind, duration_s: f64, random: &mut Random) -> (Work, Vec<RegimeSpec>) {
    let stretches = if random.chance(0.5) { accordion(kind, random) } else { gns(kind, random) };
    let ends = stretches.iter().skip(1).map(|stretch| stretch.0).chain([1.0]);
    let first = stretches.first().map_or(1.0, |stretch| stretch.0);
    let seconds: f64 = stretches.iter().zip(ends).map(|((from, _, speed), end)| (end - from) / speed).sum();
    let steps = duration_s / (first + seconds);
    let regime = |(from, batch, speed): &Stretch| RegimeSpec {
        from: Work::from_steps(from * steps),
        batch: *batch,
        speed: Ratio::new(*speed).unwrap_or_default(),
    };
    (Work::from_steps(steps), stretches.iter().map(regime).collect())
}

/// The batch sizes that occur in these regimes, the first one first.
pub(super) fn modes(kind: &Kind, regimes: &[RegimeSpec]) -> Vec<Mode> {
    let mut modes = vec![Mode { batch: kind.batch, speed: Ratio::ONE }];
    for regime in regimes {
        if modes.iter().all(|mode| mode.batch != regime.batch) {
            modes.push(Mode { batch: regime.batch, speed: regime.speed });
        }
    }
    modes
}

fn stretch(from: f64, first: &Kind, now: &Kind) -> Stretch {
    (from, now.batch, now.samples_per_s / first.samples_per_s)
}

fn accordion(kind: &Kind, random: &mut Random) -> Vec<Stretch> {
    let Some(largest) = kind.larger().next_back() else { return Vec::new() };
    let mut stretches = vec![stretch(random.between(0.2, 0.4), kind, largest)];
    if random.chance(0.5) {
        let decay = random.between(0.5, 0.8);
        stretches.push(stretch(decay, kind, kind));
        stretches.push(stretch(decay + random.between(0.05, 0.1), kind, largest));
    }
    stretches
}

fn gns(kind: &Kind, random: &mut Random) -> Vec<Stretch> {
    let larger: Vec<&Kind> = kind.larger().collect();
    let mut points: Vec<f64> = larger.iter().map(|_| random.between(0.05, 0.9)).collect();
    points.sort_by(f64::total_cmp);
    points.iter().zip(larger).map(|(from, now)| stretch(*from, kind, now)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::kinds::KINDS;
    use super::*;
    use evenhand_core::{JobId, JobSpec, TenantId};

    #[test]
    fn a_dynamic_job_takes_the_duration_that_was_drawn() {
        let mut random = Random::new(2);
        for kind in KINDS.iter().filter(|kind| kind.larger().next().is_some()) {
            let (work, regimes) = regimes(kind, 3600.0, &mut random);
            let mut spec = JobSpec::new(JobId(0), TenantId(0), 1, Some(work));
            assert!(!regimes.is_empty() && regimes.is_sorted_by_key(|regime| regime.from));
            spec.regimes = regimes;
            let alone = crate::alone(&spec, 1).unwrap().seconds();
            assert!((alone - 3600.0).abs() < 0.1, "{alone}");
        }
    }
}

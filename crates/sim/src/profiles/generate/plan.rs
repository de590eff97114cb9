//! What to draw: a profile, how much of it, and at which rate.

use crate::InputError;
use crate::input::within;
use crate::profiles::Profile;
use evenhand_core::{Outcome, Random, TenantId};

/// How much work, and for which machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Where it all comes from.
    pub seed: u64,
    /// How many jobs; without it, as many as come in `days`.
    pub jobs: Option<u64>,
    /// How many days from the first submission to the last, roughly.
    pub days: Option<f64>,
    /// The GPUs that the work is for: no gang is larger.
    pub gpus: Option<u32>,
    /// GPU-time asked for, over GPU-time that `gpus` have until the last submission; without it, the published rate.
    pub load: Option<f64>,
}

/// A profile and how much of it, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it looks like.
    pub profile: Profile,
    /// How much.
    pub wanted: Wanted,
    /// The rate that follows.
    pub jobs_per_hour: f64,
    sizes: Vec<u32>,
    size_weights: Vec<f64>,
    gpu_time_mean_s: f64,
    jobs_weights: Vec<f64>,
    gpu_time_weights: Vec<f64>,
    light_outcomes: [f64; 3],
}

/// How often the rate is corrected towards the span that was asked for. A third correction changes less than the day
/// to day noise of any profile.
const CORRECTIONS: usize = 3;

impl Plan {
    /// Refuses what makes no sense; finds the rate.
    pub fn new(profile: &Profile, wanted: Wanted) -> Result<Self, InputError> {
        Self::check(&wanted)?;
        let fits = |gpus: u32| wanted.gpus.is_none_or(|most| gpus <= most);
        let sizes: Vec<_> = profile.sizes.iter().filter(|(gpus, _)| fits(*gpus)).copied().collect();
        if sizes.is_empty() {
            return Err(InputError::field(
                0,
                "gpus",
                wanted.gpus.unwrap_or(0),
                "no gang of the profile fits",
            ));
        }
        let mut plan = Self {
            profile: profile.clone(),
            jobs_per_hour: profile.arrivals.jobs_per_hour,
            size_weights: sizes.iter().map(|(_, weight)| *weight).collect(),
            sizes: sizes.into_iter().map(|(gpus, _)| gpus).collect(),
            gpu_time_mean_s: 0.0,
            jobs_weights: zipf(profile.tenants.count, profile.tenants.jobs_slope),
            gpu_time_weights: zipf(profile.tenants.count, profile.tenants.gpu_time_slope),
            light_outcomes: profile.outcomes.jobs,
            wanted,
        };
        plan.gpu_time_mean_s = plan.expect(|gpus, seconds| gpus * seconds);
        let mean = plan.gpu_time_mean_s;
        let heavy = plan.expect(|gpus, seconds| f64::from(gpus * seconds > mean));
        plan.light_outcomes = std::array::from_fn(|at| {
            let (all, heavy_mix) = (profile.outcomes.jobs[at], profile.outcomes.gpu_time[at]);
            ((all - heavy * heavy_mix) / (1.0 - heavy)).max(0.0)
        });
        // Which tenant is how heavy has nothing to do with how many jobs it has.
        Random::stream(plan.wanted.seed, "ranks").shuffle(&mut plan.gpu_time_weights);
        plan.find_rate();
        Ok(plan)
    }

    /// Refuses what makes no sense, or says the same twice.
    pub fn check(wanted: &Wanted) -> Result<(), InputError> {
        within(&[
            ("jobs", wanted.jobs.unwrap_or(1) as f64, 1.0, 1e9),
            ("days", wanted.days.unwrap_or(1.0), 0.001, 36_500.0),
            ("gpus", wanted.gpus.unwrap_or(1).into(), 1.0, 1e6),
            ("load", wanted.load.unwrap_or(1.0), 0.001, 1000.0),
        ])?;
        let missing = |field: &str, allowed: &str| Err(InputError::field(0, field, "", allowed));
        match (wanted.jobs, wanted.days, wanted.load, wanted.gpus) {
            (None, None, ..) => missing("jobs", "either `jobs` or `days` must be given"),
            (_, _, Some(_), None) => missing("gpus", "`load` needs the number of GPUs"),
            (Some(_), Some(days), Some(_), _) => Err(InputError::field(
                0,
                "days",
                days,
                "`jobs` and `load` settle how long the work lasts: leave one of the three out",
            )),
            _ => Ok(()),
        }
    }

    /// The expected value over jobs of something that depends on GPUs and seconds.
    fn expect(&self, value: impl Fn(f64, f64) -> f64) -> f64 {
        let total: f64 = self.size_weights.iter().sum();
        let of_size = |(gpus, weight): (&u32, &f64)| {
            let gang = f64::from(*gpus);
            weight / total * self.profile.durations.expect(*gpus, |seconds| value(gang, seconds))
        };
        self.sizes.iter().zip(&self.size_weights).map(of_size).sum()
    }

    /// The rate that gives the load or the days that were asked for. What a heavy tail really comes to is only known once
    /// it is drawn, and its jobs do not depend on the rate: so the rate is corrected until the span of these very jobs
    /// fits.
    fn find_rate(&mut self) {
        let capacity = self.wanted.load.zip(self.wanted.gpus).map(|(load, gpus)| load * f64::from(gpus));
        if let Some(capacity) = capacity {
            self.jobs_per_hour = capacity * 3600.0 / self.gpu_time_mean_s;
        }
        let Some(jobs) = self.wanted.jobs else { return };
        if capacity.is_none() && self.wanted.days.is_none() {
            return;
        }
        if let Some(days) = self.wanted.days {
            self.jobs_per_hour = jobs as f64 / (24.0 * days);
        }
        for _ in 0..CORRECTIONS {
            let (mut gpu_time_s, mut first_s, mut last_s) = (0.0, None, 0.0);
            for draft in self.drafts() {
                gpu_time_s += f64::from(draft.gpus) * draft.duration_s;
                last_s = draft.submit_s;
                first_s.get_or_insert(last_s);
            }
            let span_s = last_s - first_s.unwrap_or(0.0);
            let wanted_s =
                capacity.map_or(self.wanted.days.unwrap_or(0.0) * 86_400.0, |capacity| gpu_time_s / capacity);
            if span_s < 1.0 || wanted_s < 1.0 {
                return;
            }
            self.jobs_per_hour *= span_s / wanted_s;
        }
    }

    /// Whether the work ends with a day, not with a number of jobs.
    pub(super) fn has_only_days(&self) -> bool {
        self.wanted.jobs.is_none()
    }

    /// GPU-time of the mean job, in GPU-seconds.
    pub fn gpu_time_mean_s(&self) -> f64 {
        self.gpu_time_mean_s
    }

    pub(super) fn is_heavy(&self, gpus: u32, seconds: f64) -> bool {
        f64::from(gpus) * seconds > self.gpu_time_mean_s
    }

    pub(super) fn draw_gpus(&self, random: &mut Random) -> u32 {
        random.weighted(&self.size_weights).map_or(1, |at| self.sizes[at])
    }

    pub(super) fn draw_tenant(&self, heavy: bool, random: &mut Random) -> TenantId {
        let weights = if heavy { &self.gpu_time_weights } else { &self.jobs_weights };
        TenantId(random.weighted(weights).unwrap_or(0) as u32)
    }

    pub(super) fn draw_outcome(&self, heavy: bool, random: &mut Random) -> Outcome {
        let mix = if heavy { &self.profile.outcomes.gpu_time } else { &self.light_outcomes };
        match random.weighted(mix) {
            Some(1) => Outcome::Cancelled,
            Some(2) => Outcome::Failed,
            _ => Outcome::Finished,
        }
    }

    /// What was drawn from what, for the head of the file.
    pub fn remarks(&self) -> Vec<String> {
        let (profile, wanted) = (&self.profile, &self.wanted);
        let (arrivals, batches) = (&profile.arrivals, &profile.arrivals.batches);
        let set = |name: &str, value: Option<String>| {
            value.map_or(String::new(), |value| format!(" {name} {value}"))
        };
        vec![
            format!("made by evenhand trace generate: profile {}, seed {}", profile.name, wanted.seed),
            format!(
                "wanted:{}{}{}{}",
                set("jobs", wanted.jobs.map(|jobs| jobs.to_string())),
                set("days", wanted.days.map(|days| days.to_string())),
                set("gpus", wanted.gpus.map(|gpus| gpus.to_string())),
                set("load", wanted.load.map(|load| load.to_string())),
            ),
            format!("source: {}", profile.source),
            "time 0 is midnight before a Monday; durations are on the first GPU model".into(),
            format!("arrivals: {:.4} jobs/h, day sigma {}", self.jobs_per_hour, arrivals.day_sigma),
            format!("hours: {}", listed(&arrivals.hours)),
            format!("weekdays: {}", listed(&arrivals.weekdays)),
            format!(
                "batches: single {}, tail {}, max {}, gap {} s",
                batches.single, batches.tail, batches.max, batches.gap_mean_s
            ),
            format!(
                "durations: {} to {} s{}; gpus>= weight*(mu,sigma): {}",
                profile.durations.min_s,
                profile.durations.max_s,
                if profile.durations.clamped { " (cut)" } else { "" },
                self.mixtures()
            ),
            format!(
                "tenants: {}, Zipf {} by jobs, {} by GPU-time",
                profile.tenants.count, profile.tenants.jobs_slope, profile.tenants.gpu_time_slope
            ),
            format!(
                "outcomes (finished, cancelled, failed): {} by jobs, {} by GPU-time",
                listed(&profile.outcomes.jobs),
                listed(&profile.outcomes.gpu_time)
            ),
            format!("dynamic: {}", profile.dynamic),
        ]
    }

    fn mixtures(&self) -> String {
        let part = |part: &(f64, f64, f64)| format!("{}*({},{})", part.0, part.1, part.2);
        let class = |(from, parts): &(u32, &'static [(f64, f64, f64)])| {
            format!("{from}: {}", parts.iter().map(part).collect::<Vec<_>>().join(" + "))
        };
        self.profile.durations.classes.iter().map(class).collect::<Vec<_>>().join("; ")
    }
}

fn listed(numbers: &[f64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn zipf(count: u32, slope: f64) -> Vec<f64> {
    (1..=count.max(1)).map(|rank| f64::from(rank).powf(-slope)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::{PROFILES, find};

    fn load_of(plan: &Plan, gpus: u32) -> f64 {
        let jobs: Vec<_> = plan.drafts().collect();
        let gpu_time: f64 = jobs.iter().map(|job| f64::from(job.gpus) * job.duration_s).sum();
        gpu_time / f64::from(gpus) / (jobs[jobs.len() - 1].submit_s - jobs[0].submit_s)
    }

    #[test]
    fn the_load_is_the_one_asked_for() {
        for profile in PROFILES {
            let wanted = Wanted { seed: 4, jobs: Some(5000), gpus: Some(64), load: Some(0.8), days: None };
            let plan = Plan::new(profile, wanted).unwrap();
            let load = load_of(&plan, 64);
            assert!((load / 0.8 - 1.0).abs() < 0.1, "{}: {load}", profile.name);
            assert!(plan.drafts().all(|job| job.gpus <= 64));
        }
    }

    #[test]
    fn days_are_filled() {
        let philly = find("philly").unwrap();
        let both = Wanted { seed: 1, jobs: Some(3000), days: Some(10.0), ..Wanted::default() };
        let last = Plan::new(philly, both).unwrap().drafts().last().unwrap();
        assert!((last.submit_s / 864_000.0 - 1.0).abs() < 0.1, "{}", last.submit_s);
        let only = Wanted { seed: 1, days: Some(10.0), ..Wanted::default() };
        let jobs: Vec<_> = Plan::new(philly, only).unwrap().drafts().collect();
        assert!(jobs.iter().all(|job| job.submit_s < 864_000.0));
        assert!((2000..30_000).contains(&jobs.len()), "{}", jobs.len());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let philly = find("philly").unwrap();
        let refused = |wanted: Wanted| Plan::new(philly, wanted).unwrap_err().field;
        let jobs = Wanted { jobs: Some(10), ..Wanted::default() };
        assert_eq!(refused(Wanted::default()), "jobs");
        assert_eq!(refused(Wanted { jobs: Some(0), ..jobs.clone() }), "jobs");
        assert_eq!(refused(Wanted { load: Some(0.8), ..jobs.clone() }), "gpus");
        assert_eq!(refused(Wanted { load: Some(f64::NAN), gpus: Some(8), ..jobs.clone() }), "load");
        assert_eq!(refused(Wanted { load: Some(0.8), gpus: Some(8), days: Some(3.0), ..jobs }), "days");
    }
}

//! Draws apps one after the other: their jobs, their curves, their target.

use super::{Apps, rehearse};
use crate::traces::synthetic::speeds;
use crate::tuners;
use crate::{ClusterSpec, Curve, SimApp, SimJob, Workload};
use evenhand_core::{
    App, AppId, Choice, Goal, JobId, JobSpec, Loss, ModelIndex, PerModel, Random, Rate, Ratio, Tenant,
    TenantId, Time, Work,
};

/// Slowdown of a communication-bound job on one socket, node, rack, on several racks. Published is 1.29 on two nodes; that
/// racks cost a little more is a guess.
const COMMUNICATION_BOUND: [f64; 4] = [1.0, 1.0, 1.3, 1.4];

/// Apps in the making.
pub(super) struct Draw<'a> {
    apps: &'a Apps,
    cluster: &'a ClusterSpec,
    seed: u64,
    random: Random,
    sizes: Vec<(u32, f64)>,
    workload: Workload,
    gpu_time_s: f64,
}

/// What all jobs of an app have in common.
struct Kind {
    tenant: TenantId,
    gpus: u32,
    limit: Work,
    communication_bound: bool,
    speeds: Option<PerModel<Rate>>,
}

impl<'a> Draw<'a> {
    pub fn new(apps: &'a Apps, cluster: &'a ClusterSpec, seed: u64) -> Self {
        let models = (0..cluster.models.len() as u16).map(ModelIndex);
        let largest = models.map(|model| cluster.gpus_of(model)).max().unwrap_or(1);
        let sizes = apps.gpus.iter().filter(|(gpus, _)| *gpus <= largest).copied().collect();
        let names: Vec<String> = match apps.tenants {
            0 => (0..apps.apps).map(|at| format!("user-{at}")).collect(),
            tenants => (0..tenants.min(apps.apps)).map(|at| format!("team-{at}")).collect(),
        };
        let tenants = names.iter().enumerate().map(|(at, name)| Tenant::new(TenantId(at as u32), name));
        let workload = Workload { tenants: tenants.collect(), ..Workload::default() };
        let random = Random::stream(seed, "apps");
        Self { apps, cluster, seed, random, sizes, workload, gpu_time_s: 0.0 }
    }

    /// All apps, and the GPU-time in seconds that they come to.
    pub fn finish(self) -> (Workload, f64) {
        (self.workload, self.gpu_time_s)
    }

    /// Draws one app.
    pub fn app(&mut self) {
        let id = AppId(self.workload.apps.len() as u64);
        let kind = self.kind(id);
        let count = self.count();
        let (goal, tuner) = if count == 1 { (Goal::AllJobs, Choice::named("none")) } else { self.plan() };
        let app = SimApp { tuner, ..SimApp::new(App::new(id, kind.tenant, goal)) };
        let mut curves = self.curves(count, kind.limit);
        let reached_at = self.random.between(0.5, 1.0);
        let gpu_time_s_max = self.apps.gpu_hours_max * 3600.0;
        let (mut jobs, used) = loop {
            let jobs = self.jobs(id, &kind, &curves, target(&curves, reached_at));
            let used = self.gpu_time_s(&app, &jobs);
            if used <= gpu_time_s_max || jobs.len() == 1 {
                break (jobs, used);
            }
            let fewer = (jobs.len() as f64 * gpu_time_s_max / used) as usize;
            curves.truncate(fewer.clamp(1, jobs.len() - 1));
        };
        self.gpu_time_s += used;
        self.workload.jobs.append(&mut jobs);
        self.workload.apps.push(app);
    }

    fn kind(&mut self, app: AppId) -> Kind {
        let (apps, random) = (self.apps, &mut self.random);
        let weights: Vec<f64> = self.sizes.iter().map(|(_, weight)| *weight).collect();
        let gpus = random.weighted(&weights).map_or(1, |at| self.sizes[at].0);
        let minutes = random.log_normal(apps.minutes_median.ln(), apps.minutes_sigma).min(apps.minutes_max);
        Kind {
            tenant: TenantId((app.0 % self.workload.tenants.len() as u64) as u32),
            gpus,
            limit: Work::from_steps((minutes * 60.0).round().max(1.0)),
            communication_bound: random.chance(apps.communication_bound),
            speeds: speeds(self.cluster, random),
        }
    }

    fn count(&mut self) -> usize {
        let single = self.random.chance(self.apps.single);
        let exploring = self.random.between(2.0_f64.ln(), (f64::from(self.apps.jobs_max) + 1.0).ln()).exp();
        if single || self.apps.jobs_max < 2 { 1 } else { exploring.min(self.apps.jobs_max.into()) as usize }
    }

    fn plan(&mut self) -> (Goal, Choice) {
        let weights: Vec<f64> = self.apps.tuners.iter().map(|(_, weight)| *weight).collect();
        let tuner = self.random.weighted(&weights).map_or("none", |at| self.apps.tuners[at].0.as_str());
        let first = self.random.chance(self.apps.first_to_target);
        let goal = if first { Goal::FirstToTarget } else { Goal::AllJobs };
        (goal, tuners::parse(tuner).expect("tuners are checked when they are read"))
    }

    /// Curves of the trials of an app: they start alike and end far apart.
    fn curves(&mut self, count: usize, limit: Work) -> Vec<Curve> {
        let epoch = Work((limit.0 / u64::from(self.apps.epochs)).max(1));
        let (noise, random) = (self.apps.noise, &mut self.random);
        let start = random.between(2.0, 6.0);
        let mut curve = || Curve {
            start,
            floor: start * random.between(0.05, 0.5),
            scale: limit.steps() * 10.0_f64.powf(random.between(-2.0, -0.5)),
            power: random.between(0.5, 1.5),
            noise,
            epoch,
            limit,
        };
        (0..count).map(|_| curve()).collect()
    }

    fn jobs(&self, app: AppId, kind: &Kind, curves: &[Curve], target: Option<Loss>) -> Vec<SimJob> {
        let first = self.workload.jobs.len() as u64;
        let job = |(at, curve): (usize, &Curve)| {
            let mut spec = JobSpec::new(JobId(first + at as u64), kind.tenant, kind.gpus, Some(kind.limit));
            (spec.app, spec.target, spec.speeds) = (Some(app), target, kind.speeds);
            spec.scaling.by_span = kind
                .communication_bound
                .then(|| COMMUNICATION_BOUND.map(|slowdown| Ratio::new(slowdown).unwrap_or_default()));
            SimJob::training(Time::ZERO, spec, *curve)
        };
        curves.iter().enumerate().map(job).collect()
    }

    /// What an app comes to when nobody waits: GPU-seconds on the reference GPU model.
    fn gpu_time_s(&self, app: &SimApp, jobs: &[SimJob]) -> f64 {
        let alone = Workload { jobs: jobs.to_vec(), apps: vec![app.clone()], ..Workload::default() };
        let done = rehearse(&alone, self.seed);
        jobs.iter().map(|job| done[&job.truth.id].steps() * f64::from(job.truth.gpus.min.0)).sum()
    }
}

/// The loss that the best trial has after this part of its limit.
fn target(curves: &[Curve], part: f64) -> Option<Loss> {
    let lowest = curves.iter().min_by(|a, b| a.at(a.limit).total_cmp(&b.at(b.limit)))?;
    Loss::new(lowest.at(Work::from_steps(lowest.limit.steps() * part))).ok()
}

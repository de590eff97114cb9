//! A five-line world: some GPUs, some jobs, one policy, and when each job ended.

use crate::{Witness, engine_with};
use evenhand_core::{
    App, AppId, Backend, Command, EngineConfig, Goal, GpuCount, JobId, JobSpec, Loss, Node, PerModel, Policy,
    Record, Span, Tenant, TenantId, Time, Work,
};
use evenhand_engine::{Engine, run};
use evenhand_sim::{ClusterSpec, Curve, Faults, OriginalWorld, SimApp, SimJob, Workload, World};
use std::collections::BTreeMap;
use std::sync::Arc;

/// When each job ended, in seconds.
pub type Ends = BTreeMap<u64, f64>;

/// A small simulated world in the making.
#[derive(Clone, Debug)]
pub struct Stage {
    cluster: ClusterSpec,
    workload: Workload,
    /// How the engine works.
    pub engine: EngineConfig,
}

impl Stage {
    /// A cluster such as `v100=4`, with this many GPUs on a node; rounds of a minute.
    pub fn new(cluster: &str, gpus_per_node: u8) -> Self {
        let cluster = ClusterSpec::parse(cluster, Some(gpus_per_node), None).unwrap();
        let engine = EngineConfig { round: Span::from_minutes(1), ..EngineConfig::default() };
        Self { cluster, workload: Workload::default(), engine }
    }

    /// Changes all nodes.
    pub fn nodes(mut self, edit: impl Fn(&mut Node)) -> Self {
        self.cluster.nodes.iter_mut().for_each(edit);
        self
    }

    /// Adds a tenant.
    pub fn tenant(mut self, name: &str) -> Self {
        let id = TenantId(self.workload.tenants.len() as u32);
        self.workload.tenants.push(Tenant::new(id, name));
        self
    }

    /// Limits the last tenant.
    pub fn limit(mut self, limit: PerModel<GpuCount>) -> Self {
        if let Some(tenant) = self.workload.tenants.last_mut() {
            tenant.limit = Some(limit);
        }
        self
    }

    /// Adds an app of the last tenant.
    pub fn app(mut self) -> Self {
        let tenant = TenantId(self.workload.tenants.len().saturating_sub(1) as u32);
        let id = AppId(self.workload.apps.len() as u64);
        self.workload.apps.push(SimApp::new(App::new(id, tenant, Goal::AllJobs)));
        self
    }

    /// Adds an app that is special in some way.
    pub fn app_with(mut self, edit: impl Fn(&mut SimApp)) -> Self {
        self = self.app();
        self.workload.apps.iter_mut().next_back().into_iter().for_each(edit);
        self
    }

    /// Adds a trial of the last app on one GPU: ten epochs of a minute up to its limit, and how its loss falls.
    pub fn trial(mut self, submit_s: u64, floor: f64, target: Option<f64>) -> Self {
        let declared = self.clone().job(submit_s, 1, 600).workload.jobs.pop().unwrap().truth;
        let mut declared = JobSpec::clone(&declared);
        declared.target = target.map(|target| Loss::new(target).unwrap());
        let (epoch, limit) = (Work::from_steps(60.0), Work::from_steps(600.0));
        let curve = Curve { start: 2.0, floor, scale: 60.0, power: 1.0, noise: 0.0, epoch, limit };
        self.workload.jobs.push(SimJob::training(Time::from_seconds(submit_s as f64), declared, curve));
        self
    }

    /// Changes the last job.
    pub fn edit(mut self, edit: impl Fn(&mut SimJob)) -> Self {
        self.workload.jobs.iter_mut().next_back().into_iter().for_each(edit);
        self
    }

    /// Adds a job of the last tenant and the last app: when it comes, its gang, and how long it takes.
    pub fn job(self, submit_s: u64, gpus: u32, duration_s: u64) -> Self {
        self.job_with(submit_s, gpus, duration_s, |_| {})
    }

    /// Adds a job that is special in some way.
    pub fn job_with(
        mut self,
        submit_s: u64,
        gpus: u32,
        duration_s: u64,
        edit: impl Fn(&mut JobSpec),
    ) -> Self {
        let id = JobId(self.workload.jobs.len() as u64);
        let tenant = TenantId(self.workload.tenants.len().saturating_sub(1) as u32);
        let mut spec = JobSpec::new(id, tenant, gpus, Some(Work::from_steps(duration_s as f64)));
        spec.app = self.workload.apps.last().map(|app| app.app.id);
        edit(&mut spec);
        self.workload.jobs.push(SimJob::new(Time::from_seconds(submit_s as f64), Arc::new(spec)));
        self
    }

    /// The world.
    pub fn world(&self) -> World {
        let mut workload = self.workload.clone();
        workload.jobs.sort_by_key(|job| job.submit);
        World::new(self.cluster.models.clone(), &self.cluster.nodes, Arc::new(workload), Faults::default(), 1)
    }

    /// A world with the round rules of the published simulators.
    pub fn world_of_rounds(&self, round: Span) -> OriginalWorld {
        let (models, nodes) = (self.cluster.models.clone(), &self.cluster.nodes);
        OriginalWorld::new(models, nodes, Arc::new(self.workload.clone()), round)
    }

    /// Plays it to its end under a policy.
    pub fn play(&self, policy: Box<dyn Policy>) -> (Ends, Vec<Record>) {
        let mut world = self.world();
        let abilities = world.abilities();
        self.play_in(&mut engine_with(policy, self.engine.clone(), abilities), &mut world)
    }

    /// Plays it to its end in a world of one's own.
    pub fn play_in(&self, engine: &mut Engine, world: &mut dyn Backend) -> (Ends, Vec<Record>) {
        let mut witness = Witness::default();
        let (mut ends, mut records) = (Ends::new(), Vec::new());
        run(engine, world, &mut |record: &Record| {
            witness.take(record).unwrap();
            for command in &record.commands {
                if let Command::End { job, .. } = command {
                    ends.insert(job.0, record.now.seconds());
                }
            }
            records.push(record.clone());
            Ok(())
        })
        .unwrap();
        witness.finish().unwrap();
        (ends, records)
    }
}

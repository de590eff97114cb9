//! The only mutable state, and the snapshots of it.
//!
//! Tables sit behind reference counts and are edited in place with [`Arc::make_mut`]: a table is copied only while
//! somebody still holds an older snapshot of it.

use crate::arrays::Turns;
use crate::bids::Bidding;
use crate::seats::Seats;
use evenhand_core::{
    App, AppId, Balances, BidTable, Choice, Classes, Cluster, Forecast, GpuCount, GpuId, GpuMask, GpuModel,
    Interference, JobId, JobSpec, JobState, Jobs, LeaseId, Leases, NodeId, Occasion, Outcome, PerModel, Plan,
    Reason, Round, Seat, Sharing, Snapshot, Tenant, Tenants, Time,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct State {
    pub now: Time,
    pub round: Round,
    pub cluster: Arc<Cluster>,
    pub tenants: Arc<Tenants>,
    pub apps: Arc<BTreeMap<AppId, App>>,
    pub jobs: Arc<Jobs>,
    pub forecasts: Arc<Vec<Arc<Forecast>>>,
    pub classes: Arc<Classes>,
    pub leases: Arc<Leases>,
    pub balances: Arc<Balances>,
    pub bids: Arc<BTreeMap<AppId, BidTable>>,
    /// Comes from the predictor.
    #[serde(skip, default = "unknown")]
    pub interference: Arc<dyn Interference>,
    /// Hosts and the guests that were measured to break their contracts.
    pub apart: Arc<BTreeSet<(JobId, JobId)>>,
    /// Leases of whole GPUs that were opened to guests.
    pub hosts: BTreeSet<LeaseId>,
    /// Leases of jobs that use what others leave over.
    pub guests: BTreeSet<LeaseId>,
    pub previous: Option<Arc<Plan>>,
    /// The policy that decides, if another one did at first.
    pub policy: Option<Choice>,
    /// Which GPUs are taken or promised.
    pub seats: Seats,
    /// Leases on their way out, and since when.
    pub stopping: BTreeMap<LeaseId, Time>,
    pub lease_next: u64,
    /// Why each waiting job waits, as last decided.
    pub waits: BTreeMap<JobId, Reason>,
    /// Jobs to end as soon as their lease has.
    pub unwanted: BTreeMap<JobId, Outcome>,
    /// Jobs not to be started.
    pub holds: BTreeSet<JobId>,
    /// Jobs that crashed, and when each may be tried again.
    pub retries: BTreeMap<JobId, Time>,
    /// Jobs that wait for a job to end.
    pub dependents: BTreeMap<JobId, Vec<JobId>>,
    /// For how many jobs each of these still waits.
    pub awaited: BTreeMap<JobId, u32>,
    /// Arrays of which only so many jobs may be on their way at a time.
    pub arrays: BTreeMap<JobId, Turns>,
    /// Failed launches in a row, per node.
    pub launch_failures: BTreeMap<NodeId, u32>,
    /// Suspect nodes, and when each is tried again.
    #[serde(default)]
    pub suspects: BTreeMap<NodeId, Time>,
    /// When leases are next up for renewal.
    pub regular_due: Time,
    /// When a decision is wanted before that.
    pub early_due: Option<Time>,
    /// The last decision.
    pub decided: Option<Time>,
    /// The alarm that the world knows of.
    pub alarm: Option<(Time, Round)>,
    /// The auction that is open.
    pub bidding: Option<Bidding>,
    /// Since when the shares of `previous` are in force.
    pub shares_since: Time,
}

fn unknown() -> Arc<dyn Interference> {
    Arc::new(evenhand_core::DemandSharing)
}

impl State {
    pub fn new(interference: Arc<dyn Interference>) -> Self {
        Self {
            now: Time::ZERO,
            round: Round::ZERO,
            cluster: Arc::default(),
            tenants: Arc::default(),
            apps: Arc::default(),
            jobs: Arc::default(),
            forecasts: Arc::default(),
            classes: Arc::default(),
            leases: Arc::default(),
            balances: Arc::default(),
            bids: Arc::default(),
            interference,
            apart: Arc::default(),
            hosts: BTreeSet::new(),
            guests: BTreeSet::new(),
            previous: None,
            policy: None,
            seats: Seats::default(),
            stopping: BTreeMap::new(),
            lease_next: 1,
            waits: BTreeMap::new(),
            unwanted: BTreeMap::new(),
            holds: BTreeSet::new(),
            retries: BTreeMap::new(),
            dependents: BTreeMap::new(),
            awaited: BTreeMap::new(),
            arrays: BTreeMap::new(),
            launch_failures: BTreeMap::new(),
            suspects: BTreeMap::new(),
            regular_due: Time::ZERO,
            early_due: None,
            decided: None,
            alarm: None,
            bidding: None,
            shares_since: Time::ZERO,
        }
    }

    pub fn snapshot(&self, occasion: Occasion, seed: u64) -> Snapshot {
        Snapshot {
            now: self.now,
            round: self.round,
            occasion,
            next_round: self.regular_due,
            seed,
            cluster: self.cluster.clone(),
            tenants: self.tenants.clone(),
            apps: self.apps.clone(),
            jobs: self.jobs.clone(),
            forecasts: self.forecasts.clone(),
            classes: self.classes.clone(),
            leases: self.leases.clone(),
            leaving: self.leaving(),
            balances: self.balances.clone(),
            bids: self.bids.clone(),
            interference: self.interference.clone(),
            apart: self.apart.clone(),
            previous: self.previous.clone(),
        }
    }

    /// GPUs of leases that are being stopped and are promised to nobody.
    fn leaving(&self) -> PerModel<GpuCount> {
        let mut leaving = PerModel::all(GpuCount::ZERO);
        for id in self.stopping.keys() {
            for seat in self.given_up(*id) {
                leaving[self.cluster.nodes[seat.node.index()].model] += GpuCount(seat.gpus.count());
            }
        }
        leaving
    }

    /// GPUs that will be free when a lease that is being stopped has ended: promised to nobody, and nobody stays on them. Of leases that
    /// give up a GPU together, the first has it.
    pub fn given_up(&self, id: LeaseId) -> Vec<Seat> {
        let Some(lease) = self.leases.get(id) else { return Vec::new() };
        let open = |seat: &Seat| {
            let usable = self.cluster.nodes[seat.node.index()].usable();
            let mut gpus = seat.gpus.and(usable).without(self.seats.promised(seat.node));
            for ordinal in gpus.ordinals().filter(|_| lease.sharing != Sharing::Alone).collect::<Vec<_>>() {
                let others = self.seats.sharers(GpuId { node: seat.node, ordinal });
                if others.iter().any(|other| !self.stopping.contains_key(other) || *other < id) {
                    gpus = gpus.without(GpuMask(1 << ordinal));
                }
            }
            Seat { node: seat.node, gpus }
        };
        lease.gpus.seats().iter().map(open).collect()
    }

    pub fn model_added(&mut self, model: &GpuModel) {
        let cluster = Arc::make_mut(&mut self.cluster);
        cluster.models.push(model.clone());
        cluster.reference.get_or_insert(evenhand_core::ModelIndex(0));
    }

    pub fn tenant_changed(&mut self, tenant: &Tenant) {
        Arc::make_mut(&mut self.tenants).put(tenant.clone());
        self.ask_early();
    }

    pub fn app_opened(&mut self, app: &App) {
        let app = App { opened: self.now, jobs: Vec::new(), ended: Vec::new(), ..app.clone() };
        Arc::make_mut(&mut self.apps).entry(app.id).or_insert(app);
    }

    /// Wants a decision as soon as may be.
    pub fn ask_early(&mut self) {
        self.early_due = Some(self.now);
    }

    /// Sets what is believed of the job in a place.
    pub fn set_forecast(&mut self, job: JobId, forecast: Arc<Forecast>) {
        let Some(index) = self.jobs.index(job) else { return };
        let at = index.0 as usize;
        let forecasts = Arc::make_mut(&mut self.forecasts);
        if forecasts.len() <= at {
            forecasts.resize_with(at + 1, Arc::default);
        }
        forecasts[at] = forecast;
    }

    /// Where a job without a lease stands: on hold, waiting for other jobs or to be tried again, or queued.
    pub fn resting_state(&self, spec: &JobSpec) -> JobState {
        let waits = self.awaited.contains_key(&spec.id) || self.waits_for_a_turn(spec);
        let rests = self.holds.contains(&spec.id) || self.retries.contains_key(&spec.id);
        if waits || rests { JobState::Held } else { JobState::Queued { since: self.now } }
    }
}

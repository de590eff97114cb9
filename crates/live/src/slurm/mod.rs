//! Runs jobs in a Slurm that is as it is: nothing is built into it, and its own commands are all that is used.
//!
//! Two partitions over the same nodes: one that is down, in which jobs wait and never start, and one that is up, into which a job is
//! moved with the exact nodes of its lease when its turn has come. See `docs/slurm.md`.

mod claims;
mod desk;
mod gres;
mod hostlist;
mod jobs;
mod next;
mod nodes;
mod sight;
mod submit;
mod tool;
mod wanted;
mod watch;

pub use sight::SlurmEyes;

use crate::clock::Clock;
use crate::gauges::GpuName;
use crate::local::{furnish, job_folder, progress};
use crate::runner::{LiveJob, Report, Runner, Seen};
use crate::world::Mail;
use claims::Claims;
use desk::{Desk, Known};
use evenhand_core::{Abilities, EndCause, JobId, Lease, LeaseId, Node, Outcome, Span, Work};
use next::{Blame, Leased, Order};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tool::Tool;
use watch::{Shared, Watch};

/// Where what an operator should know is said.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// How Slurm is set up for Evenhand.
#[derive(Clone)]
pub struct SlurmConfig {
    /// The partition in which jobs wait; it is down.
    pub partition: String,
    /// The partition in which jobs run; it is up, over the same nodes.
    pub run_partition: String,
    /// Which Slurm, if there are several: the path of its `slurm.conf`.
    pub conf: Option<PathBuf>,
    /// Time between two looks.
    pub poll: Span,
    /// Where what an operator should know is said.
    pub log: Log,
}

/// What Slurm can do for Evenhand.
pub const ABILITIES: Abilities = Abilities { resize: false, share: false, grace: true, bids: true };

/// Runs jobs in Slurm.
pub struct SlurmRunner {
    state: PathBuf,
    claims: Claims,
    shared: Arc<Shared>,
    clock: Clock,
}

impl SlurmRunner {
    /// A runner that keeps what it must not forget under this folder. `store` tells its jobs from those of others; news goes to `tell`.
    pub fn new(state: &Path, store: &str, config: SlurmConfig, tell: Sender<Mail>) -> io::Result<Self> {
        let SlurmConfig { partition, run_partition, conf, poll, log } = config;
        furnish(state)?;
        let claims = Claims::open(state)?;
        let desk = Desk {
            store: store.to_owned(),
            home: partition.clone(),
            run: run_partition.clone(),
            ..Desk::default()
        };
        let shared = Arc::new(Shared::new(desk));
        let clock = Clock::start();
        let watch = Watch {
            shared: shared.clone(),
            tool: Tool { home: partition, run: run_partition, conf },
            claims: claims.clone(),
            state: state.to_owned(),
            tell,
            log,
            poll: Duration::from_millis(poll.0),
            clock,
            told: None,
            is_empty: false,
            silence: None,
        };
        std::thread::Builder::new().name("slurm".to_owned()).spawn(move || watch.run())?;
        Ok(Self { state: state.to_owned(), claims, shared, clock })
    }

    fn track(&self, lease: LeaseId, leased: Leased, order: Option<Lease>) {
        self.shared.order(|desk| {
            // Whoever gives a job another lease knows that the one before has ended.
            desk.leases.retain(|_, before| before.job != leased.job || before.ended.is_none());
            desk.leases.entry(lease).or_insert(leased);
            desk.orders.extend(order.map(|order| (lease, order)));
        });
    }

    fn leased(&self, job: JobId, nodes: Vec<String>) -> Leased {
        Leased::new(job, nodes, self.clock.now())
    }
}

impl Drop for SlurmRunner {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl Runner for SlurmRunner {
    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    fn forget(&mut self) {
        self.shared.with(|desk| {
            desk.begun = false;
            desk.jobs.clear();
            desk.discoveries.clear();
            desk.tell_machines = true;
        });
    }

    fn begin(&mut self) {
        self.shared.order(|desk| desk.begun = true);
    }

    fn learn(&mut self, node: &Node) {
        if let Some(name) = &node.name {
            self.shared.with(|desk| desk.names.insert(node.id, name.to_string()));
        }
    }

    fn admit(&mut self, job: &LiveJob) {
        let slurm = job.program.outside.as_ref().and_then(|outside| outside.parse().ok());
        // Whoever cannot be looked up now cannot be when the job is handed to Slurm either, and is told then.
        let owner = submit::somebody_else(job).ok().flatten();
        let user_id = owner.map_or_else(|| rustix::process::getuid().as_raw(), |owner| owner.number());
        let known = Known { live: job.clone(), user_id, slurm, held: false, missed: 0 };
        self.shared.with(|desk| desk.jobs.insert(job.spec.id, known));
    }

    fn start(&mut self, lease: &Lease, _job: &LiveJob) {
        let name = |desk: &Desk| {
            let seats = lease.gpus.seats().iter();
            seats.map(|seat| desk.names.get(&seat.node).cloned()).collect::<Option<Vec<String>>>()
        };
        // A node without a name is none of Slurm's: then there is nothing that could be asked for, and the start is in vain.
        let nodes = self.shared.with(|desk| name(desk)).unwrap_or_default();
        let (order, blame) =
            if nodes.is_empty() { (Order::GiveUp, Blame::Nodes) } else { (Order::Run, Blame::Nobody) };
        let leased = Leased { order, blame, ..self.leased(lease.job, nodes) };
        self.track(lease.id, leased, Some(lease.clone()));
    }

    fn adopt(&mut self, lease: &Lease) -> bool {
        let Some(claim) = self.claims.read(lease.id) else { return false };
        let leased = self.leased(claim.job, claim.nodes.clone());
        self.track(lease.id, Leased { claim: Some(claim), ..leased }, None);
        true
    }

    fn stop(&mut self, lease: LeaseId, cause: EndCause, grace: Span) {
        let until = self.clock.now() + grace;
        self.shared.order(|desk| {
            let Some(leased) = desk.leases.get_mut(&lease) else { return };
            leased.order = match leased.order {
                Order::Leave { cause, until: before } => Order::Leave { cause, until: before.min(until) },
                Order::Run | Order::GiveUp => Order::Leave { cause, until },
            };
        });
    }

    fn look(&mut self, lease: LeaseId) -> Seen {
        self.shared.with(|desk| {
            let leased = desk.leases.get(&lease);
            leased.map_or_else(Seen::default, |leased| Seen {
                started: leased.started,
                ended: leased.ended,
                again: None,
            })
        })
    }

    fn steps(&self, job: JobId) -> Option<Work> {
        let is_own = self.shared.with(|desk| desk.jobs.get(&job).is_some_and(Known::is_own));
        let seen = progress::steps(&job_folder(&self.state, job).checkpoint()).map(Work::from_steps);
        // What others submitted to Slurm knows nothing of that folder.
        seen.or_else(|| is_own.then_some(Work::ZERO))
    }

    fn gpu_names(&self, lease: &Lease) -> Vec<Vec<GpuName>> {
        let devices =
            self.shared.with(|desk| desk.leases.get(&lease.id).map(|leased| leased.devices.clone()));
        let name = |(host, index): (String, u8)| vec![GpuName::On { host, index }];
        devices.unwrap_or_default().into_iter().map(name).collect()
    }

    fn report(&self, lease: LeaseId, job: JobId) -> Option<Report> {
        progress::report(&job_folder(&self.state, job).progress(), lease)
    }

    fn clear(&mut self, lease: LeaseId) {
        self.shared.order(|desk| {
            desk.leases.remove(&lease);
            desk.orders.remove(&lease);
        });
        self.claims.remove(lease);
    }

    fn end(&mut self, job: JobId, outcome: Outcome) {
        self.shared.order(|desk| {
            let slurm = desk.jobs.remove(&job).and_then(|known| known.slurm);
            // One that Slurm says has ended is taken off this list at the next look.
            desk.ending.extend(slurm);
        });
        if outcome != Outcome::Failed {
            // There may be none.
            let _ = std::fs::remove_dir_all(job_folder(&self.state, job).checkpoints());
        }
    }

    fn keep_only(&mut self, leases: &dyn Fn(LeaseId) -> bool) {
        self.shared.with(|desk| desk.leases.retain(|lease, _| leases(*lease)));
        for lease in self.claims.list().into_iter().filter(|lease| !leases(*lease)) {
            self.claims.remove(lease);
        }
    }
}

//! The service: engine, store and world on the wall clock, in one thread.
//!
//! A turn takes whatever has happened, steps the engine, and writes the records in one transaction; only then are commands carried
//! out and people answered. If the store cannot be written, the turn never was: its people are told so, and everything is built again from
//! what is on disk.

mod checks;
mod drafts;
mod followed;
mod intake;
mod promises;
mod recovery;
mod savings;
mod tenants;
mod turn;
mod vitals;

pub use vitals::{Busy, DURATION_BOUNDS_US, Durations, Fleet, OpenOffer, Vitals};

use crate::clock::{Clock, system_ms};
use crate::request::Refusal;
use crate::runner::Runner;
use crate::store::{Origin, Store, StoreError};
use crate::world::{Arrival, Mail, Setting, World};
use evenhand_core::{BackendError, Choice, EngineConfig, GpuModel, Header, JobId, Node, Restart};
use evenhand_engine::Engine;
use followed::Followed;
use savings::Savings;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use thiserror::Error;

/// Makes the engine that a header describes.
pub type MakeEngine = Box<dyn Fn(&Header) -> Result<Engine, String> + Send>;

/// Makes a runner for a store with this mark. News of jobs goes where the world reads.
pub type MakeRunner = Box<dyn FnOnce(&Origin) -> std::io::Result<Box<dyn Runner>> + Send>;

/// How the service is set up.
pub struct ServiceConfig {
    /// Where everything is kept.
    pub state: PathBuf,
    /// The machines, and tenants to begin with; `None` if an engine outside says which machines there are.
    pub setting: Option<Setting>,
    /// What a new store is made with; of an old one only the policy is changed.
    pub header: Header,
    /// Makes engines.
    pub make_engine: MakeEngine,
    /// Makes the runner.
    pub make_runner: MakeRunner,
    /// On what terms work is taken.
    pub terms: Terms,
    /// How large the ledger may grow, in bytes.
    pub ledger_bytes_max: Option<u64>,
    /// Whether the policy of the ledger goes on, whatever the header says.
    pub keep_policy: bool,
}

/// On what terms work is taken.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Jobs that may wait at most.
    pub queue_max: u64,
    /// What stopping and starting again costs jobs, which do not say it themselves.
    pub restart: Restart,
}

/// Why the service cannot begin or go on.
#[derive(Debug, Error)]
pub enum ServiceError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The world.
    #[error(transparent)]
    World(#[from] BackendError),
    /// A folder or file of the state.
    #[error("{}: {source}", .path.display())]
    Files {
        /// Which.
        path: PathBuf,
        /// What came back.
        source: std::io::Error,
    },
    /// The header describes no engine.
    #[error("the engine cannot be made: {0}")]
    Engine(String),
    /// The engine decides otherwise than when the ledger was written.
    #[error(
        "record {seq} of the ledger cannot be repeated: this program decides otherwise than the one that wrote it (after {event})"
    )]
    Differs {
        /// Which record.
        seq: u64,
        /// What happened there.
        event: String,
    },
    /// The machines are not those of the ledger.
    #[error(
        "the ledger is about other machines ({then}) than there are now ({now}): use another state folder, or the same machines"
    )]
    OtherMachines {
        /// Those of the ledger.
        then: String,
        /// Those there are.
        now: String,
    },
    /// The rules are not those of the ledger.
    #[error("the ledger was begun with other rules for {what}: leave that out, or use another state folder")]
    OtherRules {
        /// Which.
        what: &'static str,
    },
}

/// The service.
pub struct Service {
    engine: Engine,
    store: Store,
    world: World,
    origin: Origin,
    make_engine: MakeEngine,
    next_job: JobId,
    terms: Terms,
    ledger_bytes_max: Option<u64>,
    followed: Followed,
    savings: Savings,
    vitals: Arc<Vitals>,
    told: Box<dyn Fn(u64) + Send>,
    // Held until the service ends: another server keeps out as long as this file is locked.
    _lock: std::fs::File,
}

impl Service {
    /// Opens the state folder, or makes it; builds everything from the ledger and compares with what really runs. News comes out of
    /// `inbox`; `told` hears the number of the last record whenever there is a new one.
    pub fn open(
        config: ServiceConfig,
        inbox: Receiver<Mail>,
        told: Box<dyn Fn(u64) + Send>,
    ) -> Result<Self, ServiceError> {
        let ServiceConfig { state, setting, header, make_engine, make_runner, .. } = config;
        let (terms, ledger_bytes_max) = (config.terms, config.ledger_bytes_max);
        let files = |source| ServiceError::Files { path: state.clone(), source };
        // Programs of jobs may carry secrets in their environment.
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&state).map_err(files)?;
        let lock = lock(&state)?;
        let mut store = open_store(&state, ledger_bytes_max)?;
        let origin = origin(&mut store, &header)?;
        let runner = make_runner(&origin).map_err(files)?;
        let found = recovery::recover(&store, &origin.header, &make_engine)?;
        let wanted = header.policy.clone();
        let clock = Clock::resume(origin.epoch_ms, found.followed.now);
        let world = if found.is_new {
            World::new(setting.unwrap_or_default(), clock, runner, inbox)
        } else {
            let added = setting.map(|setting| added_machines(&found.machines, setting)).transpose()?;
            let mut world = World::recover(found.remembered, clock, runner, inbox);
            world.add(added.unwrap_or_default());
            world
        };
        let vitals = Arc::new(Vitals::default());
        vitals.epoch_ms.store(origin.epoch_ms, Ordering::Relaxed);
        vitals.last.store(store.last(), Ordering::Relaxed);
        vitals.repeated.store(found.repeated, Ordering::Relaxed);
        let mut service = Self {
            engine: found.engine,
            next_job: found.next_job,
            store,
            world,
            origin,
            make_engine,
            terms,
            ledger_bytes_max,
            followed: found.followed,
            savings: Savings::default(),
            vitals,
            told,
            _lock: lock,
        };
        (service.told)(service.store.last());
        service.publish();
        if !config.keep_policy {
            service.use_policy(wanted)?;
        }
        Ok(service)
    }

    /// What others may know of it.
    pub fn vitals(&self) -> Arc<Vitals> {
        self.vitals.clone()
    }

    /// Goes on until it is told to leave, or nobody can ask anything any more and every job has ended, or something breaks for good.
    pub fn run(&mut self) -> Result<(), ServiceError> {
        while let Some((now, arrival)) = self.world.arrival()? {
            match self.turn(now, arrival) {
                Ok(()) => self.save_if_due(),
                Err(error) if error.may_pass() => {
                    // What the engine knows since is not on disk: it must not be saved.
                    if !self.mend(error)? {
                        return Ok(());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.save();
        Ok(())
    }

    /// Tells others of the machines, who decides, and how promises were kept.
    fn publish(&self) {
        let policy = self.followed.policy.clone();
        self.vitals.set_fleet(Fleet::new(&self.engine.snapshot().cluster, policy));
        self.vitals.set_promises(&self.followed.promises);
        self.vitals.set_asked(self.engine.open_offer());
    }

    /// The policy that was asked for on the command line decides, whoever did before.
    fn use_policy(&mut self, wanted: Choice) -> Result<(), ServiceError> {
        if self.followed.policy != wanted {
            let now = self.world.now();
            self.turn(now, Arrival::Seen(evenhand_core::Event::PolicyChanged(wanted)))?;
        }
        Ok(())
    }

    /// Nothing can be recorded: refuses everything until that has passed, then builds everything again from what is on disk. False if it was told to
    /// leave before.
    fn mend(&mut self, mut error: StoreError) -> Result<bool, ServiceError> {
        self.vitals.mending.store(true, Ordering::Relaxed);
        loop {
            self.world.turn_away(&Refusal::Unavailable(error.to_string()), Duration::from_millis(500));
            if self.world.is_left() {
                return Ok(false);
            }
            match self.store.probe() {
                Ok(()) => break,
                Err(again) if again.may_pass() => error = self.store.explained(again),
                Err(worse) => return Err(worse.into()),
            }
        }
        let state = self.store.path().parent().map(Path::to_owned).unwrap_or_default();
        self.store = open_store(&state, self.ledger_bytes_max)?;
        let found = recovery::recover(&self.store, &self.origin.header, &self.make_engine)?;
        self.engine = found.engine;
        self.next_job = found.next_job;
        self.followed = found.followed;
        self.publish();
        self.world.rebuild(found.remembered);
        self.vitals.mending.store(false, Ordering::Relaxed);
        Ok(true)
    }
}

fn open_store(state: &Path, bytes_max: Option<u64>) -> Result<Store, StoreError> {
    let mut store = Store::open(state)?;
    if let Some(bytes_max) = bytes_max {
        store.limit(bytes_max)?;
    }
    Ok(store)
}

/// One server per state folder. A server that was killed in the middle of starting a supervisor may leave the lock to that
/// process for a moment.
fn lock(state: &Path) -> Result<std::fs::File, ServiceError> {
    use rustix::fs::{FlockOperation, flock};
    let path = state.join("server.lock");
    let files = |source| ServiceError::Files { path: path.clone(), source };
    let file = std::fs::File::create(&path).map_err(files)?;
    for _ in 0..100 {
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(file);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(StoreError::InUse(state.to_owned()).into())
}

/// What the store was made with; a new one is made with this header.
fn origin(store: &mut Store, header: &Header) -> Result<Origin, ServiceError> {
    let Some(origin) = store.origin()? else {
        let epoch_ms = system_ms();
        // Unique among the stores of a machine: no two are made by one process in one millisecond.
        let mark = format!("{epoch_ms:x}-{:x}", std::process::id());
        let origin = Origin { header: header.clone(), epoch_ms, mark };
        store.begin(&origin)?;
        return Ok(origin);
    };
    let (then, now) = (&origin.header, header);
    // Nobody says how long a node stands aside; a ledger goes on as it began.
    let engine = EngineConfig { suspicion: then.engine.suspicion, ..now.engine.clone() };
    let same = [
        ("rounds, grace and retries", then.engine == engine),
        ("the placer", then.placer == now.placer),
        ("the seed", then.seed == now.seed),
        ("how long a policy may think", then.limits == now.limits),
    ];
    match same.iter().find(|(_, same)| !same) {
        Some((what, _)) => Err(ServiceError::OtherRules { what }),
        None => Ok(origin),
    }
}

type Machines = (Vec<GpuModel>, Vec<Node>);

/// The machines that the ledger does not know yet; those that it knows must be there as they were.
fn added_machines(then: &Machines, now: Setting) -> Result<Setting, ServiceError> {
    let plain =
        |nodes: &[Node]| nodes.iter().map(|node| (node.id, node.model, node.gpus)).collect::<Vec<_>>();
    let (models, nodes) = then;
    if !now.models.starts_with(models) || !plain(&now.nodes).starts_with(&plain(nodes)) {
        let now = (now.models, now.nodes);
        return Err(ServiceError::OtherMachines { then: told(then), now: told(&now) });
    }
    let (models, nodes) = (now.models[models.len()..].to_vec(), now.nodes[nodes.len()..].to_vec());
    Ok(Setting { models, tenants: Vec::new(), nodes })
}

/// Machines in words.
fn told((models, nodes): &Machines) -> String {
    let name = |node: &Node| models.get(usize::from(node.model.0)).map_or("?", |model| &model.name);
    nodes.iter().map(|node| format!("{} {}", node.gpus, name(node))).collect::<Vec<_>>().join(", ")
}

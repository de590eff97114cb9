//! The way into the cluster, from the first request to the last.

use crate::hub::Hub;
use crate::leader::{Leader, LeaderConfig, LeaderError};
use crate::rules::{self, Kind};
use crate::runner::KubernetesRunner;
use crate::watch::{self, Synced, Watched};
use evenhand_live::{Mail, Runner};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use thiserror::Error;
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// How long the cluster may take to be seen for the first time.
const FIRST_LOOK: Duration = Duration::from_secs(60);

/// Threads: one may be looking at everything, and the leader must be able to say that it is there.
const WORKERS: usize = 3;

/// Which cluster, and as whom.
#[derive(Clone, Debug)]
pub struct KubernetesConfig {
    /// A kubeconfig file; `None`: that of the surroundings, or the service account of the pod that this runs in.
    pub kubeconfig: Option<PathBuf>,
    /// The name by which pods ask for this scheduler.
    pub scheduler: String,
}

/// Why the cluster cannot be worked with.
#[derive(Debug, Error)]
pub enum KubernetesError {
    /// No configuration, or one that makes no sense.
    #[error("the cluster cannot be found: {0}")]
    Config(String),
    /// The client cannot be made.
    #[error("the cluster cannot be asked: {0}")]
    Client(#[from] kube::Error),
    /// The runtime cannot be made.
    #[error("no threads for the cluster: {0}")]
    Runtime(#[from] std::io::Error),
    /// Something cannot be listed.
    #[error("{what} of the cluster cannot be listed: {why}")]
    Unseen {
        /// What.
        what: &'static str,
        /// Why.
        why: String,
    },
}

/// A way into a cluster.
pub struct Connection {
    runtime: Runtime,
    hub: Arc<Hub>,
    namespace: String,
    leader: Option<Arc<Leader>>,
}

/// Finds the way. News goes to `tell`, once the service has taken up what its ledger says.
pub fn connect(config: KubernetesConfig, tell: Sender<Mail>) -> Result<Connection, KubernetesError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("kubernetes")
        .enable_all()
        .build()?;
    let found = runtime.block_on(find(config.kubeconfig))?;
    let namespace = found.default_namespace.clone();
    let client = {
        let _inside = runtime.enter();
        Client::try_from(found)?
    };
    let hub = Hub::new(client, config.scheduler, tell);
    Ok(Connection { runtime, hub, namespace, leader: None })
}

pub(crate) async fn find(kubeconfig: Option<PathBuf>) -> Result<Config, KubernetesError> {
    let said = |error: &dyn std::fmt::Display| KubernetesError::Config(error.to_string());
    let Some(path) = kubeconfig else {
        return Config::infer().await.map_err(|error| said(&error));
    };
    let file = Kubeconfig::read_from(path).map_err(|error| said(&error))?;
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(file, &options).await.map_err(|error| said(&error))
}

impl Connection {
    /// The namespace that this runs in.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Waits until this is the leader, and says what it waits for. `lost` is called when it no longer is, and should not return.
    pub fn lead(
        &mut self,
        config: LeaderConfig,
        waits: impl FnMut(&str),
        lost: impl FnOnce(LeaderError) + Send + 'static,
    ) {
        let leader = Arc::new(Leader::new(self.hub.client.clone(), config));
        let lease = self.runtime.block_on(leader.lead(waits));
        self.leader = Some(leader.clone());
        self.runtime.spawn(async move { lost(leader.keep(lease).await) });
    }

    /// Begins to watch, and waits until all has been seen once.
    pub fn watch(&self) -> Result<(), KubernetesError> {
        let watches =
            [("nodes", self.keep::<Node>()), ("Jobs", self.keep::<Job>()), ("pods", self.keep::<Pod>())];
        for (what, mut synced) in watches {
            let seen = async { synced.wait_for(|synced| *synced == Synced::Yes).await.is_ok() };
            if !self.runtime.block_on(async { timeout(FIRST_LOOK, seen).await.unwrap_or(false) }) {
                let why = match &*synced.borrow() {
                    Synced::Failing(why) => why.clone(),
                    _ => "no answer".to_owned(),
                };
                return Err(KubernetesError::Unseen { what, why });
            }
        }
        Ok(())
    }

    fn keep<K: Watched>(&self) -> tokio::sync::watch::Receiver<Synced> {
        let (synced, seen) = tokio::sync::watch::channel(Synced::NotYet);
        self.runtime.spawn(watch::keep::<K>(self.hub.clone(), synced));
        seen
    }

    /// What runs the jobs of a ledger with this mark.
    pub fn runner(&self, mark: &str) -> Box<dyn Runner> {
        self.drive();
        Box::new(KubernetesRunner::new(self.hub.clone(), self.runtime.handle().clone(), mark))
    }

    /// Lets news flow, once the service has taken up what its ledger says.
    fn drive(&self) {
        let driver = self.runtime.spawn(self.hub.clone().drive());
        self.runtime.spawn(self.hub.clone().explain());
        for kind in [Kind::Tenant, Kind::Policy] {
            self.runtime.spawn(rules::keep(self.hub.clone(), kind));
        }
        let tell = self.hub.tell.clone();
        self.runtime.spawn(async move {
            // It ends only by a bug. Better to leave in good order and be started anew than to serve and do nothing.
            let _ = driver.await;
            let _ = tell.send(Mail::Leave);
        });
    }

    /// Lets another lead at once.
    pub fn leave(self) {
        if let Some(leader) = &self.leader {
            // It may be the cluster that is gone.
            let _ = self.runtime.block_on(async { timeout(Duration::from_secs(3), leader.release()).await });
        }
        self.runtime.shutdown_background();
    }
}

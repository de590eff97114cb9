//! One leader at a time, by a Lease of the cluster. Others wait, and take over when it has not been renewed for its whole length.

use evenhand_core::{Span, Time};
use evenhand_live::{Clock, system_ms};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client, Error};
use std::time::Duration;
use thiserror::Error as ThisError;

/// How long a leader that is not heard of remains one.
const LENGTH: Span = Span::from_secs(15);
/// A leader that could not renew for so long leaves, well before another may come.
const GIVE_UP: Span = Span::from_secs(10);
const RENEW: Duration = Duration::from_secs(4);
const LOOK: Duration = Duration::from_secs(2);
/// A request that takes longer counts as failed.
const ANSWER: Duration = Duration::from_secs(5);

/// Which Lease, and who asks.
#[derive(Clone, Debug)]
pub struct LeaderConfig {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who this is: another name than that of every other replica.
    pub identity: String,
}

/// Why somebody leads no more.
#[derive(Debug, ThisError)]
pub enum LeaderError {
    /// Another does.
    #[error("{0} leads now")]
    Another(String),
    /// Nobody can tell.
    #[error("the Lease could not be renewed for {} s: {last}", GIVE_UP.0 / 1000)]
    Silent {
        /// What came back last.
        last: String,
    },
}

pub(crate) struct Leader {
    api: Api<Lease>,
    config: LeaderConfig,
    clock: Clock,
}

impl Leader {
    pub(crate) fn new(client: Client, config: LeaderConfig) -> Self {
        Self { api: Api::namespaced(client, &config.namespace), config, clock: Clock::start() }
    }

    /// Waits until this is the leader. How long another has been silent is measured here: clocks of machines differ.
    pub(crate) async fn lead(&self, mut waits: impl FnMut(&str)) -> Lease {
        let mut seen: Option<(String, Time)> = None;
        loop {
            match self.attempt(&mut seen).await {
                Ok(Some(lease)) => return lease,
                Ok(None) => waits(seen.as_ref().map_or("", |_| "another replica leads")),
                Err(error) => waits(&error.to_string()),
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn attempt(&self, seen: &mut Option<(String, Time)>) -> Result<Option<Lease>, Error> {
        let Some(lease) = self.api.get_opt(&self.config.name).await? else {
            return self.api.create(&PostParams::default(), &self.mine(None)).await.map(Some);
        };
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        let holder = holder(&lease);
        let now = self.clock.now();
        let since = match seen.as_ref().filter(|(known, _)| *known == version) {
            Some((_, since)) => *since,
            None => seen.insert((version, now)).1,
        };
        let is_free = holder.is_empty() || holder == self.config.identity;
        if !is_free && now.since(since) < LENGTH {
            return Ok(None);
        }
        // The version makes sure that of two who try, one succeeds.
        self.replace(&lease).await.map(Some)
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, Error> {
        self.api.replace(&self.config.name, &PostParams::default(), &self.mine(Some(lease))).await
    }

    /// Renews until that fails for too long, or another leads.
    pub(crate) async fn keep(&self, mut lease: Lease) -> LeaderError {
        let mut renewed = self.clock.now();
        let mut last = String::new();
        loop {
            tokio::time::sleep(RENEW).await;
            match tokio::time::timeout(ANSWER, self.renew(&lease)).await {
                Ok(Ok(next)) => (lease, renewed) = (next, self.clock.now()),
                Ok(Err(Renewal::Lost(holder))) => return LeaderError::Another(holder),
                Ok(Err(Renewal::Failed(error))) => last = error.to_string(),
                Err(_) => "no answer".clone_into(&mut last),
            }
            if self.clock.now().since(renewed) >= GIVE_UP {
                return LeaderError::Silent { last };
            }
        }
    }

    async fn renew(&self, lease: &Lease) -> Result<Lease, Renewal> {
        match self.replace(lease).await {
            Err(Error::Api(status)) if status.code == 409 || status.code == 404 => {
                // An earlier try of our own may have been heard after all.
                let now = self.api.get(&self.config.name).await.map_err(Renewal::Failed)?;
                let holder = holder(&now);
                if holder == self.config.identity { Ok(now) } else { Err(Renewal::Lost(holder)) }
            }
            other => other.map_err(Renewal::Failed),
        }
    }

    /// Lets the next one lead at once.
    pub(crate) async fn release(&self) {
        let Ok(mut lease) = self.api.get(&self.config.name).await else { return };
        if holder(&lease) == self.config.identity
            && let Some(spec) = &mut lease.spec
        {
            spec.holder_identity = Some(String::new());
            // If it is not heard, the next one waits as for one that died.
            let _ = self.api.replace(&self.config.name, &PostParams::default(), &lease).await;
        }
    }

    fn mine(&self, before: Option<&Lease>) -> Lease {
        let now = MicroTime(Timestamp::from_millisecond(system_ms() as i64).unwrap_or_default());
        let spec = before.and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let same = spec.holder_identity.as_ref() == Some(&self.config.identity);
        let changes = spec.lease_transitions.unwrap_or(0) + i32::from(!same);
        let spec = LeaseSpec {
            holder_identity: Some(self.config.identity.clone()),
            acquire_time: if same { spec.acquire_time } else { Some(now.clone()) },
            renew_time: Some(now),
            lease_duration_seconds: Some((LENGTH.0 / 1000) as i32),
            lease_transitions: Some(changes),
            ..spec
        };
        let name = ObjectMeta { name: Some(self.config.name.clone()), ..ObjectMeta::default() };
        let metadata = before.map_or(name, |lease| lease.metadata.clone());
        Lease { metadata, spec: Some(spec) }
    }
}

enum Renewal {
    Lost(String),
    Failed(Error),
}

fn holder(lease: &Lease) -> String {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone()).unwrap_or_default()
}

//! What every handler needs: a way to ask the engine, and a way to look into the store.

use super::Trouble;
use super::history::History;
use super::metrics::Requests;
use super::scene::Scene;
use super::whatif::WhatIfs;
use crate::access::{Access, Who};
use crate::clock::Clock;
use crate::request::{Answer, Asker, Refusal, Request, Wish};
use crate::service::Vitals;
use crate::store::{Reader, StoreError};
use crate::world::Mail;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

/// Requests that may wait for the engine at a time.
const WAITING_MAX: usize = 2048;

/// Connections that are kept open for the next reader.
const IDLE_READERS_MAX: usize = 8;

/// People who may watch events at a time: each keeps a connection for good, and others need some too.
const WATCHERS_MAX: usize = 256;

/// The front of the service.
#[derive(Debug)]
pub struct Front {
    state: PathBuf,
    inbox: Sender<Mail>,
    waiting: Arc<AtomicUsize>,
    idle: Mutex<Vec<Reader>>,
    vitals: Arc<Vitals>,
    last: watch::Receiver<u64>,
    access: Access,
    watchers: Arc<Semaphore>,
    requests: Requests,
    trials: tokio::sync::Mutex<()>,
    clock: Clock,
    is_tls: AtomicBool,
    scene: tokio::sync::Mutex<Option<Arc<Scene>>>,
    history: History,
    whatifs: WhatIfs,
}

impl Front {
    /// A front for the service of this state folder. `last` shows the number of the last record; `access` says who is let in.
    pub fn new(
        state: PathBuf,
        inbox: Sender<Mail>,
        vitals: Arc<Vitals>,
        last: watch::Receiver<u64>,
        access: Access,
    ) -> Self {
        let (waiting, idle) = (Arc::default(), Mutex::default());
        let watchers = Arc::new(Semaphore::new(WATCHERS_MAX));
        let requests = Requests::default();
        let trials = tokio::sync::Mutex::default();
        Self {
            state,
            inbox,
            waiting,
            idle,
            vitals,
            last,
            access,
            watchers,
            requests,
            trials,
            clock: Clock::start(),
            is_tls: AtomicBool::new(false),
            scene: tokio::sync::Mutex::default(),
            history: History::default(),
            whatifs: WhatIfs::default(),
        }
    }

    /// A pair to tell the front how far the ledger is.
    pub fn channel() -> (watch::Sender<u64>, watch::Receiver<u64>) {
        watch::channel(0)
    }

    /// Asks the engine on behalf of somebody, and waits until the answer is on disk.
    pub(super) async fn ask(&self, who: &Who, wish: Wish) -> Result<Answer, Trouble> {
        let asker = Asker { name: who.name.clone(), tenant: who.tenant.clone(), user: None };
        self.ask_as(asker, wish).await
    }

    /// The same, for somebody whose system user matters.
    pub(super) async fn ask_as(&self, asker: Asker, wish: Wish) -> Result<Answer, Trouble> {
        let waiting = self.waiting.clone();
        if waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Refusal::Busy.into());
        }
        let (reply, answer) = oneshot::channel();
        let request = Request::new(wish, asker, move |answer| {
            waiting.fetch_sub(1, Ordering::Relaxed);
            // Whoever asked may have gone away; what was done is done.
            let _ = reply.send(answer);
        });
        // A request that cannot be sent is dropped, and answers so.
        let _ = self.inbox.send(Mail::Asked(request));
        Ok(answer.await.unwrap_or(Err(Refusal::Stopping))?)
    }

    /// Looks into the store, on a thread where waiting for the disk harms nobody.
    pub(super) async fn look<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Trouble> {
        let front = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let reader = front.reader()?;
            let found = look(&reader);
            let mut idle = front.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE_READERS_MAX {
                idle.push(reader);
            }
            found
        });
        Ok(looked.await.map_err(|_| Refusal::Stopping)??)
    }

    fn reader(&self) -> Result<Reader, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Reader::open(&self.state), Ok)
    }

    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    /// A place among those who watch, as long as it is kept.
    pub(super) fn watcher(&self) -> Result<OwnedSemaphorePermit, Trouble> {
        self.watchers.clone().try_acquire_owned().map_err(|_| Refusal::Busy.into())
    }

    pub(super) fn vitals(&self) -> &Vitals {
        &self.vitals
    }

    pub(super) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Held by whoever tries a submission out: each costs a decision, and however many are asked for, others have their turn in between.
    pub(super) async fn trials_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.trials.lock().await
    }

    /// How long the service has been up; for the age of what is kept.
    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) fn speaks_tls(&self, is_tls: bool) {
        self.is_tls.store(is_tls, Ordering::Relaxed);
    }

    pub(super) fn is_tls(&self) -> bool {
        self.is_tls.load(Ordering::Relaxed)
    }

    pub(super) fn scene(&self) -> &tokio::sync::Mutex<Option<Arc<Scene>>> {
        &self.scene
    }

    pub(super) fn history(&self) -> &History {
        &self.history
    }

    pub(super) fn whatifs(&self) -> &WhatIfs {
        &self.whatifs
    }

    pub(super) fn state(&self) -> &std::path::Path {
        &self.state
    }

    /// Shows the number of the last record, and wakes whoever waits for the next.
    pub(super) fn last(&self) -> watch::Receiver<u64> {
        self.last.clone()
    }
}

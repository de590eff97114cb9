//! A thread that sees supervisors write and die, and tells the world to look. It knows nothing but numbers of leases.

use crate::world::Mail;
use evenhand_core::LeaseId;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fs::inotify;
use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The key of the watched folders among the keys of leases.
const FOLDERS: u64 = u64::MAX;

/// What both threads use.
#[derive(Debug)]
struct Shared {
    epoll: OwnedFd,
    inotify: OwnedFd,
    /// Whose each watched folder is.
    folders: Mutex<BTreeMap<i32, LeaseId>>,
}

/// Watches supervisors until it is dropped; the thread goes when nobody listens any more.
#[derive(Debug)]
pub(super) struct Watcher {
    shared: Arc<Shared>,
}

impl Watcher {
    pub(super) fn start(tell: Sender<Mail>) -> io::Result<Self> {
        let inotify = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &inotify, EventData::new_u64(FOLDERS), EventFlags::IN)?;
        let shared = Arc::new(Shared { epoll, inotify, folders: Mutex::default() });
        let seen = Arc::downgrade(&shared);
        thread::Builder::new().name("watcher".to_owned()).spawn(move || {
            while let Some(shared) = seen.upgrade() {
                if !shared.tell_next(&tell) {
                    return;
                }
            }
        })?;
        Ok(Self { shared })
    }

    /// Tells when something appears in the folder of a lease.
    pub(super) fn watch_folder(&self, lease: LeaseId, folder: &Path) -> io::Result<()> {
        let watch = inotify::add_watch(&self.shared.inotify, folder, inotify::WatchFlags::MOVED_TO)?;
        lock(&self.shared.folders).insert(watch, lease);
        Ok(())
    }

    /// Tells when a process is gone, once. Closing the descriptor ends it.
    pub(super) fn watch_process(&self, lease: LeaseId, pidfd: &OwnedFd) -> io::Result<()> {
        let once = EventFlags::IN | EventFlags::ONESHOT;
        epoll::add(&self.shared.epoll, pidfd.as_fd(), EventData::new_u64(lease.0), once)?;
        Ok(())
    }
}

impl Shared {
    /// Waits a while for news and passes it on; whether anybody listens.
    fn tell_next(&self, tell: &Sender<Mail>) -> bool {
        let mut events = Vec::with_capacity(64);
        // Wakes up now and then to see whether it is still wanted.
        let patience = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
        let mut leases: Vec<LeaseId> = Vec::new();
        for event in &events {
            match event.data.u64() {
                FOLDERS => leases.extend(self.touched()),
                lease => leases.push(LeaseId(lease)),
            }
        }
        leases.into_iter().all(|lease| tell.send(Mail::Look(lease)).is_ok())
    }

    /// The leases in whose folders something appeared.
    fn touched(&self) -> Vec<LeaseId> {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut leases = Vec::new();
        let mut folders = lock(&self.folders);
        while let Ok(event) = reader.next() {
            if event.events().contains(inotify::ReadFlags::IGNORED) {
                // The folder was removed, and its number may be given away again.
                folders.remove(&event.wd());
            } else if event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW) {
                leases.extend(folders.values().copied());
            } else {
                leases.extend(folders.get(&event.wd()).copied());
            }
        }
        leases
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! What the server knows of the supervisor of a lease.

use crate::runner::{Ending, LiveJob, Seen};
use evenhand_core::{EndCause, Lease, Retry, Span};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;

/// How soon to try again to start a lease for which the disk has no room.
const ROOM_AGAIN: Span = Span(500);

/// A supervisor that was started or found, or is to be started.
#[derive(Debug)]
pub(super) enum Tracked {
    /// Its process, if there is or was one.
    Process(Option<OwnedFd>),
    /// The disk has no room for it, or may not be written to: that is no fault of the job's, which waits.
    NoRoom(Box<(Lease, LiveJob)>),
    /// It was told to leave before there was room.
    Left(EndCause),
    /// None could be started.
    Refused(Retry),
}

impl Tracked {
    /// After a try to start one.
    pub(super) fn new(tried: io::Result<OwnedFd>, lease: &Lease, job: &LiveJob) -> Self {
        match tried {
            Ok(process) => Self::Process(Some(process)),
            Err(error) if is_no_room(&error) => Self::NoRoom(Box::new((lease.clone(), job.clone()))),
            // That is our trouble, not the job's: its program has not even been looked at.
            Err(_) => Self::Refused(Retry::Later),
        }
    }

    pub(super) fn process(&self) -> Option<&OwnedFd> {
        if let Self::Process(process) = self { process.as_ref() } else { None }
    }

    /// What can be said without looking at the disk.
    pub(super) fn seen(&self) -> Option<Seen> {
        match self {
            Self::Process(_) => None,
            Self::NoRoom(_) => Some(Seen { again: Some(ROOM_AGAIN), ..Seen::default() }),
            Self::Left(cause) => Some(Seen { ended: Some(Ending::Left(*cause)), ..Seen::default() }),
            Self::Refused(retry) => {
                Some(Seen { ended: Some(Ending::NotLaunched(*retry)), ..Seen::default() })
            }
        }
    }
}

/// Whether something failed because the disk takes nothing now.
fn is_no_room(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem)
}

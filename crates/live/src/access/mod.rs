//! Who is let in: tokens, what their bearers may do, and how fast.

mod bucket;
mod change;
mod role;
mod sessions;
mod tokens;
mod users;
mod wanted;

pub use change::{TOKENS_LOG, TokenChange};
pub use role::{Need, Role, Who};
pub use sessions::{SESSION_MS, SESSIONS_FILE};
pub use tokens::{
    NewToken, OWN_TOKEN_FILE, TOKENS_FILE, Token, TokenError, Tokens, add_token, make_own_token,
    revoke_token, rotate_token,
};
pub use users::{JobUsers, NoUser, UsualError};
pub use wanted::WantedToken;

use crate::clock::{Clock, system_ms};
use bucket::Buckets;
use sessions::Sessions;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The bucket of all who show no token.
const NOBODY: &str = "";

/// Which version of the file of tokens was read: it is replaced as a whole, so one of these changes.
type Version = Option<(u64, i64, i64, u64)>;

/// The door of the service. Tokens that are added or revoked, here or from a command line, count from the next request on.
#[derive(Debug)]
pub struct Access {
    state: PathBuf,
    read: Mutex<(Version, Arc<Tokens>)>,
    buckets: Buckets,
    clock: Clock,
    users: JobUsers,
    sessions: Sessions,
}

impl Access {
    /// The door of the service of this state folder; every token may ask so often per second, and its jobs run as `users` says.
    pub fn open(state: &Path, requests_per_second: u32, users: JobUsers) -> Result<Self, TokenError> {
        let version = version(state);
        let read = Mutex::new((version, Arc::new(Tokens::read(state)?)));
        let (buckets, clock) = (Buckets::new(requests_per_second), Clock::start());
        let sessions = Sessions::open(state);
        Ok(Self { state: state.to_owned(), read, buckets, clock, users, sessions })
    }

    /// Whose secret this is, as of now. Nobody's if the tokens cannot be read.
    pub fn identify(&self, secret: &str) -> Option<Who> {
        self.tokens().identify(secret)
    }

    /// Begins a session for whoever shows a token: who they are, and what to know them by. Nothing if the token is not known.
    pub fn begin_session(&self, secret: &str) -> Result<Option<(Who, String)>, TokenError> {
        let tokens = self.tokens();
        let Some(token) = tokens.shown(secret) else { return Ok(None) };
        let session = self.sessions.begin(token, system_ms())?;
        Ok(Some((token.bearer(), session)))
    }

    /// Whose session this is, as of now.
    pub fn session(&self, secret: &str) -> Option<Who> {
        let (name, made_ms) = self.sessions.find(secret, system_ms())?;
        self.tokens().still(&name, made_ms).map(Token::bearer)
    }

    /// Ends a session.
    pub fn end_session(&self, secret: &str) -> Result<(), TokenError> {
        self.sessions.end(secret, system_ms())
    }

    fn tokens(&self) -> Arc<Tokens> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at before it is read: what changes in between is read again next time.
        let version = version(&self.state);
        if read.0 != version {
            let tokens = Tokens::read(&self.state).unwrap_or_default();
            self.buckets.keep(|name| name == NOBODY || tokens.list().any(|token| token.name == name));
            *read = (version, Arc::new(tokens));
        }
        read.1.clone()
    }

    /// As whom the jobs of somebody run.
    pub fn job_user(&self, who: &Who) -> Result<Option<String>, NoUser> {
        self.users.of(who)
    }

    /// Counts a request; if there were too many, says in how many seconds to try again.
    pub fn count(&self, who: Option<&Who>) -> Result<(), u64> {
        self.buckets.take(who.map_or(NOBODY, |who| &who.name), self.clock.now())
    }
}

fn version(state: &Path) -> Version {
    let found = std::fs::metadata(state.join(TOKENS_FILE)).ok()?;
    Some((found.ino(), found.mtime(), found.mtime_nsec(), found.size()))
}

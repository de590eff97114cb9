//! Sessions of browsers: whoever showed a token once is known by a cookie for a while. A session ends when its time is up, when its
//! bearer leaves, and when its token is rotated or revoked. Kept like tokens: only the SHA-256 of what the bearer was given.

use super::TokenError;
use super::tokens::{Token, hash, is_same, new_secret, write_private};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The file of sessions in the state folder.
pub const SESSIONS_FILE: &str = "sessions.json";

/// How long a session lasts, in milliseconds.
pub const SESSION_MS: u64 = 12 * 3_600_000;

/// The most sessions at a time; the oldest goes first.
const SESSIONS_MAX: usize = 1000;

/// As kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    sha256: String,
    /// The token that was shown, and when its secret was made: another secret is another token.
    token: String,
    made_ms: u64,
    until_ms: u64,
}

/// The sessions of a service. They outlive a restart.
#[derive(Debug)]
pub(super) struct Sessions {
    state: PathBuf,
    kept: Mutex<Vec<Kept>>,
}

impl Sessions {
    /// Those of a state folder; none if they cannot be read, and everybody shows their token again.
    pub(super) fn open(state: &Path) -> Self {
        let text = std::fs::read(state.join(SESSIONS_FILE)).unwrap_or_default();
        let kept = serde_json::from_slice(&text).unwrap_or_default();
        Self { state: state.to_owned(), kept: Mutex::new(kept) }
    }

    /// Begins one for whoever showed this token; the answer is what to put into the cookie.
    pub(super) fn begin(&self, token: &Token, now_ms: u64) -> Result<String, TokenError> {
        let secret = new_secret(&self.state)?;
        let (name, made_ms) = (token.name.clone(), token.made_ms);
        self.change(now_ms, |kept| {
            let until_ms = now_ms + SESSION_MS;
            kept.push(Kept { sha256: hash(&secret), token: name, made_ms, until_ms });
            let surplus = kept.len().saturating_sub(SESSIONS_MAX);
            kept.drain(..surplus);
        })?;
        Ok(secret)
    }

    /// Ends one.
    pub(super) fn end(&self, secret: &str, now_ms: u64) -> Result<(), TokenError> {
        let shown = hash(secret);
        self.change(now_ms, |kept| {
            kept.retain(|session| !is_same(session.sha256.as_bytes(), shown.as_bytes()));
        })
    }

    /// Which token was shown for a session, and when that was made.
    pub(super) fn find(&self, secret: &str, now_ms: u64) -> Option<(String, u64)> {
        let shown = hash(secret);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for session in kept.iter() {
            if is_same(session.sha256.as_bytes(), shown.as_bytes()) && session.until_ms > now_ms {
                found = Some((session.token.clone(), session.made_ms));
            }
        }
        found
    }

    fn change(&self, now_ms: u64, change: impl FnOnce(&mut Vec<Kept>)) -> Result<(), TokenError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = kept.clone();
        changed.retain(|session| session.until_ms > now_ms);
        change(&mut changed);
        let text = serde_json::to_vec(&changed).expect("sessions can be written as JSON");
        write_private(&self.state.join(SESSIONS_FILE), &text)?;
        *kept = changed;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Role;

    #[test]
    fn a_session_is_known_until_it_ends_also_after_a_restart_and_its_secret_is_nowhere() {
        let state = std::env::temp_dir().join(format!("evenhand-sessions-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&state);
        std::fs::create_dir_all(&state).unwrap();
        let token = Token { name: "a".to_owned(), role: Role::Admin, tenant: None, user: None, made_ms: 7 };
        let sessions = Sessions::open(&state);
        let (one, other) = (sessions.begin(&token, 1000).unwrap(), sessions.begin(&token, 2000).unwrap());
        assert_eq!(sessions.find(&one, 1000), Some(("a".to_owned(), 7)));
        let again = Sessions::open(&state);
        assert_eq!(again.find(&other, 1000 + SESSION_MS), Some(("a".to_owned(), 7)));
        assert_eq!(again.find(&one, 1000 + SESSION_MS), None, "its time is up");
        assert_eq!(again.find("evenhand_0", 1000), None);
        again.end(&other, 3000).unwrap();
        assert_eq!(again.find(&other, 3000), None);
        let text = std::fs::read_to_string(state.join(SESSIONS_FILE)).unwrap();
        assert!(!text.contains(&one[9..]), "{text}");
        std::fs::remove_dir_all(&state).unwrap();
    }
}

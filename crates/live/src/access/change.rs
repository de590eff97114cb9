//! A change of tokens, as it is written down before it is made: so no change is without an entry.
//!
//! Changes through the server are in its audit. Those that a command line makes in the state folder are in a file there: the server may be down,
//! and nobody showed a token.

use super::tokens::{TokenError, Tokens};
use super::{Role, WantedToken};
use crate::account::own_user;
use crate::clock::system_ms;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file in the state folder with the changes that a command line made there.
pub const TOKENS_LOG: &str = "tokens.log";

/// What somebody wants to change.
#[derive(Clone, Debug)]
pub enum TokenChange {
    /// A new token.
    Add(WantedToken),
    /// A new secret for a token.
    Rotate(String),
    /// A token becomes useless.
    Revoke(String),
}

impl TokenChange {
    /// In a few words, without any secret.
    pub fn told(&self) -> String {
        match self {
            Self::Add(WantedToken { name, role, tenant, user }) => {
                let tenant = tenant.as_ref().map_or_else(String::new, |tenant| format!(" of {tenant:?}"));
                let user = user.as_ref().map_or_else(String::new, |user| format!(" as {user}"));
                let role: Role = *role;
                format!("add token {name}, {role}{tenant}{user}")
            }
            Self::Rotate(name) => format!("rotate token {name}"),
            Self::Revoke(name) => format!("revoke token {name}"),
        }
    }

    /// Says whether it could be made now.
    pub fn check(&self, state: &Path) -> Result<(), TokenError> {
        let tokens = Tokens::read(state)?;
        let is_known = |name: &String| tokens.list().any(|token| token.name == *name);
        match self {
            Self::Add(wanted) if is_known(&wanted.name) => Err(TokenError::Taken(wanted.name.clone())),
            Self::Add(wanted) => wanted.check(),
            Self::Rotate(name) | Self::Revoke(name) if !is_known(name) => {
                Err(TokenError::Unknown(name.clone()))
            }
            Self::Rotate(_) | Self::Revoke(_) => Ok(()),
        }
    }

    /// Writes it down as a change that the user of this process makes in the state folder; on disk when this returns.
    pub fn log(&self, state: &Path) -> Result<(), TokenError> {
        self.check(state)?;
        let path = state.join(TOKENS_LOG);
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
            let line = json!({"at_ms": system_ms(), "user": own_user(), "what": self.told()});
            file.write_all(format!("{line}\n").as_bytes())?;
            file.sync_all()
        };
        write().map_err(|source| TokenError::File { path: path.clone(), source })
    }
}

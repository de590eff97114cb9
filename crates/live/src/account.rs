//! System users: who they are, and becoming one.

use nix::unistd::{Gid, Uid, User, initgroups, setgid, setuid};
use std::ffi::CString;
use std::io;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A system user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// What they are called.
    pub name: String,
    uid: Uid,
    gid: Gid,
    home: PathBuf,
    shell: PathBuf,
}

/// Why there is no such user.
#[derive(Debug, Error)]
pub enum AccountError {
    /// Nobody is called so.
    #[error("there is no user {0:?} on this machine")]
    Unknown(String),
    /// The machine does not say.
    #[error("the user {name:?} cannot be looked up: {source}")]
    LookUp {
        /// Whose.
        name: String,
        /// What came back.
        source: io::Error,
    },
}

impl From<AccountError> for io::Error {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Unknown(_) => Self::new(io::ErrorKind::NotFound, error),
            AccountError::LookUp { .. } => Self::other(error),
        }
    }
}

impl Account {
    /// The user of this name, wherever the machine keeps its users.
    pub fn find(name: &str) -> Result<Self, AccountError> {
        let unknown = || AccountError::Unknown(name.to_owned());
        // Names go to the operating system as they are.
        if name.is_empty() || name.contains('\0') {
            return Err(unknown());
        }
        let found = User::from_name(name)
            .map_err(|error| AccountError::LookUp { name: name.to_owned(), source: error.into() })?;
        let User { name, uid, gid, dir, shell, .. } = found.ok_or_else(unknown)?;
        Ok(Self { name, uid, gid, home: dir, shell })
    }

    /// Whether this process runs as them.
    pub(crate) fn is_own(&self) -> bool {
        self.uid == Uid::effective()
    }

    /// Their number.
    pub(crate) fn number(&self) -> u32 {
        self.uid.as_raw()
    }

    /// Turns this process into one of theirs, with their groups and no others, for good. Does nothing if it is one.
    pub(crate) fn assume(&self) -> io::Result<()> {
        if self.is_own() {
            return Ok(());
        }
        // The groups first: afterwards we may not.
        initgroups(&CString::new(self.name.as_str())?, self.gid)?;
        setgid(self.gid)?;
        setuid(self.uid)?;
        Ok(())
    }

    /// Makes a file or folder theirs; of a link, the link.
    pub(crate) fn give(&self, path: &Path) -> io::Result<()> {
        lchown(path, Some(self.uid.as_raw()), Some(self.gid.as_raw()))
    }

    /// What a login sets.
    pub(crate) fn environment(&self) -> [(&'static str, String); 4] {
        let (home, shell) = (self.home.display().to_string(), self.shell.display().to_string());
        [("HOME", home), ("USER", self.name.clone()), ("LOGNAME", self.name.clone()), ("SHELL", shell)]
    }
}

/// Whether this process may become anybody.
pub fn is_root() -> bool {
    Uid::effective().is_root()
}

/// What the user of this process is called; in a container nobody may know.
pub fn own_user() -> Option<String> {
    User::from_uid(Uid::effective()).ok().flatten().map(|user| user.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_somebody_and_odd_names_are_nobody() {
        assert_eq!(Account::find("root").unwrap().uid, Uid::from_raw(0));
        for name in ["", "no such user", "a\0b", "../root"] {
            assert!(matches!(Account::find(name), Err(AccountError::Unknown(_))), "{name:?}");
        }
    }
}

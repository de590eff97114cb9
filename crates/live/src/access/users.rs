//! As whom the jobs of a token run. The token says, never the submission: only so is it no choice of the submitter's.

use super::Who;
use crate::account::{Account, AccountError, is_root, own_user};
use thiserror::Error;

/// As whom jobs run in this service.
#[derive(Clone, Debug)]
pub struct JobUsers {
    is_root: bool,
    own: Option<String>,
    usual: Option<String>,
}

/// Why there is nobody as whom a job could run.
#[derive(Debug, Error)]
pub enum NoUser {
    /// The token names nobody, and nobody should become root by accident.
    #[error(
        "the token `{0}` says not as which system user its jobs run, and this service runs as root: make it again with `evenhand token add --user`, \
         or serve with --user"
    )]
    Unnamed(String),
    /// The service cannot become anybody else.
    #[error(
        "jobs of the token `{token}` run as {user:?}, and this service can run them only as {own:?}: it does not run as root"
    )]
    Other {
        /// The token.
        token: String,
        /// As whom its jobs run.
        user: String,
        /// Who runs the service.
        own: String,
    },
}

/// Why `serve --user` cannot be as asked.
#[derive(Debug, Error)]
pub enum UsualError {
    /// There is no such user.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The service cannot become anybody else.
    #[error("{0:?} is somebody else, and only a service that runs as root can run jobs as others")]
    Other(String),
}

impl JobUsers {
    /// `usual` is for tokens that name nobody.
    pub fn new(usual: Option<String>) -> Result<Self, UsualError> {
        let users = Self { is_root: is_root(), own: own_user(), usual };
        if let Some(usual) = &users.usual {
            Account::find(usual)?;
            if !users.may_be(usual) {
                return Err(UsualError::Other(usual.clone()));
            }
        }
        Ok(users)
    }

    /// Whether jobs can run as this user here.
    fn may_be(&self, user: &str) -> bool {
        self.is_root || self.own.as_deref() == Some(user)
    }

    /// As whom the jobs of somebody run; nobody in particular if the user of the service has no name.
    pub fn of(&self, who: &Who) -> Result<Option<String>, NoUser> {
        let named = who.user.as_ref().or(self.usual.as_ref());
        match named {
            Some(user) if self.may_be(user) => Ok(Some(user.clone())),
            Some(user) => {
                let own = self.own.clone().unwrap_or_default();
                Err(NoUser::Other { token: who.name.clone(), user: user.clone(), own })
            }
            None if self.is_root => Err(NoUser::Unnamed(who.name.clone())),
            None => Ok(self.own.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;

    fn who(user: Option<&str>) -> Who {
        Who { name: "t".to_owned(), role: Role::Tenant, tenant: None, user: user.map(str::to_owned) }
    }

    fn users(is_root: bool, usual: Option<&str>) -> JobUsers {
        let own = if is_root { "root" } else { "ann" };
        JobUsers { is_root, own: Some(own.to_owned()), usual: usual.map(str::to_owned) }
    }

    #[test]
    fn root_runs_nobodys_job_as_root_by_accident() {
        assert!(matches!(users(true, None).of(&who(None)), Err(NoUser::Unnamed(_))));
        assert_eq!(users(true, None).of(&who(Some("bob"))).unwrap().as_deref(), Some("bob"));
        assert_eq!(users(true, Some("eve")).of(&who(None)).unwrap().as_deref(), Some("eve"));
        assert_eq!(users(true, Some("eve")).of(&who(Some("bob"))).unwrap().as_deref(), Some("bob"));
    }

    #[test]
    fn others_run_jobs_as_themselves_alone() {
        assert_eq!(users(false, None).of(&who(None)).unwrap().as_deref(), Some("ann"));
        assert_eq!(users(false, None).of(&who(Some("ann"))).unwrap().as_deref(), Some("ann"));
        assert!(matches!(users(false, None).of(&who(Some("bob"))), Err(NoUser::Other { .. })));
    }
}

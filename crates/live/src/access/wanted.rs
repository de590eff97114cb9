//! A token that somebody wants, and what makes no sense about it.

use super::role::Role;
use super::tokens::TokenError;
use crate::account::{Account, is_root, own_user};
use serde::{Deserialize, Serialize};

/// The longest name of a token, in letters.
const NAME_MAX: usize = 64;

/// A token that somebody wants.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedToken {
    /// What to call it.
    pub name: String,
    /// What its bearer may do.
    pub role: Role,
    /// Whose it is: needed for a tenant's, allowed for one that only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The system user as whom its jobs run: needed where the service runs as root, unless that has one for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl WantedToken {
    /// What makes no sense, as a field, a value and what is allowed.
    pub(super) fn check(&self) -> Result<(), TokenError> {
        let invalid = |what: String| Err(TokenError::Invalid(what));
        let name = &self.name;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_plain) {
            return invalid(format!(
                "name is {name:?}: 1 to {NAME_MAX} of a-z, A-Z, 0-9, - and _ are allowed"
            ));
        }
        match (self.role, &self.tenant) {
            (Role::Tenant, None) => {
                invalid("tenant is missing: a token of role tenant belongs to one".to_owned())
            }
            (Role::Operator | Role::Admin, Some(tenant)) => {
                invalid(format!("tenant is {tenant:?}: a token of role {} belongs to none", self.role))
            }
            (_, Some(tenant))
                if tenant.is_empty()
                    || tenant.chars().count() > 128
                    || tenant.chars().any(char::is_control) =>
            {
                invalid(format!(
                    "tenant is {tenant:?}: 1 to 128 letters are allowed, none of them a control character"
                ))
            }
            _ => self.check_user(),
        }
    }

    fn check_user(&self) -> Result<(), TokenError> {
        let invalid = |what: String| Err(TokenError::Invalid(what));
        let Some(user) = &self.user else { return Ok(()) };
        if self.role == Role::ReadOnly {
            return invalid(format!("user is {user:?}: a token of role read-only runs no jobs"));
        }
        if let Err(error) = Account::find(user) {
            return invalid(format!("user is {user:?}: {error}"));
        }
        if !is_root() && own_user().as_ref() != Some(user) {
            return invalid(format!(
                "user is {user:?}: only a service that runs as root can run jobs as somebody else"
            ));
        }
        Ok(())
    }
}

//! Who may do what: roles of tokens, and what a route needs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What the bearer of a token is to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Sees what there is and changes nothing.
    ReadOnly,
    /// Submits jobs for one tenant, and sees and changes only these.
    Tenant,
    /// Sees and changes everything but tokens.
    Operator,
    /// Everything.
    Admin,
}

impl Role {
    /// All roles, by name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("read-only", Self::ReadOnly),
        ("tenant", Self::Tenant),
        ("operator", Self::Operator),
        ("admin", Self::Admin),
    ];

    /// The role of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, role)| *role == self).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Somebody who showed a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The token's name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// The only tenant that they see; all if there is none.
    pub tenant: Option<String>,
    /// The system user as whom their jobs run.
    pub user: Option<String>,
}

/// What it takes to use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Not even a token.
    Nothing,
    /// Any token. Whoever belongs to a tenant is shown only what is that tenant's: the route must see to that.
    Look,
    /// A token that belongs to no tenant, as what is shown is about everybody.
    LookAround,
    /// A token that may change jobs; those of its own tenant if it belongs to one: the route must see to that.
    Work,
    /// An operator or admin.
    Operate,
    /// An admin.
    Administer,
}

impl Need {
    /// Whether somebody meets it; nobody in particular if no token was shown.
    pub fn is_met_by(self, who: Option<&Who>) -> bool {
        let Some(who) = who else { return self == Self::Nothing };
        match self {
            Self::Nothing | Self::Look => true,
            Self::LookAround => who.tenant.is_none(),
            Self::Work => who.role != Role::ReadOnly,
            Self::Operate => matches!(who.role, Role::Operator | Role::Admin),
            Self::Administer => who.role == Role::Admin,
        }
    }

    /// In words, for people who do not meet it.
    pub fn told(self) -> &'static str {
        match self {
            Self::Nothing => "no token",
            Self::Look => "any token",
            Self::LookAround => "a token that belongs to no tenant",
            Self::Work => "a token of role tenant, operator or admin",
            Self::Operate => "a token of role operator or admin",
            Self::Administer => "a token of role admin",
        }
    }
}

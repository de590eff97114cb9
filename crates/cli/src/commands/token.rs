//! `evenhand token`: who may use the service, and for what.

use super::serve::state_folder;
use crate::client::{Client, escaped};
use crate::failure::{Wrong, wrong};
use crate::live_args::{Token, TokenAdd, TokenPlace};
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_live::access::{
    self, NewToken, Role, TokenChange, TokenError, Tokens, WantedToken, add_token, revoke_token, rotate_token,
};
use evenhand_live::api::{Nothing, TokenList};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Where tokens are changed: in the state folder, or by a server.
enum Place {
    Folder(PathBuf),
    Server(Client),
}

/// Does what was asked with them.
pub fn run(command: &Token) -> Result<()> {
    match command {
        Token::Add(args) => add(args),
        Token::List(args) => {
            let list = list(&place(&args.place)?)?;
            if args.json { output::say_json(&list) } else { output::say(&table(&list.tokens).render()) }
        }
        Token::Revoke(args) => {
            match place(&args.place)? {
                Place::Folder(state) => {
                    logged(&state, &TokenChange::Revoke(args.name.clone()))?;
                    revoke_token(&state, &args.name).map_err(refused)?;
                }
                Place::Server(client) => {
                    let Nothing {} = client.delete(&format!("/v1/tokens/{}", escaped(&args.name)))?;
                }
            }
            output::say(&format!("{} is revoked", args.name))
        }
        Token::Rotate(args) => {
            let made: NewToken = match place(&args.place)? {
                Place::Folder(state) => {
                    logged(&state, &TokenChange::Rotate(args.name.clone()))?;
                    rotate_token(&state, &args.name).map_err(refused)?
                }
                Place::Server(client) => {
                    client.post(&format!("/v1/tokens/{}/rotate", escaped(&args.name)), &(), None)?
                }
            };
            output::say(&made.secret)
        }
    }
}

fn add(args: &TokenAdd) -> Result<()> {
    let role = Role::parse(&args.role).ok_or_else(|| {
        let known = Role::ALL.map(|(name, _)| name).join(", ");
        wrong("--role", format!("there is no role {}: {known} are allowed", args.role))
    })?;
    let (tenant, user) = (args.tenant.clone(), args.user.clone());
    let wanted = WantedToken { name: args.name.clone(), role, tenant, user };
    let made: NewToken = match place(&args.place)? {
        Place::Folder(state) => {
            // Tokens may be made before the service is ever started; the folder is as private as the service makes it.
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&state)?;
            logged(&state, &TokenChange::Add(wanted.clone()))?;
            add_token(&state, wanted).map_err(refused)?
        }
        Place::Server(client) => client.post("/v1/tokens", &wanted, None)?,
    };
    output::say(&made.secret)
}

/// Writes a change of the folder down before it is made.
fn logged(state: &Path, change: &TokenChange) -> Result<()> {
    change.log(state).map_err(refused)
}

fn list(place: &Place) -> Result<TokenList> {
    match place {
        Place::Folder(state) => {
            let tokens = Tokens::read(state).map_err(refused)?.list().cloned().collect();
            Ok(TokenList { tokens })
        }
        Place::Server(client) => client.get("/v1/tokens"),
    }
}

fn place(args: &TokenPlace) -> Result<Place> {
    let by_server = args.server.server.is_some() || std::env::var_os("EVENHAND_SERVER").is_some();
    if args.state.is_none() && by_server {
        return Ok(Place::Server(Client::new(&args.server)?));
    }
    Ok(Place::Folder(state_folder(args.state.as_deref())?))
}

fn table(tokens: &[access::Token]) -> Table {
    let mut table = Table::new(["name", "role", "tenant", "user"].map(|title| (title, Side::Left)));
    for token in tokens {
        let [tenant, user] = [&token.tenant, &token.user].map(|word| word.clone().unwrap_or_default());
        table.row([token.name.clone(), token.role.to_string(), tenant, user]);
    }
    table
}

fn refused(error: TokenError) -> anyhow::Error {
    match error {
        TokenError::File { .. } => error.into(),
        error => Wrong(error.to_string()).into(),
    }
}

//! `evenhand restore`: makes a state folder from a copy of the store.

use super::serve::state_folder;
use crate::failure::wrong;
use crate::live_args::Restore;
use crate::output;
use anyhow::{Context, Result};
use evenhand_live::store;
use std::fs::File;

/// Puts the copy in its place, unless something is there.
pub fn run(args: &Restore) -> Result<()> {
    let state = state_folder(args.state.as_deref())?;
    let target = state.join(store::STORE_FILE);
    // The log of a ledger that is gone would be taken for that of the copy.
    let log = state.join(format!("{}-wal", store::STORE_FILE));
    if target.exists() || log.exists() {
        let what = format!("{} has a ledger already, and a service may be using it", state.display());
        return Err(wrong("--state", format!("{what}; move it away or name another folder")));
    }
    store::verify(&args.file).map_err(|error| wrong(args.file.display(), error))?;
    output::make_folder(&state)?;
    // Under another name first: a copy that was cut off must not be taken for a ledger.
    let draft = state.join("restoring.db");
    let copied = std::fs::copy(&args.file, &draft).and_then(|_| File::open(&draft)?.sync_all());
    copied
        .and_then(|()| std::fs::rename(&draft, &target))
        .with_context(|| format!("{} cannot be written", target.display()))?;
    output::say(&format!("{}", state.display()))
}

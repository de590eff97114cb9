//! `evenhand backup`: copies the store of the service, also while it runs.

use super::serve::state_folder;
use crate::failure::wrong;
use crate::live_args::Backup;
use crate::output;
use anyhow::Result;
use evenhand_live::store;

/// Copies it as it is at one moment, and checks the copy.
pub fn run(args: &Backup) -> Result<()> {
    let state = state_folder(args.state.as_deref())?;
    if !state.join(store::STORE_FILE).exists() {
        return Err(wrong("--state", format!("there is no ledger in {}", state.display())));
    }
    if args.file.exists() {
        return Err(wrong(args.file.display(), "it is there already"));
    }
    store::backup(&state, &args.file)?;
    store::verify(&args.file)?;
    output::say(&format!("{}", args.file.display()))
}

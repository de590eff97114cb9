//! `evenhand completions`: a script that teaches a shell our words.

use crate::args::{Cli, Completions};
use crate::output;
use clap::CommandFactory;

/// Prints it.
pub fn run(args: &Completions) -> anyhow::Result<()> {
    // Into memory first: the generator does not survive a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "evenhand", &mut script);
    output::say(String::from_utf8_lossy(&script).trim_end())
}

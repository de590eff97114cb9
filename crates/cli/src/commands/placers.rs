//! `evenhand placers`: who can choose GPUs.

use crate::args::Listing;
use crate::output;
use evenhand_policies::placement::{DEFAULT_PLACER, PLACERS};
use serde_json::json;

/// Prints all placers.
pub fn run(args: &Listing) -> anyhow::Result<()> {
    let default = |name: &str| name == DEFAULT_PLACER;
    if args.json {
        let rows = PLACERS.iter().map(
            |entry| json!({ "name": entry.name, "summary": entry.summary, "default": default(entry.name) }),
        );
        return output::say_json(&rows.collect::<Vec<_>>());
    }
    let width = PLACERS.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let rows = PLACERS.iter().map(|entry| {
        let mark = if default(entry.name) { " (default)" } else { "" };
        format!("{:width$}  {}{mark}", entry.name, entry.summary)
    });
    output::say(&rows.collect::<Vec<_>>().join("\n"))
}

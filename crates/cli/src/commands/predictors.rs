//! `evenhand predictors`: whose speeds can be believed.

use crate::args::Listing;
use crate::output;
use evenhand_predict::{DEFAULT_PREDICTOR, PREDICTORS};
use serde_json::json;

/// Prints all predictors.
pub fn run(args: &Listing) -> anyhow::Result<()> {
    let default = |name: &str| name == DEFAULT_PREDICTOR;
    if args.json {
        let rows = PREDICTORS.iter().map(
            |entry| json!({ "name": entry.name, "summary": entry.summary, "default": default(entry.name) }),
        );
        return output::say_json(&rows.collect::<Vec<_>>());
    }
    let width = PREDICTORS.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let rows = PREDICTORS.iter().map(|entry| {
        let mark = if default(entry.name) { " (default)" } else { "" };
        format!("{:width$}  {}{mark}", entry.name, entry.summary)
    });
    output::say(&rows.collect::<Vec<_>>().join("\n"))
}

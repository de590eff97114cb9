//! `evenhand traces`: which traces can be read.

use crate::args::Listing;
use crate::output;
use evenhand_sim::traces::{COLUMNS, TRACES};
use serde_json::json;

/// Prints all formats, and the columns of the native one.
pub fn run(args: &Listing) -> anyhow::Result<()> {
    if args.json {
        let columns: Vec<_> = COLUMNS
            .iter()
            .map(|(name, needed, summary)| json!({ "name": name, "needed": needed, "summary": summary }))
            .collect();
        let rows = TRACES.iter().map(|entry| {
            let own = if entry.name == "native" { columns.clone() } else { Vec::new() };
            json!({ "name": entry.name, "summary": entry.summary, "columns": own })
        });
        return output::say_json(&rows.collect::<Vec<_>>());
    }
    let width = TRACES.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let formats = TRACES.iter().map(|entry| format!("{:width$}  {}\n", entry.name, entry.summary));
    let wide = COLUMNS.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let column = |(name, needed, summary): &(&str, bool, &str)| {
        format!("  {name:wide$}  {}  {summary}", if *needed { "needed  " } else { "optional" })
    };
    let columns: Vec<String> = COLUMNS.iter().map(column).collect();
    output::say(&format!(
        "{}\nColumns of the native format (CSV with a header line; lines that begin with # are comments):\n{}",
        formats.collect::<String>(),
        columns.join("\n")
    ))
}

//! `evenhand policies`: who can decide.

use super::policy;
use crate::ops_args::Policies;
use crate::output;
use evenhand_policies::{DEFAULT_POLICY, Entry, POLICIES};
use serde_json::{Value, json};

/// Prints all policies.
pub fn run(args: &Policies) -> anyhow::Result<()> {
    if args.live {
        return policy::list(args);
    }
    if args.json {
        return output::say_json(&POLICIES.iter().map(as_json).collect::<Vec<_>>());
    }
    let entries: Vec<String> = POLICIES.iter().map(as_text).collect();
    output::say(&entries.join("\n\n"))
}

fn as_text(entry: &Entry) -> String {
    let default = if entry.name == DEFAULT_POLICY { " (default)" } else { "" };
    let mut lines = vec![format!("{}{default}", entry.name), format!("  {}", entry.summary)];
    lines.push(format!("  from      {}", entry.paper));
    if !entry.promises.is_empty() {
        let promises: Vec<_> = entry.promises.iter().map(|promise| promise.name()).collect();
        lines.push(format!("  promises  {}", promises.join(", ")));
    }
    let width =
        entry.parameters.iter().map(|spec| spec.name.len() + spec.default.len()).max().unwrap_or(0) + 1;
    for spec in entry.parameters {
        let setting = format!("{}={}", spec.name, spec.default);
        lines.push(format!("  --set     {setting:width$}  {}", spec.summary));
    }
    lines.join("\n")
}

fn as_json(entry: &Entry) -> Value {
    let parameters = entry
        .parameters
        .iter()
        .map(|spec| json!({ "name": spec.name, "default": spec.default, "summary": spec.summary }));
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "paper": entry.paper,
        "default": entry.name == DEFAULT_POLICY,
        "promises": entry.promises.iter().map(|promise| promise.name()).collect::<Vec<_>>(),
        "parameters": parameters.collect::<Vec<_>>(),
    })
}

//! `evenhand trace profiles`: what work can be made up.

use super::generate_apps::{PROFILE, SOURCE, SUMMARY};
use crate::args::Listing;
use crate::output;
use evenhand_sim::profiles::{PROFILES, Profile};
use serde_json::{Value, json};

/// Prints all profiles.
pub fn run(args: &Listing) -> anyhow::Result<()> {
    if args.json {
        let apps = json!({ "name": PROFILE, "summary": SUMMARY, "source": SOURCE });
        return output::say_json(&PROFILES.iter().map(as_json).chain([apps]).collect::<Vec<_>>());
    }
    let apps = format!("{PROFILE}\n  {SUMMARY}\n  from  {SOURCE}\n  has   --apps instead of --jobs");
    let profiles: Vec<String> = PROFILES.iter().map(as_text).chain([apps]).collect();
    output::say(&profiles.join("\n\n"))
}

fn as_text(profile: &Profile) -> String {
    let largest = profile.sizes.last().map_or(1, |(gpus, _)| *gpus);
    let dynamic = if profile.dynamic > 0.0 {
        format!(", {:.0} % with changing batch sizes", profile.dynamic * 100.0)
    } else {
        String::new()
    };
    format!(
        "{}\n  {}\n  from  {}\n  has   {} jobs an hour, gangs up to {largest}, tenants {}{dynamic}",
        profile.name, profile.summary, profile.source, profile.arrivals.jobs_per_hour, profile.tenants.count
    )
}

fn as_json(profile: &Profile) -> Value {
    json!({
        "name": profile.name,
        "summary": profile.summary,
        "source": profile.source,
        "jobs_per_hour": profile.arrivals.jobs_per_hour,
        "gpus_max": profile.sizes.last().map(|(gpus, _)| gpus),
        "tenants": profile.tenants.count,
        "dynamic": profile.dynamic,
    })
}

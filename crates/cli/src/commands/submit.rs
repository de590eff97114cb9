//! `evenhand submit`: hands a job to the service.

use crate::client::Client;
use crate::failure::wrong;
use crate::live_args::Submit;
use crate::output;
use anyhow::{Context, Result};
use evenhand_live::Wanted;
use evenhand_live::api::Accepted;
use serde_json::{Map, Value, json};

/// Submits it, and says its number once it is on disk there.
pub fn run(args: &Submit) -> Result<()> {
    let wanted = wanted(args)?;
    let accepted: Accepted = Client::new(&args.server)?.post("/v1/jobs", &wanted, args.key.as_deref())?;
    if args.json {
        return output::say_json(&accepted);
    }
    let known = if accepted.created { "" } else { " (submitted before)" };
    output::say(&format!("job {}{known}", accepted.job.0))
}

/// The file, with the flags over it.
fn wanted(args: &Submit) -> Result<Wanted> {
    let mut fields = described(args)?;
    let flags = [
        ("gpus", args.gpus.map(Value::from)),
        ("name", args.name.clone().map(Value::from)),
        ("tenant", args.tenant.clone().map(Value::from)),
        ("models", (!args.model.is_empty()).then(|| json!(args.model))),
        ("priority", args.priority.map(Value::from)),
        ("steps", args.steps.map(Value::from)),
        ("steps_per_second", args.steps_per_second.map(Value::from)),
        ("argv", (!args.argv.is_empty()).then(|| json!(args.argv))),
    ];
    for (name, value) in flags {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    }
    if !fields.contains_key("argv") {
        return Err(wrong("submit", "what is to run? Give a program after --, or argv in a file"));
    }
    let place = args.file.as_ref().map_or_else(|| "submit".to_owned(), |file| file.display().to_string());
    if let Some(name) = no_number(&fields) {
        return Err(wrong(&place, format!("{name} is not a number: nan and inf are not allowed")));
    }
    let mut wanted: Wanted =
        serde_json::from_value(Value::Object(fields)).map_err(|error| wrong(&place, error))?;
    surround(args, &mut wanted)?;
    wanted.program.check().map_err(|error| wrong(&place, error))?;
    Ok(wanted)
}

/// The field that is nan or infinite, if there is one. JSON has nothing for these but null, which would count as not said.
fn no_number(fields: &Map<String, Value>) -> Option<&str> {
    fields.iter().find_map(|(name, value)| match value {
        Value::Null => Some(name.as_str()),
        Value::Object(inner) => no_number(inner),
        _ => None,
    })
}

/// What a file says.
fn described(args: &Submit) -> Result<Map<String, Value>> {
    let Some(file) = &args.file else { return Ok(Map::new()) };
    let place = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|error| wrong(&place, format!("it cannot be read: {error}")))?;
    toml::from_str(&text).map_err(|error| wrong(&place, error))
}

/// The job runs here, with the programs of this shell, unless told otherwise.
fn surround(args: &Submit, wanted: &mut Wanted) -> Result<()> {
    let program = &mut wanted.program;
    let here = std::env::current_dir().context("the current folder cannot be found")?;
    let folder = args.dir.clone().or_else(|| program.folder.clone());
    program.folder = Some(folder.map_or(here.clone(), |folder| here.join(folder)));
    if let Ok(path) = std::env::var("PATH") {
        program.environment.entry("PATH".to_owned()).or_insert(path);
    }
    program.environment.extend(args.env.iter().cloned());
    Ok(())
}

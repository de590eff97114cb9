//! `evenhand submit`: hands jobs to the service.

use crate::client::Client;
use crate::failure::wrong;
use crate::job_args::Submit;
use crate::job_file::JobFile;
use crate::output;
use anyhow::{Context, Result};
use evenhand_live::Wanted;
use evenhand_live::api::{Accepted, AcceptedBatch, Outlook, Trial, TrialJob, WantedBatch};
use serde_json::{Value, json};

/// Submits it, and says its number once it is on disk there.
pub fn run(args: &Submit) -> Result<()> {
    let mut jobs = described(args)?;
    let client = Client::new(&args.server)?;
    if args.dry_run {
        return tell_trial(args, &client.post("/v1/dry-runs", &WantedBatch { jobs }, None)?);
    }
    if jobs.len() > 1 {
        let batch = WantedBatch { jobs };
        let taken = client.post("/v1/batches", &batch, args.key.as_deref())?;
        return tell_batch(args, &batch, &taken);
    }
    let wanted = jobs.pop().expect("there is a job for each file, or one");
    let accepted: Accepted = client.post("/v1/jobs", &wanted, args.key.as_deref())?;
    if args.json {
        return output::say_json(&accepted);
    }
    let known = before(accepted.created);
    match accepted.jobs.as_deref() {
        Some([first, .., last]) => {
            output::say(&format!("array {}: jobs {} to {}{known}", accepted.job.0, first.0, last.0))
        }
        Some([only]) => output::say(&format!("array {}: job {}{known}", accepted.job.0, only.0)),
        _ => output::say(&format!("job {}{known}", accepted.job.0)),
    }
}

fn before(created: bool) -> &'static str {
    if created { "" } else { " (submitted before)" }
}

fn tell_batch(args: &Submit, batch: &WantedBatch, taken: &AcceptedBatch) -> Result<()> {
    if args.json {
        return output::say_json(taken);
    }
    for (wanted, number) in batch.jobs.iter().zip(&taken.jobs) {
        let what = if wanted.array.is_some() { "array" } else { "job" };
        output::say(&format!("{what} {}{}", number.0, before(taken.created)))?;
    }
    Ok(())
}

fn tell_trial(args: &Submit, trial: &Trial) -> Result<()> {
    if args.json {
        return output::say_json(trial);
    }
    tell_outlook(&trial.next)?;
    if let Some(at_round) = &trial.at_round {
        output::say("if a regular round were due:")?;
        tell_outlook(at_round)?;
    }
    output::say("nothing was submitted")
}

fn tell_outlook(outlook: &Outlook) -> Result<()> {
    for trouble in &outlook.troubles {
        output::say(trouble)?;
    }
    for job in &outlook.jobs {
        output::say(&would(job))?;
    }
    for stop in &outlook.stops {
        let name = stop.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
        let (job, tenant, gpus) = (stop.job.0, &stop.tenant, stop.gpus.count().0);
        output::say(&format!("job {job}{name} of {tenant} would be stopped; GPUs it holds: {gpus}"))?;
    }
    if outlook.stops_of_others > 0 {
        output::say(&format!("jobs of others that would be stopped: {}", outlook.stops_of_others))?;
    }
    Ok(())
}

/// What the next decision would make of a job.
fn would(job: &TrialJob) -> String {
    let name = job.name.as_deref().unwrap_or("it");
    let Some(gpus) = &job.gpus else { return format!("{name} would wait: {}", job.why) };
    let (count, models) = (gpus.count().0, job.models.join(" and "));
    let when = if job.when_left { "as soon as others have left them" } else { "at once" };
    format!("{name} would start {when}, on {count} {models}: {}", job.why)
}

/// Each file with the flags over it, or the flags alone.
fn described(args: &Submit) -> Result<Vec<Wanted>> {
    if args.files.len() > 1 && args.name.is_some() {
        return Err(wrong("--name", "several jobs would have one name: name each in its file"));
    }
    let files = args.files.iter().map(|file| JobFile::read(file)).collect::<Result<Vec<_>>>()?;
    let files = if files.is_empty() { vec![JobFile::none()] } else { files };
    files.into_iter().map(|file| wanted(args, file)).collect()
}

/// A file, with the flags over it.
fn wanted(args: &Submit, mut file: JobFile) -> Result<Wanted> {
    let flags = [
        ("gpus", args.gpus.map(Value::from)),
        ("name", args.name.clone().map(Value::from)),
        ("tenant", args.tenant.clone().map(Value::from)),
        ("models", (!args.model.is_empty()).then(|| json!(args.model))),
        ("priority", args.priority.map(Value::from)),
        ("steps", args.steps.map(Value::from)),
        ("steps_per_second", args.steps_per_second.map(Value::from)),
        ("array", args.array.clone().map(Value::from)),
        ("after", called(&args.after)),
        ("after_any", called(&args.after_any)),
        ("app", args.app.clone().map(Value::from)),
        ("deadline", args.deadline.clone().map(Value::from)),
        ("argv", (!args.argv.is_empty()).then(|| json!(args.argv))),
    ];
    for (name, value) in flags {
        if let Some(value) = value {
            file.fields.insert(name.to_owned(), value);
        }
    }
    let mut wanted = file.wanted()?;
    surround(args, &mut wanted)?;
    wanted.program.check().map_err(|error| wrong(&file.place, error))?;
    Ok(wanted)
}

/// Jobs as they are called, numbers as numbers.
fn called(jobs: &[String]) -> Option<Value> {
    let one = |job: &String| job.parse::<u64>().map_or_else(|_| json!(job), |number| json!(number));
    (!jobs.is_empty()).then(|| jobs.iter().map(one).collect())
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

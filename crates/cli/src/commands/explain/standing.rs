//! How a job of the service stands, for people.

use crate::local_clock::LocalClock;
use crate::numbers::plain;
use evenhand_core::JobId;
use evenhand_live::api::{HolderRow, Interval, Now};

/// A few lines: why, what would help, when, who is before it, and what everybody has.
pub(super) fn told(job: JobId, now: &Now, clock: &LocalClock) -> String {
    let name = now.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let gpus = if now.needs == 1 { "1 GPU".to_owned() } else { format!("{} GPUs", now.needs) };
    let mut lines = vec![format!("job {}{name} ({}, {gpus}) {}", job.0, now.tenant, verb(&now.standing))];
    let mut say = |label: &str, text: String| lines.push(format!("  {label:<8}  {text}"));
    if let Some(why) = &now.why {
        say("why", why.clone());
    }
    if let Some(unblocks) = &now.unblocks {
        say("needs", unblocks.clone());
    }
    if let Some(start) = &now.start {
        let before = if now.before == 1 { "1 job is".to_owned() } else { format!("{} jobs are", now.before) };
        say("start", format!("{}; {before} before it in the queue", between(start, clock)));
    }
    if let Some(finish) = &now.finish {
        say("end", between(finish, clock));
    }
    if let Some(by) = now.promised_s {
        say("promised", format!("done by {}, as its fair share alone would have it", clock.at(by)));
    }
    if matches!(now.standing.as_str(), "queued" | "promised") {
        for (at, row) in now.holders.iter().enumerate() {
            say(if at == 0 { "GPUs" } else { "" }, holder(row, clock));
        }
        let others = now.holders_count.saturating_sub(now.holders.len());
        if others > 0 {
            say("", format!("and {others} more jobs"));
        }
    }
    let shares = now
        .shares
        .iter()
        .map(|row| format!("{} holds {}, its share is {}", row.tenant, row.held, plain(row.share)));
    say("shares", shares.collect::<Vec<_>>().join("; "));
    lines.join("\n")
}

fn verb(standing: &str) -> &str {
    match standing {
        "queued" => "waits",
        "after" => "waits for other jobs",
        "no-turn" => "waits for a turn of its array",
        "retries" => "waits to be tried again",
        "held" => "is held back",
        "promised" => "is about to start",
        "stopping" => "is asked to stop",
        other => other,
    }
}

fn between(interval: &Interval, clock: &LocalClock) -> String {
    let earliest = clock.at(interval.earliest_s);
    match interval.latest_s.map(|latest| clock.at(latest)) {
        Some(latest) if latest == earliest => format!("about {earliest}"),
        Some(latest) => format!("between {earliest} and {latest}, as far as is known now"),
        None => {
            format!("not before {earliest}; how late cannot be told, since nobody knows how long others take")
        }
    }
}

fn holder(row: &HolderRow, clock: &LocalClock) -> String {
    let name = row.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let tenant = row.tenant.as_ref().map_or_else(String::new, |tenant| format!(" ({tenant})"));
    let until = row.until_s.map_or_else(String::new, |until| format!(" until about {}", clock.at(until)));
    format!("job {}{name}{tenant} has {}{until}: {}", row.job.0, row.gpus, row.why)
}

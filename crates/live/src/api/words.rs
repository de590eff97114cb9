//! How a job stands, in words: the same on a page as in a terminal. Times are left to whoever shows them, in their own zone.

use super::{HolderRow, Interval, Now};
use evenhand_core::JobId;
use serde::{Deserialize, Serialize};

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Word {
    /// A time, in seconds since time began.
    At(f64),
    /// As it is.
    Text(String),
}

/// A sentence under its heading; one without belongs to the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// What it is about.
    pub label: String,
    /// The sentence.
    pub words: Vec<Word>,
}

impl Told {
    /// The sentence with its times as somebody shows them.
    pub fn text(&self, at: impl Fn(f64) -> String) -> String {
        let word = |word: &Word| match word {
            Word::At(seconds) => at(*seconds),
            Word::Text(text) => text.clone(),
        };
        self.words.iter().map(word).collect()
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Word {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A few sentences, the first without a heading: why, what would help, when, who is before it, and what everybody has.
pub fn told(job: JobId, now: &Now) -> Vec<Told> {
    let name = now.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let gpus = if now.needs == 1 { "1 GPU".to_owned() } else { format!("{} GPUs", now.needs) };
    let mut told = Vec::new();
    let mut say = |label: &str, words: Vec<Word>| told.push(Told { label: label.to_owned(), words });
    say("", vec![format!("job {}{name} ({}, {gpus}) {}", job.0, now.tenant, verb(&now.standing)).into()]);
    if let Some(why) = &now.why {
        say("why", vec![why.clone().into()]);
    }
    if let Some(unblocks) = &now.unblocks {
        say("needs", vec![unblocks.clone().into()]);
    }
    if let Some(start) = &now.start {
        let before = if now.before == 1 { "1 job is".to_owned() } else { format!("{} jobs are", now.before) };
        let mut words = between(start);
        words.push(format!("; {before} before it in the queue").into());
        say("start", words);
    }
    if let Some(finish) = &now.finish {
        say("end", between(finish));
    }
    if let Some(by) = now.promised_s {
        say(
            "promised",
            vec!["done by ".into(), Word::At(by), ", as its fair share alone would have it".into()],
        );
    }
    if matches!(now.standing.as_str(), "queued" | "promised") {
        for (at, row) in now.holders.iter().enumerate() {
            say(if at == 0 { "GPUs" } else { "" }, holder(row));
        }
        let others = now.holders_count.saturating_sub(now.holders.len());
        if others > 0 {
            say("", vec![format!("and {others} more jobs").into()]);
        }
    }
    let shares = now
        .shares
        .iter()
        .map(|row| format!("{} holds {}, its share is {}", row.tenant, row.held, plain(row.share)));
    say("shares", vec![shares.collect::<Vec<_>>().join("; ").into()]);
    told
}

/// A number with as many decimals as its size calls for.
fn plain(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
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

fn between(interval: &Interval) -> Vec<Word> {
    let earliest = interval.earliest_s;
    match interval.latest_s {
        // Shown to the second, they would be the same.
        Some(latest) if (latest.floor() - earliest.floor()).abs() < 0.5 => {
            vec!["about ".into(), Word::At(earliest)]
        }
        Some(latest) => vec![
            "between ".into(),
            Word::At(earliest),
            " and ".into(),
            Word::At(latest),
            ", as far as is known now".into(),
        ],
        None => vec![
            "not before ".into(),
            Word::At(earliest),
            "; how late cannot be told, since nobody knows how long others take".into(),
        ],
    }
}

fn holder(row: &HolderRow) -> Vec<Word> {
    let name = row.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let tenant = row.tenant.as_ref().map_or_else(String::new, |tenant| format!(" ({tenant})"));
    let mut words = vec![format!("job {}{name}{tenant} has {}", row.job.0, row.gpus).into()];
    if let Some(until) = row.until_s {
        words.extend([" until about ".into(), Word::At(until)]);
    }
    words.push(format!(": {}", row.why).into());
    words
}

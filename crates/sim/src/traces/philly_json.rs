//! Philly (Microsoft, 2017): `cluster_job_log`, a JSON list of jobs with their attempts, a gigabyte in reality.
//!
//! The list is cut into its elements on the way, so that one job is in memory at a time, a broken one spoils no other,
//! and each has its line. A `Deserializer` over the whole file would end at the first surprise.
//!
//! A job runs from the start of its first attempt to the end of its last; what lies between two attempts counts too. The
//! GPUs are those of the last attempt that has any.

use super::reading::{Clock, Draft, Gather, known};
use super::{Opening, Sides, Trace, TraceEntry, Warning, Warnings};
use crate::InputError;
use evenhand_core::Outcome;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "philly-json",
    summary: "Philly as Microsoft publishes it: cluster_job_log, JSON; virtual clusters are tenants.",
    recognises,
    read,
};

fn recognises(opening: &Opening<'_>) -> bool {
    let start = opening.start.trim_start();
    let named = ["\"attempts\"", "\"jobid\"", "\"submitted_time\""];
    start.starts_with('[') && named.iter().any(|name| start.contains(name))
}

/// No job is longer. One with a hundred attempts on 128 GPUs has about 300 KB.
const JOB_BYTES_MAX: usize = 4 << 20;

#[derive(Deserialize)]
struct Job {
    status: Option<String>,
    vc: Option<String>,
    jobid: String,
    attempts: Option<Vec<Attempt>>,
    submitted_time: Option<String>,
}

#[derive(Deserialize)]
struct Attempt {
    start_time: Option<String>,
    end_time: Option<String>,
    detail: Option<Vec<Machine>>,
}

#[derive(Deserialize)]
struct Machine {
    /// Only counted: a list of nothing takes no memory.
    gpus: Option<Vec<IgnoredAny>>,
}

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    let mut gather = Gather::default();
    let mut elements = Elements { source, line: 1, bytes: Vec::new(), place: Place::default() };
    while let Some(line) = elements.next()? {
        let parsed: Result<Job, _> = serde_json::from_slice(&elements.bytes);
        let warnings = &mut gather.trace.warnings;
        match parsed {
            Ok(job) => {
                let draft = draft(&job, line, warnings);
                gather.add(line, draft)?;
            }
            Err(_) => warnings.add(Warning::BadRow, line),
        }
    }
    Ok(gather.finish())
}

fn draft<'a>(job: &'a Job, line: u64, warnings: &mut Warnings) -> Result<Draft<'a>, Warning> {
    let attempts = job.attempts.as_deref().unwrap_or_default();
    let (Some(first), Some(last)) = (attempts.first(), attempts.last()) else {
        return Err(Warning::MissingTime);
    };
    let sizes: Vec<usize> = attempts.iter().map(Attempt::gpus).filter(|gpus| *gpus > 0).collect();
    let gpus = *sizes.last().ok_or(Warning::ZeroGpu)?;
    let (submit, submitted) = time(job.submitted_time.as_deref())?.ok_or(Warning::MissingTime)?;
    let start = time(first.start_time.as_deref())?.ok_or(Warning::MissingTime)?.0;
    let end = time(last.end_time.as_deref())?.ok_or(Warning::MissingTime)?.0;
    if sizes.iter().any(|size| *size != gpus) {
        warnings.add(Warning::AttemptsDiffer, line);
    }
    let mut draft = Draft::new(job.jobid.as_str(), submit.0, gpus as f64, end.seconds_since(start));
    draft.clock = Some(submitted);
    draft.tenant = job.vc.as_deref().unwrap_or("unknown").into();
    draft.queued = Some(start.seconds_since(submit));
    draft.outcome = match job.status.as_deref() {
        Some("Pass") => Some(Outcome::Finished),
        Some("Killed") => Some(Outcome::Cancelled),
        Some("Failed") => Some(Outcome::Failed),
        _ => None,
    };
    Ok(draft)
}

impl Attempt {
    fn gpus(&self) -> usize {
        let machines = self.detail.as_deref().unwrap_or_default();
        machines.iter().map(|machine| machine.gpus.as_ref().map_or(0, Vec::len)).sum()
    }
}

/// A time with its text; missing ones are `null` or `"None"`.
fn time(text: Option<&str>) -> Result<Option<(Clock, &str)>, Warning> {
    let Some(text) = text.and_then(known) else { return Ok(None) };
    Clock::parse(text).map(|clock| Some((clock, text))).ok_or(Warning::BadRow)
}

/// The elements of a JSON list, one at a time and not yet understood.
struct Elements<'a> {
    source: &'a mut dyn BufRead,
    line: u64,
    bytes: Vec<u8>,
    place: Place,
}

/// Where in the list a byte is.
#[derive(Clone, Copy, Default)]
struct Place {
    stage: Stage,
    depth: u32,
    quoted: bool,
    escaped: bool,
}

/// Whether the list has begun, and has ended.
#[derive(Clone, Copy, Default, PartialEq)]
enum Stage {
    #[default]
    Before,
    Within,
    Ended,
}

/// What a byte is to the list.
#[derive(PartialEq)]
enum Part {
    /// Between elements.
    Between,
    /// Of an element.
    Inside,
    /// The last of an element.
    Last,
    /// After the last of an element that has no bracket of its own, such as a number.
    After,
    /// Not part of any list.
    Foreign,
}

impl Place {
    /// Goes on by a byte. `begun` says whether the element has bytes already.
    fn step(&mut self, byte: u8, begun: bool) -> Part {
        if self.quoted {
            self.quoted = self.escaped || byte != b'"';
            self.escaped = byte == b'\\' && !self.escaped;
            return Part::Inside;
        }
        if self.stage == Stage::Before {
            if byte == b'[' {
                self.stage = Stage::Within;
            } else if byte.is_ascii() && !byte.is_ascii_whitespace() {
                // Only a byte order mark, which is not ASCII, may stand before the list.
                return Part::Foreign;
            }
            return Part::Between;
        }
        if self.depth == 0 && (byte.is_ascii_whitespace() || byte == b',' || byte == b']') {
            if byte == b']' {
                self.stage = Stage::Ended;
            }
            return if begun && !byte.is_ascii_whitespace() { Part::After } else { Part::Between };
        }
        match byte {
            b'"' => self.quoted = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return if self.depth == 0 { Part::Last } else { Part::Inside };
            }
            _ => {}
        }
        Part::Inside
    }
}

impl Elements<'_> {
    /// Reads the next element into `bytes` and gives its line; `None` after the last.
    fn next(&mut self) -> Result<Option<u64>, InputError> {
        self.bytes.clear();
        let mut begun_in = None;
        while self.place.stage != Stage::Ended {
            let line = self.line;
            let wrong = |error| InputError::field(line, "the file", error, "it must be readable");
            let bytes = self.source.fill_buf().map_err(wrong)?;
            if bytes.is_empty() {
                return Err(self.refuse("the list of jobs does not end: the file is not complete"));
            }
            let (mut used, mut part) = (0, Part::Between);
            for byte in bytes {
                used += 1;
                part = self.place.step(*byte, begun_in.is_some());
                if matches!(part, Part::Inside | Part::Last) {
                    begun_in = begun_in.or(Some(self.line));
                    self.bytes.push(*byte);
                }
                self.line += u64::from(*byte == b'\n');
                let full = self.bytes.len() > JOB_BYTES_MAX;
                if full || self.place.stage == Stage::Ended || !matches!(part, Part::Inside | Part::Between) {
                    break;
                }
            }
            self.source.consume(used);
            if self.bytes.len() > JOB_BYTES_MAX {
                return Err(self.refuse("a job is longer than 4 MiB: this is no job log of Philly"));
            }
            match part {
                Part::Foreign => return Err(self.refuse("a job log of Philly is a JSON list")),
                Part::Last | Part::After => return Ok(begun_in),
                Part::Between | Part::Inside => {}
            }
        }
        Ok(None)
    }

    fn refuse(&self, allowed: &str) -> InputError {
        InputError { line: self.line, allowed: allowed.into(), ..InputError::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::{Span, Work};

    fn job(id: &str, attempts: &str) -> String {
        format!(
            "{{\"status\":\"Killed\",\"vc\":\"ee9e8c\",\"jobid\":\"{id}\",\"attempts\":[{attempts}],\n\"submitted_time\":\"2017-10-07 01:11:39\",\"user\":\"u\"}}"
        )
    }

    fn attempt(start: &str, end: &str, gpus: &str) -> String {
        format!(
            "{{\"start_time\":{start},\"end_time\":{end},\"detail\":[{{\"ip\":\"m1\",\"gpus\":[{gpus}]}}]}}"
        )
    }

    #[test]
    fn attempts_missing_times_and_broken_jobs() {
        let [one, two] = ["\"2017-10-07 01:12:09\"", "\"2017-10-07 01:13:09\""];
        let text = [
            job(
                "a,]\\\"",
                &[attempt(one, "\"None\"", "\"gpu0\""), attempt("null", two, "\"gpu0\",\"gpu1\"")].join(","),
            ),
            job("still running", &attempt(one, "null", "\"gpu0\"")),
            job("never started", ""),
            job("no gpu", &attempt(one, two, "")),
            "{\"jobid\": 7}".into(),
            job("last", &attempt(one, two, "\"gpu0\"")),
            "17".into(),
        ];
        let text = format!("[\n{}\n]\n", text.join(",\n"));
        let trace = read(&mut text.as_bytes(), "cluster_job_log", &Sides::default()).unwrap();
        let found: Vec<_> =
            trace.jobs.iter().map(|job| (job.line, job.name.as_str(), job.spec.gpus.min.0)).collect();
        assert_eq!(found, [(2, "a,]\"", 2), (11, "last", 1)]);
        assert_eq!((trace.format, trace.jobs[0].spec.work), ("philly-json", Some(Work::from_steps(60.0))));
        assert_eq!(
            (trace.jobs[0].outcome, trace.jobs[0].queued),
            (Some(Outcome::Cancelled), Some(Span::from_secs(30)))
        );
        let counted = [Warning::AttemptsDiffer, Warning::MissingTime, Warning::ZeroGpu, Warning::BadRow];
        assert_eq!(counted.map(|warning| trace.warnings.count(warning)), [1, 2, 1, 2]);
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        let text = format!("[{}", job("a", ""));
        let error = read(&mut text.as_bytes(), "x", &Sides::default()).unwrap_err();
        assert!(error.to_string().contains("not complete"), "{error}");
    }
}

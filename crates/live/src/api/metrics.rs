//! Figures for Prometheus, as text.

use super::{Front, Trouble, nodes};
use crate::clock::Stopwatch;
use crate::service::{DURATION_BOUNDS_US, Durations, Vitals};
use crate::store::{Reader, STORE_FILE, Usage, WAIT_BOUNDS_S, Waits};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// The format that is spoken.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Method, address and status.
type Asked = (String, String, u16);

/// How often, and how long it took together, in microseconds.
type Answered = (u64, u64);

/// How often each address was asked for, and how long the answers took.
#[derive(Debug, Default)]
pub(super) struct Requests {
    counts: Mutex<BTreeMap<Asked, Answered>>,
}

/// Counts every request by method, address and status. An address is the pattern and not what was typed, so that there are few.
pub(super) async fn count(State(front): State<Arc<Front>>, request: Request, next: Next) -> Response {
    let began = Stopwatch::start();
    let method = request.method().to_string();
    let path = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let key = (method, path, response.status().as_u16());
    let mut counts = front.requests().counts.lock().unwrap_or_else(PoisonError::into_inner);
    let (count, total_us) = counts.entry(key).or_default();
    *count += 1;
    *total_us += began.elapsed_us();
    drop(counts);
    response
}

/// `GET /v1/metrics`.
pub(super) async fn metrics(State(front): State<Arc<Front>>) -> Result<Response, Trouble> {
    let look = |reader: &Reader| Ok((reader.usage()?, reader.waits()?, reader.holders()?));
    let (usage, waits, holders) = front.look(look).await?;
    let vitals = front.vitals();
    let rows = nodes::rows(&vitals.fleet(), &holders);
    let mut text = Text::default();
    jobs(&mut text, &usage);
    gpus(&mut text, &rows);
    service(&mut text, vitals);
    waited(&mut text, &waits);
    store(&mut text, front.state());
    requests(&mut text, front.requests());
    Ok(([(CONTENT_TYPE, FORMAT)], text.0).into_response())
}

/// The lines so far.
#[derive(Default)]
struct Text(String);

impl Text {
    /// Opens a family of figures.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP evenhand_{name} {help}\n# TYPE evenhand_{name} {kind}");
    }

    /// One figure.
    fn figure(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let braces = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "evenhand_{name}{braces} {value}");
    }

    /// A family of one figure.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.family(name, kind, help);
        self.figure(name, &[], value);
    }

    /// How many were at most so large, how many there were, and their sum.
    fn histogram(&mut self, name: &str, help: &str, up_to: &[(f64, u64)], (count, sum): (u64, f64)) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        for (bound, count) in up_to {
            self.figure(&bucket, &[("le", &bound.to_string())], *count as f64);
        }
        self.figure(&bucket, &[("le", "+Inf")], count as f64);
        self.figure(&format!("{name}_sum"), &[], sum);
        self.figure(&format!("{name}_count"), &[], count as f64);
    }
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn jobs(text: &mut Text, usage: &[Usage]) {
    text.family("jobs", "gauge", "Jobs by tenant and phase.");
    for usage in usage {
        let labels = [("tenant", usage.tenant.as_str()), ("phase", usage.phase.name())];
        text.figure("jobs", &labels, usage.jobs as f64);
    }
    text.family("gpu_seconds_total", "counter", "GPU time of jobs that have ended.");
    let mut by_tenant = BTreeMap::<&str, u64>::new();
    for usage in usage {
        *by_tenant.entry(&usage.tenant).or_default() += usage.attained_ms;
    }
    for (tenant, attained_ms) in by_tenant {
        text.figure("gpu_seconds_total", &[("tenant", tenant)], attained_ms as f64 / 1e3);
    }
}

fn gpus(text: &mut Text, rows: &[nodes::NodeRow]) {
    text.family(
        "gpus",
        "gauge",
        "GPUs by model and state: held, free, or closed because their node takes no jobs.",
    );
    let mut by_model = BTreeMap::<&str, [u32; 3]>::new();
    for row in rows {
        let counts = by_model.entry(&row.model).or_default();
        let closed = row.gpus - row.held - row.free;
        [row.held, row.free, closed].iter().zip(counts).for_each(|(more, count)| *count += more);
    }
    for (model, counts) in by_model {
        for (state, count) in ["held", "free", "closed"].into_iter().zip(counts) {
            text.figure("gpus", &[("model", model), ("state", state)], f64::from(count));
        }
    }
}

fn durations(text: &mut Text, name: &str, help: &str, durations: &Durations) {
    let (count, total_us) = durations.total();
    let bounds = DURATION_BOUNDS_US.iter().map(|bound| *bound as f64 / 1e6);
    let up_to: Vec<(f64, u64)> = bounds.zip(durations.up_to()).collect();
    text.histogram(name, help, &up_to, (count, total_us as f64 / 1e6));
}

fn service(text: &mut Text, vitals: &Vitals) {
    let help = "Time that decisions took since the start of the service.";
    durations(text, "decision_seconds", help, &vitals.decisions);
    let help = "Time that it took to save everything for the next start.";
    durations(text, "save_seconds", help, &vitals.saves);
    let failed = vitals.saves_failed.load(Ordering::Relaxed) as f64;
    text.single(
        "saves_failed_total",
        "counter",
        "How often that failed: the next start takes longer.",
        failed,
    );
    let repeated = vitals.repeated.load(Ordering::Relaxed) as f64;
    text.single("start_records", "gauge", "Records that the start repeated.", repeated);
    text.family(
        "promises_total",
        "counter",
        "Finished jobs that had been promised a time, by whether it was kept to a tenth.",
    );
    for (kept, count) in [("kept", &vitals.promises_kept), ("broken", &vitals.promises_broken)] {
        text.figure("promises_total", &[("outcome", kept)], count.load(Ordering::Relaxed) as f64);
    }
    let commits = vitals.commits.load(Ordering::Relaxed) as f64;
    text.single("commits_total", "counter", "Batches of records written since the start.", commits);
    let records = vitals.last.load(Ordering::Relaxed) as f64;
    text.single("records_total", "counter", "Records in the ledger.", records);
    let mending = f64::from(u8::from(vitals.mending.load(Ordering::Relaxed)));
    text.single("mending", "gauge", "1 while nothing can be recorded.", mending);
    text.family("policy", "gauge", "1 for the policy that decides.");
    text.figure("policy", &[("name", &vitals.fleet().policy.name)], 1.0);
}

fn waited(text: &mut Text, waits: &Waits) {
    let up_to: Vec<(f64, u64)> = WAIT_BOUNDS_S.iter().map(|bound| *bound as f64).zip(waits.up_to).collect();
    let help = "Time from submission until a job first ran.";
    text.histogram("wait_seconds", help, &up_to, (waits.count, waits.total_ms as f64 / 1e3));
}

fn store(text: &mut Text, state: &Path) {
    text.family("store_bytes", "gauge", "Size of the store by file.");
    for (name, ending) in [("ledger", ""), ("log", "-wal")] {
        let size =
            std::fs::metadata(state.join(format!("{STORE_FILE}{ending}"))).map_or(0, |file| file.len());
        text.figure("store_bytes", &[("file", name)], size as f64);
    }
}

fn requests(text: &mut Text, requests: &Requests) {
    let counts = requests.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    text.family("http_requests_total", "counter", "Requests answered since the start.");
    for ((method, path, status), (count, _)) in &counts {
        let status = status.to_string();
        let labels = [("method", method.as_str()), ("path", path), ("status", &status)];
        text.figure("http_requests_total", &labels, *count as f64);
    }
    text.family("http_seconds_total", "counter", "Time that these answers took.");
    for ((method, path, status), (_, total_us)) in &counts {
        let status = status.to_string();
        let labels = [("method", method.as_str()), ("path", path), ("status", &status)];
        text.figure("http_seconds_total", &labels, *total_us as f64 / 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_histograms_end_with_everything() {
        let mut text = Text::default();
        text.figure("jobs", &[("tenant", "a\"b\\c\n")], 3.0);
        text.histogram("wait_seconds", "Waits.", &[(0.5, 1), (1.0, 2)], (3, 12.5));
        let expected = "evenhand_jobs{tenant=\"a\\\"b\\\\c\\n\"} 3\n\
            # HELP evenhand_wait_seconds Waits.\n# TYPE evenhand_wait_seconds histogram\n\
            evenhand_wait_seconds_bucket{le=\"0.5\"} 1\nevenhand_wait_seconds_bucket{le=\"1\"} 2\n\
            evenhand_wait_seconds_bucket{le=\"+Inf\"} 3\nevenhand_wait_seconds_sum 12.5\nevenhand_wait_seconds_count 3\n";
        assert_eq!(text.0, expected);
    }
}

//! The published table, reproduced: the canonical Shockwave trace under the originals' round rules.
//!
//! Needs the traces beside the repository; says so and passes when they are not there. The expected figures are those of the
//! originals, run unmodified on this trace.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the table is what this test is for")]

use evenhand_core::{Choice, Command, EndCause, EngineConfig, Event, LedgerReader, Parameters, Span};
use evenhand_report::Summary;
use evenhand_sim::traces::{Sides, Throughputs, open, open_file};
use evenhand_sim::{ClusterSpec, Run, Semantics, Setup, simulate};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/traces/open/shockwave");
    if folder.exists() {
        return Some(folder);
    }
    eprintln!("skipped: the traces are not beside the repository");
    None
}

/// Makespan, mean completion time and worst static ratio of the originals.
type Figures = (f64, f64, f64);

fn run(folder: &Path, policy: &str, reset: &str) -> (Summary, Vec<BTreeSet<u64>>) {
    let throughputs = Throughputs::open(&folder.join("tacc_throughputs.json.gz")).unwrap();
    let sides = Sides { throughputs: Some(Arc::new(throughputs)) };
    let cluster = ClusterSpec::parse("v100=32", Some(1), None).unwrap();
    let mut workload =
        open(&folder.join("traces/canonical_120jobs_32gpus.trace.gz"), &sides, &cluster).unwrap();
    workload.set_restart(evenhand_core::Restart { restore: Span::from_secs(20), ..Default::default() });
    let set =
        [("variant", "fork"), ("reset", reset)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let setup = Setup {
        policy: Choice { name: policy.into(), parameters: Parameters(set.into()) },
        engine: EngineConfig { round: Span::from_secs(120), ..EngineConfig::default() },
        semantics: Semantics::Original,
        ..Setup::default()
    };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{policy}-{reset}.jsonl"));
    let ledger = Box::new(BufWriter::new(File::create(&path).unwrap()));
    let how = Run { ledger: Some(ledger), ledger_path: None, progress: &|_| {} };
    let finished = simulate(&cluster, &Arc::new(workload), &setup, how).unwrap();
    (finished.report.summary(&finished.costs), rounds(&path))
}

/// The jobs of each round, as a ledger tells.
fn rounds(ledger: &Path) -> Vec<BTreeSet<u64>> {
    let mut reader = LedgerReader::new(BufReader::new(File::open(ledger).unwrap())).unwrap();
    let (mut holds, mut rounds) = (BTreeMap::new(), Vec::new());
    let mut open = false;
    while let Some(record) = reader.read().unwrap() {
        // A round is settled when the first thing after its decision that takes time has happened.
        let settling = matches!(record.event, Event::LeaseStarted(_))
            || matches!(record.event, Event::LeaseEnded { cause: EndCause::Stopped, .. });
        if open && !settling {
            rounds.push(holds.values().copied().collect::<BTreeSet<u64>>());
            open = false;
        }
        if let Event::LeaseEnded { lease, .. } = &record.event {
            holds.remove(lease);
        }
        for command in &record.commands {
            if let Command::Start(lease) = command {
                holds.insert(lease.id, lease.job.0);
            }
        }
        open |= matches!(record.event, Event::RoundDue(_));
    }
    rounds.retain(|round| !round.is_empty());
    rounds
}

/// The jobs of each round, as the originals had them.
fn rounds_of_the_original(folder: &Path, policy: &str, reset: &str) -> Vec<BTreeSet<u64>> {
    let name = format!("{policy}.delay{}.rounds.csv.gz", reset.trim_end_matches('s'));
    let mut rounds: Vec<BTreeSet<u64>> = Vec::new();
    for line in open_file(&folder.join("reference_runs").join(name)).unwrap().lines().skip(1) {
        let line = line.unwrap();
        let mut cells = line.split(',').map(|cell| cell.parse::<u64>().unwrap_or(0));
        let (round, job) = (cells.next().unwrap() as usize, cells.next().unwrap());
        rounds.resize(rounds.len().max(round + 1), BTreeSet::new());
        rounds[round].insert(job);
    }
    rounds
}

/// Checks the figures; the first round that differs, if one does.
fn check(policy: &str, reset: &str, (makespan, jct, worst): Figures) -> Option<usize> {
    let folder = folder()?;
    let (found, ours) = run(&folder, policy, reset);
    let theirs = rounds_of_the_original(&folder, policy, reset);
    let differs = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    let differs = differs.or((ours.len() != theirs.len()).then_some(ours.len().min(theirs.len())));
    println!(
        "{policy}, reset {reset}: makespan {:.0} ({makespan}), mean {:.0} ({jct}), worst {:.3} ({worst}); {}",
        found.makespan_s,
        found.jct_mean_s,
        found.ftf_worst,
        differs.map_or("every round is the same".into(), |round| {
            let only = |a: &BTreeSet<u64>, b: &BTreeSet<u64>| a.difference(b).copied().collect::<Vec<_>>();
            let empty = BTreeSet::new();
            let (a, b) = (ours.get(round).unwrap_or(&empty), theirs.get(round).unwrap_or(&empty));
            format!(
                "round {round} of {} differs: only ours {:?}, only theirs {:?}",
                theirs.len(),
                only(a, b),
                only(b, a)
            )
        })
    );
    let near = |found: f64, expected: f64, within: f64| (found / expected - 1.0).abs() <= within;
    assert_eq!(found.finished, 120);
    assert!(near(found.makespan_s, makespan, 0.03), "the makespan is {}", found.makespan_s);
    assert!(near(found.jct_mean_s, jct, 0.03), "the mean completion time is {}", found.jct_mean_s);
    assert!(near(found.ftf_worst, worst, 0.08), "the worst ratio is {}", found.ftf_worst);
    differs
}

#[test]
fn first_come_first_served_is_as_published() {
    let differs = check("fifo", "1000s", (33_308.0, 10_816.0, 5.769));
    // Until two jobs tie to less than our clock's millisecond.
    assert!(differs.is_none_or(|round| round >= 93), "round {differs:?} is not the same any more");
}

#[test]
fn isolated_is_as_published() {
    check("isolated", "1000s", (33_208.0, 11_268.0, 2.947));
}

#[test]
fn gandiva_fair_is_as_published() {
    check("gandiva-fair", "1000s", (32_367.0, 12_574.0, 1.854));
    check("gandiva-fair", "0s", (31_648.0, 12_112.0, 2.190));
}

#[test]
fn allox_is_as_published() {
    check("allox", "1000s", (32_629.0, 9_973.0, 4.963));
    check("allox", "0s", (31_289.0, 9_020.0, 4.447));
}

#[test]
fn max_min_is_as_published() {
    check("max-min", "1000s", (33_208.0, 11_274.0, 2.947));
    check("max-min", "0s", (31_888.0, 9_246.0, 3.257));
}

#[test]
fn max_sum_throughput_is_as_published() {
    check("max-sum-throughput", "1000s", (31_909.0, 9_655.0, 4.976));
    check("max-sum-throughput", "0s", (31_429.0, 8_893.0, 4.719));
}

#[test]
fn min_total_duration_is_as_published() {
    check("min-total-duration", "1000s", (24_205.0, 19_807.0, 7.741));
}

#[test]
fn finish_time_fairness_is_as_published() {
    check("finish-time-fairness", "1000s", (32_329.0, 11_386.0, 3.045));
}

/// Makespan, mean completion time, worst static ratio and unfair part: medians over tie-break seeds.
fn medians(folder: &Path, policy: &str, seeds: u64) -> [f64; 4] {
    let throughputs = Throughputs::open(&folder.join("tacc_throughputs.json.gz")).unwrap();
    let sides = Sides { throughputs: Some(Arc::new(throughputs)) };
    let cluster = ClusterSpec::parse("v100=32", Some(1), None).unwrap();
    let path = folder.join("traces/canonical_120jobs_32gpus.trace.gz");
    let workload = Arc::new(open(&path, &sides, &cluster).unwrap());
    let mut figures: [Vec<f64>; 4] = Default::default();
    for seed in 1..=seeds {
        let engine = EngineConfig { round: Span::from_secs(120), ..EngineConfig::default() };
        let mut setup = Setup { policy: Choice::named(policy), engine, seed, ..Setup::default() };
        setup.semantics = Semantics::Original;
        setup.use_published_variant();
        let how = Run { ledger: None, ledger_path: None, progress: &|_| {} };
        let finished = simulate(&cluster, &workload, &setup, how).unwrap();
        let found = finished.report.summary(&finished.costs);
        assert_eq!(found.finished, 120);
        let values = [found.makespan_s, found.jct_mean_s, found.ftf_worst, found.unfair_fraction];
        figures.iter_mut().zip(values).for_each(|(figures, value)| figures.push(value));
    }
    let spread = |values: &[f64]| format!("{:.3} to {:.3}", values[0], values[values.len() - 1]);
    figures.each_mut().map(|values| {
        values.sort_by(f64::total_cmp);
        let median = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        println!("{policy}: {median:.3} ({})", spread(values));
        median
    })
}

#[test]
fn shockwave_is_as_good_as_published_and_ours_is_better() {
    let Some(folder) = folder() else { return };
    let published = medians(&folder, "shockwave", 20);
    let most = [24_800.0, 10_000.0, 1.9, 0.067];
    assert!(published.iter().zip(most).all(|(found, most)| *found <= most), "{published:?}");
    let plus = medians(&folder, "shockwave-plus", 20);
    assert!(
        plus.iter().zip(published).all(|(ours, theirs)| *ours <= theirs),
        "{plus:?} against {published:?}"
    );
}

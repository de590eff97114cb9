//! How far off beliefs about the time that is left are, for jobs whose batch size changes while they train.
//!
//! Two kinds of work: the canonical Shockwave trace under the originals' round rules (says so and goes without it where the
//! traces are not beside the repository), and made-up work like it with other schedules, on our clock. Everybody is asked when a job has
//! had 10, 25, 50 and 75 % of the time that it needs; errors are relative to that time.
//! `EVENHAND_UPDATE_GOLDEN=1` writes the picture of the documentation anew.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the table is what this test is for")]

use evenhand_core::{
    Backend, Choice, EndCause, EngineConfig, Estimate, Event, JobId, JobSpec, LeaseId, ModelIndex, Snapshot,
    Span, Time,
};
use evenhand_sim::profiles::ProfileTable;
use evenhand_sim::traces::{Sides, Throughputs, open};
use evenhand_sim::{ClusterSpec, Faults, OriginalWorld, Semantics, Setup, Workload, World, engine_for};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// When in the life of a job everybody is asked.
const ASKED_AT: [f64; 4] = [0.1, 0.25, 0.5, 0.75];

/// A truth this close to an interval, relative to the whole job, is inside.
const CLOSE: f64 = 0.002;

/// One who is asked: a name for people, a predictor, and whether jobs declare their batch sizes.
type Asked = (&'static str, &'static str, bool);

const ASKED: [Asked; 4] = [
    ("nothing changes", "declared", true),
    ("dirichlet, as published", "dirichlet", true),
    ("regimes", "regimes", true),
    ("regimes, no batch sizes declared", "regimes", false),
];

/// What was believed of a job after it had worked for so long.
type Word = (f64, Estimate<f64>);

/// What was believed of one job, and how long it worked in the end.
#[derive(Default)]
struct Life {
    words: Vec<Word>,
    worked_s: f64,
}

/// At each point: the mean error, the part of truths inside the interval, and its mean width.
type Row = [[f64; 3]; ASKED_AT.len()];

fn canonical() -> Option<(ClusterSpec, Workload)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/traces/open/shockwave");
    if !folder.exists() {
        eprintln!("skipped: the traces are not beside the repository");
        return None;
    }
    let throughputs = Throughputs::open(&folder.join("tacc_throughputs.json.gz")).unwrap();
    let sides = Sides { throughputs: Some(Arc::new(throughputs)) };
    let cluster = ClusterSpec::parse("v100=32", Some(1), None).unwrap();
    let trace = folder.join("traces/canonical_120jobs_32gpus.trace.gz");
    let workload = open(&trace, &sides, &cluster).unwrap();
    Some((cluster, workload))
}

fn made_up(seed: u64) -> (ClusterSpec, Workload) {
    let cluster = ClusterSpec::parse("v100=64", None, None).unwrap();
    let table = ProfileTable {
        name: "shockwave-like".into(),
        jobs: Some(300),
        days: None,
        gpus: None,
        load: Some(1.0),
        seed: Some(seed),
    };
    let workload = table.generate(&cluster, 1).unwrap();
    (cluster, workload)
}

/// Seconds that a job takes alone from this much work on.
fn seconds_from(truth: &JobSpec, done: f64) -> f64 {
    let total = truth.work.unwrap().steps();
    let starts = truth.regimes.iter().map(|regime| regime.from.steps());
    let speeds = std::iter::once(1.0).chain(truth.regimes.iter().map(|regime| regime.speed.get()));
    let edges = std::iter::once(0.0).chain(starts.clone()).zip(starts.chain([total]));
    let part = |(speed, (from, end)): (f64, (f64, f64))| (end.min(total) - from.max(done)).max(0.0) / speed;
    speeds.zip(edges).map(part).sum::<f64>() / truth.speed(ModelIndex(0)).get()
}

/// Runs the work, and asks about every job whenever something happened.
fn ask((cluster, workload): (ClusterSpec, Workload), semantics: Semantics, predictor: &str) -> Vec<Life> {
    let round = Span::from_secs(if semantics == Semantics::Original { 120 } else { 60 });
    let setup = Setup {
        predictor: Some(Choice::named(predictor)),
        engine: EngineConfig { round, ..EngineConfig::default() },
        semantics,
        ..Setup::default()
    };
    let truths: BTreeMap<JobId, Arc<JobSpec>> =
        workload.jobs.iter().map(|job| (job.truth.id, job.truth.clone())).collect();
    let (models, nodes, work) = (cluster.models.clone(), &cluster.nodes, Arc::new(workload));
    let mut world: Box<dyn Backend> = match semantics {
        Semantics::Exact => {
            Box::new(World::new(models, nodes, work, Faults::default(), 1).with_progress_every(round))
        }
        Semantics::Original => Box::new(OriginalWorld::new(models, nodes, work, round)),
    };
    let mut header = setup.header(world.abilities(), "simulated");
    if semantics == Semantics::Original {
        header.engine.round = Span::ZERO;
    }
    let mut engine = engine_for(&header).unwrap();
    let mut lives: BTreeMap<JobId, Life> = BTreeMap::new();
    let mut holders: BTreeMap<LeaseId, JobId> = BTreeMap::new();
    let mut round_at = Time::ZERO;
    while let Some((now, event)) = world.next().unwrap() {
        if matches!(event, Event::RoundDue(_)) {
            round_at = now;
        }
        if let Event::LeaseEnded { lease, cause: EndCause::Finished { .. }, .. } = &event {
            let id = holders[lease];
            let life = lives.get_mut(&id).unwrap();
            life.worked_s = match semantics {
                Semantics::Exact => seconds_from(&truths[&id], 0.0),
                // The last run began with the round.
                Semantics::Original => life.worked_s + now.since(round_at).seconds(),
            };
        }
        for command in engine.step(now, &event).commands {
            if let evenhand_core::Command::Start(lease) = &command {
                holders.insert(lease.id, lease.job);
            }
            world.execute(now, &command).unwrap();
        }
        let snapshot = engine.snapshot();
        let at_boundary = matches!(event, Event::RoundDue(_));
        if semantics == Semantics::Exact || at_boundary {
            listen(&snapshot, semantics, &truths, &mut lives);
        }
    }
    lives.into_values().collect()
}

fn listen(
    snapshot: &Snapshot,
    semantics: Semantics,
    truths: &BTreeMap<JobId, Arc<JobSpec>>,
    lives: &mut BTreeMap<JobId, Life>,
) {
    for (index, job) in snapshot.jobs.iter() {
        let truth = &truths[&job.spec.id];
        let worked_s = match semantics {
            Semantics::Exact => {
                let done = snapshot.done(index, job).steps();
                seconds_from(truth, 0.0) - seconds_from(truth, done)
            }
            Semantics::Original => job.worked.unwrap_or_default().seconds(),
        };
        let life = lives.entry(job.spec.id).or_default();
        life.worked_s = worked_s;
        if life.words.last().is_none_or(|last| worked_s > last.0) {
            life.words.push((worked_s, snapshot.remaining_seconds(index, job, ModelIndex(0)).unwrap()));
        }
    }
}

fn row(lives: &[Life]) -> Row {
    ASKED_AT.map(|part| {
        let mut sums = [0.0; 3];
        let mut count = 0.0;
        for life in lives {
            let Some((worked_s, left)) = life.words.iter().find(|word| word.0 >= part * life.worked_s) else {
                continue;
            };
            let truth = life.worked_s - worked_s;
            let close = CLOSE * life.worked_s;
            sums[0] += (left.mean - truth).abs() / life.worked_s;
            sums[1] += f64::from(u8::from(left.low - close <= truth && truth <= left.high + close));
            sums[2] += (left.high - left.low) / life.worked_s;
            count += 1.0;
        }
        sums.map(|sum| sum / count)
    })
}

/// Asks everybody about the same work.
fn study(name: &str, semantics: Semantics, works: &[(ClusterSpec, Workload)]) -> [Row; ASKED.len()] {
    let rows = ASKED.map(|(_, predictor, declares)| {
        let lives = works.iter().flat_map(|(cluster, workload)| {
            let mut workload = workload.clone();
            if !declares {
                workload.withhold_modes();
            }
            ask((cluster.clone(), workload), semantics, predictor)
        });
        row(&lives.collect::<Vec<_>>())
    });
    println!("\n{name}: error / inside the 80 % interval / its width, at {ASKED_AT:?} of a job's life");
    for ((people, ..), row) in ASKED.iter().zip(&rows) {
        let cells = row.map(|[error, inside, width]| {
            format!("{:5.1} % / {:3.0} % / {:5.1} %", error * 100.0, inside * 100.0, width * 100.0)
        });
        println!("{people:34} {}", cells.join("   "));
    }
    rows
}

fn mean_error(row: &Row) -> f64 {
    row.iter().map(|cell| cell[0]).sum::<f64>() / row.len() as f64
}

fn mean_inside(row: &Row) -> f64 {
    row.iter().map(|cell| cell[1]).sum::<f64>() / row.len() as f64
}

#[test]
fn ours_is_nearer_to_the_truth_than_the_published_one_and_knows_how_near() {
    let made = study("made up, exact", Semantics::Exact, &[1, 2, 3].map(made_up));
    let canonical = canonical().map(|work| study("canonical, original rules", Semantics::Original, &[work]));
    check(&made);
    let Some(canonical) = canonical else { return };
    check(&canonical);
    if std::env::var_os("EVENHAND_UPDATE_GOLDEN").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/images/regime-calibration.svg");
        std::fs::write(path, picture(&made, &canonical)).unwrap();
    }
}

/// Seen: errors of 8.9, 10.5, 23.4 % (made up) and 3.6, 7.9, 4.7 % (canonical) for ours, the published one and "nothing
/// changes"; 80 and 72 % of the truths inside ours.
fn check(rows: &[Row; ASKED.len()]) {
    let [steady, published, ours, blind] = rows;
    assert!(mean_error(ours) < 0.95 * mean_error(published), "ours is {}", mean_error(ours));
    assert!(mean_error(ours) < 0.9 * mean_error(steady), "ours is {}", mean_error(ours));
    assert!(mean_error(blind) < 1.2 * mean_error(steady), "it is {}", mean_error(blind));
    assert!((0.65..0.95).contains(&mean_inside(ours)), "{} of the truths lie inside", mean_inside(ours));
    assert!(ours.windows(2).all(|pair| pair[1][2] < pair[0][2] + 0.05), "intervals narrow: {ours:?}");
}

const COLOURS: [&str; ASKED.len()] = ["#999999", "#d55e00", "#0072b2", "#56b4e9"];
const PANEL: (f64, f64) = (250.0, 190.0);

/// Errors of everybody over the life of a job, and how often truths lie inside our intervals.
fn picture(made: &[Row; ASKED.len()], canonical: &[Row; ASKED.len()]) -> String {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 300\" font-family=\"system-ui,sans-serif\" font-size=\"12\" role=\"img\" \
         aria-label=\"Errors of the time that is left, and calibration of 80 % intervals\">\n<rect width=\"960\" height=\"300\" fill=\"#fff\"/>\n",
    );
    let everybody: Vec<usize> = (0..ASKED.len()).collect();
    panel(
        &mut svg,
        50.0,
        ("Made-up work: mean error", 0.4),
        &everybody.iter().map(|at| (*at, 0, false, &made[*at])).collect::<Vec<_>>(),
    );
    panel(
        &mut svg,
        370.0,
        ("Canonical trace: mean error", 0.12),
        &everybody.iter().map(|at| (*at, 0, false, &canonical[*at])).collect::<Vec<_>>(),
    );
    let inside = [
        (2, 1, false, &made[2]),
        (3, 1, false, &made[3]),
        (2, 1, true, &canonical[2]),
        (3, 1, true, &canonical[3]),
    ];
    panel(&mut svg, 690.0, ("Truths inside the 80 % interval", 1.0), &inside);
    let y = 30.0 + PANEL.1 * 0.2;
    writeln!(
        svg,
        "<line x1=\"690\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#333\" stroke-dasharray=\"2 3\"/>",
        690.0 + PANEL.0
    )
    .unwrap();
    let mut x = 50.0;
    for ((name, ..), colour) in ASKED.iter().zip(COLOURS) {
        writeln!(svg, "<rect x=\"{x}\" y=\"268\" width=\"18\" height=\"4\" fill=\"{colour}\"/><text x=\"{}\" y=\"274\">{name}</text>", x + 24.0).unwrap();
        x += 60.0 + name.len() as f64 * 6.2;
    }
    writeln!(
        svg,
        "<text x=\"{}\" y=\"274\" text-anchor=\"end\">dashed: canonical</text>\n</svg>",
        690.0 + PANEL.0
    )
    .unwrap();
    svg
}

/// Which colour, which figure of a row, whether dashed, and the row.
type Line<'a> = (usize, usize, bool, &'a Row);

fn panel(svg: &mut String, left: f64, (title, most): (&str, f64), lines: &[Line<'_>]) {
    let (width, height) = PANEL;
    writeln!(svg, "<text x=\"{left}\" y=\"18\" font-weight=\"600\">{title}</text>").unwrap();
    for tick in 0..=4 {
        let y = 30.0 + height * (1.0 - f64::from(tick) / 4.0);
        let percent = most * f64::from(tick) * 25.0;
        writeln!(svg, "<line x1=\"{left}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#e4e4e4\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#555\">{percent:.0} %</text>", left + width, left - 6.0, y + 4.0).unwrap();
    }
    for part in ASKED_AT {
        writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">{:.0} %</text>",
            left + width * part,
            46.0 + height,
            part * 100.0
        )
        .unwrap();
    }
    writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555\">of a job's life</text>",
        left + width / 2.0,
        62.0 + height - 1.0
    )
    .unwrap();
    for (who, figure, dashed, row) in lines {
        let points: Vec<String> = ASKED_AT
            .iter()
            .zip(*row)
            .map(|(part, cell)| {
                format!("{:.1},{:.1}", left + width * part, 30.0 + height * (1.0 - cell[*figure] / most))
            })
            .collect();
        let dash = if *dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\"{dash} points=\"{}\"/>",
            COLOURS[*who],
            points.join(" ")
        )
        .unwrap();
    }
}

//! How fast windows of rounds are planned, and how close to the best: against an integer program and its relaxation, in the same run.

use crate::bench_args::BenchPlan;
use crate::clock::thread_cpu_s;
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::Random;
use evenhand_solve::generic::window_program;
use evenhand_solve::instances::window;
use evenhand_solve::{Window, plan_window};
use serde::Serialize;
use serde_json::json;
use std::hint::black_box;

/// Short things are done until they have taken this long, and divided.
const ENOUGH_S: f64 = 0.2;

const EVEN: &[u32] = &[1, 2, 4, 8];
const ODD: &[u32] = &[1, 2, 3, 5, 6, 7];
const LARGE: &[u32] = &[1, 4, 16, 32];

/// What to compare with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Twin {
    /// The integer program, by branch and bound.
    Whole,
    /// Its relaxation, by interior point.
    Relaxed,
    /// Nothing: it would take too long.
    None,
}

/// Items, rounds, GPUs, gangs.
const SIZES: [(usize, usize, u32, &[u32], Twin); 9] = [
    (6, 4, 8, &[1, 2, 3, 4, 8], Twin::Whole),
    (8, 5, 8, &[1, 2, 4], Twin::Whole),
    (100, 20, 32, &[1, 2, 4], Twin::Relaxed),
    (300, 20, 67, ODD, Twin::Relaxed),
    (900, 20, 256, EVEN, Twin::Relaxed),
    (900, 25, 131, ODD, Twin::None),
    (900, 30, 256, LARGE, Twin::None),
    (100, 20, 32, LARGE, Twin::None),
    (10_000, 20, 2_048, EVEN, Twin::None),
];

/// One window.
#[derive(Serialize)]
struct Line {
    items: usize,
    rounds: usize,
    gpus: u32,
    gangs: String,
    cpu_ms: f64,
    gap: f64,
    /// The integer program or its relaxation.
    generic: Option<&'static str>,
    generic_ms: Option<f64>,
    ratio: Option<f64>,
    /// How far the plan is below the value of the generic solver, as a part of what that gains over doing nothing.
    below: Option<f64>,
}

/// Measures and prints.
pub fn run(args: &BenchPlan) -> Result<()> {
    let mut lines = Vec::new();
    for (items, rounds, gpus, gangs, twin) in SIZES {
        output::note(&format!("planning {rounds} rounds of {gpus} GPUs for {items} jobs ..."));
        let window = window(items, rounds, gpus, gangs, &mut Random::stream(args.seed, "bench plan"));
        lines.push(measure(&window, gangs, twin)?);
    }
    if args.json {
        return output::say_json(&json!({ "seed": args.seed, "plans": lines }));
    }
    output::say(&table(&lines))
}

fn measure(window: &Window, gangs: &[u32], twin: Twin) -> Result<Line> {
    let plan = plan_window(window, 0)?;
    let (before, mut times) = (thread_cpu_s(), 0);
    while times == 0 || thread_cpu_s() - before < ENOUGH_S {
        black_box(plan_window(black_box(window), 0)?);
        times += 1;
    }
    let cpu_ms = (thread_cpu_s() - before) / f64::from(times) * 1e3;
    let gangs: Vec<String> = gangs.iter().map(ToString::to_string).collect();
    let mut line = Line {
        items: window.items.len(),
        rounds: window.rounds,
        gpus: window.capacity[0],
        gangs: gangs.join(" "),
        cpu_ms,
        gap: plan.gap(),
        generic: None,
        generic_ms: None,
        ratio: None,
        below: None,
    };
    if twin != Twin::None {
        let before = thread_cpu_s();
        let (program, whole) = window_program(window);
        let (name, solution) = match twin {
            Twin::Whole => ("integers", program.solve_whole(&whole)?),
            _ => ("relaxed", program.solve_interior_within(1e-8)?),
        };
        let generic_ms = (thread_cpu_s() - before) * 1e3;
        line.generic = Some(name);
        line.generic_ms = Some(generic_ms);
        line.ratio = Some(generic_ms / cpu_ms);
        line.below = Some((solution.value - plan.value) / (solution.value - plan.empty));
    }
    Ok(line)
}

/// For people.
fn table(lines: &[Line]) -> String {
    let titles = ["jobs", "rounds", "GPUs", "CPU ms", "gap", "CPU ms", "times\nfaster", "below"];
    let mut columns: Vec<(&str, Side)> = titles.map(|title| (title, Side::Right)).to_vec();
    columns.insert(3, ("gangs", Side::Left));
    columns.insert(6, ("generic\nprogram", Side::Left));
    let mut table = Table::new(columns);
    for line in lines {
        let optional =
            |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"));
        table.row([
            line.items.to_string(),
            line.rounds.to_string(),
            line.gpus.to_string(),
            line.gangs.clone(),
            format!("{:.2}", line.cpu_ms),
            format!("{:.0e}", line.gap),
            line.generic.unwrap_or("-").to_owned(),
            optional(line.generic_ms),
            optional(line.ratio),
            line.below.map_or_else(|| "-".to_owned(), |below| format!("{below:.0e}")),
        ]);
    }
    format!(
        "Who runs in which round of a window. The gap is what a plan may miss of what could be gained over doing nothing; below is what it misses of\n\
         the generic program, which for integers is the best plan and relaxed is out of reach of any.\n\n{}",
        table.render()
    )
}

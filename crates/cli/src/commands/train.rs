//! `evenhand train`: fits what `predict` says to profiles, and tells how good it is on what it has not seen.

use crate::failure::wrong;
use crate::output;
use crate::predict_args::Train;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::SharingMode;
use evenhand_train::study::{self, Memory, Score};
use evenhand_train::{Dataset, fit, foretold};
use serde_json::{Value, json};

/// Reads profiles, studies, fits and writes.
pub fn run(args: &Train) -> Result<()> {
    let place = args.profiles.display();
    let data = Dataset::read(&args.profiles, args.gpu).map_err(|error| wrong(&place, error.to_string()))?;
    if let Some(family) = args.leave_out.iter().find(|family| !data.families().contains(&family.as_str())) {
        let known = data.families().join(", ");
        return Err(wrong("--leave-out", format!("no family is called {family:?}; there are {known}")));
    }
    let kept = data.without(&args.leave_out);
    if kept.families().len() < 2 {
        return Err(wrong(&place, "at least two families are needed: one tells how good the other is"));
    }
    for (name, mode) in [("time-slicing", SharingMode::TimeSlicing), ("mps", SharingMode::Mps)] {
        if kept.pairs.iter().all(|pair| pair.mode != mode) {
            return Err(wrong(&place, format!("no pair under {name} is left to learn from")));
        }
    }
    if let Some(path) = &args.foretold {
        output::write_file(path, &foretold::table(&foretold::foretold(&data), args.gpu.name))?;
    }
    let data = kept;
    let model = fit::fit(&data, args.gpu.name);
    if let Some(path) = &args.out {
        output::write_file(path, &(serde_json::to_string(&model)? + "\n"))?;
    }
    let utilisation = study::utilisation(&data);
    let memory = study::memory(&data);
    let turns = study::slowdown(&data, SharingMode::TimeSlicing);
    let mps = study::slowdown(&data, SharingMode::Mps);
    if args.json {
        let told = json!({
            "profiles": data.profiles.len(),
            "pairs": data.pairs.len(),
            "utilisation_rmsle": scores(&utilisation),
            "memory": memory.iter().map(as_json).collect::<Value>(),
            "speed_mae": { "time-slicing": scores(&turns), "mps": scores(&mps) },
        });
        return output::say_json(&told);
    }
    let families = data.families().len();
    output::say(&format!(
        "{} configurations of {families} families, {} pairs (digest {})\n\n{}\n\n{}\n\n{}\n\n{}",
        data.profiles.len(),
        data.pairs.len(),
        data.digest,
        table("utilisation, root mean squared logarithmic error", &utilisation),
        memories(&memory),
        table("speed beside another by turns, mean absolute error", &turns),
        table("speed beside another under MPS, mean absolute error", &mps),
    ))
}

fn scores(scores: &[Score]) -> Value {
    let told = |score: &Score| {
        (score.name.to_owned(), json!({ "by_lot": score.by_lot, "by_family": score.by_family }))
    };
    scores.iter().map(told).collect()
}

fn as_json(memory: &Memory) -> Value {
    json!({ "name": memory.name, "rmsle": memory.rmsle, "covered": memory.covered, "bound_over_truth": memory.bound_over_truth })
}

fn table(title: &str, scores: &[Score]) -> String {
    let mut table =
        Table::new([(title, Side::Left), ("by lot", Side::Right), ("family left out", Side::Right)]);
    for score in scores {
        table.row([score.name.to_owned(), format!("{:.3}", score.by_lot), format!("{:.3}", score.by_family)]);
    }
    table.render()
}

fn memories(all: &[Memory]) -> String {
    let titles = ["memory, families left out", "error (ln)", "covered by the bound", "bound over truth"];
    let mut table = Table::new(
        titles
            .into_iter()
            .enumerate()
            .map(|(at, title)| (title, if at == 0 { Side::Left } else { Side::Right })),
    );
    for memory in all {
        let bound =
            |value: Option<f64>, text: &dyn Fn(f64) -> String| value.map_or_else(|| "-".to_owned(), text);
        table.row([
            memory.name.to_owned(),
            format!("{:.3}", memory.rmsle),
            bound(memory.covered, &|part| format!("{:.1} %", 100.0 * part)),
            bound(memory.bound_over_truth, &|ratio| format!("{ratio:.2}")),
        ]);
    }
    table.render()
}

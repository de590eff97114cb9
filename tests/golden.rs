//! Golden runs: small scenarios, their ledgers and their figures as text in the repository.
//!
//! `./test --update-golden` writes what this test compares, the reference pages made from the registries included.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{LedgerWriter, Record};
use evenhand_engine::run;
use evenhand_policies::POLICIES;
use evenhand_policies::placement::PLACERS;
use evenhand_predict::PREDICTORS;
use evenhand_report::{Costs, METRICS, Report};
use evenhand_sim::traces::{COLUMNS, TRACES};
use evenhand_sim::tuners::TUNERS;
use evenhand_sim::{Scenario, Setup, World, engine_for};
use evenhand_tests::replay_interrupted;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares with the file, or writes it.
fn golden(path: &str, found: &str) {
    let path = root().join(path);
    if std::env::var_os("EVENHAND_UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected != found {
        let line = expected
            .lines()
            .zip(found.lines())
            .position(|(a, b)| a != b)
            .unwrap_or(expected.lines().count().min(found.lines().count()));
        panic!(
            "{} differs first at line {}:\n  in the file: {}\n  now:         {}\n./test --update-golden rewrites it",
            path.display(),
            line + 1,
            expected.lines().nth(line).unwrap_or("(nothing)"),
            found.lines().nth(line).unwrap_or("(nothing)"),
        );
    }
}

/// Runs a scenario under one of its setups: the ledger, and the figures without what they cost.
fn play(scenario: &Scenario, setup: &Setup) -> (Vec<u8>, String) {
    let cluster = scenario.cluster().unwrap();
    let workload = Arc::new(scenario.workload(&cluster, setup.seed).unwrap());
    let mut world = World::new(cluster.models, &cluster.nodes, workload, setup.faults.clone(), setup.seed);
    let header = setup.header(evenhand_core::Backend::abilities(&world), "simulated");
    let mut ledger = LedgerWriter::new(Vec::new(), &header).unwrap();
    let mut report = Report::new(&header);
    run(&mut engine_for(&header).unwrap(), &mut world, &mut |record: &Record| {
        report.take(record);
        ledger.write(record)
    })
    .unwrap();
    let figures = serde_json::to_string_pretty(&report.summary(&Costs::default())).unwrap();
    (ledger.finish().unwrap(), figures)
}

fn name_of(setup: &Setup) -> String {
    let set = setup.policy.parameters.0.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    std::iter::once(setup.policy.name.as_str()).chain(set).collect::<Vec<_>>().join("-")
}

#[test]
fn small_runs_are_as_they_were() {
    for scenario_name in ["twenty", "faults", "auction"] {
        let scenario = Scenario::read(&root().join(format!("scenarios/{scenario_name}.toml"))).unwrap();
        for setup in scenario.setups().unwrap() {
            let (ledger, figures) = play(&scenario, &setup);
            let base = format!("tests/golden/{scenario_name}/{}", name_of(&setup));
            golden(&format!("{base}.json"), &(figures + "\n"));
            golden(&format!("{base}.jsonl"), std::str::from_utf8(&ledger).unwrap());
            replay_interrupted(&ledger, 1);
        }
    }
}

#[test]
fn the_reference_of_policies_is_as_registered() {
    let mut page =
        String::from("# Policies\n\nMade from the registry by `./test --update-golden`; do not edit.\n");
    for entry in POLICIES {
        writeln!(page, "\n## `{}`\n\n{}\n\n- From: {}", entry.name, entry.summary, entry.paper).unwrap();
        let promises: Vec<_> = entry.promises.iter().map(|promise| promise.name()).collect();
        writeln!(
            page,
            "- Promises: {}",
            if promises.is_empty() { "nothing".into() } else { promises.join(", ") }
        )
        .unwrap();
        for parameter in entry.parameters {
            writeln!(
                page,
                "- `--set {}={}` (default): {}",
                parameter.name, parameter.default, parameter.summary
            )
            .unwrap();
        }
    }
    page.push_str("\n# Placers\n\n");
    for entry in PLACERS {
        writeln!(page, "- `{}`: {}", entry.name, entry.summary).unwrap();
    }
    page.push_str("\n# Predictors\n\n");
    for entry in PREDICTORS {
        writeln!(page, "- `{}`: {}", entry.name, entry.summary).unwrap();
    }
    golden("docs/reference/policies.md", &page);
}

#[test]
fn the_reference_of_metrics_is_as_registered() {
    let mut page = String::from(
        "# Metrics\n\nMade from the registry by `./test --update-golden`; do not edit. All are folds over the ledger.\n\n",
    );
    for entry in METRICS {
        let names: Vec<_> =
            entry.build().readings().iter().map(|reading| format!("`{}`", reading.name)).collect();
        writeln!(page, "- **{}** ({}): {}", entry.name, names.join(", "), entry.summary).unwrap();
    }
    golden("docs/reference/metrics.md", &page);
}

#[test]
fn the_reference_of_traces_is_as_registered() {
    let mut page =
        String::from("# Traces\n\nMade from the registry by `./test --update-golden`; do not edit.\n\n");
    for entry in TRACES {
        writeln!(page, "- `{}`: {}", entry.name, entry.summary).unwrap();
    }
    page.push_str("\n## Columns of the native trace\n\nA CSV file with a header line; lines that begin with `#` are remarks.\n\n| column | needed | meaning |\n|---|---|---|\n");
    for (column, needed, meaning) in COLUMNS {
        writeln!(
            page,
            "| `{column}` | {} | {} |",
            if *needed { "yes" } else { "" },
            meaning.replace('|', "\\|")
        )
        .unwrap();
    }
    golden("docs/reference/traces.md", &page);
}

#[test]
fn the_reference_of_tuners_is_as_registered() {
    let mut page = String::from(
        "# Tuners\n\nMade from the registry by `./test --update-golden`; do not edit. A tuner watches over the jobs of a simulated app.\n",
    );
    for entry in TUNERS {
        writeln!(page, "\n## `{}`\n\n{}\n\n- From: {}", entry.name, entry.summary, entry.paper).unwrap();
        for parameter in entry.parameters {
            writeln!(page, "- `{}={}` (default): {}", parameter.name, parameter.default, parameter.summary)
                .unwrap();
        }
    }
    golden("docs/reference/tuners.md", &page);
}

//! The board for Grafana asks for nothing that there is not.

use crate::server;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Every expression of a board.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str().filter(|_| ["expr", "query", "definition"].contains(&name.as_str())) {
                    Some(text) => found.push(text.to_owned()),
                    None => expressions(field, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

#[test]
fn every_metric_and_label_of_the_board_is_one_that_the_service_has() {
    let server = server("grafana", &[]);
    server.submit(&server.admin, &json!({"tenant": "vision"}));
    let metrics = server.get("/v1/metrics", &server.admin).body;
    let known = |line: &str| line.split(['{', ' ']).next().map(str::to_owned);
    let names: BTreeSet<String> =
        metrics.lines().filter(|line| !line.starts_with('#')).filter_map(known).collect();
    let board = include_str!("../../../../deploy/grafana/evenhand.json");
    let board: Value = serde_json::from_str(board).unwrap();
    let mut found = Vec::new();
    expressions(&board, &mut found);
    let mut used = BTreeSet::new();
    for expression in &found {
        for part in expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
            if part.starts_with("evenhand_") {
                assert!(names.contains(part), "{part} in `{expression}` is not in /v1/metrics");
                used.insert(part.to_owned());
            }
        }
        // Labels by which sums are told apart or chosen.
        for label in expression
            .split("by (")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .flat_map(|list| list.split(','))
        {
            assert!(metrics.contains(&format!("{}=\"", label.trim())), "{label} in `{expression}`");
        }
    }
    assert!(used.len() >= 10, "{used:?}");
}

//! Promises, findings and costs of several runs: a row per run.

use super::audit::{NOTHING, difference, mark};
use super::parts::{Field, table};
use super::text::{amount, escape, percent};
use crate::{Audit, Audited, Summary};

/// Properties that have a column, and what its head says.
const COLUMNS: [(&str, &str); 5] = [
    ("envy_free", "worst envy"),
    ("sharing_incentive", "sharing incentive, worst loss"),
    ("equal_throughput", "equal throughput, spread"),
    ("pareto", "Pareto, possible gain"),
    ("all_used", "idle, worst model"),
];

/// The comparison of runs with these names.
pub fn audits(runs: &[(&str, &Summary)]) -> String {
    let Some(first) = runs.iter().find_map(|(_, run)| run.audit.as_ref()) else { return NOTHING.to_owned() };
    let head: Vec<&str> = ["policy", "total throughput", "against an equal split", "price of fairness"]
        .into_iter()
        .chain(COLUMNS.iter().map(|(_, head)| *head))
        .collect();
    let rows: Vec<Vec<Field>> = runs.iter().map(|(name, run)| row(name, run.audit.as_ref())).collect();
    let reading = format!(
        "{} Throughputs are in GPUs of model {}, averages over the time in which somebody had work. The price of fairness is \
         the part of the most that was possible, caring for nobody, that was not reached; whole GPUs and gangs have their \
         part in it.",
        difference(),
        first.reference,
    );
    format!(
        r#"<p class="soft">{}</p><div class="gap">{}</div>"#,
        escape(&reading),
        table("compare", &head, &rows)
    )
}

fn row(name: &str, audit: Option<&Audit>) -> Vec<Field> {
    let mut fields = vec![Field::new(name.to_owned())];
    let total = |read: fn(&Audit) -> f64| audit.map_or(f64::NAN, read);
    fields.push(Field::new(amount(total(|audit| audit.total.received))));
    fields.push(Field::new(signed(total(|audit| audit.total.gain_over_equal_split))));
    fields.push(Field::new(percent(total(|audit| audit.total.price_of_fairness))));
    let found =
        |(name, _): &(&str, &str)| audit.and_then(|audit| audit.property(name)).map_or_else(nothing, cell);
    fields.extend(COLUMNS.iter().map(found));
    fields
}

fn nothing() -> Field {
    Field::new(percent(f64::NAN))
}

fn cell(property: &Audited) -> Field {
    let remark = match (property.promised, property.held) {
        (_, None) => "not checked",
        (Some(true), Some(true)) => "promised, held",
        (Some(true), Some(false)) => "promised, not held here",
        (_, Some(true)) => "held",
        (_, Some(false)) => "",
    };
    mark(Field::new(percent(property.violation)), property).remarking(remark)
}

/// A gain with its sign: `+3.1 %`.
fn signed(fraction: f64) -> String {
    let sign = if fraction >= 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(fraction))
}

//! Promises, findings and costs of several runs: a row per policy and parameters, means over seeds.

use super::audit::{NOTHING, difference, mark};
use super::parts::{Field, table};
use super::row::Row;
use super::text::{amount, escape, percent};
use crate::average::Average;
use crate::{Audit, Audited};

/// Properties that have a column, and what its head says.
const COLUMNS: [(&str, &str); 5] = [
    ("envy_free", "worst envy"),
    ("sharing_incentive", "sharing incentive, worst loss"),
    ("equal_throughput", "equal throughput, spread"),
    ("pareto", "Pareto, possible gain"),
    ("all_used", "idle, worst model"),
];

/// The comparison of these rows.
pub fn audits(rows: &[Row<'_>]) -> String {
    let first = rows.iter().flat_map(|row| &row.runs).find_map(|run| run.audit.as_ref());
    let Some(first) = first else { return NOTHING.to_owned() };
    let head: Vec<&str> = ["policy", "total throughput", "against an equal split", "price of fairness"]
        .into_iter()
        .chain(COLUMNS.iter().map(|(_, head)| *head))
        .collect();
    let rows: Vec<Vec<Field>> = rows.iter().map(fields).collect();
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

fn fields(row: &Row<'_>) -> Vec<Field> {
    let audits: Vec<&Audit> = row.runs.iter().filter_map(|run| run.audit.as_ref()).collect();
    let total = |read: fn(&Audit) -> f64, text: fn(f64) -> String| {
        let average = Average::of(audits.iter().map(|audit| read(audit)));
        Field::new(text(average.mean)).remarking(spread(average, text))
    };
    let found = |(name, _): &(&str, &str)| {
        let found: Vec<&Audited> = audits.iter().filter_map(|audit| audit.property(name)).collect();
        cell(&found)
    };
    let mut fields = vec![
        Field::new(row.name.clone()),
        total(|audit| audit.total.received, amount),
        total(|audit| audit.total.gain_over_equal_split, signed),
        total(|audit| audit.total.price_of_fairness, percent),
    ];
    fields.extend(COLUMNS.iter().map(found));
    fields
}

/// Half the interval of an average; nothing if it has none.
fn spread(average: Average, text: fn(f64) -> String) -> String {
    if average.half.is_finite() {
        format!("± {}", text(average.half).trim_start_matches('+'))
    } else {
        String::new()
    }
}

/// One property, in each of the seeds in which it was looked at.
fn cell(found: &[&Audited]) -> Field {
    let Some(worst) = found.iter().max_by(|a, b| a.violation.total_cmp(&b.violation)) else {
        return Field::new(percent(f64::NAN));
    };
    let average = Average::of(found.iter().map(|property| property.violation));
    let held = found.iter().filter(|property| property.held == Some(true)).count();
    let mixed = (1..found.len()).contains(&held);
    let verdict = match (worst.promised, worst.held) {
        _ if mixed => format!("held in {held} of {}", found.len()),
        (_, None) => "not checked".into(),
        (Some(true), Some(true)) => "promised, held".into(),
        (Some(true), Some(false)) => "promised, not held here".into(),
        (_, Some(true)) => "held".into(),
        (_, Some(false)) => String::new(),
    };
    let words = [spread(average, percent), verdict].into_iter().filter(|word| !word.is_empty());
    let remark = words.collect::<Vec<_>>().join("; ");
    mark(Field::new(percent(average.mean)), worst).remarking(remark)
}

/// A gain with its sign: `+3.1 %`.
fn signed(fraction: f64) -> String {
    let sign = if fraction >= 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(fraction))
}

//! The table that compares several runs: a row per policy and parameters, means over seeds, the best of each column marked.

use super::parts::{Field, table};
use super::row::Row;
use super::text::{TimeUnit, amount, count, percent};
use crate::Summary;
use crate::average::Average;
use evenhand_core::Better;

/// One column: its head, where its number is, how it is written, which direction is good.
struct Column {
    head: &'static str,
    value: fn(&Summary) -> f64,
    form: Form,
    better: Better,
}

/// How a number is written.
#[derive(Clone, Copy)]
enum Form {
    Whole,
    Amount,
    Percent,
    Duration,
}

const fn column(head: &'static str, value: fn(&Summary) -> f64, form: Form, better: Better) -> Column {
    Column { head, value, form, better }
}

const COLUMNS: &[Column] = &[
    column("jobs finished", |run| run.finished as f64, Form::Whole, Better::Up),
    column("mean completion", |run| run.jct_mean_s, Form::Duration, Better::Down),
    column("95 % done within", |run| run.jct_p95_s, Form::Duration, Better::Down),
    column("mean wait", |run| run.wait_mean_s, Form::Duration, Better::Down),
    column("makespan", |run| run.makespan_s, Form::Duration, Better::Down),
    column("worst ratio, fluid", |run| run.ftf_fluid_worst, Form::Amount, Better::Down),
    column("unfair, fluid", |run| run.unfair_fluid_fraction, Form::Percent, Better::Down),
    column("worst ratio, static", |run| run.ftf_worst, Form::Amount, Better::Down),
    column("unfair, static", |run| run.unfair_fraction, Form::Percent, Better::Down),
    column("worst ratio, dynamic", |run| run.ftf_dynamic_worst, Form::Amount, Better::Down),
    column("unfair, dynamic", |run| run.unfair_dynamic_fraction, Form::Percent, Better::Down),
    column("Jain's index", |run| run.jain, Form::Amount, Better::Up),
    column("utilisation", |run| run.utilisation, Form::Percent, Better::Up),
    column("preemptions", |run| run.preemptions as f64, Form::Whole, Better::Down),
    column("GPU-hours lost", |run| run.lost_gpu_hours, Form::Amount, Better::Down),
    column("leases kept", |run| run.lease_kept_fraction, Form::Percent, Better::Up),
    column("ms to decide, median", |run| run.decide_ms_p50, Form::Amount, Better::Down),
];

/// Columns about apps, shown where there are any but those of one job.
const APP_COLUMNS: &[Column] = &[
    column("apps ended", |run| run.apps as f64, Form::Whole, Better::Neutral),
    column("mean completion of apps", |run| run.app_jct_mean_s, Form::Duration, Better::Down),
    column("worst app, as printed", |run| run.app_rho_worst, Form::Amount, Better::Down),
    column("mean app, as printed", |run| run.app_rho_mean, Form::Amount, Better::Down),
    column("unfair apps, as printed", |run| run.app_unfair_fraction, Form::Percent, Better::Down),
    column("worst app, private part", |run| run.app_rho_share_worst, Form::Amount, Better::Down),
    column("unfair apps, private part", |run| run.app_unfair_share_fraction, Form::Percent, Better::Down),
    column("Jain's index of apps", |run| run.app_jain, Form::Amount, Better::Up),
];

/// The comparison of these rows.
pub fn comparison(rows: &[Row<'_>]) -> String {
    let apps = rows.iter().flat_map(|row| &row.runs).any(|run| run.has_apps);
    let shown = if apps { APP_COLUMNS } else { &[] }.iter().chain(COLUMNS);
    let columns: Vec<(&Column, Vec<Average>)> = shown
        .map(|column| (column, rows.iter().map(|row| row.average(column.value)).collect()))
        // A column that nobody measured says nothing.
        .filter(|(_, values): &(_, Vec<Average>)| values.iter().any(|value| value.mean.is_finite()))
        .collect();
    let best: Vec<Option<String>> = columns.iter().map(|(column, values)| column.best(values)).collect();
    let head: Vec<&str> =
        std::iter::once("policy").chain(columns.iter().map(|(column, _)| column.head)).collect();
    let row = |(at, row): (usize, &Row<'_>)| {
        let fields = columns.iter().zip(&best).map(|((column, values), best)| {
            let text = column.text(values[at].mean, values);
            let is_best = best.as_ref() == Some(&text);
            let half = values[at].half;
            let spread =
                if half.is_finite() { format!("± {}", column.text(half, values)) } else { String::new() };
            Field::best(text, is_best).remarking(spread)
        });
        std::iter::once(Field::new(row.name.clone())).chain(fields).collect()
    };
    table("compare", &head, &rows.iter().enumerate().map(row).collect::<Vec<_>>())
}

impl Column {
    /// A number of this column; durations all in the unit of the longest, or a column would not compare at a glance.
    fn text(&self, value: f64, values: &[Average]) -> String {
        match self.form {
            Form::Whole if value.fract().abs() < 1e-9 => count(value as u64),
            Form::Whole | Form::Amount => amount(value),
            Form::Percent => percent(value),
            Form::Duration => {
                let longest = values.iter().map(|value| value.mean).fold(0.0, f64::max);
                TimeUnit::of(longest).write(value)
            }
        }
    }

    /// The best mean as it is written, so that values which read the same are marked alike; none if all read the same.
    fn best(&self, values: &[Average]) -> Option<String> {
        let means = || values.iter().map(|value| value.mean).filter(|mean| mean.is_finite());
        let best = match self.better {
            Better::Up => means().max_by(f64::total_cmp),
            Better::Down => means().min_by(f64::total_cmp),
            Better::Neutral => None,
        }?;
        let text = self.text(best, values);
        means().any(|mean| self.text(mean, values) != text).then_some(text)
    }
}

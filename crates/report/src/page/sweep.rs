//! Sweeps: the main figures of a policy against a parameter in which its runs differ, a line for each value of another.

use super::axis::Axis;
use super::parts::{figure, lines_legend};
use super::plot::{Pen, Plot};
use super::row::Row;
use super::text::escape;
use crate::Summary;
use crate::average::Average;
use crate::swept::{Parameter, swept};

/// A figure that is drawn: its title, where its number is, what its axis says and in which unit.
struct Figure {
    title: &'static str,
    value: fn(&Summary) -> f64,
    label: &'static str,
    unit: Unit,
}

#[derive(Clone, Copy)]
enum Unit {
    Plain,
    Time,
    Percent,
}

const fn drawn(title: &'static str, value: fn(&Summary) -> f64, label: &'static str, unit: Unit) -> Figure {
    Figure { title, value, label, unit }
}

const APPS: [Figure; 4] = [
    drawn("Worst rho of apps", |run| run.app_rho_worst, "worst rho, as printed", Unit::Plain),
    drawn("The same, private part", |run| run.app_rho_share_worst, "worst rho, private part", Unit::Plain),
    drawn("Preemptions", |run| run.preemptions as f64, "preemptions", Unit::Plain),
    drawn("Mean completion of apps", |run| run.app_jct_mean_s, "mean completion", Unit::Time),
];

const JOBS: [Figure; 2] = [
    drawn("Worst fairness ratio of jobs", |run| run.ftf_fluid_worst, "worst ratio, fluid", Unit::Plain),
    drawn("Mean completion of jobs", |run| run.jct_mean_s, "mean completion", Unit::Time),
];

const MACHINES: [Figure; 2] = [
    drawn("GPU-time used", |run| run.gpu_hours, "GPU-hours leased", Unit::Plain),
    drawn("Utilisation", |run| run.utilisation, "utilisation (%)", Unit::Percent),
];

/// The section on sweeps; empty if no policy has one.
pub fn section(rows: &[Row<'_>]) -> String {
    let mut policies: Vec<&str> = Vec::new();
    for policy in rows.iter().map(|row| row.runs[0].policy.as_str()) {
        if !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    let sweeps: String = policies.into_iter().map(|policy| sweep(policy, rows)).collect();
    if sweeps.is_empty() { sweeps } else { format!("<h2>Sweep</h2>{sweeps}") }
}

/// A line of a plot: what it is called, its place among the others, and its points.
struct Curve {
    name: String,
    place: f64,
    points: Vec<Point>,
}

/// The value of the first parameter, and a figure there.
type Point = (f64, Average);

fn sweep(policy: &str, rows: &[Row<'_>]) -> String {
    let rows: Vec<&Row<'_>> = rows.iter().filter(|row| row.runs[0].policy == policy).collect();
    let runs: Vec<&Summary> = rows.iter().map(|row| row.runs[0]).collect();
    let Some(parameters) = swept(&runs.iter().map(|run| &run.parameters).collect::<Vec<_>>()) else {
        return String::new();
    };
    let about: &[Figure] = if runs.iter().any(|run| run.has_apps) { &APPS } else { &JOBS };
    let figures = about.iter().chain(&MACHINES).map(|figure| {
        let along = &parameters[0];
        plot(figure, along, &curves(figure, &parameters, &rows))
    });
    let whiskers = if rows.iter().any(|row| row.runs.len() > 1) {
        " Dots are means over seeds, whiskers their 95 % intervals."
    } else {
        ""
    };
    let reading = format!("The main figures against {}.{whiskers}", parameters[0].name);
    format!(
        r#"<h3>{}</h3><p class="soft">{}</p><div class="plots small gap">{}</div>"#,
        escape(policy),
        escape(&reading),
        figures.collect::<String>(),
    )
}

/// A curve for each value of the second parameter, in order.
fn curves(figure: &Figure, parameters: &[Parameter], rows: &[&Row<'_>]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for row in rows {
        let values = parameters.iter().map(|parameter| parameter.value(&row.runs[0].parameters));
        // A run at the defaults lies on no curve: nobody here knows what these are.
        let Some(values) = values.collect::<Option<Vec<_>>>() else { continue };
        let (place, text) = values.get(1).copied().unwrap_or_default();
        let name = parameters.get(1).map_or_else(String::new, |other| format!("{}={text}", other.name));
        let average = row.average(|run| figure.scaled(run));
        if !average.mean.is_finite() {
            continue;
        }
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push((values[0].0, average)),
            None => curves.push(Curve { name, place, points: vec![(values[0].0, average)] }),
        }
    }
    curves.sort_by(|a, b| a.place.total_cmp(&b.place));
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

/// The ends of an axis that holds stretches of numbers, with some room.
fn range(stretches: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (low, high) =
        stretches.fold((f64::INFINITY, 0.0_f64), |ends, one| (ends.0.min(one.0), ends.1.max(one.1)));
    let room = (high - low).max(high * 0.02) * 0.08;
    ((low - room).max(0.0), high + room)
}

fn plot(drawn: &Figure, along: &Parameter, curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    if curves.is_empty() {
        return String::new();
    }
    let (left, right) = range(points().map(|(x, _)| (*x, *x)));
    let (low, high) = range(points().map(|(_, average)| (average.low(), average.high())));
    let x = if along.is_time {
        Axis::time(&along.name, left, right, 5)
    } else {
        Axis::even(&along.name, left, right, 5)
    };
    let y = match drawn.unit {
        Unit::Time => Axis::time(drawn.label, low, high, 5),
        Unit::Plain | Unit::Percent => Axis::even(drawn.label, low, high, 5),
    };
    let mut plot = Plot::small(x, y);
    for (at, curve) in curves.iter().enumerate() {
        let means: Vec<(f64, f64)> = curve.points.iter().map(|(x, average)| (*x, average.mean)).collect();
        plot.line(&means, Pen::number(at), &curve.name);
        for (x, average) in &curve.points {
            plot.whisker(*x, *average, Pen::number(at));
        }
    }
    let names = curves.iter().map(|curve| curve.name.as_str());
    let legend = if curves.len() > 1 { lines_legend(names) } else { String::new() };
    figure(drawn.title, "", &(plot.draw(drawn.title) + &legend))
}

impl Figure {
    fn scaled(&self, run: &Summary) -> f64 {
        let value = (self.value)(run);
        if matches!(self.unit, Unit::Percent) { value * 100.0 } else { value }
    }
}

//! Curves over time: GPUs leased, jobs waiting, and what each tenant received against what it was owed.

use super::axis::Axis;
use super::parts::figure;
use super::plot::Plot;
use super::tenant_colours::TenantColours;
use super::text::{amount, escape};
use crate::report::Report;
use crate::series::{Step, thin};

pub const TIME: &str = "time since the first submission";

/// More steps than this cannot be told apart in a plot half a page wide.
pub const STEPS_MAX: usize = 260;

/// Tenants with a plot of their own.
const TENANTS_MAX: usize = 6;

/// The axis of a run from its first submission on.
pub fn time_axis(report: &Report, length_s: f64, ticks: usize) -> Axis {
    let Some(clock) = report.clock else { return Axis::time(TIME, 0.0, length_s, ticks) };
    let opening_ms = report.book.opening.unwrap_or_default().0 + clock.epoch_ms;
    Axis::clock(0.0, length_s, opening_ms as f64 / 1e3 + f64::from(clock.offset_s), ticks)
}

pub fn length_s(steps: &[Step]) -> f64 {
    steps.last().map_or(1.0, |step| step.to_s)
}

/// The highest step, but never less than one: an axis without room says nothing.
fn highest(steps: &[Step]) -> f64 {
    steps.iter().map(|step| step.mean).fold(1.0, f64::max)
}

/// GPUs leased against GPUs up.
pub fn leased(report: &Report) -> String {
    let (leased, capacity) =
        (thin(&report.timeline.leased(), STEPS_MAX), thin(&report.timeline.capacity(), STEPS_MAX));
    let high = highest(&leased).max(highest(&capacity));
    let mut plot = Plot::new(time_axis(report, length_s(&leased), 6), Axis::from_zero("GPUs", high, 4));
    plot.area(&leased, "c0", "GPUs leased");
    plot.steps(&capacity, "ink dashed", "GPUs up");
    let title = "GPUs in use over time";
    let reading =
        "Filled: GPUs held by leases. Dashed: GPUs of nodes that are up. The gap between them is idle.";
    figure(title, reading, &plot.draw(title))
}

/// Jobs without GPUs.
pub fn waiting(report: &Report) -> String {
    let steps = thin(&report.timeline.waiting(), STEPS_MAX);
    let mut plot = Plot::new(
        time_axis(report, length_s(&steps), 6),
        Axis::from_zero("jobs waiting", highest(&steps), 4),
    );
    plot.area(&steps, "c1", "jobs waiting");
    plot.steps(&steps, "c1", "jobs waiting");
    let title = "Jobs waiting over time";
    figure(
        title,
        "Jobs that were submitted, have not ended and hold no GPUs at that moment.",
        &plot.draw(title),
    )
}

/// Received against owed, a small plot for each of the largest tenants.
pub fn shares(report: &Report, colours: &TenantColours) -> String {
    shares_of(report, colours, &colours.named[..colours.named.len().min(TENANTS_MAX)])
}

/// The same for some tenants.
pub fn shares_of(report: &Report, colours: &TenantColours, tenants: &[usize]) -> String {
    let rows = report.book.standings.rows();
    let curve = |at: &usize| {
        let thin = |steps: &[Step]| thin(steps, STEPS_MAX / 2);
        (*at, thin(&report.shares.owed(*at)), thin(&report.shares.received(*at)))
    };
    let curves: Vec<(usize, Vec<Step>, Vec<Step>)> = tenants.iter().map(curve).collect();
    // One scale for all, or the eye compares what cannot be compared.
    let high =
        curves.iter().map(|(_, owed, received)| highest(owed).max(highest(received))).fold(0.0, f64::max);
    let figures = curves.iter().map(|(at, owed, received)| {
        let mut plot = Plot::small(time_axis(report, length_s(owed), 4), Axis::from_zero("GPUs", high, 3));
        plot.area(received, &colours.class(*at), "received");
        plot.steps(owed, "ink dashed", "owed");
        let total = report.shares.total(*at);
        let (received, owed) = (amount(total.received_gpu_hours), amount(total.owed_gpu_hours));
        let reading = format!("received {received} GPU-h, owed {owed} GPU-h");
        let name = escape(&rows[*at].name);
        figure(&rows[*at].name, &reading, &plot.draw(&format!("GPUs of {name} over time")))
    });
    format!(r#"<div class="plots small">{}</div>"#, figures.collect::<String>())
}

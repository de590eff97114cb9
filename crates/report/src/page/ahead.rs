//! Windows planned ahead: how good, how right, what a GPU was worth, and the largest of them.

use super::axis::Axis;
use super::curves::{STEPS_MAX, TIME, length_s};
use super::distributions::{self, Sample};
use super::parts::{card, figure, lines_legend};
use super::plot::{Pen, Plot};
use super::sheet::Sheet;
use super::tenant_colours::TenantColours;
use super::text::{count, duration, percent};
use crate::Report;
use crate::ahead::{Foresight, MARKS, Plans};
use crate::series::{Step, thin};
use evenhand_core::{Foreseen, ModelIndex, Quality, TenantId};

/// Jobs of a window that have a row; the rest are counted.
const ROWS_MAX: usize = 40;

/// Dots of a plot; of more jobs every second, third, ... is drawn.
const DOTS_MAX: usize = 800;

/// The windows of a run; nothing if there were none.
pub fn plans(report: &Report, colours: &TenantColours) -> String {
    let plans = &report.plans;
    if plans.count == 0 {
        return String::new();
    }
    format!(
        r#"<h2>The plan ahead</h2><div class="cards">{}</div><div class="plots gap">{}{}{}</div>{}"#,
        cards(plans),
        predicted(&plans.foresights),
        spread(&plans.foresights),
        worth(report),
        window(report, colours),
    )
}

fn cards(plans: &Plans) -> String {
    let bounded = if plans.bounded == 0 {
        "No window could have been planned better.".to_owned()
    } else {
        format!(
            "In {} windows a better plan may exist, by so much of what can be gained.",
            count(plans.bounded)
        )
    };
    let (mean, high) = plans.first_errors();
    [
        card("Windows planned", &count(plans.count), "When jobs came, went or changed, and after some rounds."),
        card("Largest proven gap", &percent(plans.gap_worst), &bounded),
        card(
            "Off by, on average",
            &percent(mean),
            "Of its life, when a job was first planned for: between the finish foreseen and the finish that came.",
        ),
        card("Off by, 9 of 10 jobs", &percent(high), "Nine in ten jobs were foreseen at least as well as this."),
    ]
    .concat()
}

/// A dot for each job: how long it took, and how long it was thought to take.
fn predicted(jobs: &[Foresight]) -> String {
    let every = jobs.len().div_ceil(DOTS_MAX).max(1);
    let seen = || jobs.iter().filter(|job| job.first > 0.0 && job.life_s > 0.0).step_by(every);
    let both = || seen().flat_map(|job| [job.life_s, job.life_s * job.first]);
    let (low, high) = (both().fold(f64::INFINITY, f64::min), both().fold(0.0, f64::max));
    if high <= 0.0 {
        return String::new();
    }
    let axis = |label: &str| Axis::durations(label, low * 0.8, high * 1.25);
    // Ticks of durations leave no room for words beside them.
    let mut plot = Plot::new(axis("completion time; upwards as first foreseen (logarithmic)"), axis(""));
    plot.diagonal();
    for job in seen() {
        let foreseen_s = job.life_s * job.first;
        let title = format!("foreseen {}, took {}", duration(foreseen_s), duration(job.life_s));
        plot.dot((job.life_s, foreseen_s), 3.0, "c0 thin", &title);
    }
    let which = if every > 1 { format!(" One in {every} jobs is drawn.") } else { String::new() };
    let reading = format!(
        "A dot is a finished job: how long it took, and how long it was thought to take when it was first planned for. On the \
         dashed line the two agree; below it, the job was thought to be done sooner.{which}"
    );
    let title = "Foreseen against actual completion";
    figure(title, &reading, &plot.draw(title))
}

/// How the foresight gets better over the lives of jobs.
fn spread(jobs: &[Foresight]) -> String {
    if jobs.is_empty() {
        return String::new();
    }
    let mut samples: Vec<Sample> =
        vec![("at the first plan".into(), jobs.iter().map(|job| job.first).collect())];
    for (at, mark) in MARKS.iter().enumerate() {
        let name = format!("after {:.0} % of its life", mark * 100.0);
        samples.push((name, jobs.iter().map(|job| job.later[at]).collect()));
    }
    distributions::foresight("Foresight over the lives of jobs", samples)
}

/// What a GPU was worth over time, a curve for each model.
fn worth(report: &Report) -> String {
    let (models, names): (Vec<_>, Vec<_>) = report.book.machines.models_seen().unzip();
    let in_percent = |step: Step| Step { mean: step.mean * 100.0, ..step };
    let curve = |model: &ModelIndex| thin(&report.plans.worth(*model), STEPS_MAX).into_iter().map(in_percent);
    let curves: Vec<Vec<Step>> = models.iter().map(|model| curve(model).collect()).collect();
    let length = curves.first().map_or(1.0, |steps| length_s(steps));
    let high = curves.iter().flatten().map(|step| step.mean).fold(0.1, f64::max);
    let mut plot =
        Plot::new(Axis::time(TIME, 0.0, length, 6), Axis::from_zero("worth of one more GPU (%)", high, 4));
    for (at, (steps, name)) in curves.iter().zip(&names).enumerate() {
        plot.steps(steps, &Pen::number(at).class(), name);
    }
    let title = "What one more GPU was worth";
    let reading = "The price of a GPU in a round at the planner's bound, as a part of what a GPU of the cluster adds to the \
                   plan on average. At 0, GPUs are to spare.";
    let legend = lines_legend(names.iter().map(String::as_str));
    let legend = if names.len() > 1 { legend } else { String::new() };
    figure(title, reading, &(plot.draw(title) + &legend))
}

/// The largest window: a row for each job, a block for each stretch of rounds.
fn window(report: &Report, colours: &TenantColours) -> String {
    let Some(planned) = &report.plans.largest else { return String::new() };
    let ahead = &planned.ahead;
    let rows = ahead.jobs.iter().zip(&planned.jobs).filter(|(job, _)| !job.turns.is_empty());
    let mut rows: Vec<(&Foreseen, (TenantId, u32))> = rows.map(|(job, asks)| (job, *asks)).collect();
    rows.sort_by_key(|(job, _)| (job.turns[0].first, job.job));
    let hidden = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    let each = (420.0 / rows.len() as f64).clamp(9.0, 20.0);
    let mut sheet = Sheet::new(
        Axis::even("rounds of the window", 0.0, f64::from(ahead.rounds), 10),
        each * rows.len() as f64,
    );
    let names_every = (14.0 / each).ceil() as usize;
    for (at, (job, (tenant, gang))) in rows.iter().enumerate() {
        let (top, name) = (at as f64 * each, format!("job {}", job.job.0));
        sheet.row(top, each - 1.0, at.is_multiple_of(names_every).then_some(name.as_str()));
        let look = format!(r#"class="bar {}""#, colours.class(tenant.index()));
        for turns in &job.turns {
            let (first, end) = (turns.first, turns.first + turns.count);
            let done = duration(job.finish.since(planned.at).seconds());
            let title = format!("{name}, {gang} GPUs: rounds {} to {end}; done in {done}", first + 1);
            sheet.block((first.into(), end.into()), (top, each - 1.0), &look, &title);
        }
    }
    let gap = match planned.quality {
        Quality::Feasible { gap } => format!(", proven to within {}", percent(gap)),
        _ => String::new(),
    };
    let more = if hidden > 0 {
        format!(" {} more jobs are not drawn.", count(hidden as u64))
    } else {
        String::new()
    };
    let opening = report.book.opening.unwrap_or_default();
    let reading = format!(
        "Round {}, after {}: {} rounds of {} for {} jobs{gap}. A block is a stretch of rounds in which a job is to run, its colour the \
         tenant.{more}",
        planned.round.0,
        duration(planned.at.since(opening).seconds()),
        ahead.rounds,
        duration(ahead.round.seconds()),
        count((rows.len() + hidden) as u64),
    );
    let title = "The window with the most jobs";
    let inside = sheet.draw(title) + &colours.legend(report);
    format!(r#"<div class="gap">{}</div>"#, figure(title, &reading, &inside))
}

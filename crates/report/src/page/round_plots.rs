//! The latest rounds: what GPUs were worth, and which promises held.

use super::axis::Axis;
use super::curves::TIME;
use super::parts::{areas_legend, figure, lines_legend};
use super::plot::{Pen, Plot};
use super::sheet::Sheet;
use crate::report::Report;
use crate::rounds::{Kept, Rounds};
use crate::series::Step;
use evenhand_core::{ModelIndex, Time};
use evenhand_fairness::division::PROPERTIES;

/// Colours of what held, of what did not, and of what may not.
const HELD: &str = "c2";
const BROKEN: &str = "c1";
const LATE: &str = "c4";

/// What is written where there were no rounds.
const NOTHING: &str = r#"<p class="soft">No decision has been taken yet.</p>"#;

/// From the first round that is kept on.
fn axis(report: &Report, from: Time, ticks: usize) -> Axis {
    let until = report.book.now.since(from).seconds();
    let Some(clock) = report.clock else {
        let opening = report.book.opening.unwrap_or_default();
        let low = from.since(opening).seconds();
        return Axis::time(TIME, low, low + until, ticks);
    };
    let began_s = (from.0 + clock.epoch_ms) as f64 / 1e3 + f64::from(clock.offset_s);
    Axis::clock(0.0, until, began_s, ticks)
}

/// Where axes by the clock begin at the first round, others begin at the first submission.
fn place(report: &Report, from: Time, at: Time) -> f64 {
    let origin = if report.clock.is_some() { from } else { report.book.opening.unwrap_or_default() };
    at.since(origin).seconds()
}

/// Rounds, and when the next one was.
fn spans(report: &Report) -> Vec<(&Kept, f64, f64)> {
    let kept: Vec<&Kept> = report.rounds.iter().flat_map(Rounds::kept).collect();
    let Some(first) = kept.first() else { return Vec::new() };
    let ends = kept.iter().skip(1).map(|next| next.at).chain([report.book.now]);
    let span =
        |(kept, end): (&&'_ Kept, Time)| (place(report, first.at, kept.at), place(report, first.at, end));
    kept.iter().zip(ends).map(|pair| (*pair.0, span(pair).0, span(pair).1)).collect()
}

/// What a GPU of each model was worth.
pub fn prices(report: &Report) -> String {
    let spans = spans(report);
    let Some((first, ..)) = spans.first() else { return NOTHING.to_owned() };
    let names: Vec<(ModelIndex, String)> = report.book.machines.models_seen().collect();
    let curve = |model: ModelIndex| -> Vec<Step> {
        let price = |kept: &Kept| {
            let at = kept.models.iter().position(|known| *known == model)?;
            kept.prices.get(at).copied()
        };
        let step = |(kept, from_s, to_s): &(&Kept, f64, f64)| {
            Some(Step { from_s: *from_s, to_s: *to_s, mean: price(kept)? })
                .filter(|step| step.to_s > step.from_s)
        };
        spans.iter().filter_map(step).collect()
    };
    let curves: Vec<Vec<Step>> = names.iter().map(|(model, _)| curve(*model)).collect();
    let high = curves.iter().flatten().map(|step| step.mean).fold(1.2, f64::max);
    let mut plot = Plot::new(axis(report, first.at, 5), Axis::from_zero("worth of one GPU", high, 4));
    for (at, (curve, (_, name))) in curves.iter().zip(&names).enumerate() {
        plot.steps(curve, &Pen::number(at).class(), name);
    }
    let title = "What a GPU of each model is worth";
    let reading = "The price of a GPU, 1 being the mean of all, if everybody with work spent a budget by its weight on what its \
                   jobs are fastest on. Above 1 a model is sought after.";
    let legend = lines_legend(names.iter().map(|(_, name)| name.as_str()));
    figure(title, reading, &(plot.draw(title) + &legend))
}

/// Which properties held in which rounds.
pub fn properties(report: &Report) -> String {
    const ROW: f64 = 22.0;
    let spans = spans(report);
    let Some((first, ..)) = spans.first() else { return NOTHING.to_owned() };
    let owes = spans.iter().any(|(kept, ..)| !kept.held.is_empty());
    let promises = spans.iter().any(|(kept, ..)| kept.promised.0 > 0);
    let mut names: Vec<&str> = Vec::new();
    if owes {
        names.extend(PROPERTIES.iter().map(|property| property.title));
    }
    if promises {
        names.push("promised finishes");
    }
    let title = "What held in which rounds";
    if names.is_empty() {
        return figure(
            title,
            "The policy that decides owes nobody a share and promises no finishes, so there is nothing to hold it to round by \
             round. What came of it is in the audit.",
            "",
        );
    }
    let mut sheet = Sheet::with_long_names(axis(report, first.at, 10), names.len() as f64 * ROW);
    for (at, name) in names.iter().enumerate() {
        sheet.row(at as f64 * ROW, ROW - 3.0, Some(name));
    }
    for (kept, from_s, to_s) in &spans {
        let mut block = |row: usize, colour: &str, what: &str| {
            let look = format!(r#"class="heat {colour}""#);
            sheet.block((*from_s, *to_s), (row as f64 * ROW, ROW - 3.0), &look, what);
        };
        for (row, (held, property)) in kept.held.iter().zip(PROPERTIES).enumerate() {
            if let Some(held) = held {
                let (word, colour) = if *held { ("held", HELD) } else { ("did not hold", BROKEN) };
                block(row, colour, &format!("round {}: {} {word}", kept.round.0, property.title));
            }
        }
        if kept.promised.0 > 0 {
            let (promised, in_time) = kept.promised;
            let what = format!(
                "round {}: of {promised} promised finishes {in_time} are expected in time",
                kept.round.0
            );
            block(names.len() - 1, if promised == in_time { HELD } else { LATE }, &what);
        }
    }
    let reading = "A row for each property of the shares that the policy owed, and for the finishes that it promised; a block is a \
                   round. Point at one to see more.";
    let mut words = vec![(HELD, "held, or all expected in time")];
    words.extend(owes.then_some((BROKEN, "did not hold")));
    words.extend(promises.then_some((LATE, "some expected late")));
    let legend = areas_legend(words.into_iter().map(|(colour, word)| (colour.to_owned(), word)));
    figure(title, reading, &(sheet.draw(title) + &legend))
}

//! What jobs are told: by when they are promised to be done, when that is expected, and for how many they wait.

use super::case::Case;
use super::expected::{self, Expected};
use super::fluid::Fluid;
use super::order::{Claim, Desk, Heard};
use evenhand_core::{Others, Promised, Reason, Snapshot, Span, Time};

/// A promise is told anew when it has moved by this part of the fair time.
const NEWS: f64 = 0.1;

/// Those to whom it is news.
pub(super) fn tell(
    snapshot: &Snapshot,
    cases: &[Case<'_>],
    desk: &Desk<'_>,
    heard: &Heard,
    others: Others,
    fluid: &mut Fluid,
) -> Vec<Promised> {
    let runs = heard.granted.iter().map(|(claim, _): &(Claim, _)| (claim.at, false));
    // Of whoever waits for something else than GPUs nothing is foreseen, and its share alone would not help it.
    let waits = heard.refused.iter().filter(|(_, why)| *why == Reason::NoRoom);
    let waits = waits.map(|(claim, _)| (claim.at, true));
    let mut told = Vec::new();
    for (at, waiting) in runs.chain(waits) {
        let case = &cases[at];
        let by = Time::from_seconds(case.promise_s);
        let Some(member) = fluid.get_mut(case.id()).filter(|_| case.sized) else { continue };
        let fair = Span::from_seconds(case.promise_s - case.since_s);
        let moved = |then: Time| then.since(by).0.max(by.since(then).0) as f64 > NEWS * fair.0 as f64;
        let news = member.told.is_none_or(|(then, waited)| moved(then) || waiting && !waited);
        if news && case.promise_s.is_finite() {
            told.push(at);
            member.told = Some((by, waiting));
        } else if let Some((_, waited)) = &mut member.told {
            *waited = waiting;
        }
    }
    if told.is_empty() {
        return Vec::new();
    }
    let expected = expected::all(snapshot, cases, desk, heard, others);
    let promised = |at: &usize| Some(promised(snapshot.now, &cases[*at], expected[*at]?));
    let mut promises: Vec<Promised> = told.iter().filter_map(promised).collect();
    promises.sort_unstable_by_key(|promised| promised.job);
    promises
}

fn promised(now: Time, case: &Case<'_>, expected: Expected) -> Promised {
    let after = |seconds: f64| now + Span::from_seconds(seconds);
    let end = |left_s: f64| after(expected.start_s + left_s * expected.times);
    Promised {
        job: case.id(),
        by: Time::from_seconds(case.promise_s),
        expected: end(case.left_s),
        at_most: end(case.high_s),
        behind: expected.behind,
        until: after(expected.start_s),
    }
}

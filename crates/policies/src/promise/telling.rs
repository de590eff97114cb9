//! What jobs are told: by when they are promised to be done, when that is expected, and whom they wait for.
//!
//! What is expected follows from the order of this decision: whoever has GPUs keeps them to its end, and the others follow as GPUs come free. Later
//! arrivals and changes of mind are not foreseen.

use super::case::Case;
use super::fluid::Fluid;
use super::order::{Claim, Heard};
use evenhand_core::{Promised, Snapshot, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A promise is told anew when it has moved by this part of the time until then.
const NEWS: f64 = 0.1;

/// Those to whom it is news.
pub(super) fn tell(
    snapshot: &Snapshot,
    cases: &[Case<'_>],
    heard: &Heard,
    fluid: &mut Fluid,
) -> Vec<Promised> {
    let waits: Vec<usize> = heard.refused.iter().map(|(claim, _)| claim.at).collect();
    let runs = heard.granted.iter().map(|(claim, _): &(Claim, _)| claim.at);
    let mut told = Vec::new();
    for (at, waiting) in runs.map(|at| (at, false)).chain(waits.iter().map(|at| (*at, true))) {
        let (case, now) = (&cases[at], snapshot.now);
        let by = Time::from_seconds(case.promise_s);
        let Some(member) = fluid.get_mut(case.id()).filter(|_| case.sized) else { continue };
        let moved =
            |then: Time| then.since(by).0.max(by.since(then).0) as f64 > NEWS * then.since(now).0 as f64;
        let news = member.told.is_none_or(|(then, waited)| waiting && (!waited || moved(then)));
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
    let starts = starts(cases, heard, &waits);
    let mut promises: Vec<Promised> =
        told.iter().map(|at| promised(snapshot.now, cases, *at, &starts)).collect();
    promises.sort_unstable_by_key(|promised| promised.job);
    promises
}

fn promised(now: Time, cases: &[Case<'_>], at: usize, starts: &[Option<(f64, u32)>]) -> Promised {
    let case = &cases[at];
    let (start_s, behind) = starts[at].unwrap_or((0.0, 0));
    let after = |seconds: f64| now + Span::from_seconds(seconds);
    Promised {
        job: case.id(),
        by: Time::from_seconds(case.promise_s),
        expected: after(start_s + case.left_s),
        at_most: after(start_s + case.high_s),
        behind,
        until: after(start_s),
    }
}

/// For those who wait: seconds until enough GPUs are free, and how many jobs have to end first.
fn starts(cases: &[Case<'_>], heard: &Heard, waits: &[usize]) -> Vec<Option<(f64, u32)>> {
    let mut ends: BinaryHeap<Reverse<(Span, usize)>> = BinaryHeap::new();
    for (claim, _) in &heard.granted {
        ends.push(Reverse((Span::from_seconds(cases[claim.at].left_s), claim.at)));
    }
    let (mut free, mut now, mut over) = (0, Span::ZERO, 0);
    let mut starts = vec![None; cases.len()];
    for at in waits {
        while free < cases[*at].view.gang
            && let Some(Reverse((end, job))) = ends.pop()
        {
            (free, now, over) = (free + cases[job].view.gang, end, over + 1);
        }
        free = free.saturating_sub(cases[*at].view.gang);
        starts[*at] = Some((now.seconds(), over));
        ends.push(Reverse((now + Span::from_seconds(cases[*at].left_s), *at)));
    }
    starts
}

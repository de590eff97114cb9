//! AFS: each further GPU to the winner of a comparison that weighs a short job's haste against a long job's gain.
//!
//! ```text
//! p_i(n) = 1 / T_i(n)                   T_i(n) = remaining time on n GPUs
//! of two jobs, l the one with the shorter remaining time, h the other, l gets the GPU if
//!     (p_l(n+1) - p_l(n)) / p_l(n)  >  (p_h(n+1) - p_h(n)) / p_h(n+1)
//! jobs without GPUs: the larger p(n+1), that is the shorter job, comes first
//! ```
//!
//! The comparison is not transitive. The public code scans all jobs for every GPU, O(nM); here the winner is kept in a
//! knock-out tree over jobs in order of remaining time, O((n + M) log n), which may seat another winner where the
//! comparison runs in a circle. A step of several GPUs (see the head of `elastic`) counts with its gain per GPU; a
//! job of unknown size comes last, by least attained GPU-time, and stays at its least.

use super::{Part, decide};
use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, Room};
use crate::registry::{Entry, Promise};
use evenhand_core::{Limits, Plan, Policy, PolicyError, Snapshot, Span};

pub(crate) const ENTRY: Entry = Entry {
    name: "afs",
    summary: "The least to the shortest first; more GPUs by weighing short jobs' haste against long jobs' gain.",
    paper: "Elastic Resource Sharing for Distributed Deep Learning, NSDI 2021",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_AT_ROUNDS],
    divide: None,
    build: |parameters| Ok(Box::new(Afs { preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)? })),
};

struct Afs {
    preempt: Preempt,
}

impl Policy for Afs {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let key = |index, job: &_| {
            let remaining = snapshot.remaining_time(index, job);
            (remaining.unwrap_or(Span(u64::MAX)), remaining.is_none().then(|| snapshot.attained(job)))
        };
        // A job that is all but finished must not divide by nothing.
        let worth = |part: &Part<'_>, model, gpus| Some(1.0 / part.seconds(model, gpus)?.max(1e-3));
        Ok(decide(snapshot, self.preempt, key, worth, grow))
    }
}

fn grow(parts: &mut [Part<'_>], room: &mut Room<'_>) {
    let mut tree = KnockOut::new(parts.iter().map(|part| Runner::of(part, room)).collect());
    while let Some(at) = tree.winner() {
        if let Some(step) = parts[at].best_step(room) {
            parts[at].take(step, room);
        }
        tree.put(at, Runner::of(&parts[at], room));
        // Who has lost the room for its step must not win on the strength of it.
        while let Some(at) = tree.winner() {
            let fresh = Runner::of(&parts[at], room);
            if fresh == tree.runners[at] {
                break;
            }
            tree.put(at, fresh);
        }
    }
}

/// A job's part in the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Runner {
    /// `p(n)`.
    now: f64,
    /// `p(n')` of its next step, and the gain per GPU.
    then: f64,
    gain: f64,
}

impl Runner {
    fn of(part: &Part<'_>, room: &Room<'_>) -> Option<Self> {
        let step = part.best_step(room)?;
        Some(Self { now: part.worth_now(), then: part.worth_after(step.by), gain: step.gain })
    }
}

/// The winner of every pair, pair of pairs, and so on. Of equals the first wins.
struct KnockOut {
    runners: Vec<Option<Runner>>,
    /// A binary heap's shape: node `i` has the winners of `2i` and `2i + 1`; the leaves are the runners.
    winners: Vec<Option<usize>>,
}

impl KnockOut {
    fn new(runners: Vec<Option<Runner>>) -> Self {
        let size = runners.len().next_power_of_two().max(1);
        let mut tree = Self { winners: vec![None; 2 * size], runners };
        for at in 0..tree.runners.len() {
            tree.winners[size + at] = tree.runners[at].map(|_| at);
        }
        for node in (1..size).rev() {
            tree.winners[node] = tree.play(node);
        }
        tree
    }

    fn winner(&self) -> Option<usize> {
        self.winners[1]
    }

    fn put(&mut self, at: usize, runner: Option<Runner>) {
        self.runners[at] = runner;
        let mut node = self.winners.len() / 2 + at;
        self.winners[node] = runner.map(|_| at);
        while node > 1 {
            node /= 2;
            self.winners[node] = self.play(node);
        }
    }

    fn play(&self, node: usize) -> Option<usize> {
        let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
        match (left, right) {
            (Some(left), Some(right)) => {
                let (a, b) = (self.runners[left]?, self.runners[right]?);
                Some(if beats(a, b) { left } else { right })
            }
            (one, other) => one.or(other),
        }
    }
}

/// Whether `a`, which comes first among equals, gets the GPU before `b`.
fn beats(a: Runner, b: Runner) -> bool {
    let short_wins = |short: Runner, long: Runner| short.gain / short.now > long.gain / long.then;
    if a.now >= b.now { short_wins(a, b) || a == b } else { !short_wins(b, a) }
}

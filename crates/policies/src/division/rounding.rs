//! Whole GPUs from fractions, so that debts stay small: the chairman rule (Tijdeman, Discrete Mathematics 32, 1980).
//!
//! ```text
//! claim_i   = share of the round to come + what is owed so far        sum_i claim_i = GPUs of the model, if all are shared out
//! a unit for i may be served while claim_i > 0, so that i is never a whole GPU ahead
//! it must be served before claim_i, growing by i's share each round, reaches 1, so that i is never a whole GPU behind
//! of the units that may be served, the one that must be served first is
//! ```
//!
//! If the shares to come are known, some order of serving keeps every party within one GPU of what it is owed for ever, and the
//! earliest deadline finds it. If they are not, no rule can: let GPUs be shared half and half by ever new pairs, one of each pair is left
//! half a GPU behind, and two of those with half a GPU each in the same round cannot both be served. Deadlines are therefore counted with the
//! shares that are known to come, and after those with the last of them; a few rounds' notice is enough in practice.
//!
//! A gang is a unit of g GPUs: it may be served while the claim is positive and must be before it reaches g.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Less of a claim than this is a rounding error.
const NOTHING: f64 = 1e-9;

/// One party's claim to GPUs of one model.
#[derive(Clone, Debug)]
pub(crate) struct Claim<'a> {
    /// Whose and of which model, as a number; also settles ties, the smallest first.
    pub place: usize,
    /// GPUs it should hold in the round to come, what it is owed included.
    pub gpus: f64,
    /// Its share in the rounds after, as far as they are known, then the last for ever. At least one.
    pub coming: &'a [f64],
    /// What it takes at a time.
    pub gang: u32,
}

impl Claim<'_> {
    /// Whether it may be served: it is not a whole gang ahead afterwards.
    pub fn is_open(&self) -> bool {
        self.gpus > NOTHING
    }

    /// In how many rounds it must have been served.
    pub fn deadline(&self) -> f64 {
        let gang = f64::from(self.gang);
        let mut claim = self.gpus;
        if claim >= gang - NOTHING {
            // Overdue; the further the earlier.
            return -claim / gang;
        }
        for (round, share) in self.coming.iter().enumerate() {
            claim += share;
            if claim >= gang - NOTHING {
                return (round + 1) as f64;
            }
        }
        let last = self.coming.last().copied().unwrap_or(0.0);
        self.coming.len() as f64 + (gang - claim) / last.max(1e-12)
    }
}

/// Claims by deadline, the earliest on top.
#[derive(Default)]
pub(crate) struct Queue<'a> {
    heap: BinaryHeap<Entry<'a>>,
}

struct Entry<'a> {
    deadline: f64,
    claim: Claim<'a>,
}

impl<'a> Queue<'a> {
    /// Takes a claim in, if it may be served.
    pub fn push(&mut self, claim: Claim<'a>) {
        if claim.is_open() {
            self.heap.push(Entry { deadline: claim.deadline(), claim });
        }
    }

    /// Takes out the claim that must be served first.
    pub fn pop(&mut self) -> Option<Claim<'a>> {
        self.heap.pop().map(|entry| entry.claim)
    }
}

impl Ord for Entry<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let urgent =
            other.deadline.total_cmp(&self.deadline).then(self.claim.gpus.total_cmp(&other.claim.gpus));
        urgent.then(other.claim.place.cmp(&self.claim.place))
    }
}

impl PartialOrd for Entry<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Random;

    /// Sparse shares of `gpus` GPUs among `parties`, new ones every `hold` rounds.
    fn shares(
        parties: usize,
        gpus: f64,
        rounds: usize,
        hold: usize,
        sparse: f64,
        seed: u64,
    ) -> Vec<Vec<f64>> {
        let mut random = Random::new(seed);
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for round in 0..rounds {
            if round % hold > 0 {
                rows.push(rows[round - 1].clone());
                continue;
            }
            let mut row: Vec<f64> =
                (0..parties).map(|_| if random.chance(sparse) { random.unit() } else { 0.0 }).collect();
            row[random.below(parties as u64) as usize] += 0.01;
            let sum: f64 = row.iter().sum();
            rows.push(row.iter().map(|share| share * gpus / sum).collect());
        }
        rows
    }

    /// The smallest and the largest debt, in GPUs, over all rounds and parties.
    fn extremes(shares: &[Vec<f64>], gpus: u32, notice: usize) -> (f64, f64) {
        let parties = shares[0].len();
        let mut debt = vec![0.0; parties];
        let (mut least, mut most) = (0.0_f64, 0.0_f64);
        for round in 0..shares.len() - notice - 1 {
            let coming: Vec<Vec<f64>> = (0..parties)
                .map(|party| {
                    // Without notice the present shares are taken to last.
                    let known = (1..=notice).map(|ahead| shares[round + ahead][party]);
                    if notice == 0 { vec![shares[round][party]] } else { known.collect() }
                })
                .collect();
            let mut queue = Queue::default();
            for party in 0..parties {
                debt[party] += shares[round][party];
                queue.push(Claim { place: party, gpus: debt[party], coming: &coming[party], gang: 1 });
            }
            for _ in 0..gpus {
                let Some(mut claim) = queue.pop() else { break };
                claim.gpus -= 1.0;
                debt[claim.place] -= 1.0;
                queue.push(claim);
            }
            least = debt.iter().copied().fold(least, f64::min);
            most = debt.iter().copied().fold(most, f64::max);
        }
        (least, most)
    }

    #[test]
    fn debts_stay_within_one_gpu_when_shares_are_known_three_rounds_ahead() {
        for (parties, gpus) in [(6, 4), (20, 8), (40, 8)] {
            for (hold, sparse) in [(1, 0.1), (1, 0.3), (1, 0.6), (5, 0.1), (50, 0.3)] {
                let shares = shares(parties, f64::from(gpus), 10_000, hold, sparse, 1);
                let (least, most) = extremes(&shares, gpus, 3);
                let place = format!("{parties} parties, {gpus} GPUs, {hold}, {sparse}");
                assert!(-1.0 < least && most < 1.0, "{place}: {least} to {most}");
            }
        }
    }

    #[test]
    fn debts_stay_within_one_gpu_while_shares_last() {
        let fixed = shares(20, 8.0, 10_000, 10_000, 0.5, 2);
        let (least, most) = extremes(&fixed, 8, 0);
        assert!(-1.0 < least && most < 1.0, "{least} to {most}");
    }

    /// The reason why notice is needed. One GPU, shared half and half by one pair of parties, then by another; whoever each pair
    /// left behind shares the third round. Every way of serving is tried: somebody ends a whole GPU behind.
    #[test]
    fn without_notice_no_rule_keeps_the_bound() {
        for served in 0..8 {
            let pick = |round: usize, pair: [usize; 2]| pair[served >> round & 1];
            let mut debt = [0.5_f64, 0.5, 0.5, 0.5];
            let (first, second) = (pick(0, [0, 1]), pick(1, [2, 3]));
            debt[first] -= 1.0;
            debt[second] -= 1.0;
            let behind = [1 - first, 5 - second];
            for party in behind {
                debt[party] += 0.5;
            }
            debt[pick(2, behind)] -= 1.0;
            assert!(debt.iter().any(|debt| *debt >= 1.0), "{served}: {debt:?}");
        }
    }
}

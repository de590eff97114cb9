//! Nested capacities as limits on one running sum.
//!
//! A bidder whose gangs all have size g uses u GPUs, and u / s pieces of every size s <= g. So the inequality for s says: the
//! bidders with gangs of s or more use at most s K_s GPUs together. Ask the bidders in order of falling gang size, and all of
//! these become limits on one sum, the GPUs used so far. Nested capacities then cost no more than one: an exact method needs
//! a state for every number of GPUs instead of one for every combination of pieces.
//!
//! This works for numbers of any origin: capacity d folds into capacity e if every bidder either never uses d, or uses d and e
//! in one proportion in all its rows, the same for all such bidders; and if the bidders can be put into an order in which, for
//! every d, those that use d come before the others that use e.

use super::tables::Tables;

/// In which order bidders are asked, and what may have been used by then.
pub(super) struct Folded {
    /// The bidders, in the order in which they are asked; as they stand where that is possible.
    pub order: Vec<usize>,
    /// The capacities whose use is to be remembered, the largest last.
    pub bases: Vec<usize>,
    /// For each place in the order, how much of each base may be used once that bidder has taken its row. Never falls.
    pub limits: Vec<Vec<u32>>,
}

/// A capacity that became a limit on another.
struct Fold {
    base: usize,
    limit: u32,
    /// Who uses it.
    members: Vec<bool>,
}

impl Folded {
    pub fn of(tables: &Tables) -> Self {
        let users: Vec<Vec<bool>> = (0..tables.capacity.len()).map(|at| users(tables, at)).collect();
        let mut widest: Vec<usize> = (0..users.len()).collect();
        widest.sort_by_key(|at| std::cmp::Reverse(users[*at].iter().filter(|uses| **uses).count()));
        let (mut bases, mut folds) = (Vec::new(), Vec::new());
        for at in widest {
            let into = |base: &usize| {
                let limit = limit(tables, at, *base)?;
                folds.push(Fold { base: *base, limit, members: users[at].clone() });
                let possible = order(&users, &folds, tables.bidders()).is_some();
                if possible {
                    return Some(());
                }
                folds.pop();
                None
            };
            if bases.iter().find_map(into).is_none() {
                bases.push(at);
            }
        }
        bases.sort_by_key(|at| (tables.capacity[*at], *at));
        let order =
            order(&users, &folds, tables.bidders()).expect("only folds that leave an order were made");
        let limits = limits(tables, &order, &bases, &folds);
        Self { order, bases, limits }
    }
}

/// Who uses a capacity in any of its rows.
fn users(tables: &Tables, at: usize) -> Vec<bool> {
    (0..tables.bidders()).map(|bidder| tables.rows(bidder).any(|row| tables.uses(row)[at] > 0)).collect()
}

/// What the users of capacity `at` may use of `base` together, if they use the two in one proportion.
fn limit(tables: &Tables, at: usize, base: usize) -> Option<u32> {
    let pair = |row: usize| (u64::from(tables.uses(row)[at]), u64::from(tables.uses(row)[base]));
    let all = |bidder: usize| tables.rows(bidder).map(pair);
    let (units, of_base) = (0..tables.bidders()).flat_map(all).find(|(own, _)| *own > 0)?;
    let proportional = |(own, other): (u64, u64)| own * of_base == other * units;
    let fits = |bidder: usize| all(bidder).all(|(own, _)| own == 0) || all(bidder).all(proportional);
    let together = u64::from(tables.capacity[at]) * of_base / units;
    (0..tables.bidders()).all(fits).then(|| together.min(u64::from(tables.capacity[base])) as u32)
}

/// An order in which the members of every fold come before the others that use its base.
fn order(users: &[Vec<bool>], folds: &[Fold], bidders: usize) -> Option<Vec<usize>> {
    let count = |fold: &Fold| fold.members.iter().filter(|member| **member).count();
    let mut missing: Vec<usize> = folds.iter().map(count).collect();
    let (mut order, mut waiting): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..bidders).collect());
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|bidder| {
            let free = |(fold, missing): (&Fold, &usize)| {
                *missing == 0 || fold.members[*bidder] || !users[fold.base][*bidder]
            };
            let ready = folds.iter().zip(&missing).all(free);
            if ready {
                order.push(*bidder);
                let own = folds.iter().zip(&mut missing).filter(|(fold, _)| fold.members[*bidder]);
                own.for_each(|(_, missing)| *missing -= 1);
            }
            !ready
        });
        if waiting.len() == before {
            return None;
        }
    }
    Some(order)
}

fn limits(tables: &Tables, order: &[usize], bases: &[usize], folds: &[Fold]) -> Vec<Vec<u32>> {
    let mut after: Vec<u32> = bases.iter().map(|base| tables.capacity[*base]).collect();
    let mut limits = Vec::with_capacity(order.len());
    // Sums only grow, so whatever limits them later limits them now.
    for bidder in order.iter().rev() {
        for fold in folds.iter().filter(|fold| fold.members[*bidder]) {
            let at =
                bases.iter().position(|base| *base == fold.base).expect("what was folded into is a base");
            after[at] = after[at].min(fold.limit);
        }
        limits.push(after.clone());
    }
    limits.reverse();
    limits
}

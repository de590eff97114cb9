//! The best choice of rows, and the best without each bidder, from two tables per bidder.
//!
//! ```text
//! after_i(c)  = max_r ( v_ir + after_i+1(c + u_ir) )    the best of bidders i, i+1, .. once c is used
//! before_i(c) = max_r ( v_i-1,r + before_i-1(c - u) )   the best of bidders .., i-1 that uses exactly c
//! without i   = max_c ( before_i(c) + after_i+1(c) )
//! ```
//!
//! So all problems without a bidder cost about as much as the one with everybody, once more.

use super::fold::Folded;
use super::tables::Tables;
use std::ops::Range;

/// Tables of more numbers than this are not made: 128 MiB.
const CELLS_MAX: u64 = 1 << 24;

/// The states that a sum of uses can be in, and who may reach which.
pub(super) struct Grid {
    folded: Folded,
    /// How far apart neighbours are in each base; the last one's are side by side.
    strides: Vec<usize>,
    states: usize,
}

impl Grid {
    /// The grid for these tables, if it takes no more than so many steps.
    pub fn within(tables: &Tables, steps: u64) -> Option<Self> {
        let folded = Folded::of(tables);
        let volume = |sizes: &[u32]| {
            sizes.iter().fold(1_u64, |volume, size| volume.saturating_mul(u64::from(*size) + 1))
        };
        let full: Vec<u32> = folded.bases.iter().map(|base| tables.capacity[*base]).collect();
        let cells = volume(&full).saturating_mul(folded.order.len() as u64 + 1);
        let rows = folded.order.iter().map(|bidder| tables.rows(*bidder).len() as u64);
        let work = rows.zip(&folded.limits).map(|(rows, limits)| rows.saturating_mul(volume(limits)));
        let affordable = cells <= CELLS_MAX && work.fold(0, u64::saturating_add) <= steps / 2;
        affordable.then(|| {
            let mut strides = vec![1; full.len()];
            for at in (1..full.len()).rev() {
                strides[at - 1] = strides[at] * (full[at] as usize + 1);
            }
            Self { folded, strides, states: volume(&full) as usize }
        })
    }

    /// How far a row moves through the states.
    fn shift(&self, tables: &Tables, row: usize) -> usize {
        let uses = tables.uses(row);
        self.folded.bases.iter().zip(&self.strides).map(|(base, stride)| uses[*base] as usize * stride).sum()
    }

    /// All states, in runs side by side, from which the bidder at this place can take a row.
    fn runs(&self, tables: &Tables, place: usize, row: usize, mut visit: impl FnMut(Range<usize>)) {
        let uses = tables.uses(row);
        let limits = self.folded.bases.iter().zip(&self.folded.limits[place]);
        let room: Option<Vec<u32>> = limits.map(|(base, limit)| limit.checked_sub(uses[*base])).collect();
        let Some(room) = room else { return };
        let Some((inner, outer)) = room.split_last() else { return visit(0..1) };
        let mut at = vec![0; outer.len()];
        loop {
            let start = at.iter().zip(&self.strides).map(|(at, stride)| *at as usize * stride).sum();
            visit(start..start + *inner as usize + 1);
            let Some(next) = (0..outer.len()).rev().find(|base| at[*base] < outer[*base]) else { return };
            at[next] += 1;
            at[next + 1..].fill(0);
        }
    }
}

/// The best from every state on, for every place in the order.
pub(super) struct Exact<'a> {
    tables: &'a Tables,
    grid: &'a Grid,
    /// `after_i`, one after the other; the last is 0 everywhere.
    after: Vec<f64>,
}

impl<'a> Exact<'a> {
    pub fn new(tables: &'a Tables, grid: &'a Grid) -> Self {
        let (places, states) = (tables.bidders(), grid.states);
        let mut after = vec![0.0; (places + 1) * states];
        for place in (0..places).rev() {
            let (own, next) = after[place * states..(place + 2) * states].split_at_mut(states);
            own.copy_from_slice(next);
            for row in tables.rows(grid.folded.order[place]).skip(1) {
                let (shift, gain) = (grid.shift(tables, row), tables.gains[row]);
                grid.runs(tables, place, row, |run| {
                    raise(&mut own[run.clone()], &next[run.start + shift..run.end + shift], gain);
                });
            }
        }
        Self { tables, grid, after }
    }

    fn after(&self, place: usize) -> &[f64] {
        &self.after[place * self.grid.states..(place + 1) * self.grid.states]
    }

    /// What the best choice is worth.
    pub fn value(&self) -> f64 {
        self.after[0]
    }

    /// The best choice: of equals, whoever is asked first wins something, and the first of its rows that will do.
    pub fn chosen(&self) -> Vec<usize> {
        let (tables, folded) = (self.tables, &self.grid.folded);
        let mut chosen = vec![0; tables.bidders()];
        let (mut state, mut used) = (0, vec![0; folded.bases.len()]);
        for (place, bidder) in folded.order.iter().enumerate() {
            let best = self.after(place)[state];
            let by = |row: usize| folded.bases.iter().map(move |base| tables.uses(row)[*base]);
            let mut rows = tables.rows(*bidder).skip(1).chain([tables.nothing(*bidder)]);
            let row = rows.find(|row| {
                let limits = &folded.limits[place];
                let open =
                    by(*row).zip(&used).zip(limits).all(|((units, used), limit)| units <= limit - used);
                // The table holds the largest of these very sums, so one of them is not below it, to the bit.
                let worth = |shift: usize| self.after(place + 1)[state + shift] + tables.gains[*row];
                open && worth(self.grid.shift(tables, *row)) >= best
            });
            let row = row.expect("one of the rows gave the table its number");
            chosen[*bidder] = row;
            state += self.grid.shift(tables, row);
            used.iter_mut().zip(by(row)).for_each(|(used, units)| *used += units);
        }
        chosen
    }

    /// What the best choice without each bidder is worth.
    pub fn without(&self) -> Vec<f64> {
        let (tables, grid) = (self.tables, self.grid);
        let mut without = vec![0.0; tables.bidders()];
        let mut before = vec![f64::NEG_INFINITY; grid.states];
        before[0] = 0.0;
        for (place, bidder) in grid.folded.order.iter().enumerate() {
            let rest = self.after(place + 1);
            let mut best = f64::NEG_INFINITY;
            // A row for nothing can be taken from every state that is allowed here.
            grid.runs(tables, place, tables.nothing(*bidder), |run| {
                let sums = before[run.clone()].iter().zip(&rest[run]).map(|(before, rest)| before + rest);
                best = sums.fold(best, f64::max);
            });
            without[*bidder] = best;
            let last = before.clone();
            for row in tables.rows(*bidder).skip(1) {
                let (shift, gain) = (grid.shift(tables, row), tables.gains[row]);
                grid.runs(tables, place, row, |run| {
                    raise(&mut before[run.start + shift..run.end + shift], &last[run], gain);
                });
            }
        }
        without
    }
}

/// Raises each number to that of the source plus the gain, where that is more.
fn raise(target: &mut [f64], source: &[f64], gain: f64) {
    for (target, source) in target.iter_mut().zip(source) {
        let found = source + gain;
        *target = if found > *target { found } else { *target };
    }
}

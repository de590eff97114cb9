//! The bids as the methods want them: gains over nothing, capacities that can bind, and no row that another one beats.

use super::{Auction, AuctionRow};
use std::collections::BTreeMap;
use std::ops::Range;

/// The rows of all bidders, one after the other; each bidder's first row is for nothing, with gain 0.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// Units of each capacity that can bind; at least 1, since somebody's row fits and uses some.
    pub capacity: Vec<u32>,
    /// Where each bidder's rows begin, and where the last one's end.
    starts: Vec<usize>,
    /// What each row is worth more than nothing.
    pub gains: Vec<f64>,
    /// The units of each capacity that each row uses.
    uses: Vec<u32>,
    /// Where each row stands in its bidder's own table.
    pub origins: Vec<usize>,
}

/// A row on its way into the tables.
struct Candidate {
    gain: f64,
    uses: Vec<u32>,
    origin: usize,
}

impl Tables {
    /// Takes over whatever may be chosen by somebody who wants the best.
    pub fn of(auction: &Auction) -> Self {
        let mut bids: Vec<Vec<Candidate>> =
            auction.bidders.iter().map(|rows| candidates(rows, &auction.capacity)).collect();
        let (binding, pieces) = binding(&auction.capacity, &bids);
        let capacity = binding.iter().zip(&pieces).map(|(at, piece)| auction.capacity[*at] / piece).collect();
        let mut tables =
            Self { capacity, starts: vec![0], gains: Vec::new(), uses: Vec::new(), origins: Vec::new() };
        for bid in &mut bids {
            for row in &mut *bid {
                row.uses = binding.iter().zip(&pieces).map(|(at, piece)| row.uses[*at] / piece).collect();
            }
            tables.push(undominated(std::mem::take(bid)));
        }
        tables
    }

    fn push(&mut self, rows: Vec<Candidate>) {
        let nothing = Candidate { gain: 0.0, uses: vec![0; self.capacity.len()], origin: 0 };
        for row in std::iter::once(nothing).chain(rows) {
            self.gains.push(row.gain);
            self.uses.extend(row.uses);
            self.origins.push(row.origin);
        }
        self.starts.push(self.gains.len());
    }

    pub fn bidders(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of a bidder, the one for nothing first.
    pub fn rows(&self, bidder: usize) -> Range<usize> {
        self.starts[bidder]..self.starts[bidder + 1]
    }

    /// The row for nothing of a bidder.
    pub fn nothing(&self, bidder: usize) -> usize {
        self.starts[bidder]
    }

    /// For each bidder, the first that has the same table.
    pub fn classes(&self) -> Vec<usize> {
        let mut known: BTreeMap<(Vec<u64>, &[u32]), usize> = BTreeMap::new();
        let width = self.capacity.len();
        let class = |bidder: usize| {
            let rows = self.rows(bidder);
            let gains = self.gains[rows.clone()].iter().map(|gain| gain.to_bits()).collect();
            *known.entry((gains, &self.uses[rows.start * width..rows.end * width])).or_insert(bidder)
        };
        (0..self.bidders()).map(class).collect()
    }

    pub fn uses(&self, row: usize) -> &[u32] {
        let width = self.capacity.len();
        &self.uses[row * width..(row + 1) * width]
    }
}

/// The rows that are worth more than nothing and fit when alone.
fn candidates(rows: &[AuctionRow], capacity: &[u32]) -> Vec<Candidate> {
    let of = |(origin, row): (usize, &AuctionRow)| {
        let mut uses = vec![0_u32; capacity.len()];
        row.uses.iter().for_each(|(at, units)| uses[*at] = uses[*at].saturating_add(*units));
        Candidate { gain: row.log_value - rows[0].log_value, uses, origin }
    };
    let fits = |row: &Candidate| row.uses.iter().zip(capacity).all(|(units, capacity)| units <= capacity);
    rows.iter().enumerate().map(of).filter(|row| row.gain > 0.0 && fits(row)).collect()
}

/// The capacities that cannot give everybody the most it bids for, and the largest piece that all uses are multiples of.
fn binding(capacity: &[u32], bids: &[Vec<Candidate>]) -> (Vec<usize>, Vec<u32>) {
    let most =
        |at: usize, rows: &[Candidate]| rows.iter().map(|row| u64::from(row.uses[at])).max().unwrap_or(0);
    let asked = |at: usize| bids.iter().map(|rows| most(at, rows)).sum::<u64>();
    let binding: Vec<usize> =
        (0..capacity.len()).filter(|at| asked(*at) > u64::from(capacity[*at])).collect();
    let piece = |at: &usize| bids.iter().flatten().map(|row| row.uses[*at]).fold(0, common_divisor);
    let pieces = binding.iter().map(piece).collect();
    (binding, pieces)
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Rows for which no other row uses as little and is worth as much, in their own order; the first of equals.
fn undominated(mut rows: Vec<Candidate>) -> Vec<Candidate> {
    let total = |row: &Candidate| row.uses.iter().map(|units| u64::from(*units)).sum::<u64>();
    rows.sort_by(|a, b| {
        b.gain.total_cmp(&a.gain).then(total(a).cmp(&total(b))).then(a.origin.cmp(&b.origin))
    });
    let mut kept: Vec<Candidate> = Vec::new();
    for row in rows {
        let beats = |other: &Candidate| other.uses.iter().zip(&row.uses).all(|(other, own)| other <= own);
        if !kept.iter().any(beats) {
            kept.push(row);
        }
    }
    kept.sort_by_key(|row| row.origin);
    kept
}

//! A heat map of nodes over time in bounded memory: how full, and mostly whose.
//!
//! Like the curves of [`Series`](crate::series::Series), it halves its resolution when it runs out of room, in time
//! and in nodes. Whose a cell mostly is, is settled by a weighted majority vote (Boyer and Moore, 1981): the name is
//! right whenever one tenant held more than half of the cell's leased GPU-time, and one of the larger ones otherwise.
//! Exact sums per tenant would cost as many numbers per cell as there are tenants.

use evenhand_core::{NodeId, Span};

/// The most rows of a map.
const ROWS_MAX: usize = 48;

/// The most buckets of time of a map.
const BUCKETS_MAX: u64 = 240;

/// How full some nodes were in some stretch of time, and mostly whose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// GPU-milliseconds leased.
    pub leased: f64,
    /// The place of the tenant in the lead.
    pub tenant: usize,
    votes: f64,
}

/// Cells by row and bucket.
#[derive(Clone, Debug)]
pub struct Heat {
    rows: Vec<Vec<Cell>>,
    nodes_per_row: usize,
    width: Span,
}

impl Default for Heat {
    fn default() -> Self {
        Self { rows: Vec::new(), nodes_per_row: 1, width: Span::from_secs(1) }
    }
}

impl Heat {
    /// Adds GPUs of one node under a lease of one tenant (place, number of GPUs) between two times after the origin.
    pub fn add(&mut self, node: NodeId, (tenant, gpus): (usize, u32), from: Span, to: Span) {
        while to.0 > self.width.0 * BUCKETS_MAX {
            self.halve_time();
        }
        while node.index() / self.nodes_per_row >= ROWS_MAX {
            self.halve_rows();
        }
        let row = node.index() / self.nodes_per_row;
        if self.rows.len() <= row {
            self.rows.resize_with(row + 1, Vec::new);
        }
        let (cells, mut at) = (&mut self.rows[row], from.0);
        while at < to.0 {
            let bucket = at / self.width.0;
            let next = ((bucket + 1) * self.width.0).min(to.0);
            if cells.len() <= bucket as usize {
                cells.resize(bucket as usize + 1, Cell::default());
            }
            let amount = f64::from(gpus) * (next - at) as f64;
            cells[bucket as usize].merge(Cell { leased: amount, tenant, votes: amount });
            at = next;
        }
    }

    /// The cells of each row, bucket by bucket.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// How many nodes share a row.
    pub fn nodes_per_row(&self) -> usize {
        self.nodes_per_row
    }

    /// How long a bucket is.
    pub fn width(&self) -> Span {
        self.width
    }

    fn halve_time(&mut self) {
        self.width = self.width + self.width;
        for cells in &mut self.rows {
            *cells = cells.chunks(2).map(merged).collect();
        }
    }

    fn halve_rows(&mut self) {
        self.nodes_per_row *= 2;
        self.rows = self.rows.chunks(2).map(stacked).collect();
    }
}

/// Rows on top of each other, as one.
fn stacked(rows: &[Vec<Cell>]) -> Vec<Cell> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let column = |at| rows.iter().filter_map(|row| row.get(at).copied()).collect::<Vec<Cell>>();
    (0..count).map(|at| merged(&column(at))).collect()
}

fn merged(cells: &[Cell]) -> Cell {
    let mut sum = Cell::default();
    for cell in cells {
        sum.merge(*cell);
    }
    sum
}

impl Cell {
    fn merge(&mut self, other: Self) {
        self.leased += other.leased;
        if self.tenant == other.tenant {
            self.votes += other.votes;
        } else if self.votes >= other.votes {
            self.votes -= other.votes;
        } else {
            self.tenant = other.tenant;
            self.votes = other.votes - self.votes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_stays_small_keeps_the_area_and_names_the_majority() {
        let mut heat = Heat::default();
        for second in 0..5000_u64 {
            let tenant = usize::from(second % 3 == 0);
            for node in 0..100 {
                heat.add(NodeId(node), (tenant, 8), Span::from_secs(second), Span::from_secs(second + 1));
            }
        }
        let cells: Vec<&Cell> = heat.rows().iter().flatten().collect();
        assert!(heat.rows().len() <= ROWS_MAX && cells.len() <= ROWS_MAX * BUCKETS_MAX as usize);
        let area: f64 = cells.iter().map(|cell| cell.leased).sum();
        assert!((area - 100.0 * 8.0 * 5e6).abs() < 1.0);
        assert!(cells.iter().all(|cell| cell.tenant == 0));
    }
}

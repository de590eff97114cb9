//! What each tenant received against what it was owed.
//!
//! At every instant a tenant with active jobs is owed its weighted max-min share of the capacity: weights are those of
//! tenants, and a tenant's demand is the sum of the most GPUs that each of its active jobs can use, within its own limit. What it received
//! is the GPUs its leases hold. Both are integrated over time.
//!
//! Groups of tenants are not looked at: every tenant counts with its own weight among all tenants.

use crate::book::Book;
use crate::fact::Fact;
use crate::series::{Series, Step};
use evenhand_core::{Time, Weight};
use evenhand_fairness::water_fill;

/// Integrals and curves of what tenants were owed and received.
#[derive(Debug, Default)]
pub struct Shares {
    totals: Vec<Total>,
    /// Track `2 t` is what tenant `t` was owed, track `2 t + 1` what it received.
    curves: Series,
    /// The division now in force: (tenant, owed, received), in GPUs.
    division: Vec<(usize, f64, f64)>,
    /// Of which state of the book the shares owed are.
    seen: Option<(u64, u64)>,
    /// Which changes of hands it knows of.
    moves: u64,
}

/// GPU-hours of one tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// What a fair division would have given it.
    pub owed_gpu_hours: f64,
    /// What its leases held.
    pub received_gpu_hours: f64,
}

impl Shares {
    /// Takes a fact in.
    pub fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        let Fact::Elapsed { from, to } = fact else { return };
        let state = (book.standings.changes, book.machines.changes);
        if self.seen.replace(state) != Some(state) {
            self.divide(book);
        }
        if self.moves != book.standings.moves {
            self.moves = book.standings.moves;
            let rows = book.standings.rows();
            self.division.iter_mut().for_each(|(at, _, received)| *received = rows[*at].leased as f64);
        }
        self.add(*from, *to);
    }

    /// The GPU-hours of a tenant.
    pub fn total(&self, tenant: usize) -> Total {
        self.totals.get(tenant).copied().unwrap_or_default()
    }

    /// The GPUs a tenant was owed, over time.
    pub fn owed(&self, tenant: usize) -> Vec<Step> {
        self.curves.steps(2 * tenant)
    }

    /// The GPUs a tenant held, over time.
    pub fn received(&self, tenant: usize) -> Vec<Step> {
        self.curves.steps(2 * tenant + 1)
    }

    fn divide(&mut self, book: &Book) {
        let rows = book.standings.rows();
        let present: Vec<usize> = book.standings.present().collect();
        let parties: Vec<(f64, f64)> =
            present.iter().map(|at| (Weight::get(rows[*at].weight), rows[*at].wants())).collect();
        let owed = water_fill(&parties, f64::from(book.machines.capacity().0));
        self.division.clear();
        self.division.extend(present.iter().zip(owed).map(|(at, owed)| (*at, owed, rows[*at].leased as f64)));
        if self.totals.len() < rows.len() {
            self.totals.resize(rows.len(), Total::default());
        }
    }

    fn add(&mut self, from: Time, to: Time) {
        let hours = to.since(from).seconds() / 3600.0;
        for (tenant, owed, received) in &self.division {
            let total = &mut self.totals[*tenant];
            total.owed_gpu_hours += owed * hours;
            total.received_gpu_hours += received * hours;
        }
        let both =
            |(tenant, owed, received): &(usize, f64, f64)| [(2 * tenant, *owed), (2 * tenant + 1, *received)];
        self.curves.add(from, to, &self.division.iter().flat_map(both));
    }
}

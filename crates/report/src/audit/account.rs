//! What tenants asked for and received, added up over the run.
//!
//! A job that can run nowhere asks for nothing. What a tenant asks for is the sum of the most GPUs that its active jobs can
//! use, within its limit and the GPUs that are up. A record concerns one tenant, so it costs a few additions, however many
//! tenants there are; only a change of the capacity concerns all.

use super::capacity::Capacity;
use super::curves::Curves;
use super::kind_curves::KindCurves;
use super::kinds::Kinds;
use crate::book::Book;
use crate::fact::{Fact, Held};
use evenhand_core::{GpuCount, GpuTime, JobSpec, ModelIndex, PerModel, Time};

/// What is known so far.
#[derive(Debug, Default)]
pub struct Account {
    /// How fast the tenants' jobs are.
    pub kinds: Kinds,
    /// GPU-milliseconds of each model that somebody could have used.
    pub capacity: Capacity,
    rows: Vec<Row>,
    curves: Curves,
    kind_curves: KindCurves,
    /// How many kinds there are.
    kinds_count: usize,
    /// Tenants with work now.
    with_work: u64,
    /// What all tenants ask for now.
    asked: f64,
    /// What tenants that run on each model ask for now and do not hold.
    unmet: PerModel<f64>,
    /// The models in the order of how fast jobs are on them, as of the last new kind.
    fastest_first: Vec<ModelIndex>,
    /// GPUs up, as of so many changes.
    up: GpuCount,
    changes: u64,
}

/// One tenant.
#[derive(Clone, Debug, Default)]
struct Row {
    kinds: Vec<KindRow>,
    /// Models that its jobs can run on.
    runs_on: Vec<ModelIndex>,
    now: Now,
    /// When that began.
    since: Time,
}

/// What a tenant is at, until something changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Now {
    has_work: bool,
    asks: f64,
    lacks: f64,
}

/// The jobs of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct KindRow {
    /// Its number among all kinds.
    pub number: usize,
    /// What their leases held.
    pub received: PerModel<GpuTime>,
    /// GPUs that they can use now.
    asks: u64,
    since: Time,
}

impl KindRow {
    /// Notes what it asked for until now.
    fn settle(&mut self, curves: &mut KindCurves, now: Time, up: GpuCount) {
        let since = std::mem::replace(&mut self.since, now);
        curves.ask(self.number, self.asks.min(u64::from(up.0)), since, now);
    }
}

impl Account {
    /// Takes a fact in.
    pub fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        match fact {
            Fact::Elapsed { from, to } => self.elapse(book, *from, *to),
            Fact::Submitted { spec, runs: true } => self.arrive(book, spec),
            Fact::Ended { spec, runs: true, .. } => {
                let (up, kind) = (self.up, self.kinds.find(spec));
                let row = self.rows.get_mut(spec.tenant.index());
                if let Some(kind) = row.zip(kind).and_then(|(row, kind)| row.kinds.get_mut(kind)) {
                    kind.settle(&mut self.kind_curves, book.now, up);
                    kind.asks = kind.asks.saturating_sub(u64::from(spec.gpus.max.0));
                }
                self.review(book, spec.tenant.index(), book.now);
            }
            Fact::Taken(held) => self.review(book, held.spec.tenant.index(), book.now),
            Fact::Freed { held, until, .. } => {
                receive(&self.kinds, &mut self.rows, &mut self.kind_curves, held, *until);
                self.review(book, held.spec.tenant.index(), book.now);
            }
            Fact::TenantChanged(tenant) => self.review(book, tenant.index(), book.now),
            _ => {}
        }
    }

    /// The kinds of each tenant, and their curves, open leases included.
    pub fn received(&self, book: &Book) -> (Vec<Vec<KindRow>>, KindCurves) {
        let (mut rows, mut curves) = (self.rows.clone(), self.kind_curves.clone());
        for held in book.leases.values() {
            receive(&self.kinds, &mut rows, &mut curves, held, book.now);
        }
        let kinds = rows.iter_mut().flat_map(|row| &mut row.kinds);
        kinds.for_each(|kind| kind.settle(&mut curves, book.now, self.up));
        (rows.into_iter().map(|row| row.kinds).collect(), curves)
    }

    /// What tenants asked for and when, until now.
    pub fn curves(&self, now: Time) -> Curves {
        let mut curves = self.curves.clone();
        for (tenant, row) in self.rows.iter().enumerate().filter(|(_, row)| row.now.has_work) {
            curves.ask(tenant, row.now.asks, row.since, now);
        }
        curves
    }

    fn elapse(&mut self, book: &Book, from: Time, to: Time) {
        if self.changes != book.machines.changes {
            self.changes = book.machines.changes;
            let up = std::mem::replace(&mut self.up, book.machines.capacity());
            let kinds = self.rows.iter_mut().flat_map(|row| &mut row.kinds);
            kinds.for_each(|kind| kind.settle(&mut self.kind_curves, from, up));
            (0..self.rows.len()).for_each(|tenant| self.review(book, tenant, from));
        }
        let now = Capacity::now(book, self.asked, &self.unmet, &self.fastest_first);
        self.capacity.add(&now, to.since(from).0 as f64);
        self.curves.elapse(book, from, to, self.with_work > 0);
        self.kind_curves.elapse(book, &now, from, to);
    }

    fn arrive(&mut self, book: &Book, spec: &JobSpec) {
        let (tenant, up) = (spec.tenant.index(), self.up);
        let Some(kind) = self.kinds.take(spec) else { return };
        if self.rows.len() <= tenant {
            self.rows.resize(tenant + 1, Row::default());
        }
        let row = &mut self.rows[tenant];
        if row.kinds.len() <= kind {
            row.kinds.push(KindRow { number: self.kinds_count, since: book.now, ..KindRow::default() });
            self.kinds_count += 1;
            self.fastest_first = self.kinds.fastest_first();
            row.runs_on.iter().for_each(|model| self.unmet[*model] -= row.now.lacks);
            row.runs_on = self.kinds.runs_on(tenant);
            row.runs_on.iter().for_each(|model| self.unmet[*model] += row.now.lacks);
        }
        row.kinds[kind].settle(&mut self.kind_curves, book.now, up);
        row.kinds[kind].asks += u64::from(spec.gpus.max.0);
        self.review(book, tenant, book.now);
    }

    /// Looks at a tenant again, something about which may have changed.
    fn review(&mut self, book: &Book, tenant: usize, time: Time) {
        let Some(row) = self.rows.get_mut(tenant) else { return };
        let standing = &book.standings.rows()[tenant];
        let asks = (standing.asks.min(standing.limit) as f64).min(f64::from(book.machines.capacity().0));
        let lacks = (asks - standing.leased as f64).max(0.0);
        let before = std::mem::replace(&mut row.now, Now { has_work: standing.asks > 0, asks, lacks });
        if row.now == before {
            return;
        }
        // All of these are whole numbers, so nothing is lost in adding and taking away.
        row.runs_on.iter().for_each(|model| self.unmet[*model] += row.now.lacks - before.lacks);
        self.asked += row.now.asks - before.asks;
        self.with_work = self.with_work + u64::from(row.now.has_work) - u64::from(before.has_work);
        if (row.now.has_work, row.now.asks.to_bits()) != (before.has_work, before.asks.to_bits()) {
            let since = std::mem::replace(&mut row.since, time);
            if before.has_work {
                self.curves.ask(tenant, before.asks, since, time);
            }
        }
    }
}

/// Books the GPU-time of a lease.
fn receive(kinds: &Kinds, rows: &mut [Row], curves: &mut KindCurves, held: &Held, until: Time) {
    let row = rows.get_mut(held.spec.tenant.index());
    let kind = row.zip(kinds.find(&held.spec)).and_then(|(row, kind)| row.kinds.get_mut(kind));
    let Some(kind) = kind else { return };
    curves.hold(kind.number, &held.models, held.since, until);
    for (model, gpus) in &held.models {
        kind.received[*model] += GpuTime::new(*gpus, until.since(held.since));
    }
}

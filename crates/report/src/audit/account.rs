//! What each tenant asked for, was entitled to and received, added up over the run.
//!
//! ```text
//! m_j(t)   GPUs of model j that are up                     M(t)  of all models
//! e_i(t)   = pi_i / sum of the weights of tenants with active jobs, while i has some; else 0
//! d_i(t)   = GPUs that its active jobs can use, within its limit and M(t)
//! y_i(t)   the part e_i(t) m(t) of every model, as far as its jobs can use it: d_i(t) GPUs, the fastest first
//! x_i(t)   GPUs that its leases hold
//! c_j(t)   = GPUs held + those idle, up to what tenants that run there ask for and do not hold
//! ```
//!
//! A job that can run nowhere asks for nothing. Idle time without any active job is left out. Because demands and
//! entitlements are looked at instant by instant, nobody is owed at noon what it could not use at night.

use super::asking::Asking;
use super::kinds::Kinds;
use crate::book::Book;
use crate::fact::{Fact, Held};
use crate::series::Series;
use evenhand_core::{GpuCount, GpuTime, JobSpec, ModelIndex, PerModel, Span, Time};

/// Integrals over the run, in GPU-milliseconds.
#[derive(Debug, Default)]
pub struct Account {
    /// How fast the tenants' jobs are.
    pub kinds: Kinds,
    /// By number of tenant.
    rows: Vec<Row>,
    /// Time in which somebody had work, in milliseconds.
    pub active: f64,
    /// M.
    pub up: f64,
    /// c: GPU-time of each model that was used, or that somebody could have used.
    pub usable: PerModel<f64>,
    /// d over time, a track for every tenant.
    pub asks: Series,
    /// What holds from now until something changes.
    pace: Vec<Pace>,
    usable_now: PerModel<f64>,
    /// GPUs that were up until now.
    capacity: GpuCount,
    seen: Option<(u64, u64, u64)>,
}

/// Integrals of one tenant, in GPU-milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// By kind of job.
    pub kinds: Vec<KindRow>,
    /// y.
    pub own_part: PerModel<f64>,
    /// e M.
    pub entitled: f64,
    /// d.
    pub asked: f64,
    /// Models that its jobs can run on, the fastest first, as far as its jobs are known by now.
    fastest_first: Vec<ModelIndex>,
}

/// Integrals of the jobs of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct KindRow {
    /// x, of leases that have ended.
    pub received: PerModel<GpuTime>,
    /// d.
    pub asking: Asking,
}

#[derive(Debug)]
struct Pace {
    tenant: usize,
    own_part: PerModel<f64>,
    entitled: f64,
    asks: f64,
}

impl Account {
    /// Takes a fact in.
    pub fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        match fact {
            Fact::Submitted { spec, runs: true } => self.arrive(book, spec),
            Fact::Ended { spec, runs: true, .. } => {
                let Some(kind) = self.kinds.find(spec) else { return };
                let capacity = self.capacity;
                let asking = &mut self.row(spec.tenant.index()).kinds[kind].asking;
                asking.settle(book.now, capacity);
                asking.fewer(spec.gpus.max);
            }
            Fact::Freed { held, until, .. } => receive(&self.kinds, &mut self.rows, held, *until),
            Fact::Elapsed { from, to } => {
                self.look(book, *from);
                self.add(to.since(*from));
                let asks = self.pace.iter().map(|pace| (pace.tenant, pace.asks));
                self.asks.add(*from, *to, &asks);
            }
            _ => {}
        }
    }

    /// What a kind has asked for until now.
    pub fn asked(&self, kind: &KindRow, now: Time) -> f64 {
        kind.asking.until(now, self.capacity)
    }

    /// The integrals of every tenant, open leases included.
    pub fn rows(&self, book: &Book) -> Vec<Row> {
        let mut rows = self.rows.clone();
        book.leases.values().for_each(|held| receive(&self.kinds, &mut rows, held, book.now));
        rows
    }

    fn arrive(&mut self, book: &Book, spec: &JobSpec) {
        self.kinds.take(spec);
        let (tenant, Some(kind)) = (spec.tenant.index(), self.kinds.find(spec)) else { return };
        let (fastest_first, capacity) = (self.fastest_first(tenant), self.capacity);
        let row = self.row(tenant);
        row.fastest_first = fastest_first;
        row.kinds.resize(row.kinds.len().max(kind + 1), KindRow::default());
        let asking = &mut row.kinds[kind].asking;
        asking.settle(book.now, capacity);
        asking.more(spec.gpus.max);
    }

    fn row(&mut self, tenant: usize) -> &mut Row {
        if self.rows.len() <= tenant {
            self.rows.resize(tenant + 1, Row::default());
        }
        &mut self.rows[tenant]
    }

    /// The order in which a tenant likes the models; which one is the reference hardly matters to it.
    fn fastest_first(&self, tenant: usize) -> Vec<ModelIndex> {
        let Some(row) = self.kinds.mean(tenant, ModelIndex(0)) else { return Vec::new() };
        let models = (0..row.0.len() as u16).map(ModelIndex);
        let mut order: Vec<ModelIndex> = models.filter(|model| row[*model] > 0.0).collect();
        order.sort_by(|a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
        order
    }

    fn look(&mut self, book: &Book, now: Time) {
        let state = (book.standings.changes, book.machines.changes, book.standings.moves);
        let before = self.seen.replace(state);
        let capacity = std::mem::replace(&mut self.capacity, book.machines.capacity());
        if capacity != self.capacity {
            let kinds = self.rows.iter_mut().flat_map(|row| &mut row.kinds);
            kinds.for_each(|kind| kind.asking.settle(now, capacity));
        }
        if before.is_none_or(|before| (before.0, before.1) != (state.0, state.1)) {
            self.divide(book);
        }
        if before != Some(state) {
            self.usable_now = self.usable_now(book);
        }
    }

    fn divide(&mut self, book: &Book) {
        let standings = book.standings.rows();
        let asking: Vec<usize> = book.standings.present().filter(|at| standings[*at].asks > 0).collect();
        let weights: f64 = asking.iter().map(|at| standings[*at].weight.get()).sum();
        let all = f64::from(book.machines.capacity().0);
        self.pace.clear();
        for tenant in asking {
            let row = &standings[tenant];
            let part = row.weight.get() / weights;
            let asks = (row.asks.min(row.limit) as f64).min(all);
            let (mut own_part, mut left) = (PerModel::default(), asks);
            for model in &self.rows[tenant].fastest_first {
                own_part[*model] = left.min(part * f64::from(book.machines.up(*model).0));
                left -= own_part[*model];
            }
            self.pace.push(Pace { tenant, own_part, entitled: part * all, asks });
        }
    }

    fn usable_now(&self, book: &Book) -> PerModel<f64> {
        let mut idle = PerModel::default();
        for (model, idle) in idle.0.iter_mut().enumerate() {
            let model = ModelIndex(model as u16);
            *idle = (f64::from(book.machines.up(model).0) - book.leased_on[model] as f64).max(0.0);
        }
        let mut unmet: PerModel<f64> = PerModel::default();
        // Most of the time a busy cluster has nothing idle, and then nobody needs to be asked.
        let asking = if idle.values().sum::<f64>() > 0.0 { &self.pace[..] } else { &[] };
        for pace in asking {
            let lacks = (pace.asks - book.standings.rows()[pace.tenant].leased as f64).max(0.0);
            self.rows[pace.tenant].fastest_first.iter().for_each(|model| unmet[*model] += lacks);
        }
        let mut usable = PerModel::default();
        for (model, usable) in usable.0.iter_mut().enumerate() {
            *usable = book.leased_on.0[model] as f64 + idle.0[model].min(unmet.0[model]);
        }
        usable
    }

    fn add(&mut self, Span(span): Span) {
        let span = span as f64;
        let grow = |sum: &mut PerModel<f64>, now: &PerModel<f64>| {
            sum.0.iter_mut().zip(now.values()).for_each(|(sum, now)| *sum += now * span);
        };
        grow(&mut self.usable, &self.usable_now);
        self.active += if self.pace.is_empty() { 0.0 } else { span };
        for pace in &self.pace {
            let row = &mut self.rows[pace.tenant];
            grow(&mut row.own_part, &pace.own_part);
            row.entitled += pace.entitled * span;
            row.asked += pace.asks * span;
            self.up += pace.entitled * span;
        }
    }
}

/// Books the GPU-time of a lease.
fn receive(kinds: &Kinds, rows: &mut [Row], held: &Held, until: Time) {
    let row = rows.get_mut(held.spec.tenant.index());
    let kind = row.zip(kinds.find(&held.spec)).and_then(|(row, kind)| row.kinds.get_mut(kind));
    let Some(kind) = kind else { return };
    for (model, gpus) in &held.models {
        kind.received[*model] += GpuTime::new(*gpus, until.since(held.since));
    }
}

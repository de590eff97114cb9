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

use super::speedups::Speedups;
use crate::book::Book;
use crate::fact::{Fact, Held};
use crate::series::Series;
use evenhand_core::{GpuTime, ModelIndex, PerModel, Span, Time};

/// Integrals over the run, in GPU-milliseconds.
#[derive(Debug, Default)]
pub struct Account {
    /// How fast the tenants' jobs are.
    pub speedups: Speedups,
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
    seen: Option<(u64, u64, u64)>,
}

/// Integrals of one tenant, in GPU-milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    /// x, of leases that have ended.
    pub received: PerModel<GpuTime>,
    /// y.
    pub own_part: PerModel<f64>,
    /// e M.
    pub entitled: f64,
    /// d.
    pub asked: f64,
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
            Fact::Submitted(spec) => self.speedups.take(spec, &book.machines.speeds(spec)),
            Fact::Freed { held, until, .. } => receive(&mut self.rows, held, *until),
            Fact::Elapsed { from, to } => {
                self.look(book);
                self.add(to.since(*from));
                let asks = self.pace.iter().map(|pace| (pace.tenant, pace.asks));
                self.asks.add(*from, *to, &asks);
            }
            _ => {}
        }
    }

    /// The integrals of every tenant, open leases included.
    pub fn rows(&self, book: &Book) -> Vec<Row> {
        let mut rows = self.rows.clone();
        rows.resize(rows.len().max(book.standings.rows().len()), Row::default());
        book.leases.values().for_each(|held| receive(&mut rows, held, book.now));
        rows
    }

    fn look(&mut self, book: &Book) {
        let state = (book.standings.changes, book.machines.changes, book.standings.moves);
        let before = self.seen.replace(state);
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
            for model in self.speedups.fastest_first(tenant) {
                own_part[*model] = left.min(part * f64::from(book.machines.up(*model).0));
                left -= own_part[*model];
            }
            self.pace.push(Pace { tenant, own_part, entitled: part * all, asks });
        }
        if self.rows.len() < standings.len() {
            self.rows.resize(standings.len(), Row::default());
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
            self.speedups.fastest_first(pace.tenant).iter().for_each(|model| unmet[*model] += lacks);
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
fn receive(rows: &mut Vec<Row>, held: &Held, until: Time) {
    let tenant = held.spec.tenant.index();
    if rows.len() <= tenant {
        rows.resize(tenant + 1, Row::default());
    }
    for (model, gpus) in &held.models {
        rows[tenant].received[*model] += GpuTime::new(*gpus, until.since(held.since));
    }
}

//! The run as one division of the cluster: who received how much of which GPU model, on average over the run.
//!
//! ```text
//! x_ij   = GPU-time of i on j / T                T      time in which somebody had work
//! m_j    = GPU-time of j that was used, or that somebody could have used, / T
//! pi_i   = GPU-time that i was entitled to / GPU-time of nodes that were up; these add up to 1
//! D_i    = max(GPU-time that i asked for, GPU-time it received) / T
//! w_i    its speedups                            alone_i = w_i.y_i / T, what its own part would have made
//! ```
//!
//! The symbols are those of `evenhand_fairness`; what is integrated over time is in [`Account`].

use super::account::{Account, Row};
use super::callable::callable;
use crate::book::Book;
use crate::shares::Shares;
use evenhand_core::{GpuTime, ModelIndex, PerModel};
use evenhand_solve::{Market, Matrix, dot};

/// Who received what.
#[derive(Debug)]
pub struct Received {
    /// What the parties are called.
    pub names: Vec<String>,
    /// Their numbers as tenants.
    pub tenants: Vec<usize>,
    /// What the GPU models are called.
    pub models: Vec<String>,
    /// The one that speedups are relative to.
    pub reference: String,
    /// w, m, pi, D.
    pub market: Market,
    /// x.
    pub shares: Matrix,
    /// The throughput that each party's own part of every model would have given, as far as its jobs could use it.
    pub alone: Vec<f64>,
    /// GPUs that each party could have used, had it been given as many as others.
    pub callable: Vec<f64>,
    /// T in seconds.
    pub active_s: f64,
    /// Tenants with jobs that could run on no GPU that there was, or never had time to.
    pub left_out: u64,
}

impl Received {
    /// What the tenants of a run received; nothing if nobody had work that the cluster could do.
    pub fn new(book: &Book, account: &Account, shares: &Shares) -> Option<Self> {
        let (columns, models): (Vec<ModelIndex>, Vec<String>) = book.machines.models_seen().unzip();
        let reference = account.speedups.reference(&columns)?;
        let time = account.active;
        let standings = book.standings.rows();
        let pick = |row: &PerModel<f64>| -> Vec<f64> { columns.iter().map(|model| row[*model]).collect() };
        let mean = |row: &PerModel<f64>| pick(row).iter().map(|area| area / time).collect::<Vec<f64>>();
        let capacity = mean(&account.usable);
        let fits = |(tenant, row): (usize, Row)| {
            let speedups = pick(&account.speedups.row(tenant, reference)?);
            let runs = dot(&speedups, &capacity) > 0.0 && row.entitled > 0.0 && row.asked > 0.0;
            runs.then_some((tenant, row, speedups))
        };
        let parties: Vec<(usize, Row, Vec<f64>)> =
            account.rows(book).into_iter().enumerate().filter_map(fits).collect();
        if parties.is_empty() {
            return None;
        }
        let gpus: Vec<Vec<f64>> = parties.iter().map(|(_, row, _)| mean(&in_milliseconds(row))).collect();
        let speedups: Vec<&[f64]> = parties.iter().map(|(.., speedups)| speedups.as_slice()).collect();
        let weights = parties.iter().map(|(_, row, _)| row.entitled / account.up).collect();
        let demand =
            |((_, row, _), gpus): (&(usize, Row, _), &Vec<f64>)| (row.asked / time).max(gpus.iter().sum());
        let market = Market::new(Matrix::from_rows(&speedups), capacity)
            .weighing(weights)
            .demanding(parties.iter().zip(&gpus).map(demand).collect());
        market.check().ok()?;
        let left_out = standings.iter().filter(|row| row.jobs > 0).count() - parties.len();
        let tenants: Vec<usize> = parties.iter().map(|(tenant, ..)| *tenant).collect();
        let callable = callable(&tenants, book, account, shares);
        Some(Self {
            names: parties.iter().map(|(tenant, ..)| standings[*tenant].name.clone()).collect(),
            tenants,
            callable,
            alone: parties.iter().map(|(_, row, speedups)| dot(speedups, &mean(&row.own_part))).collect(),
            reference: columns.iter().position(|model| *model == reference).map(|at| models[at].clone())?,
            models,
            shares: Matrix::from_rows(&gpus),
            market,
            active_s: time / 1e3,
            left_out: left_out as u64,
        })
    }

    /// The throughput of every party.
    pub fn throughputs(&self) -> Vec<f64> {
        self.shares.rows().enumerate().map(|(party, row)| self.market.throughput(party, row)).collect()
    }
}

fn in_milliseconds(row: &Row) -> PerModel<f64> {
    PerModel(row.received.0.map(|GpuTime(time)| time as f64))
}

//! The run as one division of the cluster: who received how much of which GPU model, on average over the run.
//!
//! ```text
//! T       time in which somebody had work
//! m_j     = GPU-time of j that was within reach / T
//! x_kj    = GPU-time of jobs of kind k on j / T           w_k  their speedups
//! u_i     = sum of w_k.x_k over the kinds of tenant i: its throughput
//! D_i     = max(GPU-time that i asked for, GPU-time it received) / T
//! pi_i    = GPU-time that i was entitled to / the same of all tenants
//! alone_i = w_i.y_i / T: what its own part would have made, with w_i the mean of its jobs' speedups
//! ```
//!
//! The symbols are those of `evenhand_fairness`; what is added up over time, y among it, is in `account.rs` and `curves.rs`.

use super::account::{Account, KindRow};
use super::curves::OwnPart;
use super::kinds::fastest_first;
use super::reach::Reach;
use crate::book::Book;
use crate::shares::Shares;
use evenhand_core::{GpuTime, ModelIndex, PerModel};
use evenhand_solve::{Market, Matrix, dot};

/// Who received what.
#[derive(Debug)]
pub struct Received {
    /// What the tenants are called.
    pub names: Vec<String>,
    /// Their numbers.
    pub tenants: Vec<usize>,
    /// What the GPU models are called.
    pub models: Vec<String>,
    /// The one that speedups are relative to.
    pub reference: String,
    /// m; a row of mean speedups, pi and D for each tenant.
    pub market: Market,
    /// GPUs of each tenant.
    pub shares: Matrix,
    /// u.
    pub throughputs: Vec<f64>,
    /// The throughput that each tenant's own part of every model would have given, as far as its jobs could use it.
    pub alone: Vec<f64>,
    /// GPUs that each tenant could have used, had it been given as many as others.
    pub callable: Vec<f64>,
    /// What kinds of jobs could have had.
    pub reach: Reach,
    /// The place of the tenant of each kind.
    pub owners: Vec<usize>,
    /// GPUs of each model that should not have been idle.
    pub wanted: Vec<f64>,
    /// T in seconds.
    pub active_s: f64,
    /// Tenants with jobs of which none could run on any GPU that there was, or had time to.
    pub left_out: u64,
}

/// Turns integrals over all models into means over time on those that there were.
struct Scale {
    models: Vec<ModelIndex>,
    time: f64,
}

impl Scale {
    fn pick(&self, row: &PerModel<f64>) -> Vec<f64> {
        self.models.iter().map(|model| row[*model]).collect()
    }

    fn mean(&self, row: &PerModel<f64>) -> Vec<f64> {
        self.models.iter().map(|model| row[*model] / self.time).collect()
    }

    fn gpus(&self, kind: &KindRow) -> Vec<f64> {
        self.mean(&PerModel(kind.received.0.map(|GpuTime(time)| time as f64)))
    }
}

/// A tenant that had work which the cluster could do.
struct Party {
    tenant: usize,
    kinds: Vec<KindRow>,
    own: OwnPart,
    /// The throughput of its own part.
    alone: f64,
    speedups: Vec<f64>,
}

impl Received {
    /// What the tenants of a run received; nothing if nobody had work that the cluster could do.
    pub fn new(book: &Book, account: &Account, shares: &Shares) -> Option<Self> {
        let (columns, models): (Vec<ModelIndex>, Vec<String>) = book.machines.models_seen().unzip();
        let reference = account.kinds.reference(&columns)?;
        let reference_name = columns.iter().zip(&models).find(|(model, _)| **model == reference)?.1.clone();
        let curves = account.curves(book.now);
        let scale = Scale { models: columns, time: curves.active };
        let capacity = scale.mean(&account.capacity.within);
        let useful = |speedups: &[f64]| dot(speedups, &capacity) > 0.0;
        let standings = book.standings.rows();
        let (rows, kind_curves) = account.received(book);
        let means: Vec<PerModel<f64>> =
            (0..rows.len()).map(|tenant| account.kinds.mean(tenant, reference).unwrap_or_default()).collect();
        let weighed =
            |(tenant, mean): (usize, &PerModel<f64>)| (standings[tenant].weight.get(), fastest_first(mean));
        let tastes: Vec<(f64, Vec<ModelIndex>)> = means.iter().enumerate().map(weighed).collect();
        let mut parties: Vec<Party> = Vec::new();
        for (tenant, (kinds, own)) in rows.into_iter().zip(curves.own_parts(&tastes)).enumerate() {
            let speedups = scale.pick(&means[tenant]);
            if own.entitled > 0.0 && own.asked > 0.0 && useful(&speedups) {
                let made = tastes[tenant]
                    .1
                    .iter()
                    .zip(&own.usable)
                    .map(|(model, gpu_s)| means[tenant][*model] * gpu_s);
                let alone = made.sum::<f64>() * 1e3 / scale.time;
                parties.push(Party { tenant, kinds, own, alone, speedups });
            }
        }
        let mut gpus = vec![vec![0.0; capacity.len()]; parties.len()];
        let mut throughputs = vec![0.0; parties.len()];
        let (mut rows, mut owners, mut numbers) = (vec![], vec![], vec![]);
        for (owner, party) in parties.iter().enumerate() {
            for (kind, known) in party.kinds.iter().zip(account.kinds.of(party.tenant)) {
                let (held, speedups) = (scale.gpus(kind), scale.pick(&known.row(reference)));
                throughputs[owner] += dot(&speedups, &held);
                gpus[owner].iter_mut().zip(&held).for_each(|(sum, held)| *sum += held);
                owners.push(owner);
                numbers.push(kind.number);
                rows.push(speedups);
            }
        }
        let stretches = kind_curves.stretches(&numbers, &scale.models);
        let speedups: Vec<&[f64]> = parties.iter().map(|party| party.speedups.as_slice()).collect();
        let demand =
            |(party, gpus): (&Party, &Vec<f64>)| (party.own.asked * 1e3 / scale.time).max(gpus.iter().sum());
        let entitled: f64 = parties.iter().map(|party| party.own.entitled).sum();
        let market = Market::new(Matrix::from_rows(&speedups), capacity)
            .weighing(parties.iter().map(|party| party.own.entitled / entitled).collect())
            .demanding(parties.iter().zip(&gpus).map(demand).collect());
        if parties.is_empty() || market.check().is_err() {
            return None;
        }
        let tenants: Vec<usize> = parties.iter().map(|party| party.tenant).collect();
        let weights: Vec<(usize, f64)> =
            tenants.iter().map(|tenant| (*tenant, standings[*tenant].weight.get())).collect();
        let in_gpus = |gpu_s: f64| gpu_s * 1e3 / scale.time;
        Some(Self {
            names: tenants.iter().map(|tenant| standings[*tenant].name.clone()).collect(),
            alone: parties.iter().map(|party| party.alone).collect(),
            callable: curves.callable(&weights, shares).into_iter().map(in_gpus).collect(),
            left_out: (standings.iter().filter(|row| row.jobs > 0).count() - tenants.len()) as u64,
            wanted: scale.mean(&account.capacity.wanted),
            active_s: scale.time / 1e3,
            reference: reference_name,
            shares: Matrix::from_rows(&gpus),
            reach: Reach::new(&rows, &stretches, scale.time / 1e3),
            tenants,
            models,
            market,
            throughputs,
            owners,
        })
    }
}

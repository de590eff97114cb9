//! Who asked for how much when, and what part of the cluster was its own then.
//!
//! ```text
//! m_j(t)   GPUs of model j that are up while somebody has work
//! a_i(t)   the part of a stretch of time in which i has work
//! e_i(t)   = pi_i a_i(t) / sum_l pi_l a_l(t)
//! d_i(t)   GPUs that i asks for
//! y_i(t)   the part e_i(t) m(t) of every model, as far as i's jobs can use it: d_i(t) GPUs, the fastest first
//! h_i(t)   = pi_i max_l x_l(t) / pi_l: GPUs that i would have with the most per weight that anybody has
//! ```
//!
//! Time is cut into the stretches of a [`Series`], hundreds of them, and everything is a mean over a stretch. Because they
//! are looked at one by one, nobody is owed at noon what it could not use at night.

use crate::book::Book;
use crate::series::{Series, Step, thin};
use crate::shares::Shares;
use evenhand_core::{MODELS_MAX, ModelIndex, Time};

/// Stretches for what one may call for: in a single round whoever has a gang has more than its share.
const LONG_STRETCHES_MAX: usize = 64;

/// What was asked for, by whom, and what there was.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    /// m, a track for each model; then two for each tenant: d, and 1 while it has work.
    tracks: Series,
    /// Milliseconds in which somebody had work.
    pub active: f64,
}

/// The track of what a tenant asks for.
fn asks(tenant: usize) -> usize {
    MODELS_MAX + 2 * tenant
}

/// What was a tenant's own, in GPU-seconds.
#[derive(Clone, Debug, Default)]
pub struct OwnPart {
    /// y by model, in the order in which they were asked for.
    pub usable: Vec<f64>,
    /// e times all GPUs.
    pub entitled: f64,
    /// d.
    pub asked: f64,
}

impl Curves {
    /// Time passes, with somebody having work or not.
    pub fn elapse(&mut self, book: &Book, from: Time, to: Time, work: bool) {
        let seen = book.machines.models_up();
        let up = seen.filter(|_| work).map(|(model, gpus)| (usize::from(model.0), f64::from(gpus.0)));
        self.tracks.add(from, to, &up);
        self.active += if work { to.since(from).0 as f64 } else { 0.0 };
    }

    /// A tenant with work asked for so much from then until then.
    pub fn ask(&mut self, tenant: usize, gpus: f64, from: Time, to: Time) {
        let track = asks(tenant);
        self.tracks.add(from, to, &[(track, gpus), (track + 1, 1.0)].into_iter());
    }

    /// The own parts of all tenants, each with its weight and the models that it can run on, the fastest first.
    pub fn own_parts(&self, tenants: &[(f64, Vec<ModelIndex>)]) -> Vec<OwnPart> {
        let up: Vec<Vec<Step>> = (0..MODELS_MAX).map(|model| self.tracks.steps(model)).collect();
        let present: Vec<Vec<Step>> = (0..tenants.len()).map(|at| self.tracks.steps(asks(at) + 1)).collect();
        let mut weights = vec![0.0; up[0].len()];
        for ((weight, _), steps) in tenants.iter().zip(&present) {
            weights.iter_mut().zip(steps).for_each(|(sum, step)| *sum += weight * step.mean);
        }
        let one = |(tenant, (weight, fastest_first)): (usize, &(f64, Vec<ModelIndex>))| {
            let mut own = OwnPart { usable: vec![0.0; fastest_first.len()], ..OwnPart::default() };
            let asked = self.tracks.steps(asks(tenant));
            let there = present[tenant].iter().enumerate().filter(|(_, step)| step.mean > 0.0);
            for (at, step) in there {
                let (part, length) = (weight * step.mean / weights[at], step.to_s - step.from_s);
                let mut left = asked[at].mean;
                own.asked += left * length;
                own.entitled += part * up.iter().map(|model| model[at].mean).sum::<f64>() * length;
                for (model, usable) in fastest_first.iter().zip(&mut own.usable) {
                    let gpus = left.min(part * up[usize::from(model.0)][at].mean);
                    left -= gpus;
                    *usable += gpus * length;
                }
            }
            own
        };
        tenants.iter().enumerate().map(one).collect()
    }

    /// GPU-seconds that each of these tenants, given with its weight, could have used of what others had: of min(d_i, h_i). The
    /// mean of d_i would be too much. A tenant that asks for 2 GPUs by day and for 98 in the evening asks for 50 on average, but
    /// nobody who had 50 all day had them at its expense.
    pub fn callable(&self, tenants: &[(usize, f64)], shares: &Shares) -> Vec<f64> {
        let mut level: Vec<f64> = Vec::new();
        for (tenant, weight) in tenants {
            for (at, step) in thin(&shares.received(*tenant), LONG_STRETCHES_MAX).iter().enumerate() {
                level.resize(level.len().max(at + 1), 0.0);
                level[at] = level[at].max(step.mean / weight);
            }
        }
        let one = |(tenant, weight): &(usize, f64)| {
            let asked = thin(&self.tracks.steps(asks(*tenant)), LONG_STRETCHES_MAX);
            let used = asked
                .iter()
                .zip(&level)
                .map(|(step, level)| step.mean.min(level * weight) * (step.to_s - step.from_s));
            used.sum()
        };
        tenants.iter().map(one).collect()
    }
}

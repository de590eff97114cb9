//! Gandiva_fair: GPU-time in proportion to tickets on every GPU model, and trading of fast GPUs for slow ones.
//!
//! ```text
//! x_t = weighted max-min share of the cluster, the same part of every GPU model       tickets pi_t = the tenant's weight
//! trade, for each pair of a fast and a slow model:   s_t = w_t,fast / w_t,slow         the tenant's speedup
//!     the largest s_hi buys fast GPUs from the smallest s_lo, then the next, for p slow ones each
//!     p = second-largest speedup, s_lo < p <= s_hi: both gain ;  until the buyer has no slow ones left
//! stride over tenants on model j:   pass_tj += g_i * quantum / e_tj       e = entitlement after the trades
//! stride over a tenant's jobs:      pass_i  += g_i * quantum              equal tickets; the smallest pass runs
//! ```
//!
//! The pass of a tenant is kept by the engine: its balance b = e * time - received, and the smallest pass is the
//! largest b / e. The pass of a job is what it has received on top of the smallest pass among its tenant's jobs when
//! it came, so that a newcomer does not have the GPUs to itself until it has caught up.
//!
//! Differs from the paper: central stride in place of one per server and a balancer, since rounds and placement are
//! common machinery here; speedups are the forecast's, not profiled; where the second-largest speedup is the
//! sellers' own (two tenants, say), the price is half-way, so that both still gain. O(n k) for k models, and T k for
//! every grant to choose among T tenants.

use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, REPAY, Room, candidates, slice};
use crate::gavel_rounds::{RESET, ROUND, VARIANT, fork};
use crate::published::ProportionalShare;
use crate::registry::{DivideError, Entry, Promise};
use evenhand_core::{
    GpuCount, GpuTime, Job, JobId, JobIndex, JobState, Limits, Memory, ModelIndex, Others, ParameterSpec,
    Party, PerModel, Plan, Policy, PolicyError, Reason, Shares, Snapshot, Span, TenantId,
};
use evenhand_fairness::water_fill;
use evenhand_solve::{Division, Market, Matrix};
use std::collections::BTreeMap;

const TRADE: ParameterSpec = ParameterSpec {
    name: "trade",
    default: "true",
    summary: "whether tenants trade fast GPUs for slow ones",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "gandiva-fair",
    summary: "GPU-time by tickets on every GPU model; tenants trade fast GPUs for slow ones where both gain.",
    paper: "Gandiva_fair, EuroSys 2020",
    promises: &[Promise::WorkConserving, Promise::CarriesBalances, Promise::SharingIncentive],
    parameters: &[PREEMPT_AT_ROUNDS, REPAY, TRADE, VARIANT, RESET, ROUND],
    divide: Some(|market, _| split(market)),
    build: |parameters| {
        if let Some(rounds) = fork(parameters)? {
            return Ok(Box::new(ProportionalShare { rounds }));
        }
        let repay = parameters.span(&REPAY)?;
        Ok(Box::new(GandivaFair {
            preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?,
            repay,
            trades: parameters.read(&TRADE, "it is true or false")?,
        }))
    },
};

struct GandivaFair {
    preempt: Preempt,
    repay: Span,
    trades: bool,
}

/// What each job's pass is ahead of the GPU-time it has received.
type Heads = BTreeMap<JobId, GpuTime>;

/// A tenant with jobs, the smallest pass first.
struct User<'a> {
    tenant: TenantId,
    weight: f64,
    jobs: Vec<(JobIndex, &'a Job)>,
    speeds: PerModel<f64>,
    entitled: PerModel<f64>,
}

impl Policy for GandivaFair {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let heads = heads(snapshot);
        let mut users = users(snapshot, &heads);
        share_out(snapshot, &mut users);
        if self.trades {
            trade_all(snapshot, &mut users);
        }
        let due = self.preempt.is_due(snapshot);
        let mut plan = Plan { others: if due { Others::Release } else { Others::Keep }, ..Plan::default() };
        let rows = users.iter().map(|user| (Party::Tenant(user.tenant), user.entitled)).collect();
        plan.shares = Some(Shares { rows });
        let mut up = candidates(snapshot, self.preempt).map(|(_, job)| job.spec.id).collect::<Vec<_>>();
        up.sort_unstable();
        for user in &mut users {
            user.jobs.retain(|(_, job)| up.binary_search(&job.spec.id).is_ok());
        }
        let mut room = if due { Room::whole(snapshot) } else { Room::left_over(snapshot) };
        self.hand_out(snapshot, &users, due, &mut room, &mut plan);
        plan.memory = Memory::new(heads);
        Ok(plan)
    }
}

impl GandivaFair {
    /// Gives GPUs, one job at a time, to the tenant whose pass on some model is the smallest.
    fn hand_out(
        &self,
        snapshot: &Snapshot,
        users: &[User<'_>],
        due: bool,
        room: &mut Room<'_>,
        plan: &mut Plan,
    ) {
        let mut desks: Vec<Desk<'_>> = Vec::new();
        for (number, user) in users.iter().enumerate() {
            for model in snapshot.cluster.model_indices() {
                let owed = snapshot.balances.on(Party::Tenant(user.tenant), model) / self.repay.0 as f64;
                let credit = user.entitled[model] + owed;
                let (line, moves) = line(snapshot, user, model);
                desks.push(Desk { user, number, model, credit, line, moves, next: 0 });
            }
        }
        if !due {
            charge_held(snapshot, &mut desks);
        }
        let mut granted: Vec<Vec<bool>> = users.iter().map(|user| vec![false; user.jobs.len()]).collect();
        for moving in [false, true] {
            for desk in desks.iter_mut().filter(|_| moving) {
                (desk.line, desk.next) = (std::mem::take(&mut desk.moves), 0);
            }
            while let Some(desk) = smallest_pass(&mut desks) {
                let at = desk.line[desk.next];
                desk.next += 1;
                let (index, job) = desk.user.jobs[at];
                if !granted[desk.number][at]
                    && let Some(grant) = room.grant_on(index, job, desk.model, Reason::Turn)
                {
                    granted[desk.number][at] = true;
                    desk.credit -= f64::from(grant.gpus.0);
                    plan.grants.push(grant);
                }
            }
        }
        // Who takes whatever GPUs there are, and why the others wait.
        for (user, granted) in users.iter().zip(granted) {
            for ((index, job), _) in user.jobs.iter().zip(granted).filter(|(_, granted)| !granted) {
                match room.grant(*index, job, Reason::Turn) {
                    Ok(grant) => plan.grants.push(grant),
                    Err(why) => plan.refused.push((job.spec.id, why)),
                }
            }
        }
    }
}

/// One tenant's line for GPUs of one model.
struct Desk<'a> {
    user: &'a User<'a>,
    number: usize,
    model: ModelIndex,
    /// GPUs that the tenant may still claim here.
    credit: f64,
    /// Places of its jobs, in the order they are served. Room only shrinks, so who did not fit never will.
    line: Vec<usize>,
    /// Those who would rather stay where they are: they come when everybody else has been served.
    moves: Vec<usize>,
    next: usize,
}

/// The desk with a line whose tenant is the furthest behind; of equals the first.
fn smallest_pass<'a, 'b>(desks: &'b mut [Desk<'a>]) -> Option<&'b mut Desk<'a>> {
    let level = |desk: &Desk<'_>| desk.credit / desk.user.weight;
    let open = desks.iter_mut().filter(|desk| desk.next < desk.line.len());
    open.reduce(|best, desk| if level(desk) > level(best) { desk } else { best })
}

/// The jobs of a tenant by pass: those that would like GPUs of this model, and those that hold others at least as
/// fast and would have to move.
fn line(snapshot: &Snapshot, user: &User<'_>, model: ModelIndex) -> (Vec<usize>, Vec<usize>) {
    let glad = |at: &usize| {
        let (index, job) = user.jobs[*at];
        let held = snapshot.leases.of_job(Some(job)).and_then(|lease| snapshot.model_of(lease));
        let speed = |model: ModelIndex| snapshot.forecast(index).speed[model].mean;
        held.is_none_or(|held| held == model || speed(model) > speed(held))
    };
    (0..user.jobs.len()).partition(glad)
}

/// Between rounds, what running jobs hold is claimed already.
fn charge_held(snapshot: &Snapshot, desks: &mut [Desk<'_>]) {
    let mut held: BTreeMap<(TenantId, ModelIndex), u32> = BTreeMap::new();
    for lease in snapshot.leases.iter().filter(|lease| lease.is_lasting()) {
        if let (Some(job), Some(model)) = (snapshot.jobs.by_id(lease.job), snapshot.model_of(lease)) {
            *held.entry((job.spec.tenant, model)).or_default() += lease.gpus.count().0;
        }
    }
    for desk in desks {
        desk.credit -= f64::from(held.get(&(desk.user.tenant, desk.model)).copied().unwrap_or(0));
    }
}

/// Each job's head start: a newcomer begins at the smallest pass among its tenant's jobs.
fn heads(snapshot: &Snapshot) -> Heads {
    let known = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Heads>()).unwrap_or_default();
    let mut smallest: BTreeMap<TenantId, GpuTime> = BTreeMap::new();
    for (_, job) in snapshot.jobs.iter() {
        if let Some(head) = known.get(&job.spec.id) {
            let pass = *head + snapshot.attained(job);
            smallest.entry(job.spec.tenant).and_modify(|least| *least = pass.min(*least)).or_insert(pass);
        }
    }
    let head = |job: &Job| {
        let start = smallest.get(&job.spec.tenant).copied().unwrap_or_default();
        known.get(&job.spec.id).copied().unwrap_or(start)
    };
    snapshot.jobs.iter().map(|(_, job)| (job.spec.id, head(job))).collect()
}

/// The tenants with jobs that may run, by number.
fn users<'a>(snapshot: &'a Snapshot, heads: &Heads) -> Vec<User<'a>> {
    let mut jobs: Vec<_> = snapshot.jobs.iter().filter(|(_, job)| job.state != JobState::Held).collect();
    let pass = |job: &Job| heads.get(&job.spec.id).copied().unwrap_or_default() + snapshot.attained(job);
    jobs.sort_unstable_by_key(|(_, job)| (job.spec.tenant, pass(job), job.queue_key()));
    let mut users: Vec<User<'a>> = Vec::new();
    for own in jobs.chunk_by(|a, b| a.1.spec.tenant == b.1.spec.tenant) {
        let tenant = own[0].1.spec.tenant;
        users.push(User {
            tenant,
            weight: snapshot.tenants.weight(tenant).get(),
            jobs: own.to_vec(),
            speeds: speeds(snapshot, own),
            entitled: PerModel::all(0.0),
        });
    }
    users
}

/// A tenant's speed on each model: the mean over its jobs, by GPUs, each relative to its own fastest model.
fn speeds(snapshot: &Snapshot, jobs: &[(JobIndex, &Job)]) -> PerModel<f64> {
    let mut by_age = jobs.to_vec();
    by_age.sort_unstable_by_key(|(_, job)| job.queue_key());
    let mut sum = PerModel::all(0.0);
    let mut gpus = 0.0;
    for (index, job) in by_age {
        let speed = &snapshot.forecast(index).speed;
        let fastest = speed.values().map(|speed| speed.mean.get()).fold(0.0, f64::max);
        if fastest > 0.0 {
            gpus += f64::from(job.spec.gpus.min.0);
            for model in snapshot.cluster.model_indices() {
                sum[model] += f64::from(job.spec.gpus.min.0) * speed[model].mean.get() / fastest;
            }
        }
    }
    PerModel(sum.0.map(|sum: f64| if gpus > 0.0 { sum / gpus } else { 0.0 }))
}

/// Everybody's tickets' worth of every model, as far as its jobs can use it.
fn share_out(snapshot: &Snapshot, users: &mut [User<'_>]) {
    let demand = |user: &User<'_>| user.jobs.iter().map(|(_, job)| job.spec.gpus.max).sum::<GpuCount>().0;
    let parties: Vec<_> = users.iter().map(|user| (user.weight, f64::from(demand(user)))).collect();
    let capacity = f64::from(snapshot.cluster.capacity_total().0);
    for (user, gpus) in users.iter_mut().zip(water_fill(&parties, capacity)) {
        user.entitled = slice(snapshot, gpus);
    }
}

/// Trades between the tenants of a snapshot.
fn trade_all(snapshot: &Snapshot, users: &mut [User<'_>]) {
    let models: Vec<ModelIndex> = snapshot.cluster.model_indices().collect();
    let row = |values: &PerModel<f64>| models.iter().map(|model| values[*model]).collect();
    let speeds: Vec<Vec<f64>> = users.iter().map(|user| row(&user.speeds)).collect();
    let mut entitled: Vec<Vec<f64>> = users.iter().map(|user| row(&user.entitled)).collect();
    trade_models(&speeds, &mut entitled);
    for (user, row) in users.iter_mut().zip(entitled) {
        for (model, gpus) in models.iter().zip(row) {
            user.entitled[*model] = gpus;
        }
    }
}

/// Trades between every two models, the fastest and the slowest first.
fn trade_models(speeds: &[Vec<f64>], entitled: &mut [Vec<f64>]) {
    let count = speeds.first().map_or(0, Vec::len);
    let mean = |model: usize| speeds.iter().map(|row| row[model]).sum::<f64>();
    let mut models: Vec<(f64, usize)> = (0..count).map(|model| (mean(model), model)).collect();
    models.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for fast in (1..models.len()).rev() {
        for slow in 0..fast {
            let (fast, slow) = (models[fast].1, models[slow].1);
            let mut parties: Vec<Trader> = speeds
                .iter()
                .zip(entitled.iter())
                .map(|(speeds, entitled)| Trader {
                    speedup: speedup(speeds[fast], speeds[slow]),
                    fast: entitled[fast],
                    slow: entitled[slow],
                })
                .collect();
            trade(&mut parties);
            for (row, trader) in entitled.iter_mut().zip(parties) {
                (row[fast], row[slow]) = (trader.fast, trader.slow);
            }
        }
    }
}

/// Equal parts by tickets, then trades.
fn split(market: &Market) -> Result<Division, DivideError> {
    market.check()?;
    let speeds: Vec<Vec<f64>> = market.speedups.rows().map(relative_to_fastest).collect();
    let parties: Vec<(f64, f64)> =
        market.weights.iter().copied().zip(market.demands.iter().copied()).collect();
    let capacity: f64 = market.capacity.iter().sum();
    let part = |gpus: f64| market.capacity.iter().map(|model| model * gpus / capacity).collect();
    let mut entitled: Vec<Vec<f64>> = water_fill(&parties, capacity).into_iter().map(part).collect();
    trade_models(&speeds, &mut entitled);
    Ok(Division::by_rule(market, Matrix::from_rows(&entitled)))
}

fn relative_to_fastest(row: &[f64]) -> Vec<f64> {
    let fastest = row.iter().copied().fold(0.0, f64::max);
    row.iter().map(|speed| speed / fastest).collect()
}

/// A tenant that cannot run on the slow model at all would pay any price.
fn speedup(fast: f64, slow: f64) -> f64 {
    const ANY_PRICE: f64 = 1e6;
    if slow > 0.0 { (fast / slow).min(ANY_PRICE) } else { ANY_PRICE }
}

#[derive(Clone, Copy, Debug)]
struct Trader {
    speedup: f64,
    fast: f64,
    slow: f64,
}

/// The trader with the largest speedup buys fast GPUs from those with the smallest.
fn trade(traders: &mut [Trader]) {
    let mut order: Vec<usize> = (0..traders.len()).collect();
    order.sort_by(|a, b| traders[*a].speedup.total_cmp(&traders[*b].speedup).then(a.cmp(b)));
    let [sellers @ .., buyer] = order.as_slice() else { return };
    let (Some(lowest), Some(second)) = (sellers.first(), sellers.last()) else { return };
    let (low, high) = (traders[*lowest].speedup, traders[*buyer].speedup);
    let second = traders[*second].speedup;
    let price = if second > low { second } else { f64::midpoint(low, high) };
    for seller in sellers {
        if traders[*seller].speedup >= price {
            break;
        }
        let fast = traders[*seller].fast.min(traders[*buyer].slow / price);
        traders[*seller].fast -= fast;
        traders[*buyer].fast += fast;
        traders[*seller].slow += fast * price;
        traders[*buyer].slow = (traders[*buyer].slow - fast * price).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utilities(speedups: &[f64]) -> Vec<f64> {
        let part = 1.0 / speedups.len() as f64;
        let mut traders: Vec<_> =
            speedups.iter().map(|speedup| Trader { speedup: *speedup, fast: part, slow: part }).collect();
        trade(&mut traders);
        traders.iter().map(|trader| trader.slow + trader.fast * trader.speedup).collect()
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}, not {expected:?}");
    }

    #[test]
    fn the_fastest_buys_from_the_slowest_at_the_second_highest_price() {
        // Case B of the OEF paper: speedups 2, 3, 4 on one slow and one fast GPU; the price is 3.
        let after = utilities(&[2.0, 3.0, 4.0]);
        assert_close(&after, &[10.0 / 9.0, 4.0 / 3.0, 16.0 / 9.0]);
        assert!((after.iter().sum::<f64>() - 4.222).abs() < 1e-3);
    }

    #[test]
    fn two_tenants_meet_half_way_and_equals_do_not_trade() {
        let (low, high) = (1.5, 3.0);
        let after = utilities(&[2.0, 5.0]);
        assert!(after[0] > low && after[1] > high, "{after:?}");
        assert_close(&utilities(&[3.0, 3.0]), &[2.0, 2.0]);
    }
}

//! Ledgers made by hand: a few lines of story, and a small cluster with a queue that writes a long one.

use evenhand_core::{
    Abilities, Choice, Command, Decision, EndCause, EngineConfig, Event, GpuMask, GpuModel, GpuSet, GpuTime,
    Header, JobId, JobSpec, LEDGER_VERSION, LeaseId, Limits, ModelIndex, Node, NodeId, Occasion, Outcome,
    Quality, RackId, Random, Record, Round, Span, StopReason, Tenant, TenantId, Time, Work,
};
use evenhand_report::Report;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A header that names this policy.
pub fn header(policy: &str) -> Header {
    Header {
        evenhand: LEDGER_VERSION,
        policy: Choice::named(policy),
        placer: Choice::named("packed"),
        predictor: Choice::named("declared"),
        seed: 7,
        engine: EngineConfig::default(),
        limits: Limits::default(),
        abilities: Abilities::default(),
        world: "simulated".into(),
    }
}

/// The report of these records.
pub fn report(records: &[Record]) -> Report {
    let mut report = Report::new(&header("fifo"));
    for record in records {
        report.take(record);
    }
    report
}

pub fn record(second: u64, event: Event, commands: Vec<Command>) -> Record {
    Record { now: Time(second * 1000), event, commands, decision: None, notes: vec![] }
}

pub fn decided(mut record: Record, kept: u32, due: u32) -> Record {
    let (round, occasion, quality) = (Round(1), Occasion::Regular, Quality::Rule);
    let (shares, auction, ahead, promises) = (vec![], None, None, vec![]);
    record.decision = Some(Decision {
        round,
        occasion,
        active: 2,
        running: 1,
        kept,
        due,
        quality,
        shares,
        auction,
        ahead,
        promises,
    });
    record
}

pub fn node(id: u32, gpus: u8) -> Event {
    Event::NodeUp(Node::new(NodeId(id), RackId(0), ModelIndex(0), gpus))
}

pub fn tenant(id: u32, name: &str) -> Event {
    Event::TenantChanged(Tenant::new(TenantId(id), name))
}

pub fn job(id: u64, tenant: u32, gpus: u32) -> Event {
    Event::Submitted(Arc::new(JobSpec::new(JobId(id), TenantId(tenant), gpus, None)))
}

pub fn start(lease: u64, job: u64, second: u64, gpus: &GpuSet) -> Command {
    // As the ledger has it, so that what only the engine knows about a lease stays out of here.
    let seats = serde_json::to_string(gpus).expect("GPUs can be written");
    let times = format!(r#""starts":{},"expires":{}"#, second * 1000, u64::MAX);
    let line = format!(r#"{{"id":{lease},"job":{job},"gpus":{seats},{times},"reason":"first-come"}}"#);
    Command::Start(serde_json::from_str(&line).expect("this is how a ledger writes a lease"))
}

pub fn stop(lease: u64) -> Command {
    Command::Stop { lease: LeaseId(lease), reason: StopReason::Preempted, grace: Span::ZERO }
}

pub fn end(job: u64, outcome: Outcome) -> Command {
    Command::End { job: JobId(job), outcome, attained: GpuTime::ZERO }
}

pub fn lease_ended(lease: u64, done: f64, saved: f64, cause: EndCause) -> Event {
    Event::LeaseEnded {
        lease: LeaseId(lease),
        done: Work::from_steps(done),
        saved: Work::from_steps(saved),
        cause,
    }
}

pub fn gpus(node: u32, mask: u64) -> GpuSet {
    GpuSet::on(NodeId(node), GpuMask(mask))
}

/// Four GPUs. Ann's job 1 takes all of them, is preempted for Bob's job 2, and goes on afterwards; Bob takes job 3
/// back. Every number of the report can be worked out by hand.
pub fn two_tenants() -> Vec<Record> {
    let finished = |alone| EndCause::Finished { alone };
    vec![
        record(0, Event::ModelAdded(GpuModel { name: "v100".into() }), vec![]),
        record(0, tenant(0, "ann"), vec![]),
        record(0, tenant(1, "bob"), vec![]),
        record(0, node(0, 4), vec![]),
        record(10, job(1, 0, 4), vec![start(1, 1, 10, &gpus(0, 0b1111))]),
        record(20, job(2, 1, 2), vec![]),
        record(30, job(3, 1, 1), vec![]),
        record(40, Event::Cancelled(JobId(3)), vec![end(3, Outcome::Cancelled)]),
        decided(record(50, Event::RoundDue(Round(1)), vec![stop(1), stop(1)]), 0, 1),
        record(55, lease_ended(1, 40.0, 30.0, EndCause::Stopped), vec![start(2, 2, 55, &gpus(0, 0b0011))]),
        record(
            155,
            lease_ended(2, 100.0, 90.0, finished(Some(Span::from_secs(100)))),
            vec![end(2, Outcome::Finished), start(3, 1, 155, &gpus(0, 0b1111))],
        ),
        decided(record(200, Event::RoundDue(Round(2)), vec![]), 1, 1),
        record(225, lease_ended(3, 100.0, 100.0, finished(None)), vec![end(1, Outcome::Finished)]),
    ]
}

/// How the made-up cluster orders its queue.
#[derive(Clone, Copy)]
pub enum Order {
    First,
    Shortest,
    Largest,
}

/// A made-up run without preemption: jobs of several tenants in a queue, nodes of eight GPUs.
pub struct Queue {
    random: Random,
    free: Vec<u64>,
    waiting: Vec<(u64, u32, u64)>,
    running: BTreeMap<(u64, u64), (u64, u64, GpuSet)>,
    lease: u64,
    pub records: Vec<Record>,
}

impl Queue {
    /// A run of `jobs` jobs of `names` on `nodes` nodes, with a mean time between arrivals, in seconds.
    pub fn run(seed: u64, names: &[&str], nodes: u32, jobs: u64, every: f64, order: Order) -> Vec<Record> {
        let (random, lease) = (Random::new(seed), 0);
        let free = vec![0xff; nodes as usize];
        let (waiting, running, records) = (vec![], BTreeMap::new(), vec![]);
        let mut queue = Self { random, free, waiting, running, lease, records };
        let setup = (0..nodes).map(|id| node(id, 8));
        let tenants = names.iter().enumerate().map(|(id, name)| tenant(id as u32, name));
        queue.records.push(record(0, Event::ModelAdded(GpuModel { name: "a100".into() }), vec![]));
        queue.records.extend(setup.chain(tenants).map(|event| record(0, event, vec![])));
        let mut now = 0.0;
        for id in 0..jobs {
            now += queue.random.exponential(every);
            queue.until(now as u64, order);
            let owner = queue.random.below(names.len() as u64).min(queue.random.below(names.len() as u64));
            let wide = 1 << queue.random.below(4);
            let length = (queue.random.normal() * 1.2 + 7.0).exp().clamp(60.0, 90_000.0) as u64;
            queue.waiting.push((id, wide, length));
            let commands = queue.seat(now as u64, order);
            queue.records.push(record(now as u64, job(id, owner as u32, wide), commands));
        }
        queue.until(u64::MAX / 2000, order);
        queue.records
    }

    fn until(&mut self, limit: u64, order: Order) {
        while let Some(entry) = self.running.first_entry() {
            let (second, lease) = *entry.key();
            if second > limit {
                return;
            }
            let (job, length, held) = entry.remove();
            for seat in held.seats() {
                self.free[seat.node.index()] |= seat.gpus.0;
            }
            let mut commands = vec![end(job, Outcome::Finished)];
            commands.extend(self.seat(second, order));
            let cause = EndCause::Finished { alone: Some(Span::from_secs(length)) };
            self.records.push(decided(record(second, lease_ended(lease, 0.0, 0.0, cause), commands), 3, 4));
        }
    }

    fn seat(&mut self, now: u64, order: Order) -> Vec<Command> {
        self.waiting.sort_by_key(|(id, wide, length)| match order {
            Order::First => *id,
            Order::Shortest => *length,
            Order::Largest => u64::MAX - u64::from(*wide) * 1_000_000 - *length,
        });
        let mut commands = vec![];
        self.waiting.retain(|(id, wide, length)| {
            let Some(at) = self.free.iter().position(|free| GpuMask(*free).count() >= *wide) else {
                return true;
            };
            let mask = GpuMask(self.free[at]).lowest(*wide);
            self.free[at] &= !mask.0;
            self.lease += 1;
            let held = gpus(at as u32, mask.0);
            commands.push(start(self.lease, *id, now, &held));
            self.running.insert((now + length, self.lease), (*id, *length, held));
            false
        });
        commands
    }
}

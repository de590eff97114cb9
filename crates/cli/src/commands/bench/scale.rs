//! What a decision costs with 10,000 jobs on 5,000 nodes: the engine, driven by hand, without any world.

use crate::clock::{look_s, thread_cpu_s};
use crate::numbers::moment;
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::{
    Abilities, Choice, Command, EndCause, Event, GpuModel, JobId, JobSpec, Lease, LeaseId, ModelIndex, Node,
    NodeId, Occasion, RackId, Random, Rate, Round, Span, Tenant, TenantId, Time, Work,
};
use evenhand_engine::{Engine, Step};
use evenhand_sim::{Setup, engine_for};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::hint::black_box;
use std::sync::Arc;

/// Active jobs.
pub const JOBS: u64 = 10_000;
/// Nodes of 8 GPUs.
pub const NODES: u32 = 5_000;

const TENANTS: u32 = 50;
const NODES_PER_RACK: u32 = 40;
const ROUNDS: usize = 30;
const POLICIES: &[&str] = &["fifo", "las", "srtf", "equal-share", "promise"];
/// Progress reports between two rounds; the real rate depends on the jobs, and only the mean cost is shown.
const REPORTS_PER_ROUND: usize = 200;
/// Jobs that leave between two rounds, each replaced by a new one.
const CHANGES_PER_ROUND: u64 = 5;
/// Eight GPUs on average, so that the jobs ask for twice the GPUs there are.
const GANGS: [u32; 8] = [1, 1, 2, 4, 8, 8, 8, 32];

/// What one policy costs, in seconds of CPU.
#[derive(Serialize)]
pub struct Cost {
    policy: String,
    snapshot_s: f64,
    event_s: f64,
    early_round_s: f64,
    regular_round_p50_s: f64,
    regular_round_max_s: f64,
    first_round_s: f64,
    running: usize,
}

/// Measures every policy.
pub fn measure() -> Result<Vec<Cost>> {
    let one = |policy: &&str| {
        output::note(&format!("deciding for {JOBS} jobs on {NODES} nodes under {policy} ..."));
        let mut bench = Bench::new(policy)?;
        bench.set_up();
        for _ in 0..ROUNDS {
            bench.stir();
            bench.until_next_regular_round();
        }
        Ok(bench.cost(policy))
    };
    POLICIES.iter().map(one).collect()
}

/// An engine, and just enough of a world to answer its commands.
struct Bench {
    engine: Engine,
    now: Time,
    answers: VecDeque<Event>,
    alarm: Option<(Time, Round)>,
    running: BTreeMap<LeaseId, (JobId, Time)>,
    done: BTreeMap<JobId, Work>,
    waiting: VecDeque<JobId>,
    job_next: u64,
    random: Random,
    events: (f64, u64),
    early: Vec<f64>,
    regular: Vec<f64>,
    first: f64,
    look: f64,
}

impl Bench {
    fn new(policy: &str) -> Result<Self> {
        let setup = Setup { policy: Choice::named(policy), ..Setup::default() };
        let engine = engine_for(&setup.header(Abilities { grace: true, ..Abilities::default() }, "bench"))?;
        Ok(Self {
            engine,
            now: Time::ZERO,
            answers: VecDeque::new(),
            alarm: None,
            running: BTreeMap::new(),
            done: BTreeMap::new(),
            waiting: VecDeque::new(),
            job_next: 0,
            random: Random::stream(1, "bench"),
            events: (0.0, 0),
            early: Vec::new(),
            regular: Vec::new(),
            first: f64::NAN,
            look: look_s(),
        })
    }

    /// Machines, tenants, jobs, and the decision that fills the cluster.
    fn set_up(&mut self) {
        self.take(&Event::ModelAdded(GpuModel { name: "v100".into() }));
        for id in 0..TENANTS {
            self.take(&Event::TenantChanged(Tenant::new(TenantId(id), &format!("team-{id}"))));
        }
        for id in 0..NODES {
            let node = Node::new(NodeId(id), RackId(id / NODES_PER_RACK), ModelIndex(0), 8);
            self.take(&Event::NodeUp(node));
        }
        for _ in 0..JOBS {
            self.submit();
        }
        self.until_next_regular_round();
        self.first = self.regular.pop().unwrap_or(f64::NAN);
        (self.events, self.early) = ((0.0, 0), Vec::new());
    }

    fn submit(&mut self) {
        let id = JobId(self.job_next);
        self.job_next += 1;
        let gang = GANGS[self.random.below(GANGS.len() as u64) as usize];
        let tenant = TenantId(self.random.below(TENANTS.into()) as u32);
        // Weeks: nobody finishes while we look.
        let work = Work::from_steps(self.random.between(1e6, 1e7));
        let spec = JobSpec::new(id, tenant, gang, Some(work));
        self.done.insert(id, Work::ZERO);
        self.waiting.push_back(id);
        self.take(&Event::Submitted(Arc::new(spec)));
    }

    /// Jobs report, some leave, others come; an early decision after each change.
    fn stir(&mut self) {
        self.now = self.now + Span::from_secs(10);
        let reporting: Vec<LeaseId> = self.running.keys().copied().take(REPORTS_PER_ROUND).collect();
        for lease in reporting {
            let done = self.done_by_now(lease);
            self.take(&Event::Progress { lease, done, saved: done, regime: None, worked: None, loss: None });
        }
        for _ in 0..CHANGES_PER_ROUND {
            self.now = self.now + Span::from_secs(1);
            if let Some(job) = self.waiting.pop_front() {
                self.take(&Event::Cancelled(job));
            }
            self.submit();
            self.answer();
            self.ring_if_due();
            self.answer();
        }
    }

    fn until_next_regular_round(&mut self) {
        let before = self.regular.len();
        while self.regular.len() == before {
            self.answer();
            let Some((at, _)) = self.alarm else { return };
            self.now = self.now.max(at);
            self.ring_if_due();
        }
        self.answer();
    }

    fn answer(&mut self) {
        while let Some(event) = self.answers.pop_front() {
            self.take(&event);
        }
    }

    fn ring_if_due(&mut self) {
        if let Some((_, round)) = self.alarm.take_if(|(at, _)| *at <= self.now) {
            self.take(&Event::RoundDue(round));
        }
    }

    fn take(&mut self, event: &Event) {
        let before = thread_cpu_s();
        let step = black_box(self.engine.step(self.now, event));
        let spent = (thread_cpu_s() - before - self.look).max(0.0);
        match step.decision.as_ref().map(|decision| decision.occasion) {
            Some(Occasion::Regular) => self.regular.push(spent),
            Some(_) => self.early.push(spent),
            None => self.events = (self.events.0 + spent, self.events.1 + 1),
        }
        self.carry_out(step);
    }

    fn carry_out(&mut self, step: Step) {
        for command in step.commands {
            match command {
                Command::Start(Lease { id, job, .. }) => {
                    self.running.insert(id, (job, self.now));
                    self.answers.push_back(Event::LeaseStarted(id));
                }
                Command::Stop { lease, .. } => {
                    let done = self.done_by_now(lease);
                    if let Some((job, _)) = self.running.remove(&lease) {
                        self.done.insert(job, done);
                    }
                    let (saved, cause) = (done, EndCause::Stopped);
                    self.answers.push_back(Event::LeaseEnded { lease, done, saved, cause });
                }
                Command::WakeAt(at, round) => self.alarm = Some((at, round)),
                _ => {}
            }
        }
    }

    fn done_by_now(&self, lease: LeaseId) -> Work {
        let Some((job, since)) = self.running.get(&lease) else { return Work::ZERO };
        let before = self.done.get(job).copied().unwrap_or_default();
        before + Rate::ONE.work_in(self.now.since(*since))
    }

    fn cost(mut self, policy: &str) -> Cost {
        const SNAPSHOTS: u32 = 10_000;
        let before = thread_cpu_s();
        for _ in 0..SNAPSHOTS {
            black_box(self.engine.snapshot());
        }
        let snapshot_s = (thread_cpu_s() - before) / f64::from(SNAPSHOTS);
        self.regular.sort_by(f64::total_cmp);
        Cost {
            policy: policy.to_owned(),
            snapshot_s,
            event_s: self.events.0 / self.events.1 as f64,
            early_round_s: self.early.iter().sum::<f64>() / self.early.len() as f64,
            regular_round_p50_s: self.regular[self.regular.len() / 2],
            regular_round_max_s: self.regular.last().copied().unwrap_or(f64::NAN),
            first_round_s: self.first,
            running: self.running.len(),
        }
    }
}

/// For people.
pub fn table(costs: &[Cost]) -> String {
    let mut table = Table::new([
        ("policy", Side::Left),
        ("snapshot", Side::Right),
        ("event\nmean", Side::Right),
        ("early round\nmean", Side::Right),
        ("regular round\np50", Side::Right),
        ("\nmax", Side::Right),
        ("first round", Side::Right),
        ("jobs\nrunning", Side::Right),
    ]);
    for cost in costs {
        table.row([
            cost.policy.clone(),
            moment(cost.snapshot_s),
            moment(cost.event_s),
            moment(cost.early_round_s),
            moment(cost.regular_round_p50_s),
            moment(cost.regular_round_max_s),
            moment(cost.first_round_s),
            cost.running.to_string(),
        ]);
    }
    format!(
        "\nThe engine alone, {JOBS} active jobs on {NODES} nodes of 8 GPUs that hold half of what they ask for; \
         {ROUNDS} rounds, CPU time.\nA round is all of it: snapshot, policy, check, placement, leases.\n\n{}",
        table.render()
    )
}

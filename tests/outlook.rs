//! What is before a job: by hand.

use evenhand_core::{
    Abilities, Command, EngineConfig, Event, GpuCount, GpuModel, JobId, JobSpec, ModelIndex, Node, NodeId,
    RackId, Reason, Tenant, TenantId, Time, Work,
};
use evenhand_engine::{Between, Engine, Held, Standing};
use evenhand_tests::{engine_with, policy};
use std::collections::VecDeque;
use std::sync::Arc;

fn at(seconds: u64) -> Time {
    Time(seconds * 1000)
}

/// A job of one step a second.
fn job(id: u64, tenant: u32, gpus: u32, seconds: Option<f64>) -> Event {
    let work = seconds.map(Work::from_steps);
    Event::Submitted(Arc::new(JobSpec::new(JobId(id), TenantId(tenant), gpus, work)))
}

/// Feeds events at time zero and lets everything start that should.
fn engine(events: Vec<Event>) -> Engine {
    let mut engine = engine_with(policy("fifo"), EngineConfig::default(), Abilities::default());
    let models = [Event::ModelAdded(GpuModel { name: "v100".into() })];
    let tenants = [(0, "ann"), (1, "bob")];
    let tenants = tenants.map(|(id, name)| Event::TenantChanged(Tenant::new(TenantId(id), name)));
    let nodes = [Event::NodeUp(Node::new(NodeId(0), RackId(0), ModelIndex(0), 4))];
    let mut queue: VecDeque<Event> = models.into_iter().chain(tenants).chain(nodes).chain(events).collect();
    while let Some(event) = queue.pop_front() {
        let step = engine.step(Time::ZERO, &event);
        for command in step.commands {
            match command {
                Command::Start(lease) => queue.push_front(Event::LeaseStarted(lease.id)),
                Command::WakeAt(Time::ZERO, round) => queue.push_back(Event::RoundDue(round)),
                _ => {}
            }
        }
    }
    engine
}

#[test]
fn a_turn_comes_between_when_one_is_next_and_when_all_before_have_gone_first() {
    let jobs = [(1, 0, 4, 100.0), (2, 0, 2, 50.0), (3, 1, 4, 10.0)];
    let engine = engine(jobs.map(|(id, tenant, gpus, s)| job(id, tenant, gpus, Some(s))).to_vec());
    let outlook = engine.outlook(JobId(3), at(40)).unwrap();
    assert_eq!(outlook.standing, Standing::Queued);
    assert_eq!((outlook.needs, outlook.usable, outlook.free), (GpuCount(4), GpuCount(4), GpuCount(0)));
    assert_eq!(outlook.start, Some(Between { earliest: at(100), latest: Some(at(150)) }));
    assert_eq!(outlook.finish, Some(Between { earliest: at(110), latest: Some(at(160)) }));
    assert_eq!((outlook.before, outlook.holders_count), (1, 1));
    let holder = &outlook.holders[0];
    assert_eq!((holder.job, holder.gpus, holder.why), (JobId(1), GpuCount(4), Reason::FirstCome));
    assert_eq!(holder.until, Some(at(100)));
    let held = |tenant, held| Held { tenant: TenantId(tenant), held: GpuCount(held), share: 2.0 };
    assert_eq!(outlook.shares, [held(0, 4), held(1, 0)]);
    let runs = engine.outlook(JobId(1), at(40)).unwrap();
    assert_eq!(runs.standing, Standing::Runs);
    assert_eq!(runs.finish, Some(Between { earliest: at(100), latest: Some(at(100)) }));
    assert_eq!(engine.outlook(JobId(9), at(40)), None);
}

#[test]
fn where_nobody_knows_how_long_others_take_no_time_is_told() {
    let engine = engine(vec![job(1, 0, 4, None), job(2, 0, 1, Some(5.0))]);
    let outlook = engine.outlook(JobId(2), at(1)).unwrap();
    assert_eq!((outlook.start, outlook.finish), (None, None));
    assert_eq!(outlook.holders[0].until, None);
}

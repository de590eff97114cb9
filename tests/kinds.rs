//! One throw-away policy of each kind through the same engine: what the contracts must be able to carry.
//!
//! Fractional shares with carried deviation, apps with offers and bids, several jobs on one GPU, plans that look
//! ahead, jobs whose speed changes, policies that remember.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    AGENT_VERSION, Abilities, Answer, AppId, Backend, BackendError, BidRow, BidTable, Command, Event,
    GpuCount, GpuId, GpuSet, Grant, Invitation, Job, JobId, Limits, Memory, NodeId, Note, Occasion, Offer,
    OfferedNode, Others, PerModel, Plan, Policy, PolicyError, Rate, Ratio, Reason, Record, RegimeSpec,
    Sharing, SharingMode, Site, Snapshot, Span, Time, Work,
};
use evenhand_policies::{Entry, Promise};
use evenhand_tests::{Stage, engine_with, policy};
use std::collections::{BTreeMap, VecDeque};

fn grant(job: JobId, gpus: u32) -> Grant {
    Grant::new(job, GpuCount(gpus), Site::Anywhere, Reason::FirstCome)
}

fn by_number(snapshot: &Snapshot) -> Vec<&Job> {
    let mut jobs: Vec<_> = snapshot.jobs.iter().map(|(_, job)| job).collect();
    jobs.sort_by_key(|job| job.spec.id);
    jobs
}

/// GPU-seconds that each job received until `until`.
fn received(records: &[Record], until: f64) -> BTreeMap<u64, f64> {
    let mut open = BTreeMap::new();
    let mut sums = BTreeMap::new();
    for record in records {
        if let Event::LeaseEnded { lease, .. } = &record.event
            && let Some((job, gpus, since)) = open.remove(lease)
        {
            *sums.entry(job).or_default() +=
                f64::from(gpus) * (record.now.seconds().min(until) - f64::min(since, until));
        }
        for command in &record.commands {
            if let Command::Start(lease) = command {
                open.insert(lease.id, (lease.job.0, lease.gpus.count().0, record.now.seconds()));
            }
        }
    }
    sums
}

#[test]
fn fractional_shares_are_made_good_over_time() {
    // Three tenants are owed a third of one GPU each: only balances carried from round to round can do that.
    let stage = Stage::new("v100=1", 1)
        .tenant("ann")
        .job(0, 1, 6000)
        .tenant("bob")
        .job(0, 1, 6000)
        .tenant("cy")
        .job(0, 1, 6000);
    let (_, records) = stage.play(policy("equal-share"));
    let shares = received(&records, 9000.0);
    assert!(shares.values().all(|seconds| (seconds - 3000.0).abs() <= 60.0), "{shares:?}");
}

/// Shows all free GPUs to every app, then gives them to whoever is worst off.
struct Auction;

impl Policy for Auction {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut plan = Plan { others: Others::Keep, ..Plan::default() };
        let waiting: Vec<_> = snapshot.jobs.queue().map(|(_, job)| job).collect();
        if waiting.is_empty() {
            return Ok(plan);
        }
        if snapshot.occasion != Occasion::Bids {
            let free = |node: &evenhand_core::Node| OfferedNode {
                node: node.id,
                rack: node.rack,
                model: node.model,
                gpus: GpuCount(snapshot.cluster.free.on(node.id).count()),
            };
            let nodes = snapshot.cluster.nodes.iter().map(free).collect();
            let (version, round, lease) = (AGENT_VERSION, snapshot.round, Span::from_minutes(1));
            let offer = Offer { version, round, lease, reply_by: snapshot.now, nodes };
            plan.invitation = Some(Invitation { to: snapshot.apps.keys().copied().collect(), offer });
            return Ok(plan);
        }
        let worth = |job: &&Job| {
            let table = snapshot.bids.get(&job.spec.app?)?;
            Some(table.rows.first()?.rho.key())
        };
        let best = waiting.into_iter().max_by_key(|job| (worth(job), std::cmp::Reverse(job.spec.id)));
        if snapshot.cluster.free.total() > GpuCount::ZERO {
            plan.grants.extend(best.map(|job| grant(job.spec.id, 1)));
        }
        Ok(plan)
    }
}

/// A world whose apps answer offers, each with its own ratio; one of them never does.
struct Bidding<W> {
    world: W,
    bids: VecDeque<(Time, Event)>,
}

impl<W: Backend> Backend for Bidding<W> {
    fn abilities(&self) -> Abilities {
        Abilities { bids: true, ..self.world.abilities() }
    }
    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        match self.bids.pop_front() {
            Some(bid) => Ok(Some(bid)),
            None => self.world.next(),
        }
    }
    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError> {
        if let Command::AskForBids(invitation) = command {
            // App 2 is silent, app 9 does not exist.
            for (app, rho) in [(0, 1.5), (1, 3.0), (9, 99.0)] {
                let rows = vec![BidRow { parts: Vec::new(), rho: Ratio::new(rho).unwrap() }];
                let answer = Answer::Table(BidTable { round: invitation.offer.round, rows });
                self.bids.push_back((now, Event::Bid { app: AppId(app), answer }));
            }
        }
        self.world.execute(now, command)
    }
}

#[test]
fn apps_are_offered_gpus_and_bid_and_a_silent_one_holds_nobody_up() {
    let stage =
        Stage::new("v100=1", 1).tenant("ann").app().job(0, 1, 100).app().job(0, 1, 100).app().job(0, 1, 100);
    let mut world = Bidding { world: stage.world(), bids: VecDeque::new() };
    let abilities = world.abilities();
    let mut engine = engine_with(Box::new(Auction), stage.engine.clone(), abilities);
    let (ends, records) = stage.play_in(&mut engine, &mut world);
    // The second app bids highest, then the first; the silent one comes last. Each auction waits a second for it.
    assert_eq!(ends, [(1, 101.0), (0, 202.0), (2, 303.0)].into());
    let refused = |record: &&Record| {
        record.notes.iter().any(|note| matches!(note, Note::BidRefused { app: AppId(9), .. }))
    };
    assert!(records.iter().any(|record| refused(&record)), "a bid that nobody asked for was accepted");
}

/// Puts everybody on the first GPU.
struct Together;

impl Policy for Together {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let gpu = GpuId { node: snapshot.cluster.nodes[0].id, ordinal: 0 };
        let slowdown_max = Ratio::new(4.0).unwrap();
        let grants = by_number(snapshot).into_iter().map(|job| Grant {
            site: Site::Exactly(GpuSet::of([gpu])),
            sharing: Sharing::Beside { slowdown_max, mode: SharingMode::TimeSlicing },
            ..grant(job.spec.id, 1)
        });
        Ok(Plan { grants: grants.collect(), others: Others::Keep, ..Plan::default() })
    }
}

#[test]
fn jobs_share_a_gpu_and_slow_each_other_down() {
    let stage =
        Stage::new("v100=1", 1).nodes(|node| node.slots = 2).job(0, 1, 100).job(0, 1, 50).job(0, 1, 30);
    let (ends, _) = stage.play(Box::new(Together));
    // Two slots: 0 and 1 take turns until 1 is done at 100; then 2 comes beside 0, which has 50 left. At 160 job 2
    // is done and job 0 has 20 left, alone.
    assert_eq!(ends, [(1, 100.0), (2, 160.0), (0, 180.0)].into());
}

#[test]
fn a_job_that_never_shares_is_not_put_beside_others() {
    let never = |spec: &mut evenhand_core::JobSpec| spec.sharing = evenhand_core::Consent::Never;
    let stage = Stage::new("v100=2", 1).nodes(|node| node.slots = 2).job(0, 1, 10).job_with(0, 1, 10, never);
    let mut world = stage.world();
    let abilities = world.abilities();
    let mut engine = engine_with(Box::new(Together), stage.engine.clone(), abilities);
    let mut refused = false;
    for _ in 0..40 {
        let Some((now, event)) = world.next().unwrap() else { break };
        let step = engine.step(now, &event);
        refused |= step.notes.iter().any(|note| matches!(note, Note::PlanRefused(_)));
        for command in &step.commands {
            world.execute(now, command).unwrap();
        }
    }
    assert!(refused);
}

/// Plans three rounds at once and then follows its plan.
struct Ahead;

impl Policy for Ahead {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut window: VecDeque<Vec<Grant>> = match &snapshot.previous {
            Some(previous) if !previous.window.is_empty() => previous.window.clone().into(),
            // The last first, one a round: nothing but a remembered plan would run them in this order.
            _ => by_number(snapshot).into_iter().rev().map(|job| vec![grant(job.spec.id, 1)]).collect(),
        };
        let active = |grant: &Grant| snapshot.jobs.by_id(grant.job).is_some();
        let mut grants = window.front().cloned().unwrap_or_default();
        if snapshot.occasion == Occasion::Regular || !grants.iter().all(active) {
            grants = window.pop_front().unwrap_or_default();
        }
        grants.retain(active);
        Ok(Plan { grants, window: window.into(), ..Plan::default() })
    }
}

#[test]
fn a_plan_ahead_is_found_again_next_round() {
    let stage = Stage::new("v100=1", 1).job(0, 1, 50).job(0, 1, 50).job(0, 1, 50);
    let (ends, _) = stage.play(Box::new(Ahead));
    let order: Vec<_> = {
        let mut order: Vec<_> = ends.iter().collect();
        order.sort_by(|a, b| a.1.total_cmp(b.1));
        order.into_iter().map(|(job, _)| *job).collect()
    };
    assert_eq!(order, [2, 1, 0]);
}

#[test]
fn a_job_that_doubles_its_speed_half_way_is_seen_to_do_so() {
    // Ten rounds at one step a second, then ten at two: thirty steps' worth in twenty rounds' time.
    let doubles = |spec: &mut evenhand_core::JobSpec| {
        spec.regimes =
            vec![RegimeSpec { from: Work::from_steps(10.0), batch: 64, speed: Ratio::new(2.0).unwrap() }];
    };
    let stage = Stage::new("v100=1", 1).job_with(0, 1, 30, doubles);
    let (ends, records) = stage.play(policy("fifo"));
    assert_eq!(ends, [(0, 20.0)].into());
    let reveals = |record: &&Record| matches!(record.event, Event::Progress { regime: Some(regime), .. } if regime.batch == 64);
    assert_eq!(records.iter().find(reveals).unwrap().now, Time::from_seconds(10.0));
}

/// Gives the GPU to each job in turn, a round each: it has to remember whose turn it is.
struct Turns;

impl Policy for Turns {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let jobs = by_number(snapshot);
        let last = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<u64>());
        let later = |job: &&&Job| last.as_ref().is_some_and(|last| job.spec.id.0 > **last);
        let keep = snapshot.occasion == Occasion::Early
            && last.as_ref().is_some_and(|last| snapshot.jobs.by_id(JobId(**last)).is_some());
        let next = if keep {
            jobs.iter().find(|job| job.spec.id.0 == **last.as_ref().unwrap())
        } else {
            jobs.iter().find(later).or(jobs.first())
        };
        let memory = next.map_or(Memory::Empty, |job| Memory::new(job.spec.id.0));
        Ok(Plan { grants: next.iter().map(|job| grant(job.spec.id, 1)).collect(), memory, ..Plan::default() })
    }
}

#[test]
fn a_policy_remembers_through_its_plan() {
    let stage = Stage::new("v100=1", 1).job(0, 1, 120).job(0, 1, 120).job(0, 1, 120);
    let (ends, _) = stage.play(Box::new(Turns));
    // Rounds of a minute, each job has two: 0 1 2 0 1 2.
    assert_eq!(ends, [(0, 240.0), (1, 300.0), (2, 360.0)].into());
}

/// Has no plan every other time.
struct Moody;

impl Policy for Moody {
    fn decide(&self, snapshot: &Snapshot, limits: Limits) -> Result<Plan, PolicyError> {
        if snapshot.round.0.is_multiple_of(2) {
            Err(PolicyError::TimedOut)
        } else {
            policy("las").decide(snapshot, limits)
        }
    }
}

#[test]
fn a_failing_policy_does_not_stop_the_cluster() {
    let stage = Stage::new("v100=2", 2).job(0, 1, 300).job(0, 2, 200).job(30, 1, 100).job(60, 1, 500);
    let (ends, records) = stage.play(Box::new(Moody));
    assert_eq!(ends.len(), 4);
    assert!(records.iter().any(|record| record.notes.contains(&Note::PolicyFailed(PolicyError::TimedOut))));
}

#[test]
fn nothing_restarts_in_a_steady_state() {
    let stage = Stage::new("v100=4", 2).job(0, 1, 3600).job(0, 2, 3600).job(0, 1, 3600);
    // A policy that leaves GPUs idle rather than lend them makes jobs wait for what they are owed.
    let lends = |entry: &&Entry| {
        entry.promises.contains(&Promise::WorkConserving) || !entry.promises.contains(&Promise::Truthful)
    };
    for entry in evenhand_policies::POLICIES.iter().filter(lends) {
        let (_, records) = stage.play(policy(entry.name));
        let commands: Vec<&Command> = records.iter().flat_map(|record| &record.commands).collect();
        let count = |wanted: fn(&Command) -> bool| commands.iter().filter(|command| wanted(command)).count();
        assert_eq!(count(|command| matches!(command, Command::Start(_))), 3, "{}", entry.name);
        assert_eq!(count(|command| matches!(command, Command::Stop { .. })), 0, "{}", entry.name);
        // Leases go from round to round, an hour of them, unless the policy gives them a length of its own.
        let own_length = entry.parameters.iter().any(|parameter| parameter.name == "lease");
        let renewals = if own_length { 3 * 2 } else { 3 * 50 };
        assert!(count(|command| matches!(command, Command::Renew { .. })) >= renewals, "{}", entry.name);
    }
}

#[test]
fn the_originals_rules_tell_progress_in_the_unit_of_the_job() {
    // No recipe, so no batch sizes: 300 steps at one a second, 60 in each round of theirs.
    let stage = Stage::new("v100=1", 1).job(0, 1, 300);
    let mut world = stage.world_of_rounds(Span::from_secs(60));
    let mut engine = engine_with(policy("las"), stage.engine.clone(), world.abilities());
    let (ends, records) = stage.play_in(&mut engine, &mut world);
    assert_eq!(ends, [(0, 300.0)].into());
    let told = records.iter().filter_map(|record| match record.event {
        Event::Progress { done, .. } => Some(done.steps()),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [60.0, 120.0, 180.0, 240.0]);
}

#[test]
fn the_originals_rules_hold_in_rounds_shorter_than_a_step_or_a_start() {
    // The second begins when the first is done, and loses its first round to that; a third has steps as long as two rounds.
    let stage = Stage::new("v100=1", 1).job(0, 1, 30).job(0, 1, 30);
    let play = |stage: &Stage| {
        let mut world = stage.world_of_rounds(Span::from_secs(10));
        let mut engine = engine_with(policy("fifo"), stage.engine.clone(), world.abilities());
        stage.play_in(&mut engine, &mut world).0
    };
    assert_eq!(play(&stage), [(0, 30.0), (1, 70.0)].into());
    let slow =
        |spec: &mut evenhand_core::JobSpec| spec.speeds = Some(PerModel::all(Rate::new(5e-5).unwrap()));
    let ends = play(&Stage::new("v100=1", 1).job_with(0, 1, 0, slow).edit(|job| {
        let mut spec = evenhand_core::JobSpec::clone(&job.truth);
        spec.work = Some(Work(3));
        job.truth = std::sync::Arc::new(spec);
    }));
    assert_eq!(ends, [(0, 60.0)].into());
}

#[test]
fn rounds_too_short_for_a_restart_are_noticed() {
    // Two jobs take turns of ten seconds, and each turn begins with ten seconds of restoring.
    let slow = |spec: &mut evenhand_core::JobSpec| spec.restart.restore = Span::from_secs(10);
    let mut stage = Stage::new("v100=1", 1).job_with(0, 1, 100, slow).job_with(0, 1, 100, slow);
    stage.engine.round = Span::from_secs(10);
    let mut world = stage.world();
    let abilities = world.abilities();
    let mut engine = engine_with(policy("isolated"), stage.engine.clone(), abilities);
    let outcome = evenhand_engine::run(&mut engine, &mut world, &mut |_| Ok(()));
    assert!(matches!(outcome, Err(BackendError::NoProgress { .. })), "{outcome:?}");
}

#[test]
fn an_elastic_job_alone_is_not_resized_for_nothing() {
    let elastic = |spec: &mut evenhand_core::JobSpec| {
        spec.gpus.max = GpuCount(16);
        spec.restart.restore = Span::from_secs(100);
    };
    for name in ["slaq", "optimus", "afs"] {
        let mut stage = Stage::new("v100=8", 8).job_with(0, 1, 3600, elastic);
        stage.engine.round = Span::from_secs(10);
        let (ends, records) = stage.play(policy(name));
        let stops = records.iter().flat_map(|record| &record.commands);
        let stops = stops.filter(|command| matches!(command, Command::Stop { .. })).count();
        assert!(stops <= 1 && ends[&0] <= 1000.0, "{name}: {stops} stops, done at {}", ends[&0]);
    }
}

#[test]
fn published_variants_give_a_job_only_models_that_will_do() {
    let only_slow = |spec: &mut evenhand_core::JobSpec| {
        spec.models = evenhand_core::ModelFilter::only([evenhand_core::ModelIndex(1)]);
    };
    for name in ["fifo", "isolated", "allox", "gandiva-fair"] {
        let set =
            [("variant", "fork"), ("reset", "0s")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let choice =
            evenhand_core::Choice { name: name.into(), parameters: evenhand_core::Parameters(set.into()) };
        let stage =
            Stage::new("v100=2,k80=2", 1).job(0, 1, 100).job_with(0, 1, 100, only_slow).job(0, 2, 100);
        let (ends, records) = stage.play(evenhand_policies::make(&choice).unwrap());
        let refused = |record: &Record| record.notes.iter().any(|note| matches!(note, Note::PlanRefused(_)));
        assert!(ends.len() == 3 && !records.iter().any(refused), "{name}: {ends:?}");
    }
}

#[test]
fn a_tenant_is_not_owed_more_than_it_may_hold() {
    let limited = PerModel::all(GpuCount(1));
    let stage = Stage::new("v100=4", 4).tenant("ann").job(0, 1, 3600).job(0, 1, 3600).limit(limited);
    let mut world = stage.world();
    let abilities = world.abilities();
    let header = evenhand_sim::Setup::default().header(abilities, "simulated");
    let mut report = evenhand_report::Report::new(&header);
    let mut engine = engine_with(policy("las"), stage.engine.clone(), abilities);
    let (ends, records) = stage.play_in(&mut engine, &mut world);
    for record in &records {
        report.take(record);
    }
    let row = &report.tenants()[0];
    assert!(ends.len() == 2 && (row.owed_gpu_hours - 2.0).abs() < 1e-9, "owed {}", row.owed_gpu_hours);
}

#[test]
fn a_checkpoint_that_is_being_written_is_lost_with_its_node() {
    // Preempted at 100 s, the first job writes for 40 s; its node fails at 120 s, and nothing was saved before.
    let saves = |spec: &mut evenhand_core::JobSpec| spec.restart.save = Span::from_secs(40);
    let stage = Stage::new("v100=1", 1).job_with(0, 1, 1000, saves).job(100, 1, 50);
    let node = NodeId(0);
    let mut world = stage.world().with_outage(node, Time::from_seconds(120.0), Time::from_seconds(200.0));
    let abilities = world.abilities();
    let mut engine = engine_with(policy("srtf"), stage.engine.clone(), abilities);
    let (ends, _) = stage.play_in(&mut engine, &mut world);
    // The short one runs from 200 to 250; the long one then begins anew.
    assert_eq!(ends, [(1, 250.0), (0, 1250.0)].into());
}

#[test]
fn a_lease_that_is_kept_counts_against_its_model() {
    let stage = Stage::new("a100=2,v100=2", 2).job(0, 2, 100).job(30, 2, 100);
    let mut world = stage.world();
    let mut engine = engine_with(policy("fifo"), stage.engine.clone(), world.abilities());
    while engine.snapshot().jobs.by_id(JobId(1)).is_none() {
        let (now, event) = world.next().unwrap().unwrap();
        for command in engine.step(now, &event).commands {
            world.execute(now, &command).unwrap();
        }
    }
    let snapshot = engine.snapshot();
    let check = |model| {
        let site = Site::Model(evenhand_core::ModelIndex(model));
        let grants = vec![grant(JobId(0), 2), Grant { site, ..grant(JobId(1), 2) }];
        Plan { grants, ..Plan::default() }.check(&snapshot)
    };
    assert!(matches!(check(0), Err(evenhand_core::PlanError::OverCapacity { .. })), "{:?}", check(0));
    assert_eq!(check(1), Ok(()));
}

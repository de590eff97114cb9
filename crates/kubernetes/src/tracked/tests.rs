use super::*;
use crate::gang::{Group, Identity};
use crate::node::NodeFacts;
use crate::pod::Wishes;
use evenhand_core::{GpuMask, GpuSet, JobId, LeaseId, NodeId, Reason};

fn pod(name: &str) -> PodFacts {
    PodFacts {
        namespace: "n".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
        scheduler: "evenhand".into(),
        node: None,
        phase: Phase::Pending,
        deleting: false,
        gpus: 2,
        lease: None,
        group: Group::Gang("g".into()),
        owner: None,
        wishes: Wishes::default(),
        steps_done: None,
    }
}

fn facts(pods: Vec<PodFacts>) -> Facts {
    let node = |name: &str| NodeFacts {
        name: name.into(),
        model: "a100".into(),
        gpus: 4,
        readiness: Readiness::Ready,
    };
    let nodes = ["a", "b"].map(|name| (name.to_owned(), node(name))).into();
    let pods = pods.into_iter().map(|pod| (pod.uid.clone(), pod)).collect();
    Facts { pods, nodes, ..Facts::default() }
}

fn tracked() -> Tracked {
    let lease = Lease {
        id: LeaseId(7),
        job: JobId(1),
        gpus: GpuSet::on(NodeId(0), GpuMask(0b1111)),
        sharing: evenhand_core::Sharing::Alone,
        starts: Time::ZERO,
        expires: Time::NEVER,
        reason: Reason::FirstCome,
        state: LeaseState::Asked,
        taken: Time::ZERO,
        booked: Time::ZERO,
    };
    let identity = Identity { namespace: "n".into(), group: Group::Gang("g".into()), owner: String::new() };
    Tracked::new(lease, Outside { identity, pods: 3, gpus: 2 }, "mark/7".into(), Time::ZERO)
}

fn step(tracked: &mut Tracked, facts: &Facts, now: Time) -> Vec<Act> {
    let gangs = facts.gangs("evenhand");
    let none = Gang::default();
    let gang = gangs.get(&tracked.outside.identity).unwrap_or(&none);
    let seats = [("a".to_owned(), 4), ("b".to_owned(), 2)];
    tracked.advance(facts, gang, &seats, true, now)
}

fn on(name: &str, node: &str, phase: Phase) -> PodFacts {
    PodFacts { node: Some(node.into()), phase, lease: Some("mark/7".into()), ..pod(name) }
}

/// Three pods, chosen for binding.
fn chosen() -> (Tracked, Vec<(PodRef, String)>) {
    let mut tracked = tracked();
    let facts = facts(vec![pod("0"), pod("1"), pod("2")]);
    let acts = step(&mut tracked, &facts, Time::ZERO);
    let [Act::Bind(pods)] = acts.as_slice() else { panic!("{acts:?}") };
    (tracked, pods.clone())
}

#[test]
fn pods_fill_the_seats_of_their_lease() {
    let (_, pods) = chosen();
    let nodes: Vec<&str> = pods.iter().map(|(_, node)| node.as_str()).collect();
    assert_eq!(nodes, ["a", "a", "b"]);
}

#[test]
fn if_one_cannot_be_bound_the_others_are_removed_and_the_lease_was_not_launched() {
    let (mut tracked, pods) = chosen();
    let results: Vec<_> = [Bound::Yes, Bound::No, Bound::Unsure]
        .into_iter()
        .zip(&pods)
        .map(|(bound, (pod, _))| (pod.clone(), bound))
        .collect();
    tracked.note_bound(&results);
    let there = facts(vec![on("0", "a", Phase::Running), pod("1"), pod("2")]);
    let removed = step(&mut tracked, &there, Time::ZERO);
    assert_eq!(removed.len(), 2, "the one that is bound and the one that may be: {removed:?}");
    assert_eq!(tracked.ended, None, "GPUs are free when nothing runs on them any more");
    step(&mut tracked, &facts(vec![pod("1")]), Time::ZERO);
    assert_eq!(tracked.ended, Some(Ending::NotLaunched(Retry::Freely)));
}

#[test]
fn a_gang_has_ended_well_when_all_its_pods_have_and_crashed_if_one_did() {
    let running =
        |phase| facts(vec![on("0", "a", phase), on("1", "a", Phase::Running), on("2", "b", Phase::Running)]);
    let start = || {
        let (mut tracked, pods) = chosen();
        tracked.note_bound(&pods.iter().map(|(pod, _)| (pod.clone(), Bound::Yes)).collect::<Vec<_>>());
        assert!(step(&mut tracked, &running(Phase::Running), Time::ZERO).is_empty());
        assert!(tracked.started);
        tracked
    };
    let mut well = start();
    let done = ["0", "1", "2"].map(|name| on(name, "a", Phase::Succeeded));
    step(&mut well, &facts(done.to_vec()), Time::ZERO);
    assert_eq!(well.ended, Some(Ending::Done));
    let mut badly = start();
    let removed = step(&mut badly, &running(Phase::Failed(Failing::Own)), Time::ZERO);
    assert_eq!(removed.len(), 2, "a gang without one of its pods does not go on");
    step(&mut badly, &facts(Vec::new()), Time::ZERO);
    assert_eq!(badly.ended, Some(Ending::Crashed));
}

#[test]
fn a_gang_that_ended_well_while_it_was_told_to_leave_has_ended_well_even_if_its_pods_are_gone() {
    let (mut tracked, pods) = chosen();
    tracked.note_bound(&pods.iter().map(|(pod, _)| (pod.clone(), Bound::Yes)).collect::<Vec<_>>());
    let running = ["0", "1", "2"].map(|name| on(name, "a", Phase::Running));
    step(&mut tracked, &facts(running.to_vec()), Time::ZERO);
    tracked.tell_to_leave(EndCause::Stopped, Span::from_secs(2));
    let none = facts(Vec::new());
    tracked.note_done(&none, &["uid-0", "uid-1", "uid-2"].map(str::to_owned).into());
    step(&mut tracked, &none, Time::ZERO);
    assert_eq!(tracked.ended, Some(Ending::Done));
}

#[test]
fn a_lease_that_was_taken_over_half_bound_is_bound_the_rest_of_the_way() {
    let mut tracked = tracked();
    let half = facts(vec![on("0", "b", Phase::Pending), pod("1"), pod("2")]);
    assert!(tracked.adopt(&half));
    let acts = step(&mut tracked, &half, Time::ZERO);
    let [Act::Bind(pods)] = acts.as_slice() else { panic!("{acts:?}") };
    assert!(pods.iter().all(|(_, node)| node == "a"), "b is full: {pods:?}");
}

#[test]
fn a_lease_whose_pods_do_not_come_is_given_up() {
    let mut tracked = tracked();
    let two = facts(vec![pod("0"), pod("1")]);
    assert!(step(&mut tracked, &two, Time::ZERO + PATIENCE).is_empty());
    assert_eq!(tracked.ended, None);
    step(&mut tracked, &two, Time::ZERO + PATIENCE + Span(1));
    assert_eq!(tracked.ended, Some(Ending::NotLaunched(Retry::Freely)));
}

#[test]
fn a_pod_on_a_lost_node_is_not_waited_for() {
    let (mut tracked, pods) = chosen();
    tracked.note_bound(&pods.iter().map(|(pod, _)| (pod.clone(), Bound::Yes)).collect::<Vec<_>>());
    let mut there = facts(["0", "1"].map(|name| on(name, "a", Phase::Running)).to_vec());
    there.pods.insert("uid-2".into(), on("2", "b", Phase::Running));
    there.nodes.remove("b");
    tracked.tell_to_leave(EndCause::NodeLost, Span::ZERO);
    let acts = step(&mut tracked, &there, Time::ZERO);
    let grace = |act: &Act| if let Act::Remove(_, grace) = act { grace.unwrap() } else { panic!("{act:?}") };
    assert_eq!(acts.iter().map(grace).collect::<Vec<_>>(), [Span(1000), Span(1000), Span::ZERO]);
}

#[test]
fn what_finished_while_nobody_looked_is_done_even_if_it_is_told_to_leave() {
    let all = || facts(["0", "1", "2"].map(|name| on(name, "a", Phase::Succeeded)).into());
    let mut tracked = tracked();
    assert!(tracked.adopt(&all()));
    tracked.tell_to_leave(EndCause::Stopped, Span::from_secs(2));
    step(&mut tracked, &all(), Time::ZERO);
    assert_eq!(tracked.ended, Some(Ending::Done));
}

#[test]
fn a_gang_that_was_done_under_an_earlier_lease_is_done_and_one_that_is_made_anew_is_not() {
    let earlier = |name: &str| PodFacts { lease: Some("mark/6".into()), ..on(name, "a", Phase::Succeeded) };
    let mut done = tracked();
    step(&mut done, &facts(["0", "1", "2"].map(earlier).into()), Time::ZERO);
    assert_eq!(done.ended, Some(Ending::Done));
    let mut anew = tracked();
    let both = ["0", "1", "2"].map(earlier).into_iter().chain(["3", "4", "5"].map(pod));
    let acts = step(&mut anew, &facts(both.collect()), Time::ZERO);
    let [Act::Bind(pods)] = acts.as_slice() else { panic!("{acts:?}") };
    assert_eq!((pods.len(), anew.ended), (3, None));
}

#[test]
fn pods_that_ended_well_and_are_gone_are_not_waited_for() {
    let mut tracked = tracked();
    let two = facts(vec![pod("3"), pod("4")]);
    tracked.note_done(&two, &BTreeSet::from(["uid-0".to_owned()]));
    let acts = step(&mut tracked, &two, Time::ZERO);
    let [Act::Bind(pods)] = acts.as_slice() else { panic!("{acts:?}") };
    assert_eq!(pods.len(), 2);
}

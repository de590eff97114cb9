//! Nodes go and come back.

use super::leases::{ages, beats};
use super::play::{Play, concerns, gpus, is_end};
use super::{Script, ScriptJob, ScriptOutage, Stage};
use evenhand_core::{EndCause, Event, NodeId, Time};

/// Tried with ever later outages, until one finds its leases running: a slow world may need a while to start them.
pub fn a_lost_node_ends_every_lease_on_it(stage: &dyn Stage) {
    let hit = [4, 16, 64, 256, 1024].into_iter().any(|beat| lose_a_node_at(stage, beat));
    assert!(hit, "no outage was late enough to find its leases running");
}

/// One lease on the lost node, one that only touches it, one elsewhere. Says whether all ran in time.
fn lose_a_node_at(stage: &dyn Stage, beat: u64) -> bool {
    let down = beats(stage, beat);
    let job = ScriptJob::running(ages(stage));
    let mut script = Script::of([job, ScriptJob { gpus: 2, ..job }, job]);
    script.outages.push(ScriptOutage { node: 0, down_ms: down.0, up_ms: down.0 + stage.beat().0 });
    let mut play = Play::with_jobs(stage, &script, 3);
    let on = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    let across = play.start((2, 1), gpus(&[(0, 1), (1, 0)]), Time::NEVER);
    let elsewhere = play.start((3, 2), gpus(&[(1, 1)]), Time::NEVER);
    play.until_heard(|event| *event == Event::NodeDown(NodeId(0)));
    if play.count(|event| matches!(event, Event::LeaseStarted(_))) < 3 {
        return false;
    }
    assert!(play.now >= Time::ZERO + down);
    assert_eq!(play.count(is_end), 0, "a node is lost before its leases are");

    play.until(|event| matches!(event, Event::NodeUp(node) if node.id == NodeId(0)));
    assert!(play.now >= Time::ZERO + down + stage.beat());
    let is_loss = |event: &Event| matches!(event, Event::LeaseEnded { cause: EndCause::NodeLost, .. });
    for lease in [on, across] {
        assert_eq!(play.count(|event| is_loss(event) && concerns(event, lease)), 1, "{:?}", play.heard);
    }
    assert_eq!(play.count(is_end), 2, "what ran elsewhere goes on");

    let again = play.start((4, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.until_started(again);
    play.stop(elsewhere, ages(stage));
    assert_eq!(play.until_ended(elsewhere).cause, EndCause::Stopped);
    true
}

//! Beginnings, alarms and ends: the order of things.

use super::leases::{ages, beats};
use super::play::{Play, gpus};
use super::{Script, ScriptJob, ScriptOutage, Stage};
use evenhand_core::{Event, LeaseId, Round, Time};

pub fn the_cluster_is_announced_before_the_first_job(stage: &dyn Stage) {
    let script = Script::of([ScriptJob::running(beats(stage, 1))]);
    let play = Play::with_jobs(stage, &script, 1);
    let models = Script::models().into_iter().map(Event::ModelAdded);
    let tenants = Script::tenants().into_iter().map(Event::TenantChanged);
    let nodes = script.node_list().into_iter().map(Event::NodeUp);
    let jobs = script.job_list().map(|(_, spec, _)| Event::Submitted(spec));
    assert_eq!(play.heard, models.chain(tenants).chain(nodes).chain(jobs).collect::<Vec<_>>());
}

pub fn jobs_arrive_at_their_time_and_not_before(stage: &dyn Stage) {
    let at = |beat| ScriptJob { submit_ms: beats(stage, beat).0, ..ScriptJob::running(beats(stage, 1)) };
    let script = Script::of([at(3), at(0), at(2)]);
    let mut play = Play::open(stage, &script);
    for (job, beat) in [(1, 0), (2, 2), (0, 3)] {
        play.until(|event| matches!(event, Event::Submitted(_)));
        let due = Time::ZERO + beats(stage, beat);
        assert!(play.now >= due);
        assert!(
            matches!(play.heard.last(), Some(Event::Submitted(spec)) if spec.id.0 == job),
            "{:?}",
            play.heard
        );
    }
}

pub fn there_is_one_alarm_and_the_later_replaces_the_earlier(stage: &dyn Stage) {
    let mut play = Play::with_jobs(stage, &Script::of([ScriptJob::running(beats(stage, 1))]), 1);
    let is_alarm = |event: &Event| matches!(event, Event::RoundDue(_));
    let due = play.now + beats(stage, 3);
    play.wake_in(beats(stage, 1), 1);
    play.wake_in(beats(stage, 3), 2);
    play.until(is_alarm);
    assert_eq!(play.heard.last(), Some(&Event::RoundDue(Round(2))), "a later alarm replaces an earlier one");
    assert!(play.now >= due);

    play.wake_in(ages(stage), 3);
    play.wake_in(beats(stage, 1), 4);
    play.until(is_alarm);
    assert_eq!(play.heard.last(), Some(&Event::RoundDue(Round(4))), "an earlier alarm replaces a later one");

    let lease = play.start((1, 0), gpus(&[(0, 0)]), Time::NEVER);
    play.until_ended(lease);
    assert_eq!(play.count(is_alarm), 2, "an alarm rings once");
}

/// Jobs, outages and alarms pell-mell; [`Play::next`] watches the time.
pub fn time_never_goes_back(stage: &dyn Stage) {
    let job = |beat| ScriptJob { submit_ms: beats(stage, beat).0, ..ScriptJob::running(beats(stage, 2)) };
    let mut script = Script::of([job(0), job(0), job(1), job(3)]);
    script.gpus_per_node = 4;
    script.outages = [(1, 1, 2), (1, 3, 4)]
        .map(|(node, down, up)| (node, beats(stage, down), beats(stage, up)))
        .map(|(node, down, up)| ScriptOutage { node, down_ms: down.0, up_ms: up.0 })
        .to_vec();
    let mut play = Play::open(stage, &script);
    while let Some(event) = play.next() {
        match event {
            Event::Submitted(spec) => {
                // Node 0 stays, so whatever is started there ends by itself.
                play.start((spec.id.0, spec.id.0), gpus(&[(0, spec.id.0 as u8)]), Time::NEVER);
                play.wake_in(stage.beat(), spec.id.0);
            }
            Event::LeaseEnded { lease: LeaseId(job), .. } => play.end(job),
            _ => {}
        }
    }
    assert_eq!(play.count(|event| matches!(event, Event::LeaseEnded { .. })), 4);
}

/// An alarm that is still to ring keeps nobody waiting; a job that is still to come does.
pub fn the_world_ends_when_every_job_has_ended(stage: &dyn Stage) {
    let later = ScriptJob { submit_ms: beats(stage, 3).0, ..ScriptJob::running(beats(stage, 1)) };
    let script = Script::of([ScriptJob::running(beats(stage, 1)), later]);
    let mut play = Play::with_jobs(stage, &script, 1);
    for job in 0..2 {
        play.until_heard(|event| matches!(event, Event::Submitted(spec) if spec.id.0 == job));
        let lease = play.start((job, job), gpus(&[(0, 0)]), Time::NEVER);
        play.until_ended(lease);
        play.wake_in(ages(stage), 1);
        play.end(job);
    }
    assert_eq!(play.next(), None);
    assert_eq!(play.next(), None, "an end is an end");
}

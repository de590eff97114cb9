//! What to do next about a lease, given what Slurm says of its job: a pure function, so that a controller or a server that was down in
//! between makes no difference.

use super::claims::Claim;
use super::jobs::{SlurmJob, State};
use super::tool::Act;
use crate::runner::Ending;
use evenhand_core::{EndCause, JobId, Retry, Span, Time};

/// How long a job that was told to start may wait inside Slurm: then its nodes are not as free as they were thought to be.
pub(super) const PATIENCE: Span = Span::from_secs(30);

/// How often a job must be missing before it is believed.
pub(super) const MISSED_MAX: u32 = 3;

/// What a lease is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Run.
    Run,
    /// Save and leave, for this cause, by then.
    Leave { cause: EndCause, until: Time },
    /// It could not be started: make sure that it is not.
    GiveUp,
}

/// Who is to blame for a start that came to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Blame {
    /// Nobody: Slurm was busy with others.
    #[default]
    Nobody,
    /// Its nodes: Slurm has something on them that nobody knows of, or keeps them for somebody.
    Nodes,
    /// The job, which asks for what is not there. It uses up its tries; otherwise it would be tried for ever.
    Job,
}

impl Blame {
    /// Who is to blame for a job that waits for this reason although it was told to start.
    pub(super) fn for_waiting(reason: &str) -> Self {
        match reason {
            "None" | "Priority" | "BeginTime" => Self::Nobody,
            "Resources" | "Cleaning" | "NodeDown" => Self::Nodes,
            _ if reason.starts_with("ReqNodeNotAvail") => Self::Nodes,
            _ => Self::Job,
        }
    }
}

/// A lease and how far it is.
#[derive(Clone, Debug)]
pub(super) struct Leased {
    pub job: JobId,
    pub nodes: Vec<String>,
    pub claim: Option<Claim>,
    pub order: Order,
    /// When it was first to be started, as far as Slurm has answered since.
    pub asked: Time,
    pub started: bool,
    pub told_to_save: bool,
    /// Who is to blame if it cannot be started.
    pub blame: Blame,
    /// Polls in a row in which its job was not there.
    pub missed: u32,
    pub ended: Option<Ending>,
    /// The GPUs that it has, where Slurm says which.
    pub devices: Vec<(String, u8)>,
}

impl Leased {
    /// One that is to run, and of which nothing is known yet.
    pub(super) fn new(job: JobId, nodes: Vec<String>, asked: Time) -> Self {
        Self {
            job,
            nodes,
            claim: None,
            order: Order::Run,
            asked,
            started: false,
            told_to_save: false,
            blame: Blame::Nobody,
            missed: 0,
            ended: None,
            devices: Vec::new(),
        }
    }
}

/// What surrounds a lease.
pub(super) struct Around<'a> {
    pub now: Time,
    /// Where jobs wait.
    pub home: &'a str,
    /// Its job may be started again later.
    pub is_wanted: bool,
    /// Its job was submitted to Evenhand, and goes to Slurm through it.
    pub is_own: bool,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing, for now.
    Wait,
    /// Hand its job to Slurm.
    Submit,
    /// Note which run it is, and start it.
    Claim,
    /// Do this to its job.
    Do(Act),
    /// It runs.
    Runs,
    /// It has ended.
    End(Ending),
    /// Its submitter took its job back.
    TakenBack,
}

pub(super) fn next(lease: &Leased, found: Option<&SlurmJob>, around: &Around) -> Next {
    let Some(claim) = &lease.claim else { return unclaimed(lease, found, around) };
    let Some(job) = found else {
        return if lease.missed < MISSED_MAX { Next::Wait } else { Next::TakenBack };
    };
    if job.restarts > claim.restarts {
        return over(lease, job);
    }
    match job.state {
        State::Pending => pending(lease, job, around),
        State::Running if lease.order == Order::GiveUp || lease.order == Order::Run => Next::Runs,
        State::Running => leaving(lease, around.now),
        State::Completing => Next::Wait,
        State::Completed => Next::End(Ending::Done),
        State::Cancelled if !claim.killed => Next::TakenBack,
        State::Cancelled | State::Failed | State::NodeFailed => ended(lease, job.state, around),
    }
}

/// Nothing was asked of Slurm yet.
fn unclaimed(lease: &Leased, found: Option<&SlurmJob>, around: &Around) -> Next {
    if let Order::Leave { cause, .. } = lease.order {
        return Next::End(Ending::Left(cause));
    }
    let is_late = around.now >= lease.asked + PATIENCE;
    match found {
        _ if lease.order == Order::GiveUp => in_vain(lease),
        None if around.is_own => Next::Submit,
        None if lease.missed >= MISSED_MAX => Next::TakenBack,
        Some(job) if job.state == State::Pending && job.partition == around.home && job.may_start() => {
            Next::Claim
        }
        _ if is_late => in_vain(lease),
        _ => Next::Wait,
    }
}

/// The run is over and the job is back in the queue, by us or by Slurm, which does so when a node is lost.
fn over(lease: &Leased, job: &SlurmJob) -> Next {
    match (job.state, lease.order) {
        (State::Completing, _) => Next::Wait,
        // Slurm started it again by itself: nobody granted that.
        (State::Running, _) => Next::Do(Act::Requeue),
        (_, Order::Leave { cause, .. }) => Next::End(Ending::Left(cause)),
        _ if job.launch_failed => Next::End(Ending::NotLaunched(Retry::Later)),
        _ => Next::End(Ending::Lost),
    }
}

fn pending(lease: &Leased, job: &SlurmJob, around: &Around) -> Next {
    let is_home = job.partition == around.home;
    match lease.order {
        // A controller that crashed may have forgotten the last seconds.
        Order::Run if lease.started && is_home => Next::End(Ending::Lost),
        Order::Run if !is_home && around.now >= lease.asked + PATIENCE => Next::Do(Act::Home),
        Order::Run if is_home && around.now >= lease.asked + PATIENCE => in_vain(lease),
        Order::Run if is_home || job.required != lease.nodes => {
            Next::Do(Act::Start { nodes: lease.nodes.clone(), spread: around.is_own })
        }
        Order::Run => Next::Wait,
        Order::Leave { .. } | Order::GiveUp if !is_home => Next::Do(Act::Home),
        Order::Leave { cause, .. } => Next::End(Ending::Left(cause)),
        Order::GiveUp => in_vain(lease),
    }
}

/// It could not be started.
fn in_vain(lease: &Leased) -> Next {
    Next::End(match lease.blame {
        Blame::Nobody => Ending::NotLaunched(Retry::Freely),
        Blame::Nodes => Ending::NotLaunched(Retry::Later),
        Blame::Job => Ending::Crashed,
    })
}

fn leaving(lease: &Leased, now: Time) -> Next {
    match lease.order {
        Order::Leave { until, .. } if now >= until => Next::Do(Act::Kill),
        Order::Leave { .. } if !lease.told_to_save => Next::Do(Act::Term),
        _ => Next::Wait,
    }
}

/// It has ended, not well. One that is to go on later waits in the queue again before that is told: Slurm forgets ended jobs.
fn ended(lease: &Leased, state: State, around: &Around) -> Next {
    match (lease.order, state) {
        (Order::Leave { .. }, _) if around.is_wanted => Next::Do(Act::Requeue),
        (Order::Leave { cause, .. }, _) => Next::End(Ending::Left(cause)),
        // Ended with force by an earlier server, because its node was lost.
        (_, State::NodeFailed | State::Cancelled) => Next::End(Ending::Lost),
        _ => Next::End(Ending::Crashed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::jobs;
    use super::*;

    const LEAVE: Order = Order::Leave { cause: EndCause::Stopped, until: Time(5000) };

    fn job(state: &str, partition: &str, restarts: u32) -> SlurmJob {
        let text = format!(
            r#"{{"jobs": [{{"job_id": 17, "job_state": "{state}", "partition": "{partition}", "restart_cnt": {restarts},
                "required_nodes": "gpu1"}}]}}"#
        );
        jobs::parse(&text).unwrap().remove(0)
    }

    fn lease(order: Order) -> Leased {
        let nodes = vec!["gpu1".to_owned()];
        let claim = Claim { job: JobId(1), slurm: 17, restarts: 2, nodes: nodes.clone(), killed: false };
        Leased { claim: Some(claim), order, ..Leased::new(JobId(1), nodes, Time(0)) }
    }

    fn after(lease: &Leased, job: &SlurmJob, now: u64) -> Next {
        let around = Around { now: Time(now), home: "home", is_wanted: true, is_own: false };
        next(lease, Some(job), &around)
    }

    #[test]
    fn a_start_is_asked_for_until_it_is_seen() {
        let run = lease(Order::Run);
        assert!(matches!(after(&run, &job("PENDING", "home", 2), 1), Next::Do(Act::Start { .. })));
        assert_eq!(after(&run, &job("PENDING", "run", 2), 1), Next::Wait);
        assert_eq!(after(&run, &job("RUNNING", "run", 2), 1), Next::Runs);
        assert_eq!(after(&run, &job("COMPLETED", "run", 2), 1), Next::End(Ending::Done));
        assert_eq!(after(&run, &job("FAILED", "run", 2), 1), Next::End(Ending::Crashed));
        let unclaimed = Leased { claim: None, ..run };
        assert_eq!(after(&unclaimed, &job("PENDING", "home", 2), 1), Next::Claim);
        assert_eq!(after(&unclaimed, &job("FAILED", "run", 2), 1), Next::Wait, "it is not home yet");
    }

    #[test]
    fn a_start_that_comes_to_nothing_is_taken_back_before_that_is_told() {
        let (run, late) = (lease(Order::Run), PATIENCE.0);
        assert_eq!(after(&run, &job("PENDING", "run", 2), late), Next::Do(Act::Home));
        let home = job("PENDING", "home", 2);
        for (reason, ending) in [
            ("Priority", Ending::NotLaunched(Retry::Freely)),
            ("ReqNodeNotAvail, UnavailableNodes:gpu1", Ending::NotLaunched(Retry::Later)),
            ("Resources", Ending::NotLaunched(Retry::Later)),
            ("PartitionTimeLimit", Ending::Crashed),
        ] {
            let run = Leased { blame: Blame::for_waiting(reason), ..run.clone() };
            assert_eq!(after(&run, &home, late), Next::End(ending), "{reason}");
        }
    }

    #[test]
    fn a_job_saves_then_is_killed_then_waits_again_and_only_then_has_left() {
        let mut leaves = lease(LEAVE);
        let running = job("RUNNING", "run", 2);
        assert_eq!(after(&leaves, &running, 1), Next::Do(Act::Term));
        leaves.told_to_save = true;
        assert_eq!(after(&leaves, &running, 4999), Next::Wait);
        assert_eq!(after(&leaves, &running, 5000), Next::Do(Act::Kill));
        assert_eq!(after(&leaves, &job("COMPLETED", "run", 2), 1), Next::End(Ending::Done));
        assert_eq!(after(&leaves, &job("FAILED", "run", 2), 1), Next::Do(Act::Requeue));
        assert_eq!(after(&leaves, &job("COMPLETING", "run", 3), 1), Next::Wait);
        assert_eq!(after(&leaves, &job("PENDING", "run", 3), 1), Next::End(Ending::Left(EndCause::Stopped)));
    }

    #[test]
    fn a_cancelled_job_was_taken_back_unless_we_killed_it() {
        let mut leaves = lease(LEAVE);
        let cancelled = job("CANCELLED", "run", 2);
        assert_eq!(after(&leaves, &cancelled, 1), Next::TakenBack);
        leaves.claim.as_mut().unwrap().killed = true;
        assert_eq!(after(&leaves, &cancelled, 1), Next::Do(Act::Requeue));
    }

    #[test]
    fn a_run_that_slurm_ended_or_forgot_is_lost() {
        let run = Leased { started: true, ..lease(Order::Run) };
        assert_eq!(after(&run, &job("PENDING", "run", 3), 1), Next::End(Ending::Lost));
        assert_eq!(after(&run, &job("PENDING", "home", 2), 1), Next::End(Ending::Lost));
        assert_eq!(after(&run, &job("RUNNING", "run", 3), 1), Next::Do(Act::Requeue), "nobody granted that");
        let failed = SlurmJob { launch_failed: true, ..job("PENDING", "run", 3) };
        let not_launched = Next::End(Ending::NotLaunched(Retry::Later));
        assert_eq!(after(&run, &failed, 1), not_launched, "it seems to run as long as its prolog does");
    }

    #[test]
    fn a_job_that_is_not_there_once_is_not_believed_to_be_gone() {
        let around = Around { now: Time(1), home: "home", is_wanted: true, is_own: false };
        let mut run = lease(Order::Run);
        assert_eq!(next(&run, None, &around), Next::Wait);
        run.missed = MISSED_MAX;
        assert_eq!(next(&run, None, &around), Next::TakenBack);
    }
}

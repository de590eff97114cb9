//! What only processes on this machine promise: they outlive the server, leave nothing behind, and are launched once.

use crate::local::{folder, runner};
use evenhand_core::{
    Backend, Command, EndCause, Event, GpuId, GpuSet, GpuTime, JobId, JobSpec, Lease, LeaseId, LeaseState,
    ModelIndex, Node, NodeId, Outcome, RackId, Reason, Retry, Sharing, Span, StopReason, TenantId, Time,
    Work,
};
use evenhand_live::{Clock, LiveJob, Program, ProgramLimits, Remembered, Setting, World, output_file};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const JOB: JobId = JobId(7);
const FINISHED: EndCause = EndCause::Finished { alone: None };

/// A server's world with one job, and what is needed to open it again.
struct Place {
    world: World,
    folder: PathBuf,
    program: Program,
}

fn nodes() -> Vec<Node> {
    (0..2).map(|id| Node::new(NodeId(id), RackId(0), ModelIndex(0), 4)).collect()
}

fn shell(script: &str) -> Program {
    Program::new(["/bin/sh", "-c", script])
}

fn lease(id: u64, state: LeaseState) -> Lease {
    Lease {
        id: LeaseId(id),
        job: JOB,
        gpus: GpuSet::of([(0, 1), (1, 3)].map(|(node, ordinal)| GpuId { node: NodeId(node), ordinal })),
        sharing: Sharing::Alone,
        starts: Time::ZERO,
        expires: Time::NEVER,
        reason: Reason::FirstCome,
        state,
        taken: Time::ZERO,
        booked: Time::ZERO,
    }
}

impl Place {
    fn with(program: Program) -> Self {
        let folder = folder();
        let (tell, inbox) = mpsc::channel();
        let setting = Setting { nodes: nodes(), ..Setting::default() };
        let world = World::new(setting, Clock::start(), runner(&folder, tell), inbox);
        let mut place = Self { world, folder, program };
        place.world.admit(place.job());
        place
    }

    fn job(&self) -> LiveJob {
        let spec = Arc::new(JobSpec::new(JOB, TenantId(0), 1, None));
        LiveJob { spec, program: Arc::new(self.program.clone()), user: None }
    }

    fn start(&mut self, id: u64) {
        self.tell(&Command::Start(lease(id, LeaseState::Asked)));
    }

    fn tell(&mut self, command: &Command) {
        self.world.execute(Time::ZERO, command).unwrap();
    }

    /// The server dies, and another takes over what the ledger says is held.
    fn restart(&mut self, leases: Vec<Lease>) {
        let (tell, inbox) = mpsc::channel();
        let grace = Span::from_secs(60);
        let remembered =
            Remembered { nodes: nodes(), jobs: vec![self.job()], leases, grace, ..Remembered::default() };
        let runner = runner(&self.folder, tell);
        self.world = World::recover(remembered, Clock::start(), runner, inbox);
    }

    fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            let (_, event) = self.world.next().unwrap().expect("the world ended too early");
            if wanted(&event) {
                return event;
            }
        }
    }

    fn until_started(&mut self, id: u64) {
        self.until(|event| *event == Event::LeaseStarted(LeaseId(id)));
    }

    fn until_ended(&mut self) -> (Work, EndCause) {
        match self.until(|event| matches!(event, Event::LeaseEnded { .. })) {
            Event::LeaseEnded { saved, cause, .. } => (saved, cause),
            _ => unreachable!(),
        }
    }

    fn output(&self) -> String {
        fs::read_to_string(output_file(&self.folder, JOB)).unwrap_or_default()
    }

    /// Processes that carry the mark of this place, supervisors not counted.
    fn processes(&self) -> Vec<i32> {
        let mark = format!("EVENHAND_MARK={}-", self.folder.display());
        let entries = fs::read_dir("/proc").unwrap();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let is_own = |pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|line| line.starts_with(mark.as_bytes()))
        };
        pids.filter(is_own).collect()
    }

    /// The process that supervises a lease.
    fn supervisor(&self, id: u64) -> rustix::process::Pid {
        let claim = fs::read_to_string(self.folder.join(format!("leases/{id}/claim.json"))).unwrap();
        let claim: serde_json::Value = serde_json::from_str(&claim).unwrap();
        rustix::process::Pid::from_raw(claim["pid"].as_i64().unwrap() as i32).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        runner(&self.folder, mpsc::channel().0).keep_only(&|_| false);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Waits for something that another process does.
fn eventually(what: &str, happened: impl Fn() -> bool) {
    for _ in 0..6000 {
        if happened() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("not within 30 s: {what}");
}

#[test]
fn a_job_learns_from_its_environment_what_it_may_use_and_nothing_else() {
    let mut program =
        shell("echo $EVENHAND_JOB $EVENHAND_LEASE $EVENHAND_GPUS $EVENHAND_RESUME $SEED; ulimit -n; env");
    program.environment.insert("SEED".to_owned(), "5".to_owned());
    program.limits = ProgramLimits { open_files: Some(77), ..ProgramLimits::default() };
    let mut place = Place::with(program);
    place.start(12);
    assert_eq!(place.until_ended(), (Work::ZERO, FINISHED));
    let output = place.output();
    assert!(output.starts_with("7 12 0.1,1.3 0 5\n77\n"), "{output}");
    // Cargo sets this for the test, as a server's secrets would be set for the server.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !output.contains("CARGO_MANIFEST_DIR"));
}

#[test]
fn whatever_a_job_leaves_running_is_gone_before_its_end_is_told() {
    let mut place = Place::with(shell("setsid sleep 1000 & sleep 1000 & exit 0"));
    place.start(1);
    assert_eq!(place.until_ended().1, FINISHED);
    assert_eq!(place.processes(), [0_i32; 0]);
}

#[test]
fn a_checkpoint_outlives_its_lease_but_not_its_job() {
    let script = "test $EVENHAND_RESUME = 1 && exit 0; echo 5 > $EVENHAND_CHECKPOINT; exit 3";
    let mut place = Place::with(shell(script));
    place.start(1);
    assert_eq!(place.until_ended(), (Work::from_steps(5.0), EndCause::Crashed));
    place.start(2);
    assert_eq!(place.until_ended(), (Work::from_steps(5.0), FINISHED));
    let checkpoint = place.folder.join("jobs/7/checkpoint");
    assert!(checkpoint.exists());
    place.tell(&Command::End { job: JOB, outcome: Outcome::Finished, attained: GpuTime::ZERO });
    assert!(!checkpoint.exists());
}

#[test]
fn a_program_that_does_not_exist_is_not_tried_again_and_the_output_says_why() {
    let mut place = Place::with(Program::new(["/nonexistent/program"]));
    place.start(1);
    let failed = place.until(|event| !matches!(event, Event::NodeUp(_)));
    assert_eq!(failed, Event::LaunchFailed { lease: LeaseId(1), retry: Retry::Never });
    assert!(place.output().contains("/nonexistent/program cannot be run"), "{}", place.output());
}

#[test]
fn a_job_that_is_asked_to_stop_but_exits_with_0_is_finished() {
    let mut place = Place::with(shell("trap 'exit 0' TERM; echo listens; sleep 1000 & wait"));
    place.start(1);
    place.until_started(1);
    eventually("the job listens", || place.output().contains("listens"));
    let (reason, grace) = (StopReason::Preempted, Span::from_secs(1000));
    place.tell(&Command::Stop { lease: LeaseId(1), reason, grace });
    assert_eq!(place.until_ended().1, FINISHED);
}

#[test]
fn a_job_that_runs_is_taken_over_by_the_next_server_and_still_obeys() {
    let mut place = Place::with(shell(
        "trap 'echo 9 > $EVENHAND_CHECKPOINT; exit 75' TERM; echo listens; sleep 1000 & wait",
    ));
    place.start(1);
    place.until_started(1);
    eventually("the job listens", || place.output().contains("listens"));
    place.restart(vec![lease(1, LeaseState::Held)]);
    assert!(!place.processes().is_empty());
    let (reason, grace) = (StopReason::Preempted, Span::from_secs(1000));
    place.tell(&Command::Stop { lease: LeaseId(1), reason, grace });
    assert_eq!(place.until_ended(), (Work::from_steps(9.0), EndCause::Stopped));
}

#[test]
fn how_a_job_ended_is_not_lost_while_there_is_no_server() {
    let mut place = Place::with(shell("sleep 0.2; echo 3 > $EVENHAND_CHECKPOINT"));
    place.start(1);
    place.until_started(1);
    eventually("the job has ended", || place.folder.join("leases/1/exit.json").exists());
    place.restart(vec![lease(1, LeaseState::Held)]);
    assert_eq!(place.until_ended(), (Work::from_steps(3.0), FINISHED));
}

#[test]
fn a_start_that_was_recorded_but_not_carried_out_is_carried_out_by_the_next_server() {
    let mut place = Place::with(shell("exit 0"));
    place.restart(vec![lease(1, LeaseState::Asked)]);
    place.until_started(1);
    assert_eq!(place.until_ended().1, FINISHED);
}

#[test]
fn a_job_of_which_there_is_no_trace_is_lost_and_a_lease_that_nobody_knows_is_ended() {
    let mut place = Place::with(shell("sleep 1000"));
    place.start(2);
    place.until_started(2);
    place.restart(vec![lease(1, LeaseState::Held)]);
    assert_eq!(place.until_ended().1, EndCause::NodeLost);
    assert_eq!(place.processes(), [0_i32; 0]);
    assert!(!place.folder.join("leases/2").exists());
}

#[test]
fn a_job_dies_with_its_supervisor_and_counts_as_crashed() {
    let mut place = Place::with(shell("setsid sleep 1000 & echo listens; sleep 1000"));
    place.start(1);
    place.until_started(1);
    eventually("the job has begun", || place.output().contains("listens"));
    rustix::process::kill_process(place.supervisor(1), rustix::process::Signal::KILL).unwrap();
    assert_eq!(place.until_ended().1, EndCause::Crashed);
    assert_eq!(place.processes(), [0_i32; 0]);
}

#[test]
fn of_several_supervisors_of_one_lease_one_launches() {
    let mut place = Place::with(shell("echo once; sleep 0.3"));
    place.start(1);
    let others: Vec<_> = (0..8)
        .map(|_| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_supervisor"));
            command.arg("supervise").arg(place.folder.join("leases/1")).spawn().unwrap()
        })
        .collect();
    assert_eq!(place.until_ended().1, FINISHED);
    for mut other in others {
        other.wait().unwrap();
    }
    assert_eq!(place.output(), "once\n");
}

//! The contract, kept by real processes on this machine.

use crate::suite::{Script, ScriptJob, Stage, contract};
use evenhand_core::{Abilities, Backend, BackendError, Command, Event, JobSpec, LeaseId, NodeId, Span, Time};
use evenhand_live::{
    Cgroups, Clock, Devices, LiveJob, LocalRunner, Mail, Program, Runner, Setting, SupervisorCommand, World,
};
use std::any::Any;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

contract!(Local);

/// A job of the suite, in arguments: a file to make when it listens, then run, crash, save and slice in ms.
const JOB: &str = include_str!("job.sh");

pub struct Local;

impl Stage for Local {
    fn world(&self, script: &Script) -> Box<dyn Backend> {
        let folder = folder();
        let (tell, inbox) = mpsc::channel();
        let setting =
            Setting { models: Script::models(), tenants: Script::tenants(), nodes: script.node_list() };
        let runner = runner(&folder, tell.clone());
        let world = World::new(setting, Clock::start(), runner, inbox);
        play(script, &folder, self.beat(), tell);
        Box::new(Listening { world, folder: folder.clone(), left: Box::new(Left(folder)) })
    }

    fn beat(&self) -> Span {
        Span(50)
    }
}

/// A folder that nobody else uses.
pub fn folder() -> PathBuf {
    static WORLDS: AtomicU64 = AtomicU64::new(0);
    let number = WORLDS.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!("contract-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder of the tests can be written");
    folder
}

/// A runner whose supervisors are processes of their own.
pub fn runner(folder: &Path, tell: Sender<Mail>) -> Box<dyn Runner> {
    let supervisor = SupervisorCommand { binary: env!("CARGO_BIN_EXE_supervisor").into() };
    let mark = folder.display().to_string();
    let runner = LocalRunner::new(folder, &mark, Devices::default(), supervisor, Cgroups::find().ok(), tell);
    Box::new(runner.expect("the folder of the tests can be written"))
}

/// Sends what the script says when its time has come; when all is said, nobody sends any more.
pub fn play(script: &Script, folder: &Path, beat: Span, tell: Sender<Mail>) {
    play_programs(script, tell, |_, job| program(folder, beat, job));
}

/// The same with programs of another kind.
pub fn play_programs(
    script: &Script,
    tell: Sender<Mail>,
    program: impl Fn(&JobSpec, ScriptJob) -> Arc<Program>,
) {
    let job = |(at, spec, job): (Time, Arc<JobSpec>, ScriptJob)| {
        let program = program(&spec, job);
        (at, Mail::Submit(LiveJob { spec, program, user: None }))
    };
    let mut mails: Vec<(Time, Mail)> = script.job_list().map(job).collect();
    for outage in &script.outages {
        let node = NodeId(outage.node);
        mails.push((Time(outage.down_ms), Mail::Node { node, up: false }));
        mails.push((Time(outage.up_ms), Mail::Node { node, up: true }));
    }
    // Stable: of two at one time the first listed comes first.
    mails.sort_by_key(|(at, _)| *at);
    // What is there from the start is there before anybody looks.
    let later = mails.split_off(mails.partition_point(|(at, _)| *at == Time::ZERO));
    for (_, mail) in mails {
        tell.send(mail).expect("the world is listening");
    }
    let clock = Clock::start();
    let player = move || {
        for (at, mail) in later {
            thread::sleep(Duration::from_millis(at.since(clock.now()).0));
            if tell.send(mail).is_err() {
                return;
            }
        }
        // The play may be over before its script.
        let _ = tell.send(Mail::Close);
    };
    thread::spawn(player);
}

fn program(folder: &Path, beat: Span, job: ScriptJob) -> Arc<Program> {
    let crash = job.crash_after_ms.map_or_else(|| "never".to_owned(), |crash| crash.to_string());
    let ready = folder.join("lease").display().to_string();
    let times = [job.run_ms.to_string(), crash, job.save_ms.to_string(), (beat.0 / 2).to_string()];
    let words = ["/bin/sh", "-c", JOB, "job"].map(str::to_owned);
    Arc::new(Program::new(words.into_iter().chain([ready]).chain(times)))
}

/// A world in which a job counts as started once it listens to signals, so that no check is a race with a
/// shell that is still reading its script.
pub struct Listening {
    pub world: World,
    pub folder: PathBuf,
    /// Ends what still runs when it is dropped, after the world.
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub left: Box<dyn Any>,
}

/// What a local world leaves behind.
struct Left(PathBuf);

impl Listening {
    fn until_it_listens(&self, lease: LeaseId) {
        let ready = self.folder.join(format!("lease-{}", lease.0));
        for _ in 0..30_000 {
            if ready.exists() {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("the job of {lease} does not listen after a minute");
    }
}

impl Backend for Listening {
    fn abilities(&self) -> Abilities {
        self.world.abilities()
    }

    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        let next = self.world.next()?;
        if let Some((_, Event::LeaseStarted(lease))) = next {
            self.until_it_listens(lease);
        }
        Ok(next)
    }

    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError> {
        self.world.execute(now, command)
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        // A new runner that is to keep nothing ends whatever still runs.
        runner(&self.0, mpsc::channel().0).keep_only(&|_| false);
        // What cannot be removed stays in the build folder and harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

//! The contract, kept by real processes on this machine.

use crate::suite::{Script, ScriptJob, Stage, contract};
use evenhand_core::{Abilities, Backend, BackendError, Command, Event, LeaseId, NodeId, Span, Time};
use evenhand_live::{LocalJob, LocalScript, LocalWorld, Outage, Program};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

contract!(Local);

/// A job of the suite, in arguments: a file to make when it listens, then run, crash, save and slice in ms.
const JOB: &str = include_str!("job.sh");

pub struct Local;

impl Stage for Local {
    fn world(&self, script: &Script) -> Box<dyn Backend> {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("contract-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder of the tests can be written");
        let program = |job| self.program(&folder, job);
        let jobs =
            script.job_list().map(|(at, spec, job)| LocalJob { at, spec, program: program(job) }).collect();
        let outage = |outage: &crate::suite::ScriptOutage| Outage {
            node: NodeId(outage.node),
            down: Time(outage.down_ms),
            up: Some(Time(outage.up_ms)),
        };
        let world = LocalWorld::new(LocalScript {
            models: Script::models(),
            tenants: Script::tenants(),
            nodes: script.node_list(),
            jobs,
            outages: script.outages.iter().map(outage).collect(),
        });
        Box::new(Listening { world: world.expect("a scratch folder can be made"), folder })
    }

    fn beat(&self) -> Span {
        Span(50)
    }
}

impl Local {
    fn program(&self, folder: &std::path::Path, job: ScriptJob) -> Program {
        let crash = job.crash_after_ms.map_or_else(|| "never".to_owned(), |crash| crash.to_string());
        let ready = folder.join("lease").display().to_string();
        let times = [job.run_ms.to_string(), crash, job.save_ms.to_string(), (self.beat().0 / 2).to_string()];
        let words = ["-c".to_owned(), JOB.to_owned(), "job".to_owned(), ready];
        Program { path: "/bin/sh".into(), args: words.into_iter().chain(times).collect() }
    }
}

/// A local world in which a job counts as started once it listens to signals, so that no check is a race with a
/// shell that is still reading its script.
struct Listening {
    world: LocalWorld,
    folder: PathBuf,
}

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

impl Drop for Listening {
    fn drop(&mut self) {
        // What cannot be removed stays in the build folder and harms nobody.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

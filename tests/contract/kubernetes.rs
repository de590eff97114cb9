//! The contract, kept by pods of a real Kubernetes API server. There are no kubelets: they are played.

#[path = "../kubernetes/cluster.rs"]
mod cluster;
#[path = "../kubernetes/play.rs"]
mod play;
#[path = "../kubernetes/things.rs"]
mod things;

use crate::local::play_programs;
use crate::suite::{Script, ScriptJob, Stage, contract};
use cluster::Cluster;
use evenhand_core::{Abilities, Backend, BackendError, Command, Event, JobSpec, Node, Span, Time};
use evenhand_kubernetes::{Connection, KubernetesConfig, connect};
use evenhand_live::{Clock, Mail, Program, Setting, World};
use play::Player;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

/// Checks that are tried at the same time: most of the time they wait.
const AT_ONCE: usize = 5;

/// One server for all checks, which takes seconds to start: each has nodes, Jobs and a scheduler's name of its own.
#[test]
#[expect(
    clippy::print_stderr,
    reason = "the checks are not tests of their own, so each says when it is tried"
)]
fn pods_of_an_api_server_keep_the_contract() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = things::install(&cluster);
    let player = Player::start(&cluster);
    let stage = Kubernetes { cluster, kubeconfig, worlds: AtomicU64::new(0) };
    let (checks, next, broken) = (contract!(all), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((name, check)) = checks.get(next.fetch_add(1, Ordering::Relaxed)) {
            eprintln!("{name} ...");
            let attempt = std::panic::AssertUnwindSafe(|| check(&stage));
            if std::panic::catch_unwind(attempt).is_err() {
                broken.lock().unwrap().push(*name);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    assert_eq!(*broken.lock().unwrap(), Vec::<&str>::new());
    player.check();
}

struct Kubernetes {
    cluster: Cluster,
    kubeconfig: PathBuf,
    /// Worlds so far.
    worlds: AtomicU64,
}

impl Stage for Kubernetes {
    fn world(&self, script: &Script) -> Box<dyn Backend> {
        let own = format!("world-{}", self.worlds.fetch_add(1, Ordering::Relaxed));
        let (tell, inbox) = mpsc::channel();
        let config = KubernetesConfig { kubeconfig: Some(self.kubeconfig.clone()), scheduler: own.clone() };
        let name = |node: &Node| format!("{own}-gpu{}", node.id.0);
        for node in script.node_list() {
            things::node(&self.cluster, &name(&node), u32::from(node.gpus));
        }
        let connection = connect(config, only_of_leases(tell.clone())).unwrap();
        connection.watch().unwrap();
        let mut runner = connection.runner(&own);
        // The script knows no names, so that its nodes are those of every world.
        for node in script.node_list() {
            runner.learn(&Node { name: Some(Arc::from(name(&node))), ..node });
        }
        let setting =
            Setting { models: Script::models(), tenants: Script::tenants(), nodes: script.node_list() };
        let world = World::new(setting, Clock::start(), runner, inbox);
        play_programs(script, tell, |spec, job| self.program(&own, spec, job));
        Box::new(Pods { world, connection: Some(connection) })
    }

    fn beat(&self) -> Span {
        Span(500)
    }
}

impl Kubernetes {
    /// Makes the batch Job of a job, and says what it is called there.
    fn program(&self, own: &str, spec: &JobSpec, job: ScriptJob) -> Arc<Program> {
        let mut annotations = json!({
            "test/run-ms": job.run_ms.to_string(), "test/save-ms": job.save_ms.to_string(),
        });
        if let Some(crash) = job.crash_after_ms {
            annotations["test/crash-ms"] = json!(crash.to_string());
        }
        let mut pod = things::pod_spec(1);
        pod["schedulerName"] = json!(own);
        let template = json!({ "metadata": { "annotations": annotations }, "spec": pod });
        let name = format!("{own}-{}", spec.id.0);
        let owner = things::job_of(&self.cluster, "default", &name, (job.gpus, &template));
        let identity = json!({ "namespace": "default", "group": { "job": name }, "owner": owner });
        let outside = json!({ "identity": identity, "pods": job.gpus, "gpus": 1 });
        Arc::new(Program { outside: Some(outside.to_string()), ..Program::default() })
    }
}

/// The script says which machines and jobs there are. Requests wait for ever: an answer would have to be a refusal.
fn only_of_leases(tell: Sender<Mail>) -> Sender<Mail> {
    let (forward, mails) = mpsc::channel();
    thread::spawn(move || {
        let mut asked = Vec::new();
        for mail in mails {
            match mail {
                Mail::Look(lease) if tell.send(Mail::Look(lease)).is_err() => return,
                Mail::Asked(request) => asked.push(request),
                _ => {}
            }
        }
    });
    forward
}

/// A world whose connection goes with it.
struct Pods {
    world: World,
    connection: Option<Connection>,
}

impl Backend for Pods {
    fn abilities(&self) -> Abilities {
        self.world.abilities()
    }

    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        self.world.next()
    }

    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError> {
        self.world.execute(now, command)
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.leave();
        }
    }
}

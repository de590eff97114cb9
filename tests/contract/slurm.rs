//! The contract, kept by jobs in a real Slurm.

use crate::cluster::{Cluster, is_installed};
use crate::local::{Listening, folder, play};
use crate::suite::{Script, Stage, contract};
use evenhand_core::{Backend, Node, Span};
use evenhand_live::{Clock, Mail, Runner, Setting, SlurmConfig, SlurmRunner, World};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

contract!(Slurm);

pub struct Slurm;

impl Stage for Slurm {
    fn world(&self, script: &Script) -> Box<dyn Backend> {
        let (cluster, folder) = (Cluster::start(), folder());
        let (tell, inbox) = mpsc::channel();
        let setting =
            Setting { models: Script::models(), tenants: Script::tenants(), nodes: script.node_list() };
        let mut runner = runner(&folder, &cluster, only_of_leases(tell.clone()));
        // The script knows no names, so that its nodes are those of every world.
        for node in script.node_list() {
            let name = format!("gpu{}", node.id.0);
            runner.learn(&Node { name: Some(Arc::from(name)), ..node });
        }
        let world = World::new(setting, Clock::start(), Box::new(runner), inbox);
        play(script, &folder, self.beat(), tell);
        let left = Box::new(Left { folder: folder.clone(), _cluster: cluster });
        Box::new(Listening { world, folder, left })
    }

    fn beat(&self) -> Span {
        Span(1500)
    }

    fn is_there(&self) -> bool {
        is_installed()
    }
}

#[expect(clippy::print_stderr, reason = "a check that fails says what the runner said")]
fn runner(folder: &Path, cluster: &Cluster, tell: Sender<Mail>) -> SlurmRunner {
    let config = SlurmConfig {
        partition: "evenhand".to_owned(),
        run_partition: "evenhand-run".to_owned(),
        conf: Some(cluster.conf()),
        poll: Span(100),
        log: Arc::new(|line| eprintln!("{line}")),
    };
    SlurmRunner::new(folder, "contract", config, tell).expect("the folder of the tests can be written")
}

/// The script says which machines there are, and when they fail.
fn only_of_leases(tell: Sender<Mail>) -> Sender<Mail> {
    let (forward, mails) = mpsc::channel();
    thread::spawn(move || {
        let leases = mails.into_iter().filter(|mail| !matches!(mail, Mail::Machines(_)));
        let _ = leases.map(|mail| tell.send(mail).is_ok()).find(|sent| !sent);
    });
    forward
}

/// What such a world leaves behind.
struct Left {
    folder: PathBuf,
    _cluster: Cluster,
}

impl Drop for Left {
    fn drop(&mut self) {
        // What cannot be removed stays in the build folder and harms nobody.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

//! A real Slurm for tests, on loopback and free ports: its controller and four nodes, two with eight pretended v100 and two with eight p100.

#![allow(dead_code, reason = "no test needs all of it")]

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const PROGRAMS: [&str; 5] = ["slurmctld", "slurmd", "munged", "sbatch", "scontrol"];

/// Whether Slurm is installed. That it is not is said out loud, and where CI is set it is a failure.
#[expect(clippy::print_stderr, reason = "what is not tried is said out loud")]
pub fn is_installed() -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let is_there = |program: &str| path.split(':').any(|folder| Path::new(folder).join(program).exists());
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(|program| !is_there(program)).collect();
    let is_root = rustix::process::getuid().is_root();
    if missing.is_empty() && is_root {
        return true;
    }
    let why = if is_root {
        format!("{missing:?} are not installed")
    } else {
        "only root can pretend nodes".to_owned()
    };
    assert!(std::env::var("CI").as_deref() != Ok("true"), "no test with a real Slurm: {why}");
    eprintln!("!! skipped, no real Slurm: {why}");
    false
}

/// A Slurm that ends with the test.
pub struct Cluster {
    folder: PathBuf,
    munged: Child,
    controller: Child,
    nodes: Vec<Child>,
}

impl Cluster {
    /// Brings everything up. A port that was free may be taken a moment later by somebody else on this machine; then with others.
    pub fn start() -> Self {
        for _ in 0..3 {
            let cluster = Self::try_start();
            if holds_within(400, || cluster.is_idle()) {
                return cluster;
            }
        }
        panic!("four nodes did not become idle, three times");
    }

    fn is_idle(&self) -> bool {
        self.says("sinfo", &["-h", "-N", "-p", "evenhand", "-t", "idle", "-o", "%N"]).lines().count() == 4
    }

    fn try_start() -> Self {
        static CLUSTERS: AtomicU64 = AtomicU64::new(0);
        let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        // Not in the build folder: names of sockets must be short.
        let folder = std::env::temp_dir().join(format!("eh-slurm-{}-{number}", std::process::id()));
        for name in ["state", "run", "spool", "log", "dev"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        write_files(&folder);
        let run = folder.join("run");
        let flag = |name: &str, file: &str| format!("--{name}={}", run.join(file).display());
        let munged = daemon(&folder, "munged")
            .args(["--foreground", "--force"])
            .arg(format!("--key-file={}", folder.join("munge.key").display()))
            .args([
                flag("socket", "munge.sock"),
                flag("pid-file", "munged.pid"),
                flag("seed-file", "munged.seed"),
            ])
            .arg(format!("--log-file={}", folder.join("log/munged.log").display()))
            .spawn()
            .unwrap();
        eventually("munged listens", || run.join("munge.sock").exists());
        let controller = controller(&folder);
        let nodes = (0..4).map(|number| node(&folder, number)).collect();
        Self { folder, munged, controller, nodes }
    }

    /// Where its configuration is.
    pub fn conf(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    /// Runs a command of Slurm.
    pub fn run(&self, program: &str, words: &[&str]) -> Output {
        Command::new(program)
            .args(words)
            .env("SLURM_CONF", self.conf())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// What a command of Slurm says; nothing while it fails.
    pub fn says(&self, program: &str, words: &[&str]) -> String {
        let output = self.run(program, words);
        if output.status.success() {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        } else {
            String::new()
        }
    }

    /// The controller crashes, but not before it has saved all that it acknowledged by now: it does so only every few seconds, and
    /// forgets even whole jobs otherwise, which nobody else can help.
    pub fn kill_controller(&mut self) {
        let marker = self.folder.join("marker");
        fs::write(&marker, "").unwrap();
        let changed = |path: PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
        let is_saved = || changed(self.folder.join("state/job_state")) > changed(marker.clone());
        for _ in 0..200 {
            if is_saved() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        end(&mut self.controller);
    }

    /// The controller comes back.
    pub fn restart_controller(&mut self) {
        self.controller = controller(&self.folder);
        eventually("the controller answers", || self.run("scontrol", &["ping"]).status.success());
    }

    /// The daemon of a node crashes and comes back; what runs there runs on.
    pub fn restart_node(&mut self, number: usize) {
        end(&mut self.nodes[number]);
        self.nodes[number] = node(&self.folder, number);
    }

    /// Whether the prolog, which Slurm runs on a node before a job, fails from now on.
    pub fn fail_prolog(&self, fails: bool) {
        let status = if fails { "exit 1\n" } else { "exit 0\n" };
        fs::write(self.folder.join("prolog"), format!("#!/bin/sh\n{status}")).unwrap();
    }

    /// A node goes, with all on it, or comes back.
    pub fn set_node(&self, node: &str, state: &str) {
        let (node, state) = (format!("nodename={node}"), format!("state={state}"));
        let output = self.run("scontrol", &["update", &node, &state, "reason=test"]);
        // One that is to come back may be back by itself already.
        assert!(output.status.success() || state == "state=resume", "{output:?}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(end);
        // Steps of jobs outlive the daemon of their node.
        for pid in marked(&self.conf()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        end(&mut self.controller);
        end(&mut self.munged);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Looks again and again until it holds, for a minute.
pub fn eventually(what: &str, holds: impl FnMut() -> bool) {
    within(1, what, holds);
}

/// After something was lost: a controller asks only every minute or so again what became of a job that was ending when the daemon of its node was.
pub fn after_losses(what: &str, holds: impl FnMut() -> bool) {
    within(4, what, holds);
}

fn within(minutes: u32, what: &str, holds: impl FnMut() -> bool) {
    assert!(holds_within(1200 * minutes, holds), "not within {minutes} min: {what}");
}

/// Looks up to so often, twenty times a second.
fn holds_within(looks: u32, mut holds: impl FnMut() -> bool) -> bool {
    (0..looks).any(|_| {
        let holds = holds();
        if !holds {
            thread::sleep(Duration::from_millis(50));
        }
        holds
    })
}

/// Processes with this configuration in their environment.
fn marked(conf: &Path) -> Vec<rustix::process::Pid> {
    let mark = format!("SLURM_CONF={}", conf.display());
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_marked = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|line| line == mark.as_bytes())
    };
    pids.filter(is_marked).filter_map(rustix::process::Pid::from_raw).collect()
}

/// A daemon that does not outlive the test, however that ends.
fn daemon(folder: &Path, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", program]);
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    command.env("PATH", path).env("SLURM_CONF", folder.join("slurm.conf"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn node(folder: &Path, number: usize) -> Child {
    daemon(folder, "slurmd").args(["-D", "-N", &format!("gpu{number}")]).spawn().unwrap()
}

fn controller(folder: &Path) -> Child {
    daemon(folder, "slurmctld").arg("-D").spawn().unwrap()
}

/// Ports that were free a moment ago, and are not among those that connections take for themselves (32768 and more).
fn free_ports() -> Vec<u16> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let before = || NEXT.fetch_add(1, Ordering::Relaxed) + 37 * u64::from(std::process::id());
    let ports = std::iter::repeat_with(|| 10_000 + (before() % 22_000) as u16);
    ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).take(5).collect()
}

fn write_files(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let key = folder.join("munge.key");
    let mut random = vec![0; 1024];
    std::io::Read::read_exact(&mut fs::File::open("/dev/urandom").unwrap(), &mut random).unwrap();
    fs::write(&key, random).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    for gpu in 0..8 {
        let node = folder.join(format!("dev/nvidia{gpu}"));
        assert!(Command::new("mknod").arg(node).args(["c", "1", "3"]).status().unwrap().success());
    }
    let gpus = folder.join("dev").display().to_string();
    let gres = format!(
        "NodeName=gpu[0-1] Name=gpu Type=v100 File={gpus}/nvidia[0-7]\nNodeName=gpu[2-3] Name=gpu Type=p100 File={gpus}/nvidia[0-7]\n"
    );
    fs::write(folder.join("gres.conf"), gres).unwrap();
    let prolog = folder.join("prolog");
    fs::write(&prolog, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&prolog, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("slurm.conf"), slurm_conf(folder)).unwrap();
}

fn slurm_conf(folder: &Path) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap_or_default().to_owned();
    let ports = free_ports();
    let base = folder.display();
    let mut text = format!(
        "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nAuthType=auth/munge\n\
         AuthInfo=socket={base}/run/munge.sock\nCredType=cred/munge\nSlurmUser=root\nProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
         SchedulerType=sched/builtin\nPriorityType=priority/basic\nPreemptMode=OFF\nGresTypes=gpu\nReturnToService=2\nKillWait=2\n\
         SlurmdTimeout=30\nSlurmdParameters=config_overrides\nProlog={base}/prolog\n\
         SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0\n\
         CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\nStateSaveLocation={base}/state\nSlurmdSpoolDir={base}/spool/%n\n\
         SlurmctldPidFile={base}/run/slurmctld.pid\nSlurmdPidFile={base}/run/%n.pid\n\
         SlurmctldLogFile={base}/log/slurmctld.log\nSlurmdLogFile={base}/log/%n.log\n",
        port = ports[0],
    );
    for (number, port) in ports[1..].iter().enumerate() {
        let model = if number < 2 { "v100" } else { "p100" };
        let _ = writeln!(
            text,
            "NodeName=gpu{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=32 Boards=1 SocketsPerBoard=1 \
             CoresPerSocket=32 ThreadsPerCore=1 RealMemory=200000 Gres=gpu:{model}:8 State=UNKNOWN"
        );
    }
    text + "PartitionName=evenhand Nodes=gpu[0-3] Default=YES MaxTime=INFINITE State=DOWN\n\
            PartitionName=evenhand-run Nodes=gpu[0-3] MaxTime=INFINITE State=UP Hidden=YES\n\
            PartitionName=others Nodes=gpu[0-3] MaxTime=INFINITE State=UP\n"
}

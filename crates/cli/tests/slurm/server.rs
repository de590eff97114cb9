//! `evenhand serve --slurm`, and jobs for it.

use crate::cluster::{Cluster, eventually};
use evenhand_core::{LedgerReader, Record};
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const JOB: &str = include_str!("job.sh");

/// A folder for jobs and state, and the server over it.
pub struct Server {
    pub folder: PathBuf,
    conf: PathBuf,
    child: Option<Child>,
    policy: String,
    /// Flags of its own.
    flags: Vec<String>,
}

impl Server {
    pub fn start(test: &str, cluster: &Cluster, policy: &str) -> Self {
        Self::start_with(test, cluster, policy, &["--round", "5s"])
    }

    /// With flags of its own.
    pub fn start_with(test: &str, cluster: &Cluster, policy: &str, flags: &[&str]) -> Self {
        Self::begin(Path::new(env!("CARGO_TARGET_TMPDIR")).join(test), cluster, policy, flags)
    }

    pub fn start_in(folder: PathBuf, cluster: &Cluster, policy: &str) -> Self {
        Self::begin(folder, cluster, policy, &["--round", "5s"])
    }

    fn begin(folder: PathBuf, cluster: &Cluster, policy: &str, flags: &[&str]) -> Self {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("jobs")).unwrap();
        fs::write(folder.join("job.sh"), JOB).unwrap();
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let mut server = Self { folder, conf: cluster.conf(), child: None, policy: policy.to_owned(), flags };
        server.restart();
        server
    }

    /// Starts it again, after whatever became of it.
    pub fn restart(&mut self) {
        self.kill();
        let state = self.folder.join("state");
        let _ = fs::remove_file(state.join("address"));
        let log = fs::File::options().create(true).append(true).open(self.folder.join("server.log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
        command.args(["serve", "--slurm", "--listen", "127.0.0.1:0", "--slurm-poll", "300ms"]);
        command.args(["--policy", &self.policy, "--grace", "5s", "--retry-delay", "1s"]).args(&self.flags);
        command.arg("--state").arg(&state).env("SLURM_CONF", &self.conf);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.child = Some(child);
        eventually("the server listens", || state.join("address").exists());
    }

    /// Killed as by a power cut.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join("state").join(name)).unwrap_or_default()
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.run_with(self.read("token").trim(), words)
    }

    pub fn run_with(&self, token: &str, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
        command
            .env("EVENHAND_SERVER", format!("http://{}", self.read("address")))
            .env("EVENHAND_TOKEN", token);
        command.args(words).current_dir(&self.folder).output().unwrap()
    }

    pub fn says(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// All that happened and was decided, record by record.
    pub fn ledger(&self) -> Vec<Record> {
        self.says(&["report"]);
        let file = fs::File::open(self.folder.join("evenhand-ledger.jsonl")).unwrap();
        let mut ledger = LedgerReader::new(BufReader::new(file)).unwrap();
        std::iter::from_fn(|| ledger.read().unwrap()).collect()
    }

    /// A fresh engine decides the same again.
    pub fn replays(&self) {
        self.says(&["report"]);
        assert!(self.says(&["replay", "evenhand-ledger.jsonl"]).contains("all the same"));
    }

    /// Submits a job to Slurm, as its users do.
    pub fn sbatch(&self, cluster: &Cluster, tenant: &str, name: &str, flags: &[&str], count: u32) -> String {
        let (jobs, script) = (self.folder.join("jobs"), self.folder.join("job.sh"));
        let comment = format!("--comment=evenhand steps={count} steps-per-second=10");
        let (jobs, count) = (jobs.display().to_string(), count.to_string());
        let mut words = vec![
            "--parsable",
            "-o",
            "/dev/null",
            "-p",
            "evenhand",
            "--requeue",
            "-A",
            tenant,
            "-J",
            name,
            &comment,
        ];
        words.extend(flags);
        let script = script.display().to_string();
        words.extend([script.as_str(), jobs.as_str(), name, count.as_str()]);
        let id = cluster.says("sbatch", &words);
        assert!(id.parse::<u32>().is_ok(), "sbatch said {id:?}");
        id
    }

    /// Jobs that have counted far enough go on counting, or end again.
    pub fn let_nobody_end(&self, yes: bool) {
        let told = self.folder.join("jobs").join("nobody-ends");
        if yes { fs::write(told, "").unwrap() } else { fs::remove_file(told).unwrap() }
    }

    /// What a job says of itself.
    pub fn told(&self, name: &str) -> Vec<String> {
        let text =
            fs::read_to_string(self.folder.join("jobs").join(format!("{name}.log"))).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("server.log")).unwrap_or_default()
    }
}

#[expect(clippy::print_stderr, reason = "a test that fails says what the server said")]
impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

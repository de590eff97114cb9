//! A Kubernetes API server of its own for each test: real, on loopback, with nothing behind it but what the test plays.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::print_stderr, reason = "what is not tried is said out loud")]

use k8s_openapi::api::core::v1::Namespace;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use std::future::Future;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Where `tests/kubernetes/build-apiserver.sh` leaves the server.
fn apiserver() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = base.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    Some(base.join("evenhand/kube-apiserver-1.20.2")).filter(|path| path.exists())
}

fn has(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).exists())
}

/// Clusters of this process so far.
static CLUSTERS: AtomicU64 = AtomicU64::new(0);

pub struct Cluster {
    pub folder: PathBuf,
    url: String,
    runtime: Runtime,
    pub admin: Client,
    children: Vec<Child>,
}

impl Cluster {
    /// Starts one; `None` if there is no server to start, which is said out loud and is a failure where CI is set.
    pub fn start() -> Option<Self> {
        let (Some(server), true, true) = (apiserver(), has("etcd"), has("openssl")) else {
            let what = "no Kubernetes API server: tests/kubernetes/build-apiserver.sh builds one";
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{what}");
            eprintln!("!! skipped: {what}");
            return None;
        };
        let number = CLUSTERS.fetch_add(1, Ordering::Relaxed);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("kubernetes-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [client, peer, port] = free_ports();
        let children = vec![etcd(&folder, client, peer), start_server(&server, &folder, client, port)];
        let url = format!("https://127.0.0.1:{port}");
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let file = kubeconfig(&folder, &url, "admin", "admin-token");
        let admin = runtime.block_on(client_of(&file));
        let cluster = Self { folder, url, runtime, admin, children };
        cluster.until_ready();
        Some(cluster)
    }

    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(future);
    }

    /// A kubeconfig for whoever has this token.
    pub fn kubeconfig(&self, name: &str, token: &str) -> PathBuf {
        kubeconfig(&self.folder, &self.url, name, token)
    }

    pub fn client(&self, kubeconfig: &Path) -> Client {
        self.wait(client_of(kubeconfig))
    }

    fn until_ready(&self) {
        let namespaces = Api::<Namespace>::all(self.admin.clone());
        let ready = || self.wait(namespaces.get("default")).is_ok();
        until(60, "the API server is ready", ready);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Waits until something is so; panics after this many seconds.
pub fn until(seconds: u64, what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..seconds * 20 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("after {seconds} s it is not so that {what}");
}

async fn client_of(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// All are held until all are known, so that none is given twice.
fn free_ports() -> [u16; 3] {
    let held = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    held.each_ref().map(|listener| listener.local_addr().unwrap().port())
}

/// A command that ends with this test, whatever becomes of it.
fn bound_to_us(program: &Path, folder: &Path, log: &str) -> Command {
    let log = std::fs::File::create(folder.join(log)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command
}

fn etcd(folder: &Path, client: u16, peer: u16) -> Child {
    let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
    let mut command = bound_to_us(Path::new("etcd"), folder, "etcd.log");
    command.arg("--data-dir").arg(folder.join("etcd")).arg("--unsafe-no-fsync");
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    command.args(["--initial-cluster", &format!("default={peer}")]);
    command.spawn().unwrap()
}

fn start_server(server: &Path, folder: &Path, etcd: u16, port: u16) -> Child {
    let (key, tokens) = (folder.join("accounts.key"), folder.join("tokens.csv"));
    let made = Command::new("openssl").args(["genrsa", "-out"]).arg(&key).arg("2048").output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::write(&tokens, "admin-token,admin,admin,system:masters\n").unwrap();
    let key = key.display();
    let mut command = bound_to_us(server, folder, "apiserver.log");
    command.args([
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", folder.join("certificates").display()),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        format!("--token-auth-file={}", tokens.display()),
        "--authorization-mode=RBAC".to_owned(),
        format!("--service-account-key-file={key}"),
        format!("--service-account-signing-key-file={key}"),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        // Nobody makes default service accounts here, and nodes have the taints that tests give them.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
    ]);
    command.spawn().unwrap()
}

fn kubeconfig(folder: &Path, url: &str, name: &str, token: &str) -> PathBuf {
    let file = folder.join(format!("{name}.kubeconfig"));
    // The server makes its own certificate at its first start; until then nobody can be asked to trust it.
    let certificate = folder.join("certificates/apiserver.crt");
    let trust = if certificate.exists() {
        format!("certificate-authority: \"{}\"", certificate.display())
    } else {
        "insecure-skip-tls-verify: true".to_owned()
    };
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
         clusters: [{{name: test, cluster: {{server: \"{url}\", {trust}}}}}]\n\
         users: [{{name: test, user: {{token: \"{token}\"}}}}]\n\
         contexts: [{{name: test, context: {{cluster: test, user: test, namespace: evenhand}}}}]\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

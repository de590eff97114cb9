//! The live service under load: its own server on loopback, with jobs that only pretend to run.

use super::stub::StubRunner;
use crate::bench_args::BenchServe;
use crate::client::Client;
use crate::commands::serve::{Doors, listen};
use crate::live_args::Server;
use crate::table::{Side, Table};
use crate::{clock, inputs, output};
use anyhow::{Context, Result, anyhow};
use evenhand_core::Restart;
use evenhand_live::access::{JobUsers, OWN_TOKEN_FILE};
use evenhand_live::api::{Accepted, Health};
use evenhand_live::store::Origin;
use evenhand_live::{Mail, Runner, ServiceConfig, Setting, Terms, Vitals};
use evenhand_sim::{ClusterSpec, Setup, engine_for};
use serde::Serialize;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Questions of each kind.
const QUESTIONS: u32 = 500;

/// Different tenants among the jobs.
const TENANTS: u32 = 10;

/// How long a kind of request took.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "a unit is part of a name")]
struct Latency {
    p50_ms: f64,
    p99_ms: f64,
    most_ms: f64,
}

/// What was seen.
#[derive(Debug, Serialize)]
struct Seen {
    policy: String,
    running: u32,
    queued: u32,
    clients: u32,
    submits_per_second: f64,
    submit: Latency,
    list: Latency,
    explain: Latency,
    decisions: u64,
    decision_mean_ms: f64,
    commits: u64,
    saves: u64,
    save_mean_ms: f64,
    restart_ms: f64,
    memory_peak_mb: f64,
}

/// Starts a server, fills it, asks it, and says how it went.
pub fn run(args: &BenchServe) -> Result<()> {
    let folder = args.state.clone().unwrap_or_else(std::env::temp_dir);
    let folder = folder.join(format!("evenhand-bench-{}", std::process::id()));
    output::make_folder(&folder)?;
    let measured = measure(args, &folder);
    // Nobody needs it any more; what cannot be removed is left.
    let _ = std::fs::remove_dir_all(&folder);
    let seen = measured?;
    if args.json {
        return output::say_json(&seen);
    }
    output::say(&table(&seen).render())
}

fn measure(args: &BenchServe, folder: &Path) -> Result<Seen> {
    let Running { url, vitals, tell, service } = start(args, folder)?;
    let token = std::fs::read_to_string(folder.join(OWN_TOKEN_FILE)).context("the service made no token")?;
    let server = Server { server: Some(url), token: Some(token.trim().to_owned()), ca: None };
    let jobs = args.running + args.queued;
    let began = clock::wall_s();
    let submits = in_parallel(args.clients, jobs, &server, |client, number| {
        let job = json!({
            "name": format!("job-{number}"),
            "tenant": format!("tenant-{}", number % TENANTS),
            "gpus": args.gpus_per_job,
            "steps": 3600 + 60 * (number % 100),
            "argv": ["true"],
        });
        client.post::<Accepted>("/v1/jobs", &job, None).map(drop)
    })?;
    let submits_per_second = f64::from(jobs) / (clock::wall_s() - began);
    until_they_run(args, &Client::new(&server)?)?;
    if args.stay {
        let (url, token) = (server.server.unwrap_or_default(), folder.join(OWN_TOKEN_FILE));
        output::note(&format!("{jobs} jobs are at {url}, the token is in {}", token.display()));
        service.join().map_err(|_| anyhow!("the service broke down"))?;
        anyhow::bail!("the service has ended");
    }
    let list = in_parallel(1, QUESTIONS, &server, |client, number| {
        let after = number * 17 % jobs;
        client.get::<Value>(&format!("/v1/jobs?phase=queued,running&limit=100&after={after}")).map(drop)
    })?;
    let explain = in_parallel(1, QUESTIONS, &server, |client, number| {
        client.get::<Value>(&format!("/v1/jobs/{}/explain", number * 19 % jobs + 1)).map(drop)
    })?;
    let (decisions, total_us) = vitals.decisions.total();
    tell.send(Mail::Leave).map_err(|_| anyhow!("the service has stopped"))?;
    service.join().map_err(|_| anyhow!("the service broke down"))?;
    let (saves, saving_us) = vitals.saves.total();
    let began = clock::wall_s();
    start(args, folder)?;
    let restart_ms = (clock::wall_s() - began) * 1e3;
    Ok(Seen {
        policy: args.policy.clone(),
        running: args.running,
        queued: args.queued,
        clients: args.clients,
        submits_per_second,
        submit: latency(submits),
        list: latency(list),
        explain: latency(explain),
        decisions,
        decision_mean_ms: total_us as f64 / 1e3 / decisions.max(1) as f64,
        commits: vitals.commits.load(Ordering::Relaxed),
        saves,
        save_mean_ms: saving_us as f64 / 1e3 / saves.max(1) as f64,
        restart_ms,
        memory_peak_mb: memory_peak_mb()?,
    })
}

/// A service on threads of its own.
struct Running {
    url: String,
    vitals: Arc<Vitals>,
    tell: Sender<Mail>,
    service: JoinHandle<()>,
}

/// Starts the service.
fn start(args: &BenchServe, folder: &Path) -> Result<Running> {
    let cluster = ClusterSpec::parse(&format!("v100={}", args.running * args.gpus_per_job), None, None)?;
    let mut setup = Setup { policy: inputs::only(&args.policy, &args.set)?, ..Setup::default() };
    setup.engine.round = args.round;
    setup.engine.early_round_min = args.early_round;
    inputs::check(&setup, None)?;
    let (tell, inbox) = channel();
    let (news, leave) = (tell.clone(), tell.clone());
    let config = ServiceConfig {
        state: folder.to_owned(),
        setting: Some(Setting { models: cluster.models, tenants: Vec::new(), nodes: cluster.nodes }),
        header: setup.header(evenhand_live::LOCAL_ABILITIES, "stub"),
        make_engine: Box::new(|header| engine_for(header).map_err(|error| error.to_string())),
        make_runner: Box::new(move |_: &Origin| Ok(Box::new(StubRunner::new(news)) as Box<dyn Runner>)),
        terms: Terms { queue_max: u64::MAX, restart: Restart::default() },
        ledger_bytes_max: None,
        keep_policy: false,
    };
    let listener = TcpListener::bind("127.0.0.1:0").context("nothing can be listened at")?;
    let url = format!("http://{}", listener.local_addr()?);
    let users = JobUsers::new(None)?;
    let (ready, opened) = channel();
    let service = thread::Builder::new().name("engine".to_owned()).spawn(move || {
        let mut service = match listen(
            config,
            inbox,
            tell,
            Doors { listener, tls: None, requests_per_second: u32::MAX, users },
        ) {
            Ok(service) => service,
            Err(error) => return drop(ready.send(Err(error))),
        };
        let _ = ready.send(Ok(service.vitals()));
        if let Err(error) = service.run() {
            output::note(&format!("error: the service has stopped: {error}"));
        }
    })?;
    let vitals = opened.recv().map_err(|_| anyhow!("the service did not start"))??;
    Ok(Running { url, vitals, tell: leave, service })
}

/// Waits until as many run as there are GPUs.
fn until_they_run(args: &BenchServe, client: &Client) -> Result<()> {
    for _ in 0..1200 {
        let health: Health = client.get("/v1/health")?;
        if health.jobs.get("running").is_some_and(|running| *running >= u64::from(args.running)) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(100));
    }
    anyhow::bail!("not all GPUs were used within two minutes")
}

/// Asks so many times from so many threads; says how long each took, in milliseconds.
fn in_parallel(
    clients: u32,
    count: u32,
    server: &Server,
    ask: impl Fn(&Client, u32) -> Result<()> + Sync,
) -> Result<Vec<f64>> {
    let next = AtomicU32::new(0);
    let work = || -> Result<Vec<f64>> {
        let (client, mut times) = (Client::new(server)?, Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(times);
            }
            let began = clock::wall_s();
            ask(&client, number)?;
            times.push((clock::wall_s() - began) * 1e3);
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(work)).collect();
        let mut times = Vec::new();
        for thread in threads {
            times.extend(thread.join().map_err(|_| anyhow!("a client broke down"))??);
        }
        Ok(times)
    })
}

fn latency(mut times: Vec<f64>) -> Latency {
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times.get(((times.len() - 1) as f64 * part) as usize).copied().unwrap_or_default();
    Latency { p50_ms: at(0.5), p99_ms: at(0.99), most_ms: at(1.0) }
}

/// The most memory that this process has had, clients and all.
fn memory_peak_mb() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("this needs Linux")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: f64 = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0.0);
    Ok(kilobytes / 1024.0)
}

fn table(seen: &Seen) -> Table {
    let mut table = Table::new([("what", Side::Left), ("figure", Side::Right)]);
    let told = |latency: &Latency| {
        format!("{:.1} / {:.1} / {:.1} ms", latency.p50_ms, latency.p99_ms, latency.most_ms)
    };
    let rows = [
        ("policy".to_owned(), seen.policy.clone()),
        ("jobs that run, and wait".to_owned(), format!("{}, {}", seen.running, seen.queued)),
        (
            format!("durable submits with {} clients", seen.clients),
            format!("{:.0} per second", seen.submits_per_second),
        ),
        ("submit, p50 / p99 / most".to_owned(), told(&seen.submit)),
        ("list of 100, p50 / p99 / most".to_owned(), told(&seen.list)),
        ("explain, p50 / p99 / most".to_owned(), told(&seen.explain)),
        (format!("mean of {} decisions", seen.decisions), format!("{:.2} ms", seen.decision_mean_ms)),
        ("commits".to_owned(), seen.commits.to_string()),
        (format!("mean of {} savings of everything", seen.saves), format!("{:.0} ms", seen.save_mean_ms)),
        ("a start from the last of them".to_owned(), format!("{:.0} ms", seen.restart_ms)),
        ("peak memory, clients included".to_owned(), format!("{:.0} MB", seen.memory_peak_mb)),
    ];
    for (what, figure) in rows {
        table.row([what, figure]);
    }
    table
}

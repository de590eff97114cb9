//! `evenhand serve`: the scheduler as a service, on this machine or over an engine that is there.

use super::serve_kubernetes;
use crate::failure::wrong;
use crate::gauges;
use crate::live_args::{Serve, Supervise};
use crate::{inputs, output};
use anyhow::{Context, Result};
use evenhand_core::{Abilities, Choice, GpuId, Restart, Span};
use evenhand_live::access::{Access, JobUsers, OWN_TOKEN_FILE, Tokens, make_own_token};
use evenhand_live::api::{Front, Tls, openapi, serve};
use evenhand_live::store::Origin;
use evenhand_live::{
    Cgroups, Devices, FoundGpus, LocalRunner, Mail, MakeRunner, Runner, Service, ServiceConfig, ServiceError,
    Setting, SlurmConfig, SlurmRunner, SupervisorCommand, Terms, barred, find_gpus, is_root,
    leave_on_signals, remove_old_output,
};
use evenhand_sim::{ClusterSpec, InputError, Setup, engine_for};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The file in the state folder that says where the server listens.
pub const ADDRESS_FILE: &str = "address";

/// Time after which a node on which launches kept failing is tried again: whatever was wrong, nobody need say that it is not any more.
const SUSPICION: Span = Span::from_minutes(10);

/// Serves until it is killed.
pub fn run(args: &Serve) -> Result<()> {
    if args.openapi {
        return output::say_json(&openapi());
    }
    let state = state_folder(args.state.as_deref())?;
    check_listen(args, &state)?;
    if args.kubernetes {
        return serve_kubernetes::run(args, &state);
    }
    let setup = setup(args)?;
    let (tell, inbox) = channel();
    let place =
        if args.slurm { in_slurm(args, &state, tell.clone()) } else { here(args, &state, tell.clone())? };
    leave_on_signals(tell.clone())?;
    let gauges_tell = tell.clone();
    let mut service = open(args, config(&state, place, &setup, args), inbox, tell)?;
    if let Some(barred) = barred(&state).filter(|_| is_root()) {
        output::note(&format!(
            "warning: other users cannot go through {}, so their jobs cannot reach their checkpoints in {}: use --state /var/lib/evenhand",
            barred.display(),
            state.display()
        ));
    }
    clean_up(state, args.keep_output)?;
    gauges::watch(args, &gauges_tell)?;
    service.run().map_err(refused)?;
    output::note("left in good order; jobs go on, and the next start takes them over");
    Ok(())
}

/// Opens the service where it should listen, and says where that is.
pub(super) fn open(
    args: &Serve,
    config: ServiceConfig,
    inbox: Receiver<Mail>,
    tell: Sender<Mail>,
) -> Result<Service> {
    let state = config.state.clone();
    let tls = tls(args)?;
    let users = JobUsers::new(args.user.clone()).map_err(|error| wrong("--user", error))?;
    let listener =
        TcpListener::bind(args.listen).with_context(|| format!("{} cannot be listened at", args.listen))?;
    let address = listener.local_addr()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let doors = Doors { listener, tls, requests_per_second: args.requests_per_second, users };
    let service = listen(config, inbox, tell, doors)?;
    tell_address(&state, &address.to_string())
        .with_context(|| format!("{} cannot be written", state.display()))?;
    output::note(&format!("listening at {scheme}://{address}, with everything in {}", state.display()));
    let token = state.join(OWN_TOKEN_FILE);
    // Clients look for a token where the state usually is.
    if args.state.is_some() && token.exists() {
        output::note(&format!("clients need: export EVENHAND_TOKEN=$(cat {})", token.display()));
    }
    Ok(service)
}

/// Where requests come in.
pub struct Doors {
    pub listener: TcpListener,
    /// What to speak TLS with; nothing: requests come in as they are.
    pub tls: Option<Tls>,
    /// How often each token may ask.
    pub requests_per_second: u32,
    /// As whom jobs run.
    pub users: JobUsers,
}

/// Opens the service, and answers requests for it on threads of their own.
pub fn listen(
    config: ServiceConfig,
    inbox: Receiver<Mail>,
    tell: Sender<Mail>,
    doors: Doors,
) -> Result<Service> {
    let Doors { listener, tls, requests_per_second, users } = doors;
    let state = config.state.clone();
    let (last, shown) = Front::channel();
    let told = Box::new(move |seq| {
        // Nobody may be listening.
        last.send_replace(seq);
    });
    let service = Service::open(config, inbox, told).map_err(refused)?;
    make_own_token(&state)?;
    let access = Access::open(&state, requests_per_second, users)?;
    let front = Arc::new(Front::new(state, tell, service.vitals(), shown, access));
    std::thread::Builder::new().name("front".to_owned()).spawn(move || {
        if let Err(error) = serve(front, listener, tls) {
            output::note(&format!("error: requests cannot be answered any more: {error}"));
            std::process::exit(1);
        }
    })?;
    Ok(service)
}

/// Removes what ended jobs left behind, when its time has come, on a thread of its own.
fn clean_up(state: PathBuf, keep: Span) -> Result<()> {
    let pause = Duration::from_millis((keep.0 / 4).clamp(1000, 600_000));
    std::thread::Builder::new().name("clean-up".to_owned()).spawn(move || {
        loop {
            // What cannot be looked at or removed now is tried again.
            let _ = remove_old_output(&state, keep);
            std::thread::sleep(pause);
        }
    })?;
    Ok(())
}

/// Says where the server listens, all at once: nobody reads half an address.
fn tell_address(state: &Path, address: &str) -> std::io::Result<()> {
    let new = state.join("address.new");
    std::fs::write(&new, address)?;
    std::fs::rename(new, state.join(ADDRESS_FILE))
}

/// Whoever comes from another machine must be asked who they are, by tokens that somebody made on purpose.
fn check_listen(args: &Serve, state: &Path) -> Result<()> {
    if args.listen.ip().is_loopback() {
        return Ok(());
    }
    if Tokens::read(state)?.list().next().is_none() {
        let what = format!(
            "{} can be reached from other machines, and no tokens say who may come in: make some first with \
             `evenhand token add`, or use 127.0.0.1",
            args.listen
        );
        return Err(wrong("--listen", what));
    }
    if args.tls_cert.is_none() {
        output::note(&format!(
            "warning: {} is not encrypted, so tokens and jobs can be read on the way: use --tls-cert and --tls-key, or put a \
             proxy with TLS before it",
            args.listen
        ));
    }
    Ok(())
}

/// The certificate to speak TLS with, if one was named.
fn tls(args: &Serve) -> Result<Option<Tls>> {
    let files = args.tls_cert.as_ref().zip(args.tls_key.as_ref());
    let read = files.map(|(certificate, key)| Tls::read(certificate, key));
    read.transpose().map_err(|error| wrong("--tls-cert and --tls-key", error))
}

/// Stays with one job; started by the server.
pub fn supervise(args: &Supervise) -> Result<()> {
    let code = evenhand_live::supervise(&args.words);
    if code == std::process::ExitCode::SUCCESS {
        Ok(())
    } else {
        anyhow::bail!("the job could not be supervised")
    }
}

/// Where everything is kept.
pub fn state_folder(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(named) = named {
        return std::path::absolute(named).with_context(|| format!("{} is no folder", named.display()));
    }
    let base = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let base = base.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")));
    let base = base.filter(|base| base.is_absolute());
    Ok(base.ok_or_else(|| wrong("--state", "it is needed where there is no home folder"))?.join("evenhand"))
}

/// The GPUs of this machine, or those to pretend.
fn machines(args: &Serve) -> Result<FoundGpus> {
    let Some(fake) = &args.fake_gpus else {
        return find_gpus().map_err(|error| {
            wrong("serve", format!("{error}. To try it without GPUs: evenhand serve --fake-gpus v100=4"))
        });
    };
    let spec = ClusterSpec::parse(fake, args.gpus_per_node, None);
    let spec = spec.map_err(|error| InputError { field: "--fake-gpus".to_owned(), ..error })?;
    let devices = devices(&spec);
    Ok(FoundGpus { models: spec.models, nodes: spec.nodes, devices })
}

pub(super) fn setup(args: &Serve) -> Result<Setup> {
    if args.round == Span::ZERO {
        return Err(InputError::field(0, "--round", "0s", "a round takes time").into());
    }
    if args.policy.is_none() && !args.set.is_empty() {
        return Err(wrong("--set", "of which policy? Give --policy too"));
    }
    let policy = args.policy.as_deref().unwrap_or(evenhand_policies::DEFAULT_POLICY);
    let mut setup = Setup { policy: inputs::only(policy, &args.set)?, ..Setup::default() };
    setup.placer = args.placer.as_deref().map_or(setup.placer, Choice::named);
    setup.engine.round = args.round;
    setup.engine.early_round_min = args.early_round;
    setup.engine.grace = args.grace;
    setup.engine.crashes_max = args.retries;
    setup.engine.retry_delay = args.retry_delay;
    if !args.slurm {
        // Launches fail here because of the job or of this very machine; leaving its only node out would help nobody.
        setup.engine.launch_failures_max = u32::MAX;
    }
    setup.engine.suspicion = SUSPICION;
    if args.slurm_poll == Span::ZERO {
        return Err(InputError::field(0, "--slurm-poll", "0s", "some time must be between two looks").into());
    }
    inputs::check(&setup, None)?;
    Ok(setup)
}

/// What runs jobs, and on which machines.
pub(super) struct Place {
    pub setting: Option<Setting>,
    pub abilities: Abilities,
    pub name: &'static str,
    pub make_runner: MakeRunner,
}

/// Processes on this machine.
fn here(args: &Serve, state: &Path, tell: Sender<Mail>) -> Result<Place> {
    let FoundGpus { models, nodes, devices } = machines(args)?;
    let folder = state.to_owned();
    let make_runner = move |origin: &Origin| -> std::io::Result<Box<dyn Runner>> {
        // This very binary, also if another was put in its place meanwhile.
        let supervisor = SupervisorCommand { binary: "/proc/self/exe".into() };
        let cgroups = Cgroups::find();
        if let Err(why) = &cgroups {
            output::note(&format!(
                "jobs get no cgroup of their own ({why}): what is left of one whose supervisor was killed is found by its session and its environment"
            ));
        }
        Ok(Box::new(LocalRunner::new(&folder, &origin.mark, devices, supervisor, cgroups.ok(), tell)?))
    };
    let setting = Some(Setting { models, tenants: Vec::new(), nodes });
    let abilities = evenhand_live::LOCAL_ABILITIES;
    Ok(Place { setting, abilities, name: "local", make_runner: Box::new(make_runner) })
}

/// Jobs of Slurm, on its nodes.
fn in_slurm(args: &Serve, state: &Path, tell: Sender<Mail>) -> Place {
    let folder = state.to_owned();
    let slurm = SlurmConfig {
        partition: args.partition.clone(),
        run_partition: args.run_partition.clone(),
        // As Slurm's own commands find it.
        conf: None,
        poll: args.slurm_poll,
        log: Arc::new(output::note),
    };
    let make_runner = move |origin: &Origin| -> std::io::Result<Box<dyn Runner>> {
        Ok(Box::new(SlurmRunner::new(&folder, &origin.mark, slurm, tell)?))
    };
    let abilities = evenhand_live::SLURM_ABILITIES;
    Place { setting: None, abilities, name: "slurm", make_runner: Box::new(make_runner) }
}

pub(super) fn config(state: &Path, place: Place, setup: &Setup, args: &Serve) -> ServiceConfig {
    ServiceConfig {
        state: state.to_owned(),
        setting: place.setting,
        header: setup.header(place.abilities, place.name),
        make_engine: Box::new(|header| engine_for(header).map_err(|error| error.to_string())),
        make_runner: place.make_runner,
        terms: Terms {
            queue_max: args.queue_max,
            restart: Restart { save: args.save, restore: args.restore, ..Restart::default() },
        },
        keep_policy: args.policy.is_none(),
        ledger_bytes_max: args.ledger_max.map(|megabytes| u64::from(megabytes) << 20),
    }
}

/// Pretended GPUs are numbered through, node by node.
fn devices(cluster: &ClusterSpec) -> Devices {
    let gpus =
        cluster.nodes.iter().flat_map(|node| (0..node.gpus).map(|ordinal| GpuId { node: node.id, ordinal }));
    Devices::new(gpus.zip(0_u32..).map(|(gpu, index)| (gpu, index.to_string())))
}

/// A state folder that does not fit what was typed is wrong input.
pub(super) fn refused(error: ServiceError) -> anyhow::Error {
    match error {
        ServiceError::OtherMachines { .. } => wrong("--fake-gpus", error),
        ServiceError::OtherRules { .. } => wrong("--state", error),
        error => error.into(),
    }
}

//! `evenhand serve --kubernetes`: the scheduler for pods of a cluster.

use super::serve::{Place, config, open, refused, setup};
use crate::failure::wrong;
use crate::gauges;
use crate::live_args::Serve;
use crate::output;
use anyhow::Result;
use evenhand_kubernetes::{ABILITIES, Connection, KubernetesConfig, LeaderConfig, connect};
use evenhand_live::store::Origin;
use evenhand_live::{Runner, leave_on_signals};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// Waits until it leads, then serves until it is told to leave.
pub fn run(args: &Serve, state: &Path) -> Result<()> {
    let setup = setup(args)?;
    let (tell, inbox) = channel();
    let cluster =
        KubernetesConfig { kubeconfig: args.kubeconfig.clone(), scheduler: args.scheduler_name.clone() };
    let mut connection = connect(cluster, tell.clone()).map_err(|error| wrong("--kubernetes", error))?;
    lead(&mut connection, &args.scheduler_name);
    connection.watch()?;
    leave_on_signals(tell.clone())?;
    let gauges_tell = tell.clone();
    let connection = Arc::new(connection);
    let mut service = open(args, config(state, place(connection.clone()), &setup, args), inbox, tell)?;
    output::note(&format!("scheduling pods with schedulerName: {}", args.scheduler_name));
    gauges::watch(args, &gauges_tell)?;
    service.run().map_err(refused)?;
    drop(service);
    if let Some(connection) = Arc::into_inner(connection) {
        connection.leave();
    }
    output::note("left in good order; pods go on, and the next leader takes them over");
    Ok(())
}

/// Waits until this replica leads. One that no longer does must not do anything any more, not even tidy up.
fn lead(connection: &mut Connection, name: &str) {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let config = LeaderConfig {
        namespace: connection.namespace().to_owned(),
        name: name.to_owned(),
        identity: format!("{host}-{}", std::process::id()),
    };
    let mut said = String::new();
    let waits = |what: &str| {
        if said != what {
            what.clone_into(&mut said);
            output::note(&format!("waiting to lead: {what}"));
        }
    };
    connection.lead(config, waits, |error| {
        output::note(&format!("error: this replica leads no more: {error}"));
        std::process::exit(1);
    });
}

/// Pods, on the nodes of the cluster.
fn place(connection: Arc<Connection>) -> Place {
    let make_runner =
        move |origin: &Origin| -> std::io::Result<Box<dyn Runner>> { Ok(connection.runner(&origin.mark)) };
    Place { setting: None, abilities: ABILITIES, name: "kubernetes", make_runner: Box::new(make_runner) }
}

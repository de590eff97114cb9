//! Nodes: list, empty for repair, take back.

use super::{Front, Trouble};
use crate::access::Who;
use crate::request::Wish;
use crate::service::Fleet;
use crate::store::{Holder, Reader};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use evenhand_core::{GpuMask, Health, JobId, Node, NodeId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A node, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its number.
    pub node: NodeId,
    /// What the engine calls it in which jobs run, if that is one outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model of its GPUs.
    pub model: String,
    /// Whether it may be used.
    pub health: Health,
    /// GPUs it has.
    pub gpus: u32,
    /// GPUs that jobs hold.
    pub held: u32,
    /// GPUs that could be given to a job now.
    pub free: u32,
    /// The jobs on it.
    pub jobs: Vec<JobId>,
}

/// All nodes, by number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeList {
    /// The nodes.
    pub nodes: Vec<NodeRow>,
}

/// `GET /v1/nodes`.
pub(super) async fn list(State(front): State<Arc<Front>>) -> Result<Json<NodeList>, Trouble> {
    let holders = front.look(Reader::holders).await?;
    Ok(Json(NodeList { nodes: rows(&front.vitals().fleet(), &holders) }))
}

/// Every node with who is on it.
pub(super) fn rows(fleet: &Fleet, holders: &[Holder]) -> Vec<NodeRow> {
    fleet.nodes.iter().map(|node| row(fleet, node, holders)).collect()
}

fn row(fleet: &Fleet, node: &Node, holders: &[Holder]) -> NodeRow {
    let (mut taken, mut jobs) = (GpuMask::default(), Vec::new());
    for holder in holders {
        for seat in holder.gpus.seats().iter().filter(|seat| seat.node == node.id) {
            taken = taken.or(seat.gpus);
            jobs.push(holder.job);
        }
    }
    NodeRow {
        node: node.id,
        name: node.name.as_deref().map(str::to_owned),
        model: fleet.model_of(node).to_owned(),
        health: node.health,
        gpus: u32::from(node.gpus),
        held: taken.count(),
        free: node.usable().without(taken).count(),
        jobs,
    }
}

/// `POST /v1/nodes/{node}/drain`: no new leases there; jobs on it go on until their leases are up.
pub(super) async fn drain(
    state: State<Arc<Front>>,
    who: Extension<Who>,
    path: Path<String>,
) -> Result<Json<NodeRow>, Trouble> {
    change(state, who, path, Wish::Drain).await
}

/// `POST /v1/nodes/{node}/return`: it may be used again.
pub(super) async fn restore(
    state: State<Arc<Front>>,
    who: Extension<Who>,
    path: Path<String>,
) -> Result<Json<NodeRow>, Trouble> {
    change(state, who, path, Wish::Return).await
}

async fn change(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    wish: fn(NodeId) -> Wish,
) -> Result<Json<NodeRow>, Trouble> {
    let unknown = || {
        let most = front.vitals().fleet().nodes.len().saturating_sub(1);
        let message = format!("there is no node `{name}`: nodes are numbered from 0 to {most}");
        Trouble::new(StatusCode::NOT_FOUND, "no-node", message)
    };
    let node = NodeId(name.parse().map_err(|_| unknown())?);
    if front.vitals().fleet().nodes.get(node.index()).is_none() {
        return Err(unknown());
    }
    front.ask(&who, wish(node)).await?;
    let holders = front.look(Reader::holders).await?;
    let fleet = front.vitals().fleet();
    let found = fleet.nodes.get(node.index()).ok_or_else(unknown)?;
    Ok(Json(row(&fleet, found, &holders)))
}

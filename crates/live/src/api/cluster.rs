//! The cluster at a glance, and its nodes GPU by GPU: what a heat map is drawn from. Large clusters are told in groups of nodes, so that an
//! answer is small however many GPUs there are.

use super::scene::{Counts, Scene, scene, times};
use super::tenants::shares_of;
use super::{Front, Trouble};
use crate::access::Who;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::{Extension, Json};
use evenhand_core::{Choice, Health, JobId, Node};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Groups of nodes that are told at most.
const GROUPS_MAX: usize = 256;

/// Racks of more nodes than this are no help to the eye.
const RACK_MAX: usize = 64;

/// Nodes that are told one by one at a time.
const NODES_MAX: usize = 256;

/// Tenants of a group that are told, those that hold most.
const HOLDERS_MAX: usize = 7;

/// What others are called where their names may not be known.
const OTHERS: &str = "others";

/// GPUs, and what becomes of them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GpuCounts {
    /// All.
    pub gpus: u32,
    /// Held by jobs.
    pub held: u32,
    /// Of those, how many by several jobs.
    pub shared: u32,
    /// Could be given to a job now.
    pub free: u32,
    /// Of nodes that take no jobs.
    pub closed: u32,
}

impl From<Counts> for GpuCounts {
    fn from(counts: Counts) -> Self {
        let Counts { gpus, held, shared, free } = counts;
        Self { gpus, held, shared, free, closed: gpus - held - free }
    }
}

/// GPUs of one model.
#[derive(Clone, Debug, Serialize)]
pub struct ModelCounts {
    /// The model.
    pub model: String,
    /// Its GPUs.
    #[serde(flatten)]
    pub counts: GpuCounts,
}

/// A tenant at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct TenantGlance {
    /// Its name; `others` for all whose names may not be known.
    pub name: String,
    /// The class of its colour in pictures.
    pub colour: String,
    /// GPUs that it holds.
    pub held: u32,
    /// GPUs that its part comes to, by weight among those who have work.
    pub share: f64,
    /// Jobs that hold GPUs.
    pub running: u64,
    /// Jobs that wait.
    pub waiting: u64,
}

/// GPUs of somebody in a group of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// A place in the list of tenants.
    pub tenant: usize,
    /// GPUs.
    pub gpus: u32,
}

/// Nodes next to each other.
#[derive(Clone, Debug, Serialize)]
pub struct NodeGroup {
    /// What people call it.
    pub name: String,
    /// The first of its nodes.
    pub first: usize,
    /// How many there are.
    pub nodes: usize,
    /// The models of its GPUs.
    pub models: Vec<String>,
    /// Nodes that take no jobs.
    pub closed_nodes: usize,
    /// Its GPUs.
    #[serde(flatten)]
    pub counts: GpuCounts,
    /// Who holds most of them.
    pub holders: Vec<Part>,
}

/// The cluster at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterGlance {
    /// The last record that it shows.
    pub record: u64,
    /// When time began, in milliseconds since 1970.
    pub epoch_ms: u64,
    /// How late it is, in milliseconds since then.
    pub now_ms: u64,
    /// `ok`, or `mending` while nothing can be recorded.
    pub status: &'static str,
    /// The version of the program.
    pub version: &'static str,
    /// Who decides.
    pub policy: Choice,
    /// Jobs in each phase that may be seen.
    pub jobs: BTreeMap<&'static str, u64>,
    /// All GPUs.
    #[serde(flatten)]
    pub counts: GpuCounts,
    /// GPUs by model.
    pub models: Vec<ModelCounts>,
    /// Tenants with work or GPUs.
    pub tenants: Vec<TenantGlance>,
    /// How many nodes there are.
    pub nodes: usize,
    /// The nodes, in groups.
    pub groups: Vec<NodeGroup>,
    /// Whether groups are racks.
    pub by_rack: bool,
}

/// Who may be told apart by somebody.
struct Eyes<'a> {
    own: Option<&'a str>,
    names: Vec<&'a str>,
    places: BTreeMap<&'a str, usize>,
}

impl<'a> Eyes<'a> {
    /// Tenants that have work or GPUs, by number; to a tenant, itself and all others as one.
    fn new(scene: &'a Scene, who: &'a Who) -> Self {
        if let Some(own) = who.tenant.as_deref() {
            return Self { own: Some(own), names: vec![own, OTHERS], places: BTreeMap::new() };
        }
        let with_work =
            scene.usage.iter().filter(|usage| !usage.phase.is_end()).map(|usage| usage.tenant.as_str());
        let busy: BTreeSet<&str> =
            with_work.chain(scene.seated.iter().map(|seated| seated.tenant.as_str())).collect();
        let names = scene.tenants.iter().map(|tenant| tenant.name.as_str());
        let names: Vec<&str> = names.filter(|name| busy.contains(name)).collect();
        let places = names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        Self { own: None, names, places }
    }

    /// The place of a tenant.
    fn place(&self, tenant: &str) -> usize {
        match self.own {
            Some(own) => usize::from(own != tenant),
            None => self.places.get(tenant).copied().unwrap_or(usize::MAX),
        }
    }

    fn may_know(&self, tenant: &str) -> bool {
        self.own.is_none_or(|own| own == tenant)
    }
}

/// `GET /v1/cluster`.
pub(super) async fn glance(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
) -> Result<Json<ClusterGlance>, Trouble> {
    let scene = scene(&front).await?;
    let (epoch_ms, now_ms) = times(&front);
    let eyes = Eyes::new(&scene, &who);
    let (spans, by_rack) = spans(&scene.fleet.nodes);
    let mut counts = Counts::default();
    let mut models = vec![Counts::default(); scene.fleet.models.len()];
    for node in &scene.fleet.nodes {
        let own = scene.counts(node);
        counts.add(own);
        if let Some(model) = models.get_mut(usize::from(node.model.0)) {
            model.add(own);
        }
    }
    let models = scene.fleet.models.iter().zip(models);
    let status = if front.vitals().mending.load(Ordering::Relaxed) { "mending" } else { "ok" };
    Ok(Json(ClusterGlance {
        record: scene.record,
        epoch_ms,
        now_ms,
        status,
        version: env!("CARGO_PKG_VERSION"),
        policy: scene.fleet.policy.clone(),
        jobs: scene.phases(who.tenant.as_deref()),
        tenants: glances(&scene, &eyes, counts.gpus, &front.history().colours()),
        counts: counts.into(),
        models: models
            .map(|(model, counts)| ModelCounts { model: model.name.clone(), counts: counts.into() })
            .collect(),
        nodes: scene.fleet.nodes.len(),
        groups: spans.into_iter().map(|span| group(&scene, &eyes, span, by_rack)).collect(),
        by_rack,
    }))
}

fn glances(
    scene: &Scene,
    eyes: &Eyes<'_>,
    gpus: u32,
    colours: &BTreeMap<String, String>,
) -> Vec<TenantGlance> {
    let shares = shares_of(&scene.tenants, &scene.usage);
    let mut rows: Vec<TenantGlance> = eyes
        .names
        .iter()
        .enumerate()
        .map(|(at, name)| TenantGlance {
            name: (*name).to_owned(),
            colour: match eyes.own {
                Some(_) => if at == 0 { "c0" } else { "c7" }.to_owned(),
                None => colours.get(*name).cloned().unwrap_or_else(|| format!("c{}", at.min(7))),
            },
            held: 0,
            share: 0.0,
            running: 0,
            waiting: scene.waiting(|tenant| eyes.place(tenant) == at),
        })
        .collect();
    for seated in &scene.seated {
        if let Some(row) = rows.get_mut(eyes.place(&seated.tenant)) {
            row.held += seated.gpus.count().0;
            row.running += 1;
        }
    }
    // Groups of tenants have the parts of their members, which count once.
    let is_group =
        |tenant: &evenhand_core::Tenant| scene.tenants.iter().any(|other| other.parent == Some(tenant.id));
    for tenant in scene.tenants.iter().filter(|tenant| !is_group(tenant)) {
        if let Some(row) = rows.get_mut(eyes.place(&tenant.name)) {
            row.share += shares.get(&tenant.id).copied().unwrap_or(0.0) * f64::from(gpus);
        }
    }
    rows
}

/// Nodes in groups: racks if they are of a size that can be seen, else as many next to each other as it takes.
fn spans(nodes: &[Node]) -> (Vec<Range<usize>>, bool) {
    let mut racks: Vec<Range<usize>> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        match racks.last_mut() {
            Some(rack) if nodes[rack.start].rack == node.rack => rack.end = at + 1,
            _ => racks.push(at..at + 1),
        }
    }
    if racks.len() > 1 && racks.len() <= GROUPS_MAX && racks.iter().all(|rack| rack.len() <= RACK_MAX) {
        return (racks, true);
    }
    let size = nodes.len().div_ceil(GROUPS_MAX).max(if nodes.len() > RACK_MAX { 8 } else { 1 });
    let count = nodes.len().div_ceil(size);
    ((0..count).map(|at| at * size..((at + 1) * size).min(nodes.len())).collect(), false)
}

fn group(scene: &Scene, eyes: &Eyes<'_>, span: Range<usize>, by_rack: bool) -> NodeGroup {
    let nodes = &scene.fleet.nodes[span.clone()];
    let (mut counts, mut parts) = (Counts::default(), BTreeMap::<usize, u32>::new());
    let mut models: Vec<String> = Vec::new();
    for node in nodes {
        counts.add(scene.counts(node));
        let model = scene.fleet.model_of(node);
        if !models.iter().any(|known| known == model) {
            models.push(model.to_owned());
        }
        for (place, gpus) in &scene.on[node.id.index()] {
            *parts.entry(eyes.place(&scene.seated[*place as usize].tenant)).or_default() += gpus.count();
        }
    }
    let mut holders: Vec<Part> = parts.into_iter().map(|(tenant, gpus)| Part { tenant, gpus }).collect();
    holders.sort_by_key(|part| (std::cmp::Reverse(part.gpus), part.tenant));
    holders.truncate(HOLDERS_MAX);
    let name = match nodes {
        _ if by_rack => format!("rack {}", nodes[0].rack.0),
        [only] => node_name(only),
        _ => format!("nodes {}–{}", span.start, span.end - 1),
    };
    let closed_nodes = nodes.iter().filter(|node| node.health != Health::Up).count();
    NodeGroup {
        name,
        first: span.start,
        nodes: span.len(),
        models,
        closed_nodes,
        counts: counts.into(),
        holders,
    }
}

fn node_name(node: &Node) -> String {
    node.name.as_deref().map_or_else(|| format!("node {}", node.id.0), str::to_owned)
}

/// Which nodes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Window {
    from: Option<u64>,
    limit: Option<usize>,
}

/// A job on a GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Sitter {
    /// A place in the list of tenants.
    pub tenant: usize,
    /// Which job, where that may be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is.
    pub phase: &'static str,
    /// Its GPUs on this node.
    pub gpus: Vec<u8>,
    /// The part of the time in which its GPUs work, if that is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// Their memory in use, if that is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// A node, GPU by GPU.
#[derive(Clone, Debug, Serialize)]
pub struct NodeSeen {
    /// Its number.
    pub node: u32,
    /// What people call it.
    pub name: String,
    /// The rack that it is in.
    pub rack: u32,
    /// The model of its GPUs.
    pub model: String,
    /// Whether it may be used.
    pub health: Health,
    /// GPUs that it has.
    pub gpus: u8,
    /// Jobs on it.
    pub jobs: Vec<Sitter>,
}

/// Some nodes.
#[derive(Clone, Debug, Serialize)]
pub struct NodeWindow {
    /// The last record that it shows.
    pub record: u64,
    /// Tenants, in the order that jobs refer to.
    pub tenants: Vec<String>,
    /// The nodes, by number.
    pub nodes: Vec<NodeSeen>,
    /// From where to go on, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_from: Option<usize>,
}

/// `GET /v1/cluster/nodes?from=0&limit=64`.
pub(super) async fn nodes(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    query: Result<Query<Window>, QueryRejection>,
) -> Result<Json<NodeWindow>, Trouble> {
    let Query(window) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let limit = window.limit.unwrap_or(64);
    if limit == 0 || limit > NODES_MAX {
        return Err(Trouble::invalid(format!("limit is {limit}: 1 to {NODES_MAX} are allowed")));
    }
    let scene = scene(&front).await?;
    let eyes = Eyes::new(&scene, &who);
    let all = scene.fleet.nodes.len();
    let from = super::within_store("from", window.from)?
        .map_or(0, |from| usize::try_from(from).unwrap_or(all))
        .min(all);
    let until = (from + limit).min(all);
    let seen = scene.fleet.nodes[from..until].iter().map(|node| NodeSeen {
        node: node.id.0,
        name: node_name(node),
        rack: node.rack.0,
        model: scene.fleet.model_of(node).to_owned(),
        health: node.health,
        gpus: node.gpus,
        jobs: scene.on[node.id.index()]
            .iter()
            .map(|(place, gpus)| sitter(&scene, &eyes, *place, *gpus))
            .collect(),
    });
    let (nodes, tenants) = (seen.collect(), eyes.names.iter().map(|name| (*name).to_owned()).collect());
    Ok(Json(NodeWindow {
        record: scene.record,
        tenants,
        nodes,
        next_from: Some(until).filter(|until| *until < all),
    }))
}

fn sitter(scene: &Scene, eyes: &Eyes<'_>, place: u32, gpus: evenhand_core::GpuMask) -> Sitter {
    let seated = &scene.seated[place as usize];
    let known = eyes.may_know(&seated.tenant);
    let busy = scene.busy.get(&seated.job);
    Sitter {
        tenant: eyes.place(&seated.tenant),
        job: known.then_some(seated.job),
        name: seated.name.clone().filter(|_| known),
        phase: seated.phase.name(),
        gpus: gpus.ordinals().collect(),
        busy: busy.map(|busy| busy.duty),
        memory_bytes: busy.map(|busy| busy.memory.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{ModelIndex, NodeId, RackId};

    fn nodes(count: u32, per_rack: u32) -> Vec<Node> {
        (0..count).map(|at| Node::new(NodeId(at), RackId(at / per_rack), ModelIndex(0), 8)).collect()
    }

    #[test]
    fn groups_are_racks_where_these_can_be_seen_and_cover_every_node_once() {
        assert_eq!(spans(&nodes(4, 4)), ((0..4).map(|at| at..at + 1).collect(), false));
        assert_eq!(spans(&nodes(40, 16)), (vec![0..16, 16..32, 32..40], true));
        for (count, per_rack) in [(5000, 5000), (5000, 1), (5000, 40), (0, 1), (1, 1), (65, 65)] {
            let nodes = nodes(count, per_rack);
            let (spans, _) = spans(&nodes);
            assert!(spans.len() <= GROUPS_MAX, "{}", spans.len());
            let covered: Vec<usize> = spans.into_iter().flatten().collect();
            assert_eq!(covered, (0..nodes.len()).collect::<Vec<_>>());
        }
    }
}

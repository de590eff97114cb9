//! What is remembered of a node.

use crate::model::short_name;
use crate::words;
use evenhand_core::{Bytes, GPUS_PER_NODE_MAX, Host};
use evenhand_live::{FoundNode, Readiness};
use k8s_openapi::api::core::v1::Node;

/// What is remembered of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeFacts {
    pub name: String,
    pub model: String,
    pub gpus: u8,
    pub readiness: Readiness,
}

impl NodeFacts {
    /// The facts of a node; `None` of one that the server did not name.
    pub(crate) fn read(node: &Node) -> Option<Self> {
        let labels = node.metadata.labels.as_ref();
        let label = |key| labels.and_then(|labels| labels.get(key));
        let model = label(words::GPU_MODEL).or_else(|| label(words::GPU_PRODUCT));
        let model = model.map(|model| short_name(model)).filter(|model| !model.is_empty());
        let status = node.status.as_ref();
        let gpus =
            status.and_then(|status| status.allocatable.as_ref()?.get(words::GPU)?.0.parse::<u32>().ok());
        Some(Self {
            name: node.metadata.name.clone()?,
            model: model.unwrap_or_else(|| "gpu".to_owned()),
            gpus: gpus.unwrap_or(0).min(u32::from(GPUS_PER_NODE_MAX)) as u8,
            readiness: readiness(node),
        })
    }

    /// As the engine is told of it, with so many GPUs in other hands.
    pub(crate) fn found(&self, taken: u32) -> FoundNode {
        FoundNode {
            name: self.name.clone(),
            model: self.model.clone(),
            gpus: self.gpus,
            taken: taken.min(u32::from(self.gpus)) as u8,
            memory: Bytes::ZERO,
            host: Host::default(),
            readiness: self.readiness,
        }
    }
}

fn readiness(node: &Node) -> Readiness {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().any(|it| it.type_ == "Ready" && it.status == "True");
    if !ready {
        return Readiness::Gone;
    }
    let spec = node.spec.as_ref();
    let cordoned = spec.and_then(|spec| spec.unschedulable) == Some(true);
    let taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    // The taint on GPUs keeps pods without GPUs away; whoever asks for GPUs here is meant to come.
    let closing = |effect: &str| ["NoSchedule", "NoExecute"].contains(&effect);
    let tainted = taints.into_iter().any(|taint| closing(&taint.effect) && taint.key != words::GPU);
    if cordoned || tainted { Readiness::Closed } else { Readiness::Ready }
}

//! A cluster from a TOML file: its `[cluster]` table, written as in a scenario. Other tables are left alone, so
//! that a whole scenario will do.

use evenhand_sim::{ClusterSpec, InputError, NodeGroup};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct ClusterFile {
    cluster: ClusterTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterTable {
    gpus: Option<String>,
    gpus_per_node: Option<u8>,
    nodes_per_rack: Option<u32>,
    #[serde(default)]
    nodes: Vec<NodeGroup>,
}

/// Reads the cluster of a TOML file.
pub fn read(path: &Path) -> Result<ClusterSpec, InputError> {
    let place = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| InputError::whole(&place, format!("the cluster cannot be read: {error}")))?;
    let file: ClusterFile = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count() as u64 + 1);
        InputError { line, ..InputError::whole(&place, error.message()) }
    })?;
    let table = file.cluster;
    let spec = match &table.gpus {
        Some(gpus) if table.nodes.is_empty() => {
            ClusterSpec::parse(gpus, table.gpus_per_node, table.nodes_per_rack)
        }
        None if !table.nodes.is_empty() => ClusterSpec::of_groups(&table.nodes, table.nodes_per_rack),
        _ => Err(InputError::whole("", "[cluster] has either `gpus` or [[cluster.nodes]]")),
    };
    spec.map_err(|error| error.within(&place))
}

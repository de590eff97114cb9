//! Lists of nodes as Alibaba publishes them with the openb trace: `sn,cpu_milli,memory_mib,gpu,model`.
//!
//! Names are per file (`openb-node-0000` is another machine in the other list), so nodes are numbered in the order of
//! the file. Nodes without a GPU are no part of the cluster.

use super::Table;
use crate::{ClusterSpec, InputError, NodeGroup};
use evenhand_core::GPUS_PER_NODE_MAX;
use std::io::BufRead;

/// A cluster from a list of nodes; as many racks as `nodes_per_rack` makes of them.
pub fn cluster_from_openb_nodes(
    source: &mut dyn BufRead,
    nodes_per_rack: Option<u32>,
) -> Result<ClusterSpec, InputError> {
    let mut table = Table::open(source, ',', &["gpu", "model"])?;
    let mut groups: Vec<NodeGroup> = Vec::new();
    while let Some(row) = table.next()? {
        let wrong =
            |line, field: &str, value: &str, allowed: &str| InputError::field(line, field, value, allowed);
        let row = row.map_err(|line| wrong(line, "a row", "", "it must have the columns of the header"))?;
        let text = row.text("gpu").unwrap_or("0");
        let gpus = text.parse::<u8>().ok().filter(|gpus| *gpus <= GPUS_PER_NODE_MAX);
        let gpus = gpus.ok_or_else(|| wrong(row.line, "gpu", text, "a node has 0 to 64 GPUs"))?;
        if gpus == 0 {
            continue;
        }
        let model = row
            .text("model")
            .ok_or_else(|| wrong(row.line, "model", "", "a node with GPUs names their model"))?;
        match groups.last_mut() {
            Some(last) if last.model == model && last.gpus == gpus => last.count += 1,
            _ => groups.push(NodeGroup {
                model: model.to_owned(),
                count: 1,
                gpus,
                slots: 1,
                memory_gb: 0.0,
                gpus_per_socket: 0,
            }),
        }
    }
    ClusterSpec::of_groups(&groups, nodes_per_rack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_gpus_become_a_cluster() {
        let text = "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,0,\nn1,1,1,2,P100\nn2,1,1,2,P100\nn3,1,1,8,G2\nn4,1,1,2,P100\n";
        let cluster = cluster_from_openb_nodes(&mut text.as_bytes(), Some(2)).unwrap();
        let sizes: Vec<_> = cluster.nodes.iter().map(|node| (node.model.0, node.gpus, node.rack.0)).collect();
        assert_eq!(sizes, [(0, 2, 0), (0, 2, 0), (1, 8, 1), (0, 2, 1)]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for row in ["n,1,1,65,G2", "n,1,1,-1,G2", "n,1,1,2,", "n,1"] {
            let text = format!("sn,cpu_milli,memory_mib,gpu,model\n{row}\n");
            assert_eq!(cluster_from_openb_nodes(&mut text.as_bytes(), None).unwrap_err().line, 2, "{row}");
        }
        assert!(cluster_from_openb_nodes(&mut &b"sn,gpu,model\nn,0,\n"[..], None).is_err());
    }
}

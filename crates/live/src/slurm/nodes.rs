//! Machines as `scontrol show node -o` describes them: one line each.

use super::gres;
use crate::world::{FoundNode, Readiness};
use evenhand_core::{Bytes, GPUS_PER_NODE_MAX, Host};
use std::collections::BTreeMap;

/// The model of GPUs about which nothing is said.
const UNNAMED: &str = "gpu";

/// A machine, and the partitions that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlurmNode {
    pub found: FoundNode,
    pub partitions: Vec<String>,
}

/// All machines with GPUs. Only operators write into these lines, so words are taken as they stand.
pub(super) fn parse(text: &str) -> Vec<SlurmNode> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<SlurmNode> {
    let mut fields = BTreeMap::new();
    for (key, value) in line.split_ascii_whitespace().filter_map(|word| word.split_once('=')) {
        // The first counts: a reason in somebody's words stands at the end.
        fields.entry(key).or_insert(value);
    }
    let get = |key| fields.get(key).copied().filter(|value| *value != "(null)");
    let gpus = gres::parse(get("Gres")?).ok()?;
    let features = get("ActiveFeatures").or_else(|| get("AvailableFeatures"));
    let feature = features.and_then(|features| features.split(',').next());
    let model = gpus.model.or_else(|| feature.map(str::to_owned)).unwrap_or_else(|| UNNAMED.to_owned());
    let found = FoundNode {
        taken: 0,
        name: get("NodeName")?.to_owned(),
        model,
        gpus: u8::try_from(gpus.count).ok().filter(|gpus| *gpus <= GPUS_PER_NODE_MAX)?,
        memory: Bytes(0),
        host: Host::default(),
        readiness: readiness(get("State")?),
    };
    let partitions = get("Partitions").unwrap_or_default().split(',').map(str::to_owned).collect();
    Some(SlurmNode { found, partitions })
}

/// A state is a word and flags: `MIXED+DRAIN`, `IDLE*`.
fn readiness(state: &str) -> Readiness {
    const GONE: [&str; 6] = ["DOWN", "FAIL", "POWERED_DOWN", "POWERING_DOWN", "ERROR", "UNKNOWN"];
    const READY: [&str; 4] = ["IDLE", "MIXED", "ALLOCATED", "COMPLETING"];
    let words: Vec<&str> = state.split('+').map(|word| word.trim_end_matches(['*', '~', '#', '%'])).collect();
    if words.iter().any(|word| GONE.contains(word)) {
        return Readiness::Gone;
    }
    // A node that does not answer may do so in a moment: only Slurm says that it is lost, and then its jobs are.
    let is_silent = state.contains('*');
    if !is_silent && words.iter().all(|word| READY.contains(word)) {
        Readiness::Ready
    } else {
        Readiness::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_read_from_its_line() {
        let line = "NodeName=gpu0 Arch=x86_64 AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:v100:8 \
                    NodeAddr=127.0.0.1 State=MIXED ThreadsPerCore=1 Partitions=evenhand,evenhand-run  Reason=State=DOWN";
        let nodes = parse(&format!("{line}\n\nNodeName=login Gres=(null) State=IDLE\n"));
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].partitions, ["evenhand", "evenhand-run"]);
        let FoundNode { name, model, gpus, readiness, .. } = &nodes[0].found;
        assert_eq!((name.as_str(), model.as_str(), *gpus, *readiness), ("gpu0", "v100", 8, Readiness::Ready));
        let untyped = parse("NodeName=a Gres=gpu:2 ActiveFeatures=t4,fast State=IDLE");
        assert_eq!(untyped[0].found.model, "t4");
    }

    #[test]
    fn states_say_whether_a_machine_may_be_used() {
        for (state, wanted) in [
            ("IDLE", Readiness::Ready),
            ("ALLOCATED+COMPLETING", Readiness::Ready),
            ("MIXED+DRAIN", Readiness::Closed),
            ("IDLE+MAINTENANCE", Readiness::Closed),
            ("MIXED+NOT_RESPONDING", Readiness::Closed),
            ("IDLE*", Readiness::Closed),
            ("DOWN*", Readiness::Gone),
            ("DOWN+NOT_RESPONDING", Readiness::Gone),
            ("IDLE+POWERED_DOWN", Readiness::Gone),
        ] {
            assert_eq!(readiness(state), wanted, "{state}");
        }
    }
}

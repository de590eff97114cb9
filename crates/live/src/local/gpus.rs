//! Finds the GPUs of this machine.

use super::Devices;
use evenhand_core::{
    Bytes, GPUS_PER_NODE_MAX, GpuId, GpuModel, MODELS_MAX, ModelIndex, Node, NodeId, RackId,
};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use thiserror::Error;

/// The library's name where only the driver is installed: the plain one comes with the developers' package.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// Why no GPUs were found.
#[derive(Debug, Error)]
pub enum GpuError {
    /// The driver's library is missing or refuses.
    #[error("the NVIDIA driver cannot be asked for GPUs: {0}")]
    Driver(#[from] NvmlError),
    /// The driver knows of none.
    #[error("the NVIDIA driver knows of no GPU")]
    None,
    /// There are more than fit.
    #[error(
        "there are GPUs of {models} models, at most {gpus} of one: at most {MODELS_MAX} models and {GPUS_PER_NODE_MAX} of each are supported"
    )]
    TooMany {
        /// How many models.
        models: usize,
        /// How many of the most frequent model.
        gpus: usize,
    },
}

/// What there is.
#[derive(Clone, Debug)]
pub struct FoundGpus {
    /// The models.
    pub models: Vec<GpuModel>,
    /// A node for each model, since a node has GPUs of one model; all of them are this machine.
    pub nodes: Vec<Node>,
    /// Which device each GPU is.
    pub devices: Devices,
}

/// One GPU, as the driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    model: String,
    uuid: String,
    memory: Bytes,
}

/// The driver's library, as it is installed with the driver.
pub(crate) fn open_driver() -> Result<Nvml, GpuError> {
    Ok(Nvml::builder().lib_path(LIBRARY.as_ref()).init()?)
}

/// Asks the driver.
pub fn find_gpus() -> Result<FoundGpus, GpuError> {
    let nvml = open_driver()?;
    let mut found = Vec::new();
    for index in 0..nvml.device_count()? {
        let device = nvml.device_by_index(index)?;
        let (model, uuid) = (short_name(&device.name()?), device.uuid()?);
        found.push(Found { model, uuid, memory: Bytes(device.memory_info()?.total) });
    }
    arranged(&found)
}

/// GPUs by model, in the order in which the driver lists them.
fn arranged(found: &[Found]) -> Result<FoundGpus, GpuError> {
    let mut names: Vec<&str> = found.iter().map(|gpu| gpu.model.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let of_model = |name: &&str| found.iter().filter(|gpu| gpu.model == **name).collect::<Vec<_>>();
    let groups: Vec<Vec<&Found>> = names.iter().map(of_model).collect();
    let gpus = groups.iter().map(Vec::len).max().ok_or(GpuError::None)?;
    if names.len() > MODELS_MAX || gpus > usize::from(GPUS_PER_NODE_MAX) {
        return Err(GpuError::TooMany { models: names.len(), gpus });
    }
    let (mut nodes, mut devices) = (Vec::new(), Vec::new());
    for (group, at) in groups.iter().zip(0_u16..) {
        let id = NodeId(u32::from(at));
        let memory = group.iter().map(|gpu| gpu.memory).min().unwrap_or(Bytes::ZERO);
        nodes.push(Node { memory, ..Node::new(id, RackId(0), ModelIndex(at), group.len() as u8) });
        let named =
            group.iter().zip(0_u8..).map(|(gpu, ordinal)| (GpuId { node: id, ordinal }, gpu.uuid.clone()));
        devices.extend(named);
    }
    let models = names.iter().map(|name| GpuModel { name: (*name).to_owned() }).collect();
    Ok(FoundGpus { models, nodes, devices: Devices::new(devices) })
}

/// `Tesla V100-SXM2-16GB` is `v100-sxm2-16gb`, `NVIDIA H200` is `h200`.
fn short_name(name: &str) -> String {
    let words = name.split_whitespace().map(str::to_lowercase);
    let words: Vec<_> =
        words.filter(|word| !["nvidia", "tesla", "geforce"].contains(&word.as_str())).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_two_models_is_two_nodes() {
        let gpu = |name: &str, uuid: &str| Found {
            model: short_name(name),
            uuid: uuid.to_owned(),
            memory: Bytes(9),
        };
        let found =
            [gpu("Tesla V100-SXM2-16GB", "GPU-a"), gpu("NVIDIA H200", "GPU-b"), gpu("NVIDIA H200", "GPU-c")];
        let arranged = arranged(&found).unwrap();
        let names: Vec<_> = arranged.models.iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names, ["h200", "v100-sxm2-16gb"]);
        assert_eq!(arranged.nodes.iter().map(|node| node.gpus).collect::<Vec<_>>(), [2, 1]);
        let h200s = evenhand_core::GpuSet::of([0, 1].map(|ordinal| GpuId { node: NodeId(0), ordinal }));
        assert_eq!(arranged.devices.of(&h200s), "GPU-b,GPU-c");
        assert!(matches!(super::arranged(&[]), Err(GpuError::None)));
    }
}

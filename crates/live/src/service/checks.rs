//! Whether what a job asks for makes sense here.

use crate::request::{Refusal, Wanted};
use evenhand_core::{GpuCount, ModelFilter, ModelIndex, Snapshot, nearest};

/// The longest name of a job, app or tenant, in letters.
pub(super) const NAME_MAX: usize = 128;

pub(super) fn invalid<T>(what: String) -> Result<T, Refusal> {
    Err(Refusal::Invalid(what))
}

pub(super) fn check_name(field: &str, name: &str) -> Result<(), Refusal> {
    let letters = name.chars().count();
    if letters == 0 || letters > NAME_MAX || name.chars().any(char::is_control) {
        return invalid(format!(
            "{field} is {name:?}: 1 to {NAME_MAX} letters are allowed, none of them a control character"
        ));
    }
    Ok(())
}

pub(super) fn between(field: &str, value: f64, (least, most): (f64, f64)) -> Result<f64, Refusal> {
    if value >= least && value <= most {
        Ok(value)
    } else {
        invalid(format!("{field} is {value}: {least} to {most} are allowed"))
    }
}

pub(super) fn models(wanted: &Wanted, snapshot: &Snapshot) -> Result<ModelFilter, Refusal> {
    if wanted.models.is_empty() {
        return Ok(ModelFilter::ANY);
    }
    let known: Vec<&str> = snapshot.cluster.models.iter().map(|model| model.name.as_str()).collect();
    let mut found = Vec::new();
    for name in &wanted.models {
        let Some(at) = known.iter().position(|known| known == name) else {
            let near =
                nearest(name, &known).map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return invalid(format!("models has {name}: this cluster has {}{near}", known.join(", ")));
        };
        found.push(ModelIndex(at as u16));
    }
    Ok(ModelFilter::only(found))
}

/// A job that could never run is refused at once; one that has to wait for a node is not.
pub(super) fn check_size(wanted: &Wanted, models: ModelFilter, snapshot: &Snapshot) -> Result<(), Refusal> {
    if wanted.gpus == 0 {
        return invalid("gpus is 0: at least 1 is needed".to_owned());
    }
    let owned = |model: ModelIndex| {
        let nodes = snapshot.cluster.nodes.iter().filter(|node| node.model == model);
        GpuCount(nodes.map(|node| u32::from(node.gpus)).sum())
    };
    let most = snapshot.cluster.model_indices().filter(|model| models.allows(*model)).map(owned).max();
    let most = most.unwrap_or(GpuCount::ZERO).0;
    if wanted.gpus > most {
        return invalid(format!(
            "gpus is {}: no GPU model that will do has more than {most} in this cluster",
            wanted.gpus
        ));
    }
    Ok(())
}

//! What is foretold of jobs of families that nobody has measured, as a table that the simulator reads.

use crate::dataset::Dataset;
use crate::fit;
use evenhand_core::{Bytes, Demand};
use std::fmt::Write;

/// What is foretold of each configuration by a model that has seen no other of its family, by name.
pub fn foretold(data: &Dataset) -> Vec<(&str, Demand)> {
    let mut all = Vec::new();
    for family in data.families() {
        let model = fit::alone(&data.without(&[family.to_owned()]), "");
        let own = data.profiles.iter().filter(|profile| profile.family == family);
        all.extend(own.map(|profile| (profile.name.as_str(), model.foretell(&profile.told).demand)));
    }
    all.sort_by(|a, b| a.0.cmp(b.0));
    all
}

/// The table: name, GPU model, shares, memory and the bound of memory in megabytes.
pub fn table(foretold: &[(&str, Demand)], gpu: &str) -> String {
    let mb = |bytes: Bytes| bytes.0 as f64 / f64::from(1 << 20);
    let mut text = String::from("name,gpu,duty,sm,tensor,bandwidth,memory_mb,memory_high_mb\n");
    for (name, demand) in foretold {
        let Demand { duty, sm, tensor, bandwidth, memory, .. } = demand;
        let (mean, high) = (mb(memory.mean), mb(memory.high));
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "{name},{gpu},{duty:.4},{sm:.4},{tensor:.4},{bandwidth:.4},{mean:.0},{high:.0}");
    }
    text
}

//! What was typed for `predict` and `train`.

use crate::graph_args::{Graph, size};
use clap::Args;
use std::path::PathBuf;

/// Shown below the help of `predict`.
pub const EXAMPLE: &str = "\
Example:
  evenhand predict resnet50.onnx --batch 64 --with bert.onnx:16

Trained on profiles of one H200 (experiments/horus): on other GPU models it extrapolates, and says so.";

/// Arguments of `predict`.
#[derive(Debug, Args)]
pub struct Predict {
    /// What is trained, and on what.
    #[command(flatten)]
    pub graph: Graph,
    /// Another job on the same GPU, as MODEL.onnx:BATCH; may be given several times
    #[arg(long = "with", value_name = "OTHER.onnx:N", value_parser = other)]
    pub others: Vec<(PathBuf, i64)>,
    /// A model file of `evenhand train` instead of the one that comes along
    #[arg(long, value_name = "FILE")]
    pub trained: Option<PathBuf>,
}

/// Arguments of `train`.
#[derive(Debug, Args)]
pub struct Train {
    /// Profiles: a folder with solo.csv, pairs.csv and graphs/ (see experiments/horus)
    #[arg(value_name = "FOLDER")]
    pub profiles: PathBuf,
    /// The GPU model on which they were measured
    #[arg(long, value_name = "NAME", default_value = "h200", value_parser = crate::graph_args::gpu)]
    pub gpu: &'static evenhand_graph::Gpu,
    /// The model file to write
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Families that are kept from the model, such as bert,vgg: to see what it makes of them
    #[arg(long, value_name = "FAMILIES", value_delimiter = ',')]
    pub leave_out: Vec<String>,
    /// A table to write for `[workload] foretold`: what is foretold of every configuration without its family
    #[arg(long, value_name = "FILE")]
    pub foretold: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

fn other(text: &str) -> Result<(PathBuf, i64), &'static str> {
    let pair = text.rsplit_once(':').filter(|(path, _)| !path.is_empty());
    let pair = pair.and_then(|(path, batch)| Some((path.into(), size(batch).ok()?)));
    pair.ok_or("another job is written MODEL.onnx:BATCH, such as bert.onnx:16")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_job_has_a_batch() {
        assert_eq!(other("a:b.onnx:32"), Ok(("a:b.onnx".into(), 32)));
        for wrong in ["a.onnx", "a.onnx:", ":3", "a.onnx:0", "a.onnx:-1"] {
            assert!(other(wrong).is_err(), "{wrong}");
        }
    }
}

//! What was typed for `graph`.

use clap::Args;
use evenhand_graph::{GPUS, Gpu, Optimiser, Precision};
use std::path::PathBuf;

/// Shown below the help of `graph`.
pub const EXAMPLE: &str = "\
Example:
  torch.onnx.export(model, (x,), \"model.onnx\", dynamo=True, dynamic_shapes=({0: \"batch\"},))

  evenhand graph model.onnx --batch 64 --gpu h200

Weights are not read, wherever they are: a graph without them is as good.";

/// Arguments of `graph`.
#[derive(Debug, Args)]
pub struct Graph {
    /// The model: an ONNX file, with or without its weights
    #[arg(value_name = "MODEL.onnx")]
    pub model: PathBuf,
    /// Samples in a step [default: that of the export, or 1 if it was left open]
    #[arg(long, value_name = "N", value_parser = size)]
    pub batch: Option<i64>,
    /// The length of sequences, where the export left it open
    #[arg(long, value_name = "N", value_parser = size)]
    pub seq: Option<i64>,
    /// The size of another dimension that the export left open; may be given several times
    #[arg(long, value_name = "NAME=N", value_parser = dim)]
    pub dim: Vec<(String, i64)>,
    /// In what numbers it is trained: bf16 (autocast) or fp32
    #[arg(long, value_name = "NAME", default_value = "bf16", value_parser = precision)]
    pub precision: Precision,
    /// The GPU model to set the costs against: h200, h100, a100, v100, p100, k80, t4 or rtx3090
    #[arg(long, value_name = "NAME", default_value = "h200", value_parser = gpu)]
    pub gpu: &'static Gpu,
    /// How weights are updated: sgd, momentum or adam
    #[arg(long, value_name = "NAME", default_value = "adam", value_parser = optimiser)]
    pub optimiser: Optimiser,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// The largest batch, length or size that makes sense.
const SIZE_MAX: i64 = 1 << 32;

/// A batch, a length, a size.
pub fn size(text: &str) -> Result<i64, &'static str> {
    let found = text.parse().ok().filter(|size| (1..=SIZE_MAX).contains(size));
    found.ok_or("a whole number of at least 1 is expected, and of at most 4294967296")
}

fn dim(text: &str) -> Result<(String, i64), &'static str> {
    let pair = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
    let pair = pair.and_then(|(name, value)| Some((name.to_owned(), size(value).ok()?)));
    pair.ok_or("a size is written NAME=N, such as height=224")
}

fn precision(text: &str) -> Result<Precision, &'static str> {
    let found = Precision::ALL.iter().find(|(name, _)| *name == text).map(|(_, precision)| *precision);
    found.ok_or("it is bf16 or fp32")
}

/// A GPU model by its name.
pub fn gpu(text: &str) -> Result<&'static Gpu, String> {
    Gpu::find(text).ok_or_else(|| {
        let names: Vec<&str> = GPUS.iter().map(|gpu| gpu.name).collect();
        format!("it is one of {}", names.join(", "))
    })
}

fn optimiser(text: &str) -> Result<Optimiser, &'static str> {
    match text {
        "sgd" => Ok(Optimiser::Sgd),
        "momentum" => Ok(Optimiser::Momentum),
        "adam" => Ok(Optimiser::Adam),
        _ => Err("it is sgd, momentum or adam"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_and_positive() {
        assert_eq!(dim("height=224"), Ok(("height".into(), 224)));
        assert_eq!(dim("a=b=3"), Ok(("a=b".into(), 3)));
        for wrong in ["height", "=3", "h=0", "h=-1", "h=x", "h=99999999999999"] {
            assert!(dim(wrong).is_err(), "{wrong}");
        }
        assert!(gpu("b9000").is_err_and(|error| error.contains("h200")));
    }
}

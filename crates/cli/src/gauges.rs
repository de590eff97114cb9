//! How busy GPUs are, as a Prometheus knows it that has the metrics of NVIDIA's DCGM exporter; or the driver.

use crate::failure::wrong;
use crate::live_args::Serve;
use crate::output;
use crate::trust::trusting;
use anyhow::Result;
use evenhand_core::{Bytes, Span};
use evenhand_live::{Gauge, GaugeSource, Gauged, GpuName, Mail, NvmlGauges, watch_gauges};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::Duration;
use ureq::Agent;

/// All figures that matter, in one question.
const QUERY: &str = "{__name__=~\"DCGM_FI_DEV_GPU_UTIL|DCGM_FI_DEV_FB_USED|DCGM_FI_PROF_SM_ACTIVE|DCGM_FI_PROF_PIPE_TENSOR_ACTIVE|DCGM_FI_PROF_DRAM_ACTIVE\"}";

/// Longer than this a Prometheus may not take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Begins to read, from where it was asked for.
pub fn watch(args: &Serve, tell: &Sender<Mail>) -> Result<()> {
    let has_gpus = args.fake_gpus.is_none() && !args.slurm && !args.kubernetes;
    let named = args.gpu_metrics.as_deref().unwrap_or(if has_gpus { "nvml" } else { "none" });
    let source: Box<dyn GaugeSource> = match named {
        "none" => return Ok(()),
        "nvml" => Box::new(NvmlGauges::open().map_err(|error| wrong("--gpu-metrics", error))?),
        address if address.starts_with("http://") || address.starts_with("https://") => {
            Box::new(Prometheus::new(address)?)
        }
        other => {
            let what = format!(
                "{other:?} is neither nvml nor none nor an address that begins with http:// or https://"
            );
            return Err(wrong("--gpu-metrics", what));
        }
    };
    if args.gpu_metrics_every == Span::ZERO {
        return Err(wrong("--gpu-metrics-every", "some time must be between two readings"));
    }
    watch_gauges(source, args.gpu_metrics_every, tell.clone(), output::note)?;
    Ok(())
}

struct Prometheus {
    agent: Agent,
    url: String,
}

impl Prometheus {
    fn new(address: &str) -> Result<Self> {
        let mut config = Agent::config_builder().timeout_global(Some(PATIENCE));
        if address.starts_with("https:") {
            config = config.tls_config(trusting(None)?);
        }
        Ok(Self {
            agent: config.build().into(),
            url: format!("{}/api/v1/query", address.trim_end_matches('/')),
        })
    }
}

impl GaugeSource for Prometheus {
    fn read(&mut self) -> Result<Vec<Gauged>, String> {
        let answer = self.agent.get(&self.url).query("query", QUERY).call();
        let mut answer = answer.map_err(|error| format!("{}: {error}", self.url))?;
        let answer: Answer =
            answer.body_mut().read_json().map_err(|error| format!("{}: {error}", self.url))?;
        Ok(gauges(&answer))
    }
}

#[derive(Deserialize)]
struct Answer {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    metric: BTreeMap<String, String>,
    /// When, and how much.
    value: (f64, String),
}

/// The figures of each GPU together.
fn gauges(answer: &Answer) -> Vec<Gauged> {
    let mut gpus: BTreeMap<Vec<GpuName>, Gauge> = BTreeMap::new();
    for sample in &answer.data.result {
        let Ok(value) = sample.value.1.parse::<f64>() else { continue };
        let names = names(&sample.metric);
        if names.is_empty() || !value.is_finite() {
            continue;
        }
        let gauge = gpus.entry(names).or_default();
        match sample.metric.get("__name__").map(String::as_str) {
            Some("DCGM_FI_DEV_GPU_UTIL") => gauge.duty = (value / 100.0).clamp(0.0, 1.0),
            // In MiB.
            Some("DCGM_FI_DEV_FB_USED") => gauge.memory = Bytes((value.max(0.0) * 1_048_576.0) as u64),
            Some("DCGM_FI_PROF_SM_ACTIVE") => gauge.sm = Some(value.clamp(0.0, 1.0)),
            Some("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE") => gauge.tensor = Some(value.clamp(0.0, 1.0)),
            Some("DCGM_FI_PROF_DRAM_ACTIVE") => gauge.bandwidth = Some(value.clamp(0.0, 1.0)),
            _ => {}
        }
    }
    gpus.into_iter().collect()
}

/// A scrape keeps labels of the exporter that it has itself under another name.
fn names(labels: &BTreeMap<String, String>) -> Vec<GpuName> {
    let label = |name: &str| {
        let own = labels.get(&format!("exported_{name}")).or_else(|| labels.get(name));
        own.filter(|value| !value.is_empty()).cloned()
    };
    let device = label("UUID").map(GpuName::Device);
    let on = label("Hostname").zip(label("gpu").and_then(|index| index.parse().ok()));
    let on = on.map(|(host, index)| GpuName::On { host, index });
    let pod = label("namespace").zip(label("pod")).map(|(namespace, name)| GpuName::Pod { namespace, name });
    [device, on, pod].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_gpu_are_put_together_whatever_its_labels_are_called() {
        let answer = serde_json::json!({"status": "success", "data": {"resultType": "vector", "result": [
            {"metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "3", "Hostname": "a", "UUID": "GPU-1", "exported_pod": "train-0",
                "exported_namespace": "ml", "pod": "dcgm-exporter-x", "namespace": "monitoring"}, "value": [1.0, "87"]},
            {"metric": {"__name__": "DCGM_FI_DEV_FB_USED", "gpu": "3", "Hostname": "a", "UUID": "GPU-1", "exported_pod": "train-0",
                "exported_namespace": "ml", "pod": "dcgm-exporter-x", "namespace": "monitoring"}, "value": [1.0, "1024"]},
            {"metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL"}, "value": [1.0, "5"]},
            {"metric": {"__name__": "DCGM_FI_PROF_SM_ACTIVE", "UUID": "GPU-2"}, "value": [1.0, "NaN"]}]}});
        let answer: Answer = serde_json::from_value(answer).unwrap();
        let [(names, gauge)] = &gauges(&answer)[..] else { panic!("one GPU has figures") };
        assert_eq!((gauge.duty, gauge.memory, gauge.sm), (0.87, Bytes(1 << 30), None));
        let pod = GpuName::Pod { namespace: "ml".to_owned(), name: "train-0".to_owned() };
        assert!(names.contains(&pod) && names.contains(&GpuName::On { host: "a".to_owned(), index: 3 }));
    }
}

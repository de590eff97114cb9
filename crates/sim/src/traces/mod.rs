//! Readers of traces: one format per file, each listed here. A reader knows bytes, not files.

mod native;
pub mod synthetic;
mod write;

pub use native::COLUMNS;
pub use write::write_native;

use crate::cluster::ClusterSpec;
use crate::{InputError, SimJob, Workload};
use evenhand_core::{JobId, JobSpec, ModelFilter, ModelIndex, PerModel, Rate, Tenant, TenantId, Time};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

/// What a reader found: GPU models, tenants and jobs, all numbered in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// GPU models that the trace names. Indices in its jobs refer to this list.
    pub models: Vec<String>,
    /// Tenants that the trace names.
    pub tenants: Vec<String>,
    /// Jobs in the order of the file.
    pub jobs: Vec<TraceJob>,
}

/// One row of a trace.
#[derive(Clone, Debug)]
pub struct TraceJob {
    /// Its line in the file.
    pub line: u64,
    /// Its name in the file.
    pub name: String,
    /// When it is submitted.
    pub submit: Time,
    /// What it is; its number is given later.
    pub spec: JobSpec,
}

/// A reader of one format.
#[derive(Clone, Copy)]
pub struct TraceEntry {
    /// Its fixed name.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Whether a file that begins like this is of the format.
    pub recognises: fn(&str) -> bool,
    /// Reads it.
    pub read: fn(&mut dyn BufRead) -> Result<Trace, InputError>,
}

/// All formats.
pub const TRACES: &[TraceEntry] = &[native::ENTRY];

/// Reads a trace of any known format.
pub fn read(source: &mut dyn BufRead) -> Result<Trace, InputError> {
    let start =
        source.fill_buf().map_err(|error| InputError::field(1, "the file", error, "it must be readable"))?;
    let first =
        String::from_utf8_lossy(start.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
    if start.is_empty() {
        return Err(InputError {
            line: 1,
            allowed: "the trace is empty: expected a header line".into(),
            ..InputError::default()
        });
    }
    // An unknown header goes to the native reader, whose message says what is expected.
    let entry = TRACES.iter().find(|entry| (entry.recognises)(&first)).unwrap_or(&native::ENTRY);
    (entry.read)(source)
}

/// Reads a trace file and fits it to a cluster.
pub fn open(path: &Path, cluster: &ClusterSpec) -> Result<Workload, InputError> {
    let place = path.display().to_string();
    let file = File::open(path)
        .map_err(|error| InputError::whole(&place, format!("the trace cannot be read: {error}")))?;
    let trace = read(&mut BufReader::with_capacity(1 << 16, file));
    trace.and_then(|trace| trace.bind(cluster)).map_err(|error| error.within(&place))
}

impl Trace {
    /// Numbers everything and fits it to a cluster.
    pub fn bind(self, cluster: &ClusterSpec) -> Result<Workload, InputError> {
        if self.jobs.is_empty() {
            return Err(InputError {
                line: 1,
                allowed: "the trace has no jobs".into(),
                ..InputError::default()
            });
        }
        let models: Vec<Option<ModelIndex>> =
            self.models.iter().map(|name| cluster.model_index(name)).collect();
        let numbered = numbers(&self.jobs);
        let mut jobs = Vec::with_capacity(self.jobs.len());
        for (at, job) in self.jobs.into_iter().enumerate() {
            let mut spec = job.spec;
            spec.id = numbered.as_ref().map_or(JobId(at as u64), |ids| ids[at]);
            spec.label = numbered.is_none().then(|| Arc::from(job.name.as_str()));
            translate(&mut spec, &models, cluster, job.line)?;
            check_size(&spec, cluster, job.line)?;
            jobs.push(SimJob { submit: job.submit, truth: Arc::new(spec), cancel: None });
        }
        jobs.sort_by_key(|job| job.submit);
        let tenants = self
            .tenants
            .iter()
            .enumerate()
            .map(|(at, name)| Tenant::new(TenantId(at as u32), name))
            .collect();
        Ok(Workload { jobs, tenants, apps: Vec::new() })
    }
}

/// The names of the jobs as numbers, if they all are.
fn numbers(jobs: &[TraceJob]) -> Option<Vec<JobId>> {
    let number = |name: &str| name.parse::<u64>().ok().filter(|number| number.to_string() == name);
    jobs.iter().map(|job| number(&job.name).map(JobId)).collect()
}

/// From the trace's GPU models to the cluster's.
fn translate(
    spec: &mut JobSpec,
    models: &[Option<ModelIndex>],
    cluster: &ClusterSpec,
    line: u64,
) -> Result<(), InputError> {
    if let Some(speeds) = spec.speeds {
        // A model that the trace knows nothing of runs at the speed of the reference.
        let mut row = PerModel::all(speeds.0[evenhand_core::MODELS_MAX - 1]);
        for (at, model) in models.iter().enumerate() {
            if let Some(model) = model {
                row[*model] = speeds[ModelIndex(at as u16)];
            }
        }
        spec.speeds = Some(row);
    }
    if spec.models != ModelFilter::ANY {
        let allowed = models.iter().enumerate().filter(|(at, _)| spec.models.allows(ModelIndex(*at as u16)));
        spec.models = ModelFilter::only(allowed.filter_map(|(_, model)| *model));
    }
    let runs = |model: usize| spec.speed(ModelIndex(model as u16)) > Rate::ZERO;
    if !(0..cluster.models.len()).any(runs) {
        let names: Vec<_> = cluster.models.iter().map(|model| model.name.as_str()).collect();
        return Err(InputError::field(
            line,
            "models",
            "",
            format!("the job can run on none of the cluster's GPU models ({})", names.join(", ")),
        ));
    }
    Ok(())
}

fn check_size(spec: &JobSpec, cluster: &ClusterSpec, line: u64) -> Result<(), InputError> {
    let models =
        (0..cluster.models.len() as u16).map(ModelIndex).filter(|model| spec.speed(*model) > Rate::ZERO);
    let largest = if spec.mixes_models {
        models.map(|model| cluster.gpus_of(model)).sum()
    } else {
        models.map(|model| cluster.gpus_of(model)).max().unwrap_or(0)
    };
    if spec.gpus.min.0 > largest {
        let allowed = format!("the cluster has at most {largest} GPUs of one model that the job can run on");
        return Err(InputError::field(line, "gpus", spec.gpus.min.0, allowed));
    }
    Ok(())
}

//! Readers of traces: one format per file, each listed here. A reader knows bytes, not files.

mod acme;
mod chronus;
mod elasticflow;
mod gavel;
mod generic;
mod helios;
mod muri;
mod native;
mod openb;
mod pai;
mod philly_csv;
mod philly_json;
mod philly_vc;
mod pollux;
mod reading;
mod sacct;
mod swf;
pub mod synthetic;
mod throughputs;
mod tiresias;
mod warnings;
mod write;

pub use native::COLUMNS;
pub use reading::cluster_from_openb_nodes;
pub use throughputs::Throughputs;
pub use warnings::{Warning, Warnings};
pub use write::{as_trace, write_native};

use crate::cluster::ClusterSpec;
use crate::{Curve, InputError, PairTruth, Recipe, SimApp, SimJob, Workload};
use evenhand_core::{
    App, AppId, Choice, Goal, JobId, JobSpec, ModelFilter, ModelIndex, Outcome, PerModel, Rate, Span, Tenant,
    TenantId, Time,
};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

/// What a reader found: GPU models, tenants and jobs, all numbered in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The format it was read from.
    pub format: &'static str,
    /// GPU models that the trace names. Indices in its jobs refer to this list.
    pub models: Vec<String>,
    /// Tenants that the trace names.
    pub tenants: Vec<String>,
    /// Apps that the trace names. Numbers in its jobs are places in this list.
    pub apps: Vec<TraceApp>,
    /// Jobs in the order of the file.
    pub jobs: Vec<TraceJob>,
    /// What was skipped or changed, and how often.
    pub warnings: Warnings,
    /// Speeds of pairs on one GPU, by the profiles of the jobs, if the trace came with them.
    pub pairs: Option<Arc<Throughputs>>,
    /// The wall clock at time 0, as far as the file says.
    pub anchor: Option<String>,
}

/// Several jobs with one goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceApp {
    /// Its name in the file.
    pub name: String,
    /// When it is over.
    pub goal: Goal,
    /// Who ends its jobs early.
    pub tuner: Choice,
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
    /// What it is, as declared; its number is given later.
    pub spec: JobSpec,
    /// How it really ended, if the file says.
    pub outcome: Option<Outcome>,
    /// How long it really waited, if the file says.
    pub queued: Option<Span>,
    /// How it trains, if the file says.
    pub recipe: Option<Arc<Recipe>>,
    /// Whether its submitter says beforehand when its regimes change.
    pub announces: bool,
    /// How its loss falls, if the file says.
    pub curve: Option<Curve>,
    /// The kind of job that it was measured as, if the file says.
    pub profile: Option<Arc<str>>,
}

impl TraceJob {
    /// A job of which the file says no more than this.
    pub fn new(line: u64, name: String, submit: Time, spec: JobSpec) -> Self {
        Self {
            line,
            name,
            submit,
            spec,
            outcome: None,
            queued: None,
            recipe: None,
            announces: true,
            curve: None,
            profile: None,
        }
    }
}

/// Files that belong to a trace.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// Steps per second of each kind of job on each GPU model (Gavel, Shockwave), or how long the applications of Pollux
    /// take.
    pub throughputs: Option<Arc<Throughputs>>,
}

/// How a file begins: enough to tell its format.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The name of the file without its folder and without `.gz`.
    pub name: &'a str,
    /// The first few kilobytes.
    pub start: &'a str,
}

impl<'a> Opening<'a> {
    /// The first line that is not a remark.
    pub fn first_line(&self) -> &'a str {
        self.start.lines().find(|line| !line.starts_with('#')).unwrap_or_default()
    }
}

/// A reader of one format.
#[derive(Clone, Copy)]
pub struct TraceEntry {
    /// Its fixed name.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Whether a file that begins like this is of the format.
    pub recognises: fn(&Opening<'_>) -> bool,
    /// Reads it.
    pub read: fn(&mut dyn BufRead, &Sides) -> Result<Trace, InputError>,
}

/// All formats. No file is of two: `tests/readers.rs` holds every sample against every one of them.
pub const TRACES: &[TraceEntry] = &[
    native::ENTRY,
    generic::ENTRY,
    philly_csv::ENTRY,
    philly_vc::ENTRY,
    philly_json::ENTRY,
    helios::ENTRY,
    acme::ENTRY,
    pai::ENTRY,
    openb::ENTRY,
    elasticflow::ENTRY,
    gavel::ENTRY,
    pollux::ENTRY,
    tiresias::ENTRY,
    muri::ENTRY,
    chronus::ENTRY,
    sacct::ENTRY,
    swf::ENTRY,
];

/// Reads a trace of any known format. `name` is the name of the file without its folder and without `.gz`.
pub fn read(source: &mut dyn BufRead, name: &str, sides: &Sides) -> Result<Trace, InputError> {
    let start =
        source.fill_buf().map_err(|error| InputError::field(1, "the file", error, "it must be readable"))?;
    if start.is_empty() {
        let allowed = "the trace is empty: expected a header line".into();
        return Err(InputError { line: 1, allowed, ..InputError::default() });
    }
    let start = String::from_utf8_lossy(&start[..start.len().min(OPENING_BYTES)]).into_owned();
    let opening = Opening { name, start: start.trim_start_matches('\u{feff}') };
    let entry = TRACES.iter().find(|entry| (entry.recognises)(&opening));
    let entry = entry.map_or_else(|| unknown(&opening), Ok)?;
    let mut trace = (entry.read)(source, sides)?;
    trace.format = entry.name;
    Ok(trace)
}

/// What to do with a file of no known format.
fn unknown(opening: &Opening<'_>) -> Result<&'static TraceEntry, InputError> {
    if let Some(reason) = reading::refusal(opening) {
        return Err(InputError { line: 1, allowed: reason.into(), ..InputError::default() });
    }
    // Who has some of our columns means our format, and its reader says what is wrong.
    let own = |column: &str| COLUMNS.iter().any(|(name, ..)| *name == column.trim());
    if opening.first_line().split(',').any(own) {
        return Ok(&native::ENTRY);
    }
    let names: Vec<_> = TRACES.iter().map(|entry| entry.name).collect();
    let allowed = format!("this is no trace of a known format ({}); see `evenhand traces`", names.join(", "));
    Err(InputError { line: 1, allowed, ..InputError::default() })
}

/// How much of a file is looked at to tell its format.
const OPENING_BYTES: usize = 4096;

/// Reads a trace file, compressed or not.
pub fn open_trace(path: &Path, sides: &Sides) -> Result<Trace, InputError> {
    let place = path.display().to_string();
    let mut source = open_file(path)
        .map_err(|error| InputError::whole(&place, format!("the trace cannot be read: {error}")))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let trace = read(&mut source, name.strip_suffix(".gz").unwrap_or(&name), sides);
    trace.map_err(|error| error.within(&place))
}

/// Reads a trace file and fits it to a cluster.
pub fn open(path: &Path, sides: &Sides, cluster: &ClusterSpec) -> Result<Workload, InputError> {
    let trace = open_trace(path, sides)?;
    trace.bind(cluster).map_err(|error| error.within(&path.display().to_string()))
}

/// Opens a file; what begins like gzip is unpacked on the way.
pub fn open_file(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    let packed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if packed {
        Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    })
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
            let bound = match job.curve {
                Some(curve) => SimJob::training(job.submit, spec, curve),
                None => SimJob::new(job.submit, Arc::new(spec)),
            };
            let (recipe, announces, profile) = (job.recipe, job.announces, job.profile);
            jobs.push(SimJob { recipe, announces, profile, ..bound });
        }
        jobs.sort_by_key(|job| job.submit);
        let tenants = self
            .tenants
            .iter()
            .enumerate()
            .map(|(at, name)| Tenant::new(TenantId(at as u32), name))
            .collect();
        let apps = apps(&self.apps, &jobs);
        let truth = self.pairs.map(|table| Arc::new(PairTruth::of_throughputs(&table, cluster)));
        Ok(Workload { jobs, tenants, apps, truth, ..Workload::default() })
    }
}

/// The apps of a trace, each owned by whoever owns its jobs.
fn apps(apps: &[TraceApp], jobs: &[SimJob]) -> Vec<SimApp> {
    let mut owners = vec![TenantId(0); apps.len()];
    for job in jobs {
        if let Some(app) = job.truth.app {
            owners[app.0 as usize] = job.truth.tenant;
        }
    }
    let bound = apps.iter().enumerate().map(|(at, app)| SimApp {
        app: App::new(AppId(at as u64), owners[at], app.goal),
        name: app.name.clone(),
        tuner: app.tuner.clone(),
    });
    bound.collect()
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
        let allowed = format!("the job can run on none of the cluster's GPU models ({})", names.join(", "));
        return Err(InputError { line, allowed, ..InputError::default() });
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

//! The native trace: a CSV file with a header line; four columns are needed, the rest are as you like.

mod apps;

pub(super) use apps::GOALS;

use super::reading::{Lines, split};
use super::{Sides, Trace, TraceEntry, TraceJob};
use crate::InputError;
use evenhand_core::{
    Bytes, Consent, GpuCount, GpuRange, JobId, JobSpec, MODELS_MAX, ModelFilter, ModelIndex, PerModel,
    Priority, Rate, Ratio, Restart, Span, TenantId, Time, Work,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "native",
    summary: "Evenhand's own CSV: job_id, submit_s, gpus, duration_s and optional columns.",
    recognises: |opening| opening.first_line().split(',').any(|column| column.trim() == "submit_s"),
    read,
};

/// A century, in seconds.
const DURATION_S_MAX: f64 = 3.2e9;
/// No number in a trace is larger.
const NUMBER_MAX: f64 = 1e15;

/// The columns, what they mean, and whether they must be there.
pub const COLUMNS: &[(&str, bool, &str)] = &[
    ("job_id", true, "names the job; each name once"),
    ("submit_s", true, "seconds after the start at which it is submitted"),
    ("gpus", true, "GPUs it needs at once"),
    ("duration_s", true, "seconds it takes alone on that many GPUs of the reference GPU model"),
    ("tenant", false, "who submits it (default: everybody is one tenant)"),
    ("gpus_max", false, "GPUs it can make use of (default: as many as it needs)"),
    ("priority", false, "larger is more urgent (default 0)"),
    ("models", false, "GPU models that will do, separated by | (default: all)"),
    (
        "speed:<model>",
        false,
        "speed on a GPU model relative to the reference; 0 = cannot run there (default 1)",
    ),
    ("steps", false, "training steps in all (default: one a second)"),
    ("memory_gb", false, "GPU memory per GPU"),
    ("slowdown_node", false, "slowdown on several sockets of a node, 1 or more (default 1)"),
    ("slowdown_rack", false, "slowdown on several nodes of a rack, 1 or more (default 1)"),
    ("slowdown_cluster", false, "slowdown across racks, 1 or more (default 1)"),
    ("save_s", false, "seconds to write a checkpoint when stopped"),
    ("restore_s", false, "seconds to be running again"),
    ("checkpoint_s", false, "seconds between the checkpoints it writes by itself (default 1800)"),
    ("deadline_s", false, "seconds after the start by which it is wanted"),
    ("sharing", false, "may share a GPU: never, if-contract-holds, freely"),
    ("profile", false, "the kind of job in the tables of profiles and of pairs (default: none)"),
    ("app", false, "names the app that it is a job of (default: none)"),
    (
        "app_goal",
        false,
        "when the app is over: all-jobs, first-to-target (default all-jobs); the same in all its rows",
    ),
    (
        "app_tuner",
        false,
        "who ends its jobs early, such as `successive-halving eta=4` (default none); the same in all its rows",
    ),
    (
        "loss_start",
        false,
        "loss before the first step: with the next four, the job reports a loss as it trains",
    ),
    ("loss_floor", false, "loss that it would come to in the end"),
    ("loss_scale", false, "steps after which the loss falls more slowly"),
    (
        "loss_power",
        false,
        "how fast the loss falls: floor + (start - floor) (1 + k / scale)^-power after k steps",
    ),
    ("epoch_steps", false, "steps between two reports"),
    ("loss_noise", false, "how much a reported loss is off: the deviation of its logarithm (default 0)"),
    ("loss_target", false, "loss at which the job is finished; `steps` are then its limit"),
];

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    let mut lines = Lines::new(source);
    let mut reader = None;
    while lines.advance()? {
        let line = lines.number();
        let wrong = |allowed: &str| InputError { line, allowed: allowed.into(), ..InputError::default() };
        let text = lines.text().ok_or_else(|| wrong("a trace is UTF-8 text"))?;
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let cells = split(text, ',');
        let Some((width, reader)) = &mut reader else {
            reader = Some((cells.len(), Reader::new(line, &cells)?));
            continue;
        };
        if cells.len() != *width {
            let allowed = format!("the header has {width}");
            return Err(InputError::field(line, "the number of fields", cells.len(), allowed));
        }
        reader.row(line, &cells)?;
    }
    let empty = || InputError {
        line: 1,
        allowed: "the trace is empty: expected a header line".into(),
        ..InputError::default()
    };
    reader.map(|(_, reader)| reader.trace).ok_or_else(empty)
}

/// No column has a longer name: what is longer is not searched for likenesses, nor shown in whole.
const NAME_CHARS_MAX: usize = 64;

fn no_such_column(line: u64, name: &str) -> InputError {
    let shown: String = name.chars().take(NAME_CHARS_MAX).collect();
    let names: Vec<&'static str> = COLUMNS.iter().map(|(column, ..)| *column).collect();
    let near = evenhand_core::nearest(&shown, &names);
    let hint =
        near.map_or_else(|| format!("known: {}", names.join(", ")), |near| format!("did you mean `{near}`?"));
    InputError::field(line, "a column", shown, format!("there is no such column; {hint}"))
}

struct Reader {
    columns: BTreeMap<String, usize>,
    speeds: Vec<usize>,
    names: BTreeSet<String>,
    tenants: BTreeMap<String, TenantId>,
    apps: apps::Apps,
    trace: Trace,
}

impl Reader {
    fn new(line: u64, header: &[Cow<'_, str>]) -> Result<Self, InputError> {
        let mut reader = Self {
            columns: BTreeMap::new(),
            speeds: Vec::new(),
            names: BTreeSet::new(),
            tenants: BTreeMap::new(),
            apps: apps::Apps::default(),
            trace: Trace::default(),
        };
        for (at, name) in header.iter().enumerate() {
            let name = name.as_ref();
            let known = COLUMNS.iter().any(|(column, ..)| *column == name);
            if let Some(model) = name.strip_prefix("speed:") {
                reader.model(line, model)?;
                reader.speeds.push(at);
            } else if !known {
                return Err(no_such_column(line, name));
            }
            if reader.columns.insert(name.to_owned(), at).is_some() {
                return Err(InputError::field(line, "a column", name, "it stands there twice"));
            }
        }
        for (column, needed, _) in COLUMNS {
            if *needed && !reader.columns.contains_key(*column) {
                let allowed = format!(
                    "the header has no column `{column}`; needed are job_id, submit_s, gpus, duration_s"
                );
                return Err(InputError { line, allowed, ..InputError::default() });
            }
        }
        Ok(reader)
    }

    /// The index of a GPU model that the trace names. The last place of a row of speeds stands for all others.
    fn model(&mut self, line: u64, name: &str) -> Result<ModelIndex, InputError> {
        if let Some(at) = self.trace.models.iter().position(|known| known == name) {
            return Ok(ModelIndex(at as u16));
        }
        if name.is_empty() || self.trace.models.len() == MODELS_MAX - 1 {
            let allowed = format!("a trace names at most {} GPU models", MODELS_MAX - 1);
            return Err(InputError::field(line, "a GPU model", name, allowed));
        }
        self.trace.models.push(name.to_owned());
        Ok(ModelIndex(self.trace.models.len() as u16 - 1))
    }

    fn row(&mut self, line: u64, row: &[Cow<'_, str>]) -> Result<(), InputError> {
        let cells = Cells { line, row, columns: &self.columns };
        let name = cells.text("job_id").unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err(InputError::field(line, "job_id", "", "every job has a name"));
        }
        if !self.names.insert(name.clone()) {
            return Err(InputError::field(line, "job_id", &name, "another job has it already"));
        }
        let submit = Time::from_seconds(cells.needed("submit_s", 0.0, "at least 0")?);
        let columns = self.columns.clone();
        let cells = Cells { line, row, columns: &columns };
        let mut spec = self.spec(&cells)?;
        spec.app = self.apps.of(&cells, spec.tenant, &mut self.trace)?;
        spec.target = apps::target(&cells)?;
        let curve = apps::curve(&cells, &spec)?;
        let profile = cells.text("profile").map(std::sync::Arc::from);
        self.trace.jobs.push(TraceJob { curve, profile, ..TraceJob::new(line, name, submit, spec) });
        Ok(())
    }

    fn spec(&mut self, cells: &Cells<'_>) -> Result<JobSpec, InputError> {
        let gpus = cells.count("gpus")?.unwrap_or(0);
        let gpus_max = cells.count("gpus_max")?.unwrap_or(gpus);
        if gpus_max < gpus {
            return Err(InputError::field(
                cells.line,
                "gpus_max",
                gpus_max,
                format!("it must be at least gpus, {gpus}"),
            ));
        }
        let duration = cells.needed("duration_s", 0.001, "a number of seconds of at least 0.001")?;
        if duration > DURATION_S_MAX {
            return Err(InputError::field(
                cells.line,
                "duration_s",
                duration,
                "no job takes longer than a century",
            ));
        }
        let steps = cells.number("steps", 0.001, "more than 0")?.unwrap_or(duration);
        let tenant = self.tenant(cells.text("tenant").unwrap_or("everybody"));
        let mut spec = JobSpec::new(JobId(0), tenant, gpus, Some(Work::from_steps(steps)));
        spec.gpus = GpuRange { min: GpuCount(gpus), max: GpuCount(gpus_max) };
        spec.speeds = self.speeds(cells, steps / duration)?;
        if let Some(list) = cells.text("models") {
            let models: Result<Vec<_>, _> =
                list.split('|').map(|name| self.model(cells.line, name.trim())).collect();
            spec.models = ModelFilter::only(models?);
        }
        spec.priority = Priority(cells.number("priority", -1e9, "a whole number")?.unwrap_or(0.0) as i32);
        spec.memory = cells.number("memory_gb", 0.0, "at least 0")?.map(|gb| Bytes((gb * 1e9) as u64));
        spec.deadline = cells.number("deadline_s", 0.0, "at least 0")?.map(Time::from_seconds);
        spec.scaling.by_span = spans(cells)?;
        spec.restart = restart(cells)?;
        spec.sharing = sharing(cells)?;
        Ok(spec)
    }

    fn tenant(&mut self, name: &str) -> TenantId {
        let next = TenantId(self.tenants.len() as u32);
        *self.tenants.entry(name.to_owned()).or_insert_with(|| {
            self.trace.tenants.push(name.to_owned());
            next
        })
    }

    fn speeds(&self, cells: &Cells<'_>, reference: f64) -> Result<Option<PerModel<Rate>>, InputError> {
        let plain = (reference - 1.0).abs() < 1e-12;
        if self.speeds.is_empty() && plain {
            return Ok(None);
        }
        let rate = |relative: f64| {
            let allowed = "speed times steps per second must be a finite number";
            Rate::new(relative * reference)
                .map_err(|_| InputError::field(cells.line, "steps", relative, allowed))
        };
        let mut row = PerModel::all(rate(1.0)?);
        for (at, column) in self.speeds.iter().enumerate() {
            let model = format!("speed:{}", self.trace.models[at]);
            debug_assert_eq!(self.columns.get(&model), Some(column));
            if let Some(relative) = cells.number(&model, 0.0, "at least 0")? {
                row[ModelIndex(at as u16)] = rate(relative)?;
            }
        }
        Ok(Some(row))
    }
}

/// One row by the names of its columns.
struct Cells<'a> {
    line: u64,
    row: &'a [Cow<'a, str>],
    columns: &'a BTreeMap<String, usize>,
}

impl Cells<'_> {
    /// The text of a cell; `None` if the column is missing or the cell empty.
    fn text(&self, column: &str) -> Option<&str> {
        self.row.get(*self.columns.get(column)?).map(Cow::as_ref).filter(|text| !text.is_empty())
    }

    fn number(&self, column: &str, least: f64, allowed: &str) -> Result<Option<f64>, InputError> {
        let Some(text) = self.text(column) else { return Ok(None) };
        let refuse =
            |allowed: &str| InputError::field(self.line, column, text, format!("it must be {allowed}"));
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number > NUMBER_MAX => {
                Err(refuse(&format!("{NUMBER_MAX:e} at most")))
            }
            Ok(number) if number.is_finite() && number >= least => Ok(Some(number)),
            _ => Err(refuse(allowed)),
        }
    }

    fn needed(&self, column: &str, least: f64, allowed: &str) -> Result<f64, InputError> {
        let missing = || InputError::field(self.line, column, "", format!("it must be {allowed}"));
        self.number(column, least, allowed)?.ok_or_else(missing)
    }

    fn count(&self, column: &str) -> Result<Option<u32>, InputError> {
        let needed = column == "gpus";
        match self.text(column) {
            None if !needed => Ok(None),
            text => {
                let text = text.unwrap_or_default();
                let count = text.parse::<u32>().ok().filter(|count| (1..=1_000_000).contains(count));
                count.map(Some).ok_or_else(|| {
                    InputError::field(
                        self.line,
                        column,
                        text,
                        "it must be a whole number of GPUs from 1 to 1000000",
                    )
                })
            }
        }
    }
}

fn spans(cells: &Cells<'_>) -> Result<Option<[Ratio; 4]>, InputError> {
    let mut by_span = [Ratio::ONE; 4];
    let mut any = false;
    for (place, column) in ["slowdown_node", "slowdown_rack", "slowdown_cluster"].iter().enumerate() {
        if let Some(slowdown) = cells.number(column, 1.0, "a slowdown of at least 1")? {
            by_span[place + 1] = Ratio::new(slowdown).unwrap_or_default();
            any = true;
        }
    }
    Ok(any.then_some(by_span))
}

fn restart(cells: &Cells<'_>) -> Result<Restart, InputError> {
    let mut restart = Restart::default();
    let span =
        |column| Ok(cells.number(column, 0.0, "a number of seconds of at least 0")?.map(Span::from_seconds));
    restart.save = span("save_s")?.unwrap_or(restart.save);
    restart.restore = span("restore_s")?.unwrap_or(restart.restore);
    restart.interval = span("checkpoint_s")?.unwrap_or(restart.interval);
    Ok(restart)
}

fn sharing(cells: &Cells<'_>) -> Result<Consent, InputError> {
    match cells.text("sharing") {
        None => Ok(Consent::default()),
        Some("never") => Ok(Consent::Never),
        Some("if-contract-holds") => Ok(Consent::IfContractHolds),
        Some("freely") => Ok(Consent::Freely),
        Some(other) => {
            Err(InputError::field(cells.line, "sharing", other, "it is never, if-contract-holds or freely"))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ClusterSpec;
    use crate::traces::Sides;
    use evenhand_core::{ModelIndex, Time};

    fn error(text: &str) -> String {
        let cluster = ClusterSpec::parse("v100=8", None, None).unwrap();
        let bound =
            super::read(&mut text.as_bytes(), &Sides::default()).and_then(|trace| trace.bind(&cluster));
        bound.unwrap_err().to_string()
    }

    #[test]
    fn a_small_trace_is_read_and_sorted() {
        let text = "job_id,submit_s,gpus,duration_s,tenant,speed:p100\nb,20,2,60,ann,0.5\n# a remark\na,10,1,30,bob,\n";
        let cluster = ClusterSpec::parse("v100=4,p100=4", None, None).unwrap();
        let workload = super::read(&mut text.as_bytes(), &Sides::default()).unwrap().bind(&cluster).unwrap();
        let first = &workload.jobs[0];
        assert_eq!((first.submit, first.truth.name()), (Time(10_000), "a".to_owned()));
        assert_eq!(workload.tenants[workload.jobs[1].truth.tenant.index()].name, "ann");
        assert!((workload.jobs[1].truth.speed(ModelIndex(1)).get() - 0.5).abs() < 1e-12);
        assert!((workload.jobs[1].truth.speed(ModelIndex(0)).get() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn numbers_stay_the_names_of_jobs() {
        let text = "job_id,submit_s,gpus,duration_s\n7,0,1,5\n3,0,1,5\n";
        let cluster = ClusterSpec::parse("v100=8", None, None).unwrap();
        let workload = super::read(&mut text.as_bytes(), &Sides::default()).unwrap().bind(&cluster).unwrap();
        let ids: Vec<_> = workload.jobs.iter().map(|job| job.truth.id.0).collect();
        assert_eq!(ids, [7, 3]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_field_and_value() {
        let head = "job_id,submit_s,gpus,duration_s\n";
        let row = |row: &str| error(&format!("{head}{row}\n"));
        assert_eq!(
            row("a,0,0,60"),
            "line 2: gpus is `0`, but it must be a whole number of GPUs from 1 to 1000000"
        );
        assert_eq!(
            row("a,0,1,NaN"),
            "line 2: duration_s is `NaN`, but it must be a number of seconds of at least 0.001"
        );
        assert!(row("a,0,1,-5").starts_with("line 2: duration_s is `-5`"));
        assert_eq!(row("a,1e18,1,5"), "line 2: submit_s is `1e18`, but it must be 1e15 at most");
        assert_eq!(row("a,0,1,5\na,0,1,5"), "line 3: job_id is `a`, but another job has it already");
        assert!(row("a,0,9,5").starts_with("line 2: gpus is `9`, but the cluster has at most 8 GPUs"));
        assert!(row("a,0,1").starts_with("line 2: the number of fields is `3`"));
        let empty = super::super::read(&mut &b""[..], "jobs.csv", &Sides::default());
        assert!(empty.unwrap_err().to_string().contains("the trace is empty"));
        assert!(error(head).contains("no jobs"));
        assert!(error("job_id,submit_s,gpu,duration_s\n").contains("did you mean `gpus`?"));
        assert!(error("job_id,submit_s,gpus\n").contains("no column `duration_s`"));
    }
}

//! Writes native traces: a whole trace with all that the format carries, or job by job.

use super::native::GOALS;
use super::{Trace, TraceApp, TraceJob};
use crate::truth::regime_at;
use crate::{ClusterSpec, Curve, Workload, tuners};
use evenhand_core::{
    AppId, Choice, Consent, Goal, JobSpec, MODELS_MAX, ModelFilter, ModelIndex, Priority, Rate, Ratio,
    Restart, Work,
};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

/// An optional column: its name, and what a job says in it; `None` if the default says the same.
type Column = (&'static str, fn(&TraceJob, &Trace) -> Option<String>);

/// The optional columns apart from speeds, in the order in which they are written.
const OPTIONAL: &[Column] = &[
    ("tenant", |job, trace| trace.tenants.get(job.spec.tenant.index()).cloned()),
    ("gpus_max", |job, _| (job.spec.gpus.max > job.spec.gpus.min).then(|| job.spec.gpus.max.0.to_string())),
    ("priority", |job, _| {
        (job.spec.priority != Priority::default()).then(|| job.spec.priority.0.to_string())
    }),
    ("models", models),
    ("steps", |job, _| {
        let plain = (reference(&job.spec) - 1.0).abs() < 1e-12;
        job.spec.work.filter(|_| !plain).map(|work| work.steps().to_string())
    }),
    ("memory_gb", memory_gb),
    ("slowdown_node", |job, _| slowdown(&job.spec, 1)),
    ("slowdown_rack", |job, _| slowdown(&job.spec, 2)),
    ("slowdown_cluster", |job, _| slowdown(&job.spec, 3)),
    ("save_s", |job, _| restart(&job.spec, |restart| restart.save.seconds())),
    ("restore_s", |job, _| restart(&job.spec, |restart| restart.restore.seconds())),
    ("checkpoint_s", |job, _| restart(&job.spec, |restart| restart.interval.seconds())),
    ("deadline_s", |job, _| job.spec.deadline.map(|deadline| deadline.seconds().to_string())),
    ("sharing", |job, _| match job.spec.sharing {
        Consent::IfContractHolds => None,
        Consent::Never => Some("never".into()),
        Consent::Freely => Some("freely".into()),
    }),
    ("profile", |job, _| job.profile.as_deref().map(str::to_owned)),
    ("app", |job, trace| app(job, trace).map(|app| app.name.clone())),
    ("app_goal", |job, trace| {
        let goal = app(job, trace)?.goal;
        let word = GOALS.iter().find(|(_, other)| *other == goal).map(|(word, _)| (*word).to_owned());
        word.filter(|_| goal != Goal::default())
    }),
    ("app_tuner", |job, trace| {
        let tuner = &app(job, trace)?.tuner;
        (*tuner != Choice::named(tuners::DEFAULT_TUNER)).then(|| tuners::text(tuner))
    }),
    ("loss_start", |job, _| loss(job, |curve| curve.start)),
    ("loss_floor", |job, _| loss(job, |curve| curve.floor)),
    ("loss_scale", |job, _| loss(job, |curve| curve.scale)),
    ("loss_power", |job, _| loss(job, |curve| curve.power)),
    ("epoch_steps", |job, _| loss(job, |curve| curve.epoch.steps())),
    ("loss_noise", |job, _| loss(job, |curve| curve.noise).filter(|text| text != "0")),
    ("loss_target", |job, _| job.spec.target.map(|target| target.get().to_string())),
];

/// The columns of speeds, one for each GPU model that the trace names.
const SPEEDS: &str = "speed:<model>";

fn app<'a>(job: &TraceJob, trace: &'a Trace) -> Option<&'a TraceApp> {
    trace.apps.get(usize::try_from(job.spec.app?.0).ok()?)
}

fn loss(job: &TraceJob, part: fn(&Curve) -> f64) -> Option<String> {
    job.curve.as_ref().map(|curve| part(curve).to_string())
}

fn models(job: &TraceJob, trace: &Trace) -> Option<String> {
    let allowed = |at: &usize| job.spec.models.allows(ModelIndex(*at as u16));
    let names = (0..trace.models.len()).filter(allowed).map(|at| trace.models[at].as_str());
    (job.spec.models != ModelFilter::ANY).then(|| names.collect::<Vec<_>>().join("|"))
}

/// In a form that comes back to the byte: reading rounds down.
fn memory_gb(job: &TraceJob, _: &Trace) -> Option<String> {
    let bytes = job.spec.memory?.0;
    let gb = bytes as f64 / 1e9;
    Some(if ((gb * 1e9) as u64) < bytes { gb.next_up() } else { gb }.to_string())
}

fn slowdown(spec: &JobSpec, span: usize) -> Option<String> {
    let slowdown = spec.scaling.by_span?[span];
    (slowdown > Ratio::ONE).then(|| slowdown.get().to_string())
}

fn restart(spec: &JobSpec, part: fn(&Restart) -> f64) -> Option<String> {
    let (own, usual) = (part(&spec.restart), part(&Restart::default()));
    ((own - usual).abs() > 1e-9).then(|| own.to_string())
}

/// The speed on the reference GPU model: that of all models the trace does not name or, where it names all it knows,
/// that of the first on which the job runs.
fn reference(spec: &JobSpec) -> f64 {
    let Some(speeds) = spec.speeds else { return 1.0 };
    let others = speeds.0[MODELS_MAX - 1];
    let first = || speeds.values().find(|speed| *speed > Rate::ZERO).unwrap_or(Rate::ONE);
    if others > Rate::ZERO { others.get() } else { first().get() }
}

impl TraceJob {
    /// Seconds it takes alone, without a break, on the reference GPU model; `None` if nobody knows.
    pub fn duration_s(&self) -> Option<f64> {
        let (spec, total) = (&self.spec, self.spec.work?);
        let speed = reference(spec);
        let (mut done, mut seconds) = (Work::ZERO, 0.0);
        while done < total {
            let (_, factor, end) = regime_at(spec, done);
            seconds += end.less(done).steps() / (speed * factor);
            done = end;
        }
        seconds.is_finite().then_some(seconds)
    }
}

impl Trace {
    /// Writes all jobs in the order of the file, with the columns that some job needs. Returns how many were left out
    /// because nobody knows how long they take.
    ///
    /// What the format has no column for is not written: outcomes, waiting times, changes of batch size (the duration is
    /// right, the speed is the mean), speeds by number of GPUs.
    pub fn write_native(&self, remarks: &[String], to: &mut dyn Write) -> io::Result<u64> {
        let needed = |column: &&Column| self.jobs.iter().any(|job| column.1(job, self).is_some());
        let mut columns: Vec<&'static str> = OPTIONAL.iter().filter(needed).map(|column| column.0).collect();
        columns.extend(self.jobs.iter().any(|job| job.spec.speeds.is_some()).then_some(SPEEDS));
        let mut writer = self.native_writer(remarks, &columns, to)?;
        for job in &self.jobs {
            writer.job(job)?;
        }
        writer.finish()
    }

    /// Writes the head of a native trace with these optional columns, by the names in [`COLUMNS`](super::COLUMNS); jobs
    /// follow one by one.
    pub fn native_writer<'a>(
        &'a self,
        remarks: &[String],
        columns: &[&str],
        to: &'a mut dyn Write,
    ) -> io::Result<NativeWriter<'a>> {
        for remark in remarks {
            writeln!(to, "# {}", remark.replace(['\n', '\r'], " "))?;
        }
        // A name that begins like a remark is quoted.
        let mut rows = csv::WriterBuilder::new().comment(Some(b'#')).from_writer(to);
        let models_count = if columns.contains(&SPEEDS) { self.models.len() } else { 0 };
        let columns: Vec<_> = OPTIONAL.iter().filter(|column| columns.contains(&column.0)).copied().collect();
        for name in ["job_id", "submit_s", "gpus", "duration_s"] {
            rows.write_field(name).map_err(unwrapped)?;
        }
        for (name, _) in &columns {
            rows.write_field(name).map_err(unwrapped)?;
        }
        for model in &self.models[..models_count] {
            rows.write_field(format!("speed:{model}")).map_err(unwrapped)?;
        }
        rows.write_record(None::<&[u8]>).map_err(unwrapped)?;
        Ok(NativeWriter { trace: self, columns, models_count, rows, left_out: 0 })
    }
}

/// A native trace that is being written.
pub struct NativeWriter<'a> {
    trace: &'a Trace,
    columns: Vec<Column>,
    models_count: usize,
    rows: csv::Writer<&'a mut dyn Write>,
    left_out: u64,
}

impl NativeWriter<'_> {
    /// Writes one job.
    pub fn job(&mut self, job: &TraceJob) -> io::Result<()> {
        let Some(duration_s) = job.duration_s() else {
            self.left_out += 1;
            return Ok(());
        };
        self.rows.write_field(&job.name).map_err(unwrapped)?;
        self.rows.write_field(job.submit.seconds().to_string()).map_err(unwrapped)?;
        self.rows.write_field(job.spec.gpus.min.0.to_string()).map_err(unwrapped)?;
        // Regimes are added up from thousandths of a step: more digits would be noise.
        let duration_s =
            if job.spec.regimes.is_empty() { duration_s } else { (duration_s * 1e3).round() / 1e3 };
        self.rows.write_field(duration_s.to_string()).map_err(unwrapped)?;
        for (_, cell) in &self.columns {
            self.rows.write_field(cell(job, self.trace).unwrap_or_default()).map_err(unwrapped)?;
        }
        let reference = reference(&job.spec);
        for model in 0..self.models_count {
            let speed = job.spec.speeds.map_or(1.0, |speeds| speeds.0[model].get() / reference);
            self.rows.write_field(speed.to_string()).map_err(unwrapped)?;
        }
        self.rows.write_record(None::<&[u8]>).map_err(unwrapped)
    }

    /// Ends the file; returns how many jobs were left out because nobody knows how long they take.
    pub fn finish(mut self) -> io::Result<u64> {
        self.rows.flush()?;
        Ok(self.left_out)
    }
}

/// What the operating system said: a closed pipe must be seen as one.
fn unwrapped(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Writes a workload as a native trace, with the speeds it has on the models of this cluster.
pub fn write_native(workload: &Workload, cluster: &ClusterSpec, to: &mut dyn Write) -> io::Result<()> {
    as_trace(workload, cluster).write_native(&[], to).map(|_| ())
}

/// A workload as a trace, with the speeds it has on the models of this cluster.
pub fn as_trace(workload: &Workload, cluster: &ClusterSpec) -> Trace {
    let places: BTreeMap<AppId, u64> =
        workload.apps.iter().enumerate().map(|(at, app)| (app.app.id, at as u64)).collect();
    let job = |job: &crate::SimJob| {
        let mut spec = job.declared().unwrap_or_else(|| JobSpec::clone(&job.truth));
        spec.app = spec.app.and_then(|app| places.get(&app).copied()).map(AppId);
        if let Some(speeds) = &mut spec.speeds {
            // The first model is the reference, so it speaks for all models that the file does not name.
            speeds.0[MODELS_MAX - 1] = speeds.0[0];
        }
        TraceJob {
            recipe: job.recipe.as_ref().map(Arc::clone),
            announces: job.announces,
            profile: job.profile.clone(),
            curve: job.curve.as_deref().copied(),
            ..TraceJob::new(0, spec.name(), job.submit, spec)
        }
    };
    let mixed = cluster.models.len() > 1;
    let app = |app: &crate::SimApp| TraceApp {
        name: app.name.clone(),
        goal: app.app.goal,
        tuner: app.tuner.clone(),
    };
    Trace {
        models: cluster.models.iter().filter(|_| mixed).map(|model| model.name.clone()).collect(),
        tenants: workload.tenants.iter().map(|tenant| tenant.name.clone()).collect(),
        apps: workload.apps.iter().map(app).collect(),
        jobs: workload.jobs.iter().map(job).collect(),
        ..Trace::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sides, Trace, read};
    use super::write_native;
    use crate::ClusterSpec;
    use crate::apps::Apps;
    use crate::profiles::{PROFILES, Plan, Wanted};
    use evenhand_core::{ModelFilter, ModelIndex};

    fn parsed(text: &str) -> Trace {
        read(&mut text.as_bytes(), "x.csv", &Sides::default()).unwrap()
    }

    fn written(trace: &Trace) -> String {
        let mut text = Vec::new();
        assert_eq!(trace.write_native(&["a remark".into()], &mut text).unwrap(), 0);
        String::from_utf8(text).unwrap()
    }

    fn expect_same(a: &Trace, b: &Trace) {
        assert_eq!((&a.tenants, a.jobs.len()), (&b.tenants, b.jobs.len()));
        for (a_job, b_job) in a.jobs.iter().zip(&b.jobs) {
            assert_eq!((&a_job.name, a_job.submit), (&b_job.name, b_job.submit));
            assert_eq!(a_job.profile, b_job.profile);
            let (mut left, mut right) = (a_job.spec.clone(), b_job.spec.clone());
            for (at, name) in a.models.iter().enumerate() {
                let other = b.models.iter().position(|other| other == name).unwrap();
                let speed =
                    |spec: &evenhand_core::JobSpec, at: usize| spec.speed(ModelIndex(at as u16)).get();
                assert!(
                    (speed(&left, at) / speed(&right, other) - 1.0).abs() < 1e-9 || speed(&left, at) < 1e-9
                );
            }
            (left.speeds, right.speeds) = (None, None);
            (left.models, right.models) = (ModelFilter::ANY, ModelFilter::ANY);
            assert_eq!(left, right);
        }
    }

    #[test]
    fn everything_the_format_carries_comes_back() {
        let text = "job_id,submit_s,gpus,duration_s,tenant,gpus_max,priority,models,speed:p100,speed:k80,steps,memory_gb,\
            slowdown_node,slowdown_rack,slowdown_cluster,save_s,restore_s,checkpoint_s,deadline_s,sharing,profile\n\
            \"#1, odd\",0.25,2,60.125,\"ann, \"\"the\"\" first\",8,-3,v100|p100,0.3,0,1234.5,11.7,1.1,1.2,1.3,2,3,4,500,never,resnet50.b64\n\
            b,7,1,0.001,bob,,,,,2,,0.3,,,,,,,,freely,\nc,8,1,100000000.5,bob,,,,,,,,,,,,,0,,,\n";
        let trace = parsed(text);
        let again = written(&trace);
        expect_same(&trace, &parsed(&again));
        assert_eq!(written(&parsed(&again)), again);
        assert!(again.starts_with("# a remark\njob_id,"), "{again}");
    }

    #[test]
    fn a_plain_trace_stays_plain() {
        let text = "job_id,submit_s,gpus,duration_s,tenant\n1,0,1,60,everybody\n2,1.5,4,7.25,everybody\n";
        assert_eq!(written(&parsed(text)), format!("# a remark\n{text}"));
    }

    #[test]
    fn apps_come_back_with_their_goals_tuners_and_curves() {
        let cluster = ClusterSpec::parse("v100=16,k80=16", Some(4), None).unwrap();
        let workload = Apps { apps: 30, tenants: 7, ..Apps::default() }.generate(&cluster, 4);
        let mut text = Vec::new();
        write_native(&workload, &cluster, &mut text).unwrap();
        let again = parsed(std::str::from_utf8(&text).unwrap()).bind(&cluster).unwrap();
        assert_eq!(workload.apps, again.apps);
        assert_eq!(workload.jobs.len(), again.jobs.len());
        for (job, other) in workload.jobs.iter().zip(&again.jobs) {
            assert_eq!((job.submit, &job.curve), (other.submit, &other.curve));
            let speeds = |job: &crate::SimJob| [0, 1].map(|model| job.truth.speed(ModelIndex(model)).get());
            assert!(speeds(job).iter().zip(speeds(other)).all(|(a, b)| (a - b).abs() < 1e-12));
            let (mut left, mut right) = ((*job.truth).clone(), (*other.truth).clone());
            (left.speeds, right.speeds) = (None, None);
            assert_eq!(left, right);
        }
        let mut second = Vec::new();
        write_native(&again, &cluster, &mut second).unwrap();
        assert!(text == second, "a file that is written again is another");
    }

    #[test]
    fn generated_jobs_come_back() {
        for profile in PROFILES {
            let wanted = Wanted { seed: 1, jobs: Some(300), ..Wanted::default() };
            let plan = Plan::new(profile, wanted).unwrap();
            let trace = plan.trace();
            let mut text = Vec::new();
            trace.write_native(&plan.remarks(), &mut text).unwrap();
            // The format is told by the first kilobytes, so the remarks must leave room for the header.
            let header = String::from_utf8(text.clone()).unwrap().find("\njob_id").unwrap();
            assert!(header < 3500, "{}: {header} bytes of remarks", profile.name);
            let again = parsed(std::str::from_utf8(&text).unwrap());
            assert_eq!(trace.jobs.len(), again.jobs.len());
            for (job, other) in trace.jobs.iter().zip(&again.jobs) {
                assert_eq!((job.submit, job.spec.gpus), (other.submit, other.spec.gpus));
                let (tenant, same) = (job.spec.tenant.index(), other.spec.tenant.index());
                assert_eq!(trace.tenants[tenant], again.tenants[same]);
                assert!((job.duration_s().unwrap() - other.duration_s().unwrap()).abs() < 0.01);
            }
        }
    }
}

//! Traces of Gavel (OSDI 2020) and Shockwave (NSDI 2023): tab-separated, without a header, in three layouts told apart by
//! the number of fields.
//!
//! ```text
//!  7  job_type, command, steps_arg, needs_data_dir, total_steps, arrival_s, gang
//! 10  job_type, command, folder, steps_arg, needs_data_dir, total_steps, gang, weight, SLO, arrival_s
//! 12  job_type, command, folder, steps_arg, needs_data_dir, total_steps, gang, mode, weight, SLO, duration_s, arrival_s
//! ```
//!
//! Speeds come from a table of throughputs. Without one, a job of the last layout takes the duration it names, and the
//! others cannot be used.

use super::reading::Lines;
use super::throughputs::model_and_batch;
use super::{Opening, Sides, Throughputs, Trace, TraceEntry, TraceJob, Warning};
use crate::{Adaptation, InputError, Recipe};
use evenhand_core::{JobId, JobSpec, MODELS_MAX, PerModel, Rate, Ratio, RegimeSpec, TenantId, Time, Work};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "gavel",
    summary: "Gavel and Shockwave: tab-separated, 7, 10 or 12 fields; speeds from --throughputs.",
    recognises,
    read,
};

fn recognises(opening: &Opening<'_>) -> bool {
    let fields: Vec<&str> = opening.first_line().trim_end().split('\t').collect();
    let number = |at: usize| fields[at].trim().parse::<f64>().is_ok();
    layout(fields.len())
        .is_some_and(|layout| [layout.steps, layout.gang, layout.arrival].into_iter().all(number))
}

/// The most epochs of a job whose batch size changes.
const EPOCHS_MAX: u64 = 100_000;

/// Where the fields are.
struct Layout {
    steps: usize,
    gang: usize,
    arrival: usize,
    mode: Option<usize>,
    deadline: Option<usize>,
    duration: Option<usize>,
}

fn layout(fields: usize) -> Option<Layout> {
    let plain = Layout { steps: 4, gang: 6, arrival: 5, mode: None, deadline: None, duration: None };
    match fields {
        7 => Some(plain),
        10 => Some(Layout { steps: 5, arrival: 9, deadline: Some(8), ..plain }),
        12 => Some(Layout {
            steps: 5,
            arrival: 11,
            mode: Some(7),
            deadline: Some(9),
            duration: Some(10),
            ..plain
        }),
        _ => None,
    }
}

fn read(source: &mut dyn BufRead, sides: &Sides) -> Result<Trace, InputError> {
    let mut trace = Trace { tenants: vec!["everybody".into()], ..Trace::default() };
    if let Some(table) = &sides.throughputs {
        trace.models.clone_from(&table.models);
        trace.pairs = Some(table.clone());
    }
    let mut before = Time::ZERO;
    let mut lines = Lines::new(source);
    while lines.advance()? {
        let line = lines.number();
        let Some(text) = lines.text() else {
            trace.warnings.add(Warning::BadRow, line);
            continue;
        };
        if text.trim().is_empty() {
            continue;
        }
        let fields: Vec<&str> = text.trim_end().split('\t').collect();
        let Some(layout) = layout(fields.len()) else {
            trace.warnings.add(Warning::BadRow, line);
            continue;
        };
        match job(line, trace.jobs.len(), &fields, &layout, sides.throughputs.as_deref()) {
            Ok(job) => {
                if job.submit < before {
                    trace.warnings.add(Warning::Unsorted, line);
                }
                before = before.max(job.submit);
                trace.jobs.push(job);
            }
            Err(warning) => trace.warnings.add(warning, line),
        }
    }
    if trace.jobs.is_empty() && sides.throughputs.is_none() {
        let allowed =
            "this trace has steps but no durations: give the table of throughputs with --throughputs";
        return Err(InputError { line: 1, allowed: allowed.into(), ..InputError::default() });
    }
    Ok(trace)
}

fn job(
    line: u64,
    number: usize,
    fields: &[&str],
    layout: &Layout,
    table: Option<&Throughputs>,
) -> Result<TraceJob, Warning> {
    let value = |at: usize| fields[at].trim().parse::<f64>().ok().filter(|value| value.is_finite());
    let count = |at: usize| fields[at].trim().parse::<u64>().ok();
    let arrival =
        value(layout.arrival).filter(|arrival| (0.0..1e12).contains(arrival)).ok_or(Warning::BadRow)?;
    let gang = count(layout.gang).filter(|gang| *gang <= 100_000).ok_or(Warning::BadRow)? as u32;
    let steps = count(layout.steps).filter(|steps| *steps <= 1 << 50).ok_or(Warning::BadRow)?;
    if gang == 0 {
        return Err(Warning::ZeroGpu);
    }
    if steps == 0 {
        return Err(Warning::NoDuration);
    }
    let mut spec = JobSpec::new(JobId(0), TenantId(0), gang, None);
    let mut job_recipe = None;
    if let Some(table) = table {
        let found = recipe(fields[0], gang, steps, adaptation(layout.mode.map(|at| fields[at])), table)?;
        // A walk over epochs must end, whatever number of steps the row claims.
        if found.adaptation != Adaptation::Static && found.epochs() > EPOCHS_MAX {
            return Err(Warning::BadRow);
        }
        describe(&mut spec, &found, fields[0], table);
        job_recipe = Some(Arc::new(found));
    } else {
        let duration = layout.duration.and_then(value).filter(|duration| (0.001..1e12).contains(duration));
        spec.work = Some(Work::from_steps(duration.ok_or(Warning::NoDuration)?));
    }
    let submit = Time::from_seconds(arrival);
    let slack = layout.deadline.and_then(value).filter(|slack| *slack > 0.0);
    spec.deadline = slack.map(|slack| Time::from_seconds(arrival + slack));
    // Nobody announces how a rule of training will change the batch size.
    let announces = job_recipe.is_none();
    // Pairs were measured for jobs of one GPU.
    let profile = (gang == 1).then(|| Arc::from(fields[0]));
    let job = TraceJob::new(line, number.to_string(), submit, spec);
    Ok(TraceJob { recipe: job_recipe, announces, profile, ..job })
}

fn adaptation(mode: Option<&str>) -> Adaptation {
    match mode {
        Some("accordion") => Adaptation::Accordion,
        Some("gns") => Adaptation::Gns,
        _ => Adaptation::Static,
    }
}

fn recipe(
    kind: &str,
    gang: u32,
    steps: u64,
    adaptation: Adaptation,
    table: &Throughputs,
) -> Result<Recipe, Warning> {
    let rates = table.alone(kind, gang).ok_or(Warning::UnknownKind)?;
    if rates.values().all(|rate| rate <= 0.0) {
        return Err(Warning::DoesNotRun);
    }
    let (model, batch) = model_and_batch(kind);
    let mut by_batch = BTreeMap::new();
    for ((other, other_gang), row) in table.kinds() {
        let (other_model, other_batch) = model_and_batch(other);
        if other_model == model && *other_gang == gang && row.0[0] > 0.0 {
            by_batch.insert(other_batch, rates_of(row));
        }
    }
    by_batch.insert(batch, rates_of(&rates));
    let dataset = Recipe::dataset_of(model).unwrap_or_else(|| u64::from(batch.max(1)));
    Ok(Recipe { model: model.to_owned(), batch, adaptation, dataset, steps, gang, rates: by_batch })
}

fn rates_of(row: &PerModel<f64>) -> PerModel<Rate> {
    PerModel(std::array::from_fn::<_, MODELS_MAX, _>(|at| Rate::new(row.0[at]).unwrap_or(Rate::ZERO)))
}

/// Work in samples, speeds in samples per second, regimes where the batch size changes.
fn describe(spec: &mut JobSpec, recipe: &Recipe, kind: &str, table: &Throughputs) {
    let batch = f64::from(recipe.batch.max(1));
    let samples = recipe.steps as f64 * batch;
    spec.work = Some(Work::from_steps(samples));
    let rates = recipe.rates[&recipe.batch];
    spec.speeds = Some(PerModel(rates.0.map(|rate| rate.times(batch))));
    if recipe.gang > 1
        && let Some(slowdown) =
            table.slowdown_spread(kind, recipe.gang).and_then(|slowdown| Ratio::new(slowdown).ok())
    {
        spec.scaling.by_span = Some([Ratio::ONE, Ratio::ONE, slowdown, slowdown]);
    }
    spec.epoch = Some(recipe.epoch());
    spec.modes = recipe.modes();
    if recipe.adaptation == Adaptation::Static {
        return;
    }
    let mut last = recipe.batch;
    for epoch in 0..recipe.epochs() {
        let now = recipe.batch_in(epoch);
        if now != last {
            let speed = recipe.rates[&now].0[0].get() * f64::from(now) / (rates.0[0].get() * batch);
            let from = Work::from_steps((epoch * recipe.dataset) as f64);
            spec.regimes.push(RegimeSpec { from, batch: now, speed: Ratio::new(speed).unwrap_or_default() });
            last = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const TABLE: &str = r#"{"v100":{"('LM (batch size 10)', 1)":{"null":100.0},"('LM (batch size 80)', 1)":{"null":50.0}},
        "k80":{"('LM (batch size 10)', 1)":{"null":20.0}}}"#;

    fn sides() -> Sides {
        Sides { throughputs: Some(Arc::new(Throughputs::read(&mut TABLE.as_bytes()).unwrap())) }
    }

    #[test]
    fn the_three_layouts_are_told_apart() {
        for text in [
            "LM (batch size 10)\tpython\t--steps\t1\t1000\t42.5\t1\n",
            "LM (batch size 10)\tpython\tlm\t--steps\t1\t1000\t1\t1\t-1\t42.5\n",
            "LM (batch size 10)\tpython\tlm\t--steps\t1\t1000\t1\tstatic\t1\t-1.0\t10\t42.5",
        ] {
            let trace = read(&mut text.as_bytes(), "x.trace", &sides()).unwrap();
            assert_eq!((trace.format, trace.jobs.len(), trace.jobs[0].submit), ("gavel", 1, Time(42_500)));
            assert_eq!(trace.jobs[0].spec.work, Some(Work::from_steps(10_000.0)));
        }
    }

    #[test]
    fn batch_sizes_become_regimes() {
        let text = "LM (batch size 10)\tp\tlm\t--steps\t1\t134583\t1\taccordion\t1\t-1\t10\t0\n";
        let trace = read(&mut text.as_bytes(), "x.trace", &sides()).unwrap();
        let regimes = &trace.jobs[0].spec.regimes;
        assert_eq!((regimes.len(), regimes[0].batch), (1, 80));
        assert_eq!(regimes[0].from, Work::from_steps(596_750.0));
        assert!((regimes[0].speed.get() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_used_is_counted() {
        let text = "X\tp\t-\t1\t100\t0\t1\nLM (batch size 10)\tp\t-\t1\t0\t0\t1\nLM (batch size 10)\tp\t-\t1\t5\t0\t0\nrubbish\n\
            LM (batch size 10)\tp\t-\t1\t5\t3\t1\nLM (batch size 10)\tp\t-\t1\t5\t2\t1\n\n";
        let trace = read(&mut text.as_bytes(), "x.trace", &sides()).unwrap();
        let counted =
            [Warning::UnknownKind, Warning::NoDuration, Warning::ZeroGpu, Warning::BadRow, Warning::Unsorted];
        assert_eq!(counted.map(|warning| trace.warnings.count(warning)), [1; 5]);
        assert_eq!(trace.jobs.len(), 2);
        let error = read(&mut text.as_bytes(), "x.trace", &Sides::default()).unwrap_err();
        assert!(error.to_string().contains("--throughputs"), "{error}");
    }
}

//! Philly (Microsoft, 2017), one file per virtual cluster, as PCS (NSDI 2024) uses it:
//! `app_id,submit_time,service,num_jobs,sleep_time,model_name`.
//!
//! `num_jobs` is the number of GPUs. `service` is the duration only of jobs with one GPU: PCS has assigned a model to every
//! job and multiplied the duration by that model's speed-up on so many GPUs. The reader divides by it again. PCS does not
//! write its speed-ups next to the trace; the table below is the ratio of `service` to the duration that the same job
//! (same virtual cluster, second and size) has in the Philly file of Pollux. It agrees to four places in 2,736 of 2,754
//! pairs with 2 to 8 GPUs and in all 134 with more, and with it all 14,030 rows of these sizes come back to whole seconds.

use super::reading::{Draft, Row, columns, milliseconds, read_table};
use super::{Sides, Trace, TraceEntry, Warning, Warnings};
use crate::InputError;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "philly-vc",
    summary: "Philly, one file per virtual cluster, of PCS; durations of several GPUs are scaled back.",
    recognises: |opening| columns(opening, COLUMNS),
    read,
};

const COLUMNS: &[&str] = &["app_id", "submit_time", "service", "num_jobs", "model_name"];

/// Speed-up of each model on 2, 4, 8, 16 and 32 GPUs, as far as the trace has such jobs.
const SPEED_UPS: &[(&str, &[f64])] = &[
    ("ChatbotModel256", &[1.428_888_363, 1.726_072_359]),
    ("DcganModel256", &[1.812_771_564, 3.159_869_586, 4.691_368_498, 5.877_727_528]),
    ("DeepspeechModel64", &[1.490_711_229, 1.740_041_387, 1.825_727_535, 1.959_049_612]),
    ("GooglenetModel128", &[1.854_066_474, 3.267_691_322, 5.602_706_325, 8.178_625_306]),
    ("Inception4Model256", &[1.952_382_291, 3.972_614_922, 7.793_000_458, 13.836_416_803, 22.656_820_865]),
    // The last lies on the line from 16 GPUs through the 10.393_237_334 of 24.
    ("Resnet50Model128", &[1.981_514_817, 3.620_998_769, 5.945_971_558, 9.038_500_322, 11.747_974_346]),
    ("TransformerModel256", &[1.893_044_898, 3.433_743_046, 6.528_840_456, 9.847_542_635, 12.983_122_817]),
    ("VggnetModel256", &[1.820_466_15, 3.477_095_502, 6.614_182_953]),
    ("VideopredictionModel64", &[1.797_275_982, 2.956_749_672, 3.811_314_994, 4.507_763_788]),
];

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    read_table(source, ',', COLUMNS, job)
}

fn job<'r>(row: &'r Row<'_>, warnings: &mut Warnings) -> Result<Draft<'r>, Warning> {
    let submit = row.number("submit_time")?.ok_or(Warning::MissingTime)?;
    let service = row.number("service")?.ok_or(Warning::MissingTime)?;
    let gpus = row.needed("num_jobs")?;
    let mut seconds = service;
    if gpus > 1.0 {
        // Durations were whole seconds before they were scaled.
        seconds = (service / speed_up(row.named("model_name")?, gpus).ok_or(Warning::UnknownKind)?).round();
        warnings.add(Warning::Rescaled, row.line);
    }
    Ok(Draft::new(row.named("app_id")?, milliseconds(submit), gpus, seconds))
}

/// Between two sizes on the line between them; beyond the last the speed-up of the last.
fn speed_up(model: &str, gpus: f64) -> Option<f64> {
    let (_, row) = SPEED_UPS.iter().find(|(name, _)| *name == model)?;
    let (mut size, mut known) = (1.0, 1.0);
    for next in *row {
        if gpus <= size * 2.0 {
            return Some(known + (next - known) * (gpus - size) / size);
        }
        (size, known) = (size * 2.0, *next);
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::Work;

    #[test]
    fn several_gpus_are_scaled_back_to_the_duration_in_the_log() {
        let text = "app_id,submit_time,service,num_jobs,sleep_time,model_name\n0,0.0,16482.0,1,0.0,TransformerModel256\n\
            1,6.0,6232328.592277604,4,6.0,VggnetModel256\n2,6.0,100,2,0,NobodyModel\n";
        let trace = read(&mut text.as_bytes(), "trace_0e4a51.csv", &Sides::default()).unwrap();
        let works: Vec<_> = trace.jobs.iter().map(|job| job.spec.work).collect();
        assert_eq!(works, [Some(Work::from_steps(16_482.0)), Some(Work::from_steps(1_792_395.0))]);
        assert_eq!(trace.jobs[1].spec.gpus.min.0, 4);
        assert_eq!(
            (trace.warnings.count(Warning::Rescaled), trace.warnings.count(Warning::UnknownKind)),
            (1, 1)
        );
    }

    #[test]
    fn sizes_in_between_lie_on_the_line() {
        assert!((speed_up("Resnet50Model128", 24.0).unwrap() - 10.393_237_334).abs() < 1e-9);
        assert!((speed_up("VggnetModel256", 64.0).unwrap() - 6.614_182_953).abs() < 1e-9);
        assert!((speed_up("VggnetModel256", 2.0).unwrap() - 1.820_466_15).abs() < 1e-9);
    }
}

//! The tables of one run: how its jobs ended, and what its tenants got.

use super::curves;
use super::parts::{Field, table};
use super::tenant_colours::TenantColours;
use super::text::{amount, count, duration};
use crate::Report;

/// Tenants that have a row; the rest are counted.
const ROWS_MAX: usize = 40;

/// How to read the curves of what tenants held.
pub const SHARES_READING: &str = r#"<p class="soft">Filled: GPUs a tenant held. Dashed: its fair share at that moment, by weight among the tenants with active jobs and never more than they can use.</p>"#;

/// How the jobs of a run ended.
pub fn outcomes(report: &Report) -> String {
    let readings = report.readings();
    let words = [
        ("finished", "did all their work"),
        ("failed", "crashed too often, or could never be launched"),
        ("cancelled", "were taken back by their submitter"),
        ("retired", "were stopped by their tuner"),
        ("unended", "had not ended when the ledger did"),
    ];
    let row = |(name, meaning): (&str, &str)| {
        let found = readings.iter().find(|reading| reading.name == name).map_or(0.0, |reading| reading.value);
        vec![Field::new(format!("{name}: {meaning}")), Field::new(count(found as u64))]
    };
    table("narrow", &["outcome", "jobs"], &words.map(row))
}

/// What each tenant of a run got, as curves and as a table.
pub fn tenants(report: &Report, colours: &TenantColours) -> String {
    let curves = curves::shares(report, colours);
    format!(r#"{SHARES_READING}{curves}<div class="gap">{}</div>"#, tenant_table(report))
}

/// The table alone.
pub fn tenant_table(report: &Report) -> String {
    let mut all = report.tenants();
    let hidden = all.len().saturating_sub(ROWS_MAX);
    if hidden > 0 {
        all.sort_by(|a, b| b.gpu_hours.total_cmp(&a.gpu_hours).then_with(|| a.name.cmp(&b.name)));
        all.truncate(ROWS_MAX);
    }
    let rows: Vec<Vec<Field>> = all
        .iter()
        .map(|row| {
            let texts = [
                row.name.clone(),
                count(row.jobs),
                amount(row.gpu_hours),
                amount(row.owed_gpu_hours),
                amount(row.gpu_hours / row.owed_gpu_hours),
                duration(row.jct_mean_s),
                amount(row.ftf_fluid_worst),
            ];
            texts.map(Field::new).into()
        })
        .collect();
    let head = [
        "tenant",
        "jobs",
        "GPU-h received",
        "GPU-h owed",
        "received / owed",
        "mean completion",
        "worst ratio, fluid",
    ];
    let more = if hidden > 0 {
        format!(r#"<p class="soft">and {} smaller tenants</p>"#, count(hidden as u64))
    } else {
        String::new()
    };
    format!("{}{more}", table("", &head, &rows))
}

//! The table of reported against measured speeds.

use super::parts::{Field, table};
use super::text::{amount, count, percent};
use crate::{Report, SpeedRow};

/// Rows that are shown; the rest are counted.
const ROWS_MAX: usize = 40;

/// What was reported of speeds and what was measured; nothing where there is nothing to compare.
pub fn speeds(report: &Report) -> String {
    let check = report.speeds();
    let models = report.speed_book.cluster.models.len();
    if check.rows.is_empty() || (models < 2 && check.flagged == 0) {
        return String::new();
    }
    let shown: Vec<&SpeedRow> = by_importance(&check.rows);
    let rows: Vec<Vec<Field>> = shown.iter().map(|row| fields(row)).collect();
    let head = [
        "tenant",
        "GPUs",
        "GPU model",
        "speedup reported",
        "measured",
        "reported / measured",
        "spread",
        "samples",
        "",
    ];
    let hidden = check.rows.len() - shown.len();
    let more = if hidden > 0 {
        format!(r#"<p class="soft">and {} rows with fewer samples</p>"#, count(hidden as u64))
    } else {
        String::new()
    };
    let believed = report.predictor();
    format!(
        r#"<h2>Reported against measured</h2><p class="soft">Speedups over the GPU model that is named last in the row, for jobs that a tenant declared alike. Measured: the trimmed mean of what their progress showed. Refuted: off by more than a factor of 1.2 in at least 30 samples. This run believed speeds as {believed}.</p>{}{more}"#,
        table("", &head, &rows),
    )
}

/// Refuted reports first; in the order of the rows, unless there are too many.
fn by_importance(rows: &[SpeedRow]) -> Vec<&SpeedRow> {
    let mut all: Vec<&SpeedRow> = rows.iter().collect();
    if all.len() > ROWS_MAX {
        all.sort_by_key(|row| (!row.flagged, std::cmp::Reverse(row.samples)));
        all.truncate(ROWS_MAX);
    }
    all
}

fn fields(row: &SpeedRow) -> Vec<Field> {
    let verdict = match (row.flagged, row.samples) {
        (true, _) => format!("refuted, over {}", row.reference),
        (false, 0) => format!("not measured, over {}", row.reference),
        (false, _) => format!("over {}", row.reference),
    };
    let texts = [
        row.tenant.clone(),
        count(row.gpus.into()),
        row.model.clone(),
        amount(row.reported_speedup),
        amount(row.measured_speedup),
        amount(row.ratio),
        percent(row.spread),
        count(row.samples),
    ];
    let plain = texts.map(Field::new).into_iter();
    plain.chain([Field::warning(verdict, row.flagged)]).collect()
}

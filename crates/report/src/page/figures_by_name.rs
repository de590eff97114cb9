//! Every picture of one run by itself, for pages that show some of them.

use super::tenant_colours::TenantColours;
use super::{
    audit, completion_of_one, curves, envy, fairness_of_one, figures, gantt_plot, round_plots, tables,
};
use crate::{Report, Summary};

/// A picture and whom it is about.
#[derive(Clone, Copy)]
pub struct FigureEntry {
    /// Its fixed name.
    pub name: &'static str,
    /// Whether it tells of tenants or jobs one by one; others tell of all together.
    pub names_somebody: bool,
    /// Whether it needs the audit of the run, which costs linear programs.
    pub needs_summary: bool,
    /// Markup without style or script.
    pub draw: fn(&Report, Option<&Summary>) -> String,
}

impl std::fmt::Debug for FigureEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Every picture.
#[rustfmt::skip]
pub const FIGURES: &[FigureEntry] = &[
    FigureEntry { name: "use", names_somebody: false, needs_summary: false, draw: |report, _| curves::leased(report) },
    FigureEntry { name: "queue", names_somebody: false, needs_summary: false, draw: |report, _| curves::waiting(report) },
    FigureEntry { name: "prices", names_somebody: false, needs_summary: false, draw: |report, _| round_plots::prices(report) },
    FigureEntry { name: "properties", names_somebody: false, needs_summary: false, draw: |report, _| round_plots::properties(report) },
    FigureEntry { name: "completion", names_somebody: false, needs_summary: false, draw: |report, _| completion_of_one(report) },
    FigureEntry { name: "finish-time-fairness", names_somebody: false, needs_summary: false, draw: |report, _| fairness_of_one(report) },
    FigureEntry { name: "leases", names_somebody: true, needs_summary: false, draw: |report, _| gantt_plot::gantt(report, &TenantColours::new(report)) },
    FigureEntry { name: "shares", names_somebody: true, needs_summary: false, draw: |report, _| curves::shares(report, &TenantColours::new(report)) },
    FigureEntry { name: "tenants", names_somebody: true, needs_summary: false, draw: |report, _| tables::tenant_table(report) },
    FigureEntry { name: "cards", names_somebody: true, needs_summary: true, draw: |_, summary| summary.map(figures::cards).unwrap_or_default() },
    FigureEntry { name: "envy", names_somebody: true, needs_summary: true, draw: |_, summary| envy::matrix(summary.and_then(|summary| summary.audit.as_ref())) },
    FigureEntry { name: "audit", names_somebody: true, needs_summary: true, draw: |report, summary| audit::audit(summary.and_then(|summary| summary.audit.as_ref()), &TenantColours::new(report)) },
];

/// What one tenant received against what it was owed; nothing if nobody is called so.
pub fn own_shares(report: &Report, tenant: &str) -> Option<String> {
    let rows = report.book.standings.rows();
    let at = rows.iter().position(|row| row.name == tenant && row.jobs > 0)?;
    Some(curves::shares_of(report, &TenantColours::new(report), &[at]))
}

/// The class of each tenant's colour, by name.
pub fn tenant_colours(report: &Report) -> Vec<(String, String)> {
    let colours = TenantColours::new(report);
    let rows = report.book.standings.rows().iter().enumerate();
    rows.map(|(at, row)| (row.name.clone(), colours.class(at))).collect()
}

//! The picture of who held which GPU when.

use super::curves::time_axis;
use super::parts::figure;
use super::sheet::Sheet;
use super::tenant_colours::TenantColours;
use super::text::{count, duration};
use crate::gantt::Bar;
use crate::report::Report;
use evenhand_core::{GpuMask, NodeId, Span};

/// More GPUs than this would be hairlines, so nodes are drawn instead.
const GPUS_MAX: u64 = 160;

/// Bars if they are few enough to be seen, a heat map otherwise.
pub fn gantt(report: &Report, colours: &TenantColours) -> String {
    let gpus =
        (0..report.book.machines.len()).map(|at| u64::from(report.book.machines.gpus(node(at)))).sum::<u64>();
    match report.gantt.bars(&report.book) {
        Some(bars) if gpus <= GPUS_MAX => exact(report, colours, &bars),
        _ => heat(report, colours),
    }
}

fn node(at: usize) -> NodeId {
    NodeId(at as u32)
}

/// The sheet of a whole run.
fn sheet(report: &Report, height: f64) -> Sheet {
    let opening = report.book.opening.unwrap_or_default();
    let length_s = report.book.now.since(opening).seconds();
    Sheet::new(time_axis(report, length_s, 10), height)
}

fn exact(report: &Report, colours: &TenantColours, bars: &[Bar]) -> String {
    let machines = &report.book.machines;
    let total: usize = (0..machines.len()).map(|at| usize::from(machines.gpus(node(at)))).sum();
    let each = (420.0 / total.max(1) as f64).clamp(3.0, 18.0);
    let mut tops = Vec::new();
    let mut height = 0.0;
    for at in 0..machines.len() {
        tops.push(height);
        height += f64::from(machines.gpus(node(at))) * each + 4.0;
    }
    let mut sheet = sheet(report, height);
    let names_every = (16.0 / (height / machines.len().max(1) as f64)).ceil().max(1.0) as usize;
    for (at, top) in tops.iter().enumerate() {
        let name = format!("node {at} {}", machines.model_name(node(at)));
        let named = at.is_multiple_of(names_every).then_some(name.trim_end());
        sheet.row(*top, f64::from(machines.gpus(node(at))) * each, named);
    }
    let opening = report.book.opening.unwrap_or_default();
    for bar in bars {
        let (from, to) = (bar.from.since(opening), bar.to.since(opening));
        let look = format!(r#"class="bar {}""#, colours.class(bar.tenant));
        let title = bar_title(report, bar, from, to);
        for (first, count) in runs(bar.gpus) {
            let top = tops.get(bar.node.index()).copied().unwrap_or(0.0) + f64::from(first) * each;
            sheet.block((from.seconds(), to.seconds()), (top, f64::from(count) * each), &look, &title);
        }
    }
    let title = "Who held which GPU when";
    let reading = "A row per GPU, grouped by node; a bar is a lease, its colour the tenant. Empty stretches are idle GPUs. \
                   Point at a bar to see its job.";
    figure(title, reading, &(sheet.draw(title) + &colours.legend(report)))
}

fn bar_title(report: &Report, bar: &Bar, from: Span, to: Span) -> String {
    let tenant = report.book.standings.rows().get(bar.tenant).map_or("", |row| row.name.as_str());
    let (from, to) = (duration(from.seconds()), duration(to.seconds()));
    format!("job {} of {tenant}: {} GPUs of {}, from {from} to {to}", bar.job, bar.gpus.count(), bar.node)
}

/// Neighbouring GPUs of a mask as (first, how many).
fn runs(gpus: GpuMask) -> Vec<(u8, u8)> {
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for ordinal in gpus.ordinals() {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == ordinal => *count += 1,
            _ => runs.push((ordinal, 1)),
        }
    }
    runs
}

fn heat(report: &Report, colours: &TenantColours) -> String {
    let (map, machines) = (report.gantt.heat(&report.book), &report.book.machines);
    let per_row = map.nodes_per_row();
    let rows = machines.len().div_ceil(per_row).max(map.rows().len());
    let each = (420.0 / rows.max(1) as f64).clamp(8.0, 24.0);
    let (opening, height) = (report.book.opening.unwrap_or_default(), each * rows as f64);
    let length_s = report.book.now.since(opening).seconds();
    let mut sheet = Sheet::with_long_names(time_axis(report, length_s, 10), height);
    let names_every = (16.0 / each).ceil() as usize;
    for at in 0..rows {
        let (first, last) = (at * per_row, ((at + 1) * per_row).min(machines.len()).max(1) - 1);
        let name = if per_row == 1 { format!("node {first}") } else { format!("nodes {first}–{last}") };
        let top = at as f64 * each;
        sheet.row(top, each - 1.0, at.is_multiple_of(names_every).then_some(name.as_str()));
        let gpus: f64 = (first..=last).map(|at| f64::from(machines.gpus(node(at)))).sum();
        let whole = gpus * map.width().0 as f64;
        for (bucket, cell) in
            map.rows().get(at).into_iter().flatten().enumerate().filter(|(_, cell)| cell.leased > 0.0)
        {
            let from_s = bucket as f64 * map.width().seconds();
            let full = (cell.leased / whole).min(1.0);
            let look =
                format!(r#"class="heat {}" opacity="{:.2}""#, colours.class(cell.tenant), 0.12 + 0.88 * full);
            let tenant = report.book.standings.rows().get(cell.tenant).map_or("", |row| row.name.as_str());
            let title = format!(
                "{name}, from {}: {:.0} % leased, mostly to {tenant}",
                duration(from_s),
                full * 100.0
            );
            sheet.block((from_s, from_s + map.width().seconds()), (top, each - 1.0), &look, &title);
        }
    }
    let title = "Who held which nodes when";
    let reading = format!(
        "Too many leases to draw one by one: each cell is {} over {}. Its colour is the tenant that held most of it, its \
         strength how much of it was leased.",
        if per_row == 1 { "one node".into() } else { format!("{} nodes", count(per_row as u64)) },
        duration(map.width().seconds()),
    );
    figure(title, &reading, &(sheet.draw(title) + &colours.legend(report)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_gpus_are_one_block() {
        assert_eq!(runs(GpuMask(0b1101_1011)), [(0, 2), (3, 2), (6, 2)]);
        assert_eq!(runs(GpuMask(0)), []);
    }
}

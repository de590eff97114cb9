//! Writes sample pages of made-up runs into a folder, to look at: `cargo run -p evenhand-report --example sample /tmp`.

#[expect(dead_code, reason = "the stories with known answers are for the tests")]
#[path = "../tests/story/mod.rs"]
mod story;

use evenhand_report::{Costs, Report, Summary, html};
use story::{Order, Queue, header, report};

fn page(folder: &str, name: &str, runs: &[(&Report, &Summary)]) {
    let path = format!("{folder}/{name}.html");
    std::fs::write(&path, html(&format!("Evenhand: {name}"), runs)).expect("the folder can be written to");
}

fn main() {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let names = ["vision", "speech", "<script>alert(1)</script>", "language", "robotics"];
    let costs = Costs { decide_ms_p50: 0.42, decide_ms_p99: 3.1, ..Costs::default() };
    let small = report(&Queue::run(4, &names, 4, 260, 600.0, Order::First));
    page(&folder, "small", &[(&small, &small.summary(&costs))]);
    let many: Vec<String> = (0..24).map(|at| format!("group-{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let large = report(&Queue::run(5, &many, 120, 20_000, 18.0, Order::Shortest));
    page(&folder, "large", &[(&large, &large.summary(&costs))]);
    let orders = [
        ("fifo", Order::First),
        ("srtf", Order::Shortest),
        ("largest-first", Order::Largest),
        ("promise", Order::Shortest),
    ];
    let runs: Vec<(Report, Summary)> = (0..12_u64)
        .map(|at| {
            let (policy, order) = orders[at as usize % 4];
            let mut run =
                Report::new(&header(&format!("{policy}{}", ["", "-plus", "-perf"][at as usize / 4])));
            for record in Queue::run(8 + at / 2, &names, 4, 400, 400.0, order) {
                run.take(&record);
            }
            let summary = run.summary(&costs);
            (run, summary)
        })
        .collect();
    let pairs: Vec<(&Report, &Summary)> = runs.iter().map(|(run, summary)| (run, summary)).collect();
    page(&folder, "compare", &pairs);
}

use evenhand_sim::traces::synthetic::Synthetic;
use evenhand_sim::*;
use std::sync::Arc;
fn main() {
    let policy = std::env::args().nth(1).unwrap();
    let cluster = ClusterSpec::parse("v100=1000", None, Some(16)).unwrap();
    let workload = Arc::new(Synthetic { jobs: 100_000, ..Synthetic::default() }.generate(&cluster));
    let setup = Setup { policy: evenhand_core::Choice::named(&policy), ..Setup::default() };
    let file: Box<dyn std::io::Write + Send> = Box::new(std::io::BufWriter::with_capacity(1<<18, std::fs::File::create("/tmp/ledger.jsonl").unwrap()));
    let done = simulate(&cluster, &workload, &setup, Run { ledger: Some(file), ledger_path: None, progress: &|_| {} }).unwrap();
    println!("{policy}: {:.2} cpu s, {:.0} jobs/s, rss {:.0} MB, decide p50 {:.4} p99 {:.4}", done.costs.cpu_s, 1e5 / done.costs.cpu_s, done.costs.peak_rss_mb, done.costs.decide_ms_p50, done.costs.decide_ms_p99);
}

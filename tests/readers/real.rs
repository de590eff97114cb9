//! The real files, where they are at hand: each is read, or refused for the right reason, and none is forgotten.

use crate::{folder, sides};
use evenhand_sim::traces::{Opening, Sides, TRACES, cluster_from_openb_nodes, open_file, open_trace};
use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// What must become of the files of one pattern.
enum Fate {
    /// Read, with so many jobs in all and so many rows skipped.
    Read { format: &'static str, jobs: usize, skipped: u64 },
    /// Refused with a message that has this in it.
    Refused(&'static str),
}
use Fate::Refused;

const fn read(format: &'static str, jobs: usize, skipped: u64) -> Fate {
    Fate::Read { format, jobs, skipped }
}

/// The first pattern that fits counts.
const FATES: &[(&str, Fate)] = &[
    ("open/*/LICEN*", Refused("no trace of a known format")),
    ("*README*", Refused("no trace of a known format")),
    ("format_samples/acme_trace_*.csv", read("acme", 4, 0)),
    ("format_samples/helios_cluster_log.csv", read("helios", 3, 0)),
    ("format_samples/pai_task_table.csv", read("pai", 1, 0)),
    ("format_samples/pai_job_table.csv", Refused("job table of PAI")),
    ("format_samples/pai_instance_table.csv", Refused("instance table of PAI")),
    ("format_samples/pai_group_tag_table.csv", Refused("group or machine table of PAI")),
    ("format_samples/philly_cluster_job_log.json", read("philly-json", 2, 1)),
    ("format_samples/philly_cluster_gpu_util.csv", Refused("about machines")),
    ("format_samples/philly_cluster_machine_list.csv", Refused("about machines")),
    ("open/acme/cluster_summary.csv", Refused("summary of clusters")),
    ("open/acme/converted_kalos_trace.csv", Refused("invented step times")),
    ("open/alibaba_lingjun_2023/topo.csv.gz", Refused("topology")),
    ("open/alibaba_openb_v2023/openb_node_list_*.csv.gz", Refused("list of nodes")),
    ("open/alibaba_openb_v2023/openb_pod_list_cpu250.csv.gz", read("openb", 6203, 2356 + 861)),
    ("open/alibaba_openb_v2023/openb_pod_list_default.csv.gz", read("openb", 6203, 1088 + 861)),
    ("open/alibaba_openb_v2023/openb_pod_list_gpushare100.csv.gz", read("openb", 5891, 1088 + 1173)),
    ("open/alibaba_openb_v2023/openb_pod_list_gpuspec33.csv.gz", read("openb", 6203, 1088 + 861)),
    ("open/alibaba_openb_v2023/openb_pod_list_multigpu50.csv.gz", Refused("no times")),
    ("open/alibaba_pai_v2020/derived_alibaba_trace_sub.csv.gz", read("generic", 60_105, 0)),
    ("open/alibaba_pai_v2020/*.header", Refused("without the table")),
    ("open/alibaba_pai_v2020/pai_machine_spec.tar.gz", Refused("tar archive")),
    ("open/chronus/trace_job_Philly_MIX2.csv.gz", read("chronus", 30_940 - 194, 194)),
    ("open/chronus/trace_job_Philly_SLO.csv.gz", read("chronus", 30_940 - 205, 205)),
    ("open/chronus/model_info.json", Refused("JSON object")),
    ("open/elasticflow_artifact/throughputs_*.csv", Refused("throughputs by batch size")),
    ("open/elasticflow*/*.csv*", read("elasticflow", 69_351, 0)),
    ("open/gavel/*_throughputs.json.gz", Refused("--throughputs")),
    ("open/gavel/traces/msr/cluster_specs*.json", Refused("JSON object")),
    // 15,264 jobs, of which the table of throughputs knows 13,716.
    ("open/gavel/traces/msr/seed0/*.trace.gz", read("gavel", 13_716, 1548)),
    ("open/gavel/traces/physical_cluster/*.trace", read("gavel", 287, 0)),
    ("open/helios/Earth_gpu_number.csv", Refused("virtual clusters")),
    ("open/helios/Earth_*_cluster_sequence_vc.csv.gz", Refused("series over time")),
    ("open/helios/derived_venus_gpu_jobs.csv.gz", read("generic", 125_303, 0)),
    ("open/helios/philly_node_sequence.csv.gz", Refused("series over time")),
    ("open/helios/philly_vc.csv", Refused("virtual clusters")),
    ("open/muri/cluster_trace.csv.gz", read("muri", 400, 0)),
    ("open/muri/trace1.csv.gz", read("muri", 1494, 0)),
    ("open/muri/trace2.csv.gz", read("muri", 5755, 0)),
    ("open/muri/trace3.csv.gz", read("muri", 992, 0)),
    ("open/muri/trace4.csv.gz", read("muri", 2638, 0)),
    ("open/philly_pcs/trace_*.csv.gz", read("philly-vc", 109_532, 0)),
    ("open/philly_pollux/philly.csv.gz", read("philly-csv", 82_247, 0)),
    ("open/pollux/traces/*.csv", Refused("application of Pollux")),
    ("open/pollux/workloads*/workload-*.csv", read("pollux", 16 * 160, 0)),
    ("open/shockwave/*_throughputs.json.gz", Refused("--throughputs")),
    ("open/shockwave/reference_runs/*.csv.gz", Refused("result of a run")),
    ("open/shockwave/traces/canonical_120jobs_32gpus.trace.gz", read("gavel", 120, 0)),
    ("open/tiresias/60_job.csv", read("tiresias", 60, 0)),
    ("open/tiresias/yarn-gput*.csv", Refused("samples of GPU-time")),
    ("open/tiresias/*.csv", Refused("shape of a cluster")),
];

/// Whether a path fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, rest)) => {
            let Some(after) = path.strip_prefix(start) else { return false };
            (0..=after.len()).any(|at| after.is_char_boundary(at) && fits(rest, &after[at..]))
        }
    }
}

/// The folder of real traces; says so if it is not there.
#[expect(clippy::print_stderr, reason = "what is skipped is said out loud")]
fn real() -> Option<PathBuf> {
    let found = folder("../shared/traces");
    if !found.join("open").is_dir() {
        eprintln!("skipped: the real traces are not at {}", found.display());
        return None;
    }
    Some(found)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
    found.sort();
}

/// The formats that take a file for theirs.
fn recognised(path: &Path) -> Vec<&'static str> {
    let mut source = open_file(path).unwrap();
    let bytes = source.fill_buf().unwrap();
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let opening = Opening { name: "", start: &start };
    TRACES.iter().filter(|entry| (entry.recognises)(&opening)).map(|entry| entry.name).collect()
}

#[test]
fn every_real_file_is_read_or_refused_for_its_reason() {
    let Some(root) = real() else { return };
    let mut paths = Vec::new();
    files(&root.join("open"), &mut paths);
    files(&root.join("format_samples"), &mut paths);
    let gavel = sides(&root.join("open/gavel/simulation_throughputs.json.gz"));
    let pollux = sides(&root.join("open/pollux/traces"));
    let mut counted = vec![(0, 0, 0); FATES.len()];
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let at = FATES.iter().position(|(pattern, _)| fits(pattern, &name));
        let at = at.unwrap_or_else(|| panic!("{name} is in no list"));
        assert!(recognised(&path).len() < 2, "{name} is recognised as {:?}", recognised(&path));
        let sides = match &FATES[at].1 {
            Fate::Read { format: "gavel", .. } => gavel.clone(),
            Fate::Read { format: "pollux", .. } => pollux.clone(),
            _ => Sides::default(),
        };
        match (&FATES[at].1, open_trace(&path, &sides)) {
            (Fate::Read { format, .. }, Ok(trace)) => {
                assert_eq!(trace.format, *format, "{name}");
                let (files, jobs, skipped) = &mut counted[at];
                *files += 1;
                *jobs += trace.jobs.len();
                *skipped += trace.warnings.skipped();
                report(&name, &trace);
            }
            (Refused(reason), Err(error)) => {
                assert!(error.to_string().contains(reason), "{name}: {error}");
            }
            (Fate::Read { .. }, Err(error)) => panic!("{name} was refused: {error}"),
            (Refused(_), Ok(trace)) => panic!("{name} was read as {}", trace.format),
        }
    }
    for ((pattern, fate), (files, jobs, skipped)) in FATES.iter().zip(counted) {
        if let Fate::Read { jobs: expected, skipped: expected_skipped, .. } = fate
            && files > 0
        {
            assert_eq!((jobs, skipped), (*expected, *expected_skipped), "{pattern}: {files} files");
        }
    }
}

/// With EVENHAND_PRINT_SAMPLES: what was found in a file.
#[expect(clippy::print_stderr, reason = "for whoever looks at a new file")]
fn report(name: &str, trace: &evenhand_sim::traces::Trace) {
    if std::env::var_os("EVENHAND_PRINT_SAMPLES").is_some() {
        let warnings: Vec<_> =
            trace.warnings.iter().map(|(warning, count, _)| format!("{warning:?} {count}")).collect();
        let last = trace.jobs.iter().map(|job| job.submit).max().unwrap_or_default();
        let hours: f64 = trace
            .jobs
            .iter()
            .map(|job| {
                job.spec.work.map_or(0.0, |work| work.steps() * f64::from(job.spec.gpus.min.0) / 3600.0)
            })
            .sum();
        eprintln!(
            "{name}: {} {} jobs, {} tenants, models {:?}, over {:.1} days, {hours:.0} GPU-hours, anchor {:?}; {}",
            trace.format,
            trace.jobs.len(),
            trace.tenants.len(),
            trace.models,
            last.seconds() / 86_400.0,
            trace.anchor,
            warnings.join(", ")
        );
    }
}

#[test]
fn the_nodes_of_openb_are_a_cluster() {
    let Some(root) = real() else { return };
    for name in ["openb_node_list_all_node.csv.gz", "openb_node_list_gpu_node.csv.gz"] {
        let mut source = open_file(&root.join("open/alibaba_openb_v2023").join(name)).unwrap();
        let cluster = cluster_from_openb_nodes(&mut source, Some(16)).unwrap();
        assert_eq!((cluster.nodes.len(), cluster.gpus()), (1213, 6212), "{name}");
        let mut sizes: Vec<_> = cluster
            .models
            .iter()
            .map(|model| (model.name.as_str(), cluster.gpus_of(cluster.model_index(&model.name).unwrap())))
            .collect();
        sizes.sort_unstable();
        let expected = [
            ("A10", 2),
            ("G2", 4392),
            ("G3", 312),
            ("P100", 265),
            ("T4", 842),
            ("V100M16", 195),
            ("V100M32", 204),
        ];
        assert_eq!(sizes, expected, "{name}");
    }
}

#[test]
fn patterns_fit_what_they_should() {
    assert!(fits("open/*/LICEN*", "open/muri/LICENSE.Apache-2.0") && fits("a*c", "abbc"));
    assert!(!fits("open/*.csv", "open/x.csv.gz") && !fits("a", "ab"));
}

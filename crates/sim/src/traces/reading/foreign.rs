//! Files that come with traces, or are taken for them, and are none: each is refused with what it is.

use super::{columns, known, split};
use crate::traces::Opening;

/// How such a file begins, and what to say to whoever gives it as a trace.
type Foreign = (fn(&Opening<'_>) -> bool, &'static str);

/// What a file is if it is no trace of jobs.
pub(crate) fn refusal(opening: &Opening<'_>) -> Option<&'static str> {
    let all = PACKED.iter().chain(TABLES).chain(WITHOUT_HEADER);
    all.clone().find(|(begins, _)| begins(opening)).map(|(_, reason)| *reason)
}

const PACKED: &[Foreign] = &[
    (is_tar, "this is a tar archive: unpack it (tar xf) and give the file in it"),
    (is_packed, "this is an archive: unpack it, or pack the file with gzip"),
    (
        |opening| opening.start.starts_with("version https://git-lfs"),
        "this is a pointer of Git LFS, not the file: fetch it with `git lfs pull`",
    ),
    (|opening| opening.start.trim_start().starts_with('<'), "this is a web page: download the file itself"),
    (
        |opening| opening.start.trim_start().starts_with('{') && opening.start.contains("\"null\""),
        "this is a table of throughputs: give it by --throughputs, beside the trace",
    ),
    (
        |opening| opening.start.trim_start().starts_with('{'),
        "this is a JSON object: the job log of Philly is a JSON list, and no other trace is JSON",
    ),
];

const TABLES: &[Foreign] = &[
    (
        |opening| opening.name.ends_with(".header"),
        "this is the header of a table, without the table: give the table itself, pai_task_table.csv",
    ),
    (
        |opening| columns(opening, &["sn", "gpu", "model"]),
        "this is a list of nodes: give it by --cluster; the jobs are in the list of pods",
    ),
    (
        |opening| {
            columns(opening, &["name", "num_gpu", "gpu_milli"]) && !columns(opening, &["creation_time"])
        },
        "this list of pods has no times, so it cannot be run: take one with creation_time and deletion_time",
    ),
    (
        |opening| columns(opening, &["machine", "cap_gpu"]) || columns(opening, &["machineId"]),
        "this is about machines: it has no jobs",
    ),
    (|opening| columns(opening, &["ip", "PSW", "ASW"]), "this is the topology of a network: it has no jobs"),
    (
        |opening| columns(opening, &["num_switch", "num_gpu_p_node"]),
        "this is the shape of a cluster: it has no jobs; the jobs of Tiresias are in 60_job.csv",
    ),
    (
        |opening| opening.first_line().trim() == "duration",
        "these are samples of GPU-time, one in a line: they have no submissions and no sizes",
    ),
    (
        |opening| columns(opening, &["id", "job_num", "gpu_job_num"]),
        "this is a summary of clusters: it has no jobs",
    ),
    (
        |opening| {
            columns(opening, &["time", "total_job_num"]) || columns(opening, &["time", "active", "total"])
        },
        "this is a series over time of a whole cluster: it has no jobs",
    ),
    (
        |opening| columns(opening, &["date", "total"]) || columns(opening, &["vc", "node num"]),
        "these are the sizes of virtual clusters: it has no jobs",
    ),
    (
        |opening| columns(opening, &["global_batch_size"]),
        "this is a table of throughputs by batch size and GPUs: it has no jobs",
    ),
    (
        |opening| {
            columns(opening, &["local_bsz", "step_time"])
                || columns(opening, &["progress", "iteration", "metric"])
        },
        "this describes an application of Pollux: give its parent folder by --throughputs, beside a workload",
    ),
    (
        |opening| columns(opening, &["iteration_computing_time", "gpu_workers"]),
        "this is a conversion of the Kalos trace with invented step times: take trace_kalos.csv of Acme",
    ),
    (
        |opening| columns(opening, &["job", "jct_s"]) || columns(opening, &["round", "job", "gpus"]),
        "this is the result of a run: it has no submissions",
    ),
    (
        |opening| {
            columns(opening, &["job_name", "inst_id"])
                || columns(opening, &["worker_name"])
                || columns(opening, &["inst_id", "group"])
        },
        "this table of PAI has no sizes of jobs: give pai_task_table.csv",
    ),
];

/// PAI's tables have no header: the fields themselves must tell.
const WITHOUT_HEADER: &[Foreign] = &[
    (
        |opening| status_at(opening, 6, 3),
        "this is the job table of PAI, which has no sizes of jobs: give pai_task_table.csv",
    ),
    (
        |opening| status_at(opening, 9, 5),
        "this is the instance table of PAI, which has no sizes of jobs: give pai_task_table.csv",
    ),
    (
        |opening| {
            let fields = split(opening.first_line(), ',');
            fields.len() == 5
                && fields[0].len() >= 40
                && fields[0].bytes().all(|byte| byte.is_ascii_hexdigit())
        },
        "this is the group or machine table of PAI, which has no jobs: give pai_task_table.csv",
    ),
];

fn is_tar(opening: &Opening<'_>) -> bool {
    let named = [".tar", ".tgz", ".tbz"].iter().any(|ending| opening.name.ends_with(ending));
    named || opening.start.as_bytes().get(257..262).is_some_and(|magic| magic == b"ustar")
}

fn is_packed(opening: &Opening<'_>) -> bool {
    // zip, bzip2, 7z, xz and zstd; a byte that is no text has become a replacement character.
    let begins = ["PK\u{3}\u{4}", "BZh", "7z\u{fffd}", "\u{fffd}7zXZ", "(\u{fffd}/\u{fffd}"];
    begins.iter().any(|magic| opening.start.starts_with(magic))
}

/// Whether a line without a header has this many fields, one of them a state as PAI writes it.
pub(super) fn status_at(opening: &Opening<'_>, fields: usize, at: usize) -> bool {
    let found = split(opening.first_line(), ',');
    let times = |fields: &[std::borrow::Cow<'_, str>]| {
        fields.iter().all(|time| known(time).is_none_or(|time| time.parse::<f64>().is_ok()))
    };
    let states = ["Terminated", "Failed", "Running", "Waiting", "Interrupted"];
    found.len() == fields
        && states.contains(&found[at].as_ref())
        && times(&found[at + 1..(at + 3).min(fields)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, start: &str) -> &'static str {
        refusal(&Opening { name, start }).unwrap_or("not refused")
    }

    #[test]
    fn files_that_are_no_traces_are_named() {
        assert!(refused("x.tar", "anything").contains("tar archive"));
        let tar = format!("{:\0<257}ustar\0", "pai_machine_spec.csv");
        assert!(refused("x", &tar).contains("tar archive"));
        for magic in [&b"PK\x03\x04"[..], b"BZh9", b"7z\xbc\xaf\x27\x1c", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"]
        {
            assert!(refused("x.csv", &String::from_utf8_lossy(magic)).contains("archive"), "{magic:?}");
        }
        assert!(refused("n.csv", "sn,cpu_milli,memory_mib,gpu,model\n").contains("--cluster"));
        assert!(refused("p.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n").contains("no times"));
        assert!(refused("y.csv", "duration\r\n121\r\n").contains("GPU-time"));
        assert!(refused("t.json", "{\"k80\": {\"('LM', 1)\": {\"null\": 3}}}").contains("--throughputs"));
        assert!(refused("j.csv", "4b3f,8cb3,5854,Terminated,4550879.0,4551416.0\n").contains("job table"));
        assert!(refused("h.header", "job_name,task_name,inst_num,status").contains("without the table"));
    }

    #[test]
    fn traces_are_not_refused() {
        for start in
            ["job_id,submit_s,gpus,duration_s\n", "timestamp,duration,num_gpus,gpu_time,cluster\n", "[\n {\n"]
        {
            assert_eq!(refusal(&Opening { name: "x.csv", start }), None);
        }
    }
}

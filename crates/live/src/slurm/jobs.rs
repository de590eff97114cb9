//! Jobs as `squeue --json` describes them. Names and comments are their submitters' own words, which JSON keeps apart from the rest.

use super::{gres, hostlist};
use serde::Deserialize;
use serde_json::Value;

/// What Slurm calls a job.
pub(super) type SlurmId = u32;

/// Where a job is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Waits.
    Pending,
    /// Has nodes, and runs or is about to.
    Running,
    /// On its way out: its nodes are not free yet.
    Completing,
    /// Ended with exit code 0.
    Completed,
    /// Somebody ended it.
    Cancelled,
    /// Its node went down with it.
    NodeFailed,
    /// Ended in another way.
    Failed,
}

/// A job of Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlurmJob {
    pub id: SlurmId,
    pub name: String,
    pub user: String,
    pub user_id: u32,
    pub account: String,
    pub partition: String,
    pub state: State,
    /// Why it waits, in Slurm's word.
    pub reason: String,
    /// Somebody holds it back.
    pub held: bool,
    /// Slurm itself holds it back: it could not be launched, its prolog failed, for instance.
    pub launch_failed: bool,
    /// How often it was put back into the queue: tells its runs apart.
    pub restarts: u32,
    pub may_requeue: bool,
    pub submitted_s: u64,
    /// When its run began and ended, or should end; 0: never.
    pub started_s: u64,
    pub ended_s: u64,
    /// The GPUs that it has on each of its nodes, as Slurm lists them.
    pub gpus_on: Vec<String>,
    pub nodes: Vec<String>,
    /// Nodes that it asks for by name, as Slurm lists them.
    pub required: Vec<String>,
    pub node_count: u32,
    pub node_count_max: u32,
    pub gpus: Asked,
    pub comment: String,
    pub admin_comment: String,
    /// What about it Evenhand does not know how to keep, if anything.
    pub special: Option<&'static str>,
}

/// GPUs that a job asks for, in the three ways that Slurm knows; empty where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub per_node: String,
    pub per_job: String,
    pub otherwise: String,
}

impl Asked {
    pub(super) fn any(&self) -> bool {
        [&self.per_node, &self.per_job, &self.otherwise].iter().any(|text| text.contains("gpu"))
    }
}

/// What stands for all jobs; while the controller is silent, 22.05 says so here and exits with 0.
#[derive(Deserialize)]
struct Listing {
    #[serde(default)]
    errors: Vec<Value>,
    jobs: Vec<Row>,
}

/// A number, or since 23.02 an object around one.
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Wrapped {
        #[serde(default)]
        set: bool,
        #[serde(default)]
        number: u64,
    },
    #[default]
    None,
}

impl Number {
    fn get(&self) -> Option<u64> {
        match self {
            Self::Plain(number) | Self::Wrapped { set: true, number } => Some(*number),
            Self::Wrapped { .. } | Self::None => None,
        }
    }

    fn u32(&self) -> u32 {
        self.get().and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }
}

/// A state, or since 23.02 a list of it and its flags.
#[derive(Deserialize)]
#[serde(untagged)]
enum States {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
struct Row {
    job_id: SlurmId,
    job_state: States,
    #[serde(default)]
    partition: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    user_name: Option<String>,
    #[serde(default)]
    user_id: Number,
    #[serde(default)]
    account: Option<String>,
    #[serde(default)]
    state_reason: Option<String>,
    state_description: Option<String>,
    #[serde(default)]
    priority: Number,
    #[serde(default)]
    restart_cnt: Number,
    #[serde(default)]
    requeue: bool,
    #[serde(default)]
    batch_flag: bool,
    #[serde(default)]
    submit_time: Number,
    #[serde(default)]
    start_time: Number,
    #[serde(default)]
    end_time: Number,
    #[serde(default)]
    gres_detail: Vec<String>,
    #[serde(default)]
    nodes: Option<String>,
    #[serde(default)]
    required_nodes: Option<String>,
    #[serde(default)]
    excluded_nodes: Option<String>,
    #[serde(default)]
    features: Option<String>,
    #[serde(default)]
    node_count: Number,
    #[serde(default)]
    max_nodes: Number,
    #[serde(default)]
    tres_per_node: Option<String>,
    #[serde(default)]
    tres_per_job: Option<String>,
    #[serde(default)]
    tres_per_task: Option<String>,
    #[serde(default)]
    tres_per_socket: Option<String>,
    #[serde(default)]
    comment: Option<String>,
    #[serde(default)]
    admin_comment: Option<String>,
    #[serde(default)]
    het_job_id: Number,
    #[serde(default)]
    array_job_id: Number,
}

/// All jobs, or why they cannot be told.
pub(super) fn parse(text: &str) -> Result<Vec<SlurmJob>, String> {
    let listing: Listing = serde_json::from_str(text).map_err(|error| format!("squeue --json: {error}"))?;
    if let Some(error) = listing.errors.first() {
        return Err(format!("squeue --json: {error}"));
    }
    Ok(listing.jobs.into_iter().map(SlurmJob::from).collect())
}

impl SlurmJob {
    /// The GPUs that it has, node by node, where Slurm says which.
    pub(super) fn devices(&self) -> Vec<(String, u8)> {
        let lists = self.gpus_on.iter().map(|list| gres::indices(list)).collect::<Option<Vec<_>>>();
        let lists = lists.filter(|lists| lists.len() == self.nodes.len()).unwrap_or_default();
        let on = |(node, list): (&String, Vec<u8>)| {
            list.into_iter().map(|index| (node.clone(), index)).collect::<Vec<_>>()
        };
        self.nodes.iter().zip(lists).flat_map(on).collect()
    }

    /// Nothing holds it back.
    pub(super) fn may_start(&self) -> bool {
        !self.held && !self.launch_failed
    }

    /// The nodes on which it holds something now.
    pub(super) fn nodes_held(&self) -> &[String] {
        if matches!(self.state, State::Running | State::Completing) { &self.nodes } else { &[] }
    }
}

impl From<Row> for SlurmJob {
    fn from(row: Row) -> Self {
        let special = special(&row);
        let list = |text: &Option<String>| hostlist::expand(text.as_deref().unwrap_or_default());
        let priority = row.priority.get();
        // Slurm's words for it, of all versions that have any.
        let launch_failed = row.state_description.is_some_and(|why| why.starts_with("launch fail"));
        let launch_failed = launch_failed && priority == Some(0);
        Self {
            id: row.job_id,
            state: state(&row.job_state),
            held: priority == Some(0) && !launch_failed,
            launch_failed,
            restarts: row.restart_cnt.u32(),
            may_requeue: row.requeue,
            submitted_s: row.submit_time.get().unwrap_or(0),
            started_s: row.start_time.get().unwrap_or(0),
            ended_s: row.end_time.get().unwrap_or(0),
            gpus_on: row.gres_detail,
            nodes: list(&row.nodes).unwrap_or_default(),
            required: list(&row.required_nodes).unwrap_or_default(),
            node_count: row.node_count.u32().max(1),
            node_count_max: row.max_nodes.u32(),
            user_id: row.user_id.u32(),
            gpus: Asked {
                per_node: row.tres_per_node.unwrap_or_default(),
                per_job: row.tres_per_job.unwrap_or_default(),
                otherwise: [row.tres_per_task, row.tres_per_socket].into_iter().flatten().collect(),
            },
            name: row.name.unwrap_or_default(),
            user: row.user_name.unwrap_or_default(),
            account: row.account.unwrap_or_default(),
            partition: row.partition.unwrap_or_default(),
            reason: row.state_reason.unwrap_or_default(),
            comment: row.comment.unwrap_or_default(),
            admin_comment: row.admin_comment.unwrap_or_default(),
            special,
        }
    }
}

/// What Evenhand does not know how to keep.
fn special(row: &Row) -> Option<&'static str> {
    let is_said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    [
        (row.het_job_id.u32() != 0, "it is one of several unlike parts"),
        (
            row.array_job_id.u32() != 0,
            "it is an array: submit its jobs one by one, or as an array of Evenhand",
        ),
        (!row.batch_flag, "it is no batch job"),
        (!row.requeue, "it may not be requeued: submit it with --requeue"),
        (is_said(&row.excluded_nodes), "it excludes nodes"),
        (is_said(&row.features), "it asks for features of nodes: ask for a kind of GPU, --gres=gpu:KIND:N"),
    ]
    .into_iter()
    .find_map(|(holds, why)| holds.then_some(why))
}

fn state(states: &States) -> State {
    let words: Vec<&str> = match states {
        States::One(word) => vec![word],
        States::Many(words) => words.iter().map(String::as_str).collect(),
    };
    if words.contains(&"COMPLETING") {
        return State::Completing;
    }
    match words.first().copied().unwrap_or_default() {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" => State::Pending,
        "RUNNING" | "CONFIGURING" | "SUSPENDED" | "STOPPED" | "SIGNALING" | "RESIZING" | "STAGE_OUT" => {
            State::Running
        }
        "COMPLETED" => State::Completed,
        "CANCELLED" | "REVOKED" => State::Cancelled,
        "NODE_FAIL" | "BOOT_FAIL" => State::NodeFailed,
        _ => State::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_read_whatever_their_submitters_write_into_them() {
        let text = r#"{"errors": [], "jobs": [{"job_id": 17, "job_state": "PENDING", "name": "a\", \"job_state\": \"RUNNING",
            "state_reason": "PartitionDown", "priority": 4294901748, "restart_cnt": 2, "requeue": true, "batch_flag": true,
            "nodes": "", "required_nodes": "gpu[0-1]", "tres_per_node": "gres:gpu:v100:4", "node_count": 2, "max_nodes": 2,
            "partition": "evenhand", "user_name": "ann", "submit_time": 1794804103, "array_job_id": 0, "array_task_id": null}]}"#;
        let job = parse(text).unwrap().remove(0);
        assert_eq!((job.id, job.state, job.restarts, job.held), (17, State::Pending, 2, false));
        assert_eq!(job.required, ["gpu0", "gpu1"]);
        assert_eq!((job.gpus.any(), job.special), (true, None));
        assert_eq!(job.name, "a\", \"job_state\": \"RUNNING");
    }

    #[test]
    fn newer_versions_wrap_numbers_and_list_states() {
        let text = r#"{"jobs": [{"job_id": 3, "job_state": ["RUNNING", "COMPLETING"], "node_count": {"set": true, "number": 2},
            "priority": {"set": true, "infinite": false, "number": 0}}]}"#;
        let job = parse(text).unwrap().remove(0);
        assert_eq!((job.state, job.node_count, job.held), (State::Completing, 2, true));
    }

    #[test]
    fn a_job_that_slurm_could_not_launch_is_held_back_by_nobody() {
        let held = |why: &str| {
            let text = format!(
                r#"{{"jobs": [{{"job_id": 5, "job_state": "PENDING", "state_reason": "JobHeldUser", "priority": 0, "state_description": "{why}"}}]}}"#
            );
            let job = parse(&text).unwrap().remove(0);
            (job.held, job.launch_failed)
        };
        assert_eq!(held("launch failed requeued held"), (false, true));
        assert_eq!(held("launch failure limit exceeded requeued held"), (false, true));
        assert_eq!(held("job requeued in held state"), (true, false), "somebody asked for that");
    }

    #[test]
    fn a_silent_controller_is_not_an_empty_queue() {
        let text = r#"{"errors": [{"description": "Failed while looking for jobs", "error_number": -1}], "jobs": []}"#;
        assert!(parse(text).is_err());
        assert!(parse("").is_err() && parse("{}").is_err());
    }
}

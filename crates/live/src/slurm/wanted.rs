//! What a job of Slurm asks for, in Evenhand's words; or why it is left alone.

use super::gres::{self, Gpus, NoGpus};
use super::jobs::SlurmJob;
use crate::program::Program;
use crate::request::{DEFAULT_TENANT, Found, Wanted};
use evenhand_core::{AgentSeat, Packets};

/// The word with which a comment for Evenhand begins.
const ADDRESS: &str = "evenhand";

/// What a job asks for; the reason in words if it is left alone.
pub(super) fn wanted(job: &SlurmJob) -> Result<Found, String> {
    if let Some(why) = job.special {
        return Err(why.to_owned());
    }
    if !job.required.is_empty() {
        return Err("it asks for nodes by name".to_owned());
    }
    let (gpus, packet) = shape(job)?;
    let declared = Declared::parse(&job.comment)?;
    let tenant = [&job.account, &job.user].into_iter().find(|name| !name.is_empty());
    let wanted = Wanted {
        name: name(job),
        tenant: tenant.map_or_else(|| DEFAULT_TENANT.to_owned(), Clone::clone),
        gpus: gpus.count,
        models: gpus.model.into_iter().collect(),
        priority: 0,
        steps: declared.steps,
        steps_per_second: declared.steps_per_second,
        after: Vec::new(),
        after_any: Vec::new(),
        app: declared.app,
        agent: AgentSeat::default(),
        deadline: None,
        array: None,
        program: Program::default(),
    };
    Ok(Found { wanted, outside: job.id.to_string(), packets: Some(Packets { gpus: packet, apart: true }) })
}

/// All GPUs of a job, and how many of them on each node.
pub(super) fn shape(job: &SlurmJob) -> Result<(Gpus, u8), String> {
    if job.node_count_max > job.node_count {
        return Err("it takes a varying number of nodes: say -N with one number".to_owned());
    }
    let no_gpus = |why| match why {
        NoGpus::None => "it asks for no GPUs".to_owned(),
        NoGpus::Mixed => "it asks for GPUs of several kinds".to_owned(),
        NoGpus::Unreadable => "what it asks for cannot be read".to_owned(),
    };
    if !job.gpus.otherwise.is_empty() {
        return Err("it asks for GPUs by task or socket: use --gres, --gpus-per-node or --gpus".to_owned());
    }
    let (gpus, each) = if job.gpus.per_node.is_empty() {
        let gpus = gres::parse(&job.gpus.per_job).map_err(no_gpus)?;
        if !gpus.count.is_multiple_of(job.node_count) {
            return Err("its GPUs cannot be divided evenly by its nodes".to_owned());
        }
        let each = gpus.count / job.node_count;
        (gpus, each)
    } else {
        let each = gres::parse(&job.gpus.per_node).map_err(no_gpus)?;
        let count = each.count.saturating_mul(job.node_count);
        (Gpus { count, ..each.clone() }, each.count)
    };
    let each = u8::try_from(each).map_err(|_| "no node has so many GPUs".to_owned())?;
    Ok((gpus, each))
}

/// A name that could be taken for a number gets the number of Slurm before it.
fn name(job: &SlurmJob) -> Option<String> {
    let plain: String = job.name.chars().filter(|letter| !letter.is_control()).take(100).collect();
    let is_number = plain.starts_with(|letter: char| letter.is_ascii_digit());
    match plain.as_str() {
        "" => None,
        _ if is_number => Some(format!("slurm-{}-{plain}", job.id)),
        _ => Some(plain),
    }
}

/// What a comment declares: `evenhand steps=300 steps-per-second=10 app=search`.
#[derive(Default)]
struct Declared {
    steps: Option<f64>,
    steps_per_second: Option<f64>,
    app: Option<String>,
}

impl Declared {
    fn parse(comment: &str) -> Result<Self, String> {
        let mut declared = Self::default();
        let mut words = comment.split_whitespace();
        if words.next() != Some(ADDRESS) {
            return Ok(declared);
        }
        for word in words {
            let number = |value: &str| {
                value.parse::<f64>().map_err(|_| format!("its comment has {word}: a number is expected"))
            };
            match word.split_once('=') {
                Some(("steps", value)) => declared.steps = Some(number(value)?),
                Some(("steps-per-second", value)) => declared.steps_per_second = Some(number(value)?),
                Some(("app", value)) => declared.app = Some(value.to_owned()),
                _ => {
                    return Err(format!(
                        "its comment has {word}: steps=, steps-per-second= and app= are known"
                    ));
                }
            }
        }
        Ok(declared)
    }
}

#[cfg(test)]
mod tests {
    use super::super::jobs;
    use super::*;

    fn job(fields: &str) -> SlurmJob {
        let text = format!(
            r#"{{"jobs": [{{"job_id": 17, "job_state": "PENDING", "requeue": true, "batch_flag": true, "user_name": "ann", {fields}}}]}}"#
        );
        jobs::parse(&text).unwrap().remove(0)
    }

    #[test]
    fn a_job_is_understood_with_its_shape_and_what_it_declares() {
        let found = wanted(&job(
            r#""tres_per_node": "gres:gpu:v100:4", "node_count": 2, "max_nodes": 2, "name": "resnet", "account": "vision",
               "comment": "evenhand steps=300 steps-per-second=10""#,
        ))
        .unwrap();
        assert_eq!((found.wanted.gpus, found.wanted.models), (8, vec!["v100".to_owned()]));
        assert_eq!(found.packets, Some(Packets { gpus: 4, apart: true }));
        assert_eq!((found.wanted.tenant.as_str(), found.outside.as_str()), ("vision", "17"));
        assert_eq!((found.wanted.steps, found.wanted.steps_per_second), (Some(300.0), Some(10.0)));
        let whole =
            wanted(&job(r#""tres_per_job": "gres:gpu:4", "node_count": 1, "comment": "mine", "name": "7""#))
                .unwrap();
        assert_eq!(whole.packets, Some(Packets { gpus: 4, apart: true }));
        assert_eq!((whole.wanted.tenant.as_str(), whole.wanted.name.as_deref()), ("ann", Some("slurm-17-7")));
    }

    #[test]
    fn what_is_not_understood_is_left_alone_with_a_reason() {
        for (fields, why) in [
            (r#""node_count": 1"#, "no GPUs"),
            (r#""tres_per_node": "gres:gpu:1", "required_nodes": "gpu1""#, "by name"),
            (r#""tres_per_node": "gres:gpu:1", "node_count": 1, "max_nodes": 4"#, "varying"),
            (r#""tres_per_task": "gres:gpu:1""#, "by task"),
            (r#""tres_per_node": "gres:gpu:1", "het_job_id": 5"#, "unlike parts"),
            (r#""tres_per_node": "gres:gpu:1", "comment": "evenhand steps=many""#, "steps=many"),
        ] {
            assert!(wanted(&job(fields)).unwrap_err().contains(why), "{fields}");
        }
    }
}

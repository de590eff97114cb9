//! GPUs as Slurm writes them: `gpu:v100:8`, `gres:gpu:2`, `gpu:v100:8(S:0-1)`.

use super::hostlist;

/// So many GPUs, of a kind if that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gpus {
    pub model: Option<String>,
    pub count: u32,
}

/// Why a list of resources is not one of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoGpus {
    /// No GPUs are in it.
    None,
    /// GPUs of several kinds are.
    Mixed,
    /// It cannot be read.
    Unreadable,
}

/// The GPUs in a list of resources.
pub(super) fn parse(list: &str) -> Result<Gpus, NoGpus> {
    let mut found = None;
    for part in list.split(',').map(str::trim) {
        // What follows in brackets says which sockets they are at.
        let plain = part.split('(').next().unwrap_or_default();
        let plain = plain.strip_prefix("gres:").or_else(|| plain.strip_prefix("gres/")).unwrap_or(plain);
        let mut words = plain.split([':', '=']);
        if words.next() != Some("gpu") {
            continue;
        }
        let gpus = words_of(&words.collect::<Vec<_>>()).ok_or(NoGpus::Unreadable)?;
        if found.replace(gpus).is_some() {
            return Err(NoGpus::Mixed);
        }
    }
    found.filter(|gpus: &Gpus| gpus.count > 0).ok_or(NoGpus::None)
}

/// Which GPUs of a node a job has, where Slurm says so: `gpu:v100:2(IDX:0-1)`.
pub(super) fn indices(list: &str) -> Option<Vec<u8>> {
    let listed = list.split_once("(IDX:")?.1.split(')').next()?;
    // As a list of nodes without names.
    let numbers = hostlist::expand(&format!("[{listed}]"))?;
    numbers.iter().map(|number| number.parse().ok()).collect()
}

fn words_of(words: &[&str]) -> Option<Gpus> {
    match words {
        [] => Some(Gpus { model: None, count: 1 }),
        [count] if count.parse::<u32>().is_ok() => Some(Gpus { model: None, count: count.parse().ok()? }),
        [model] => Some(Gpus { model: Some((*model).to_owned()), count: 1 }),
        [model, count] => Some(Gpus { model: Some((*model).to_owned()), count: count.parse().ok()? }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_read_with_and_without_a_kind() {
        let read = |list| parse(list).map(|gpus| (gpus.model.unwrap_or_default(), gpus.count));
        assert_eq!(read("gpu:v100:8(S:0-1)"), Ok(("v100".to_owned(), 8)));
        assert_eq!(read("gres:gpu:2"), Ok((String::new(), 2)));
        assert_eq!(read("gres/gpu:a100=4"), Ok(("a100".to_owned(), 4)));
        assert_eq!(read("gpu"), Ok((String::new(), 1)));
        assert_eq!(read("craynetwork:1,gpu:p100"), Ok(("p100".to_owned(), 1)));
        assert_eq!(read("gpu:a:1,gpu:b:1"), Err(NoGpus::Mixed));
        assert_eq!(read("(null)"), Err(NoGpus::None));
        assert_eq!(read(""), Err(NoGpus::None));
        assert_eq!(indices("gpu:v100:3(IDX:0-1,7)"), Some(vec![0, 1, 7]));
        assert_eq!(indices("gpu:v100:3"), None);
        assert_eq!(read("gpu:a:b:c"), Err(NoGpus::Unreadable));
    }
}

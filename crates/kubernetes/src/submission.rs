//! A gang of pods as a job.

use crate::books::Note;
use crate::facts::Gang;
use crate::gang::{Identity, Outside};
use crate::pod::PodFacts;
use crate::sums::Sums;
use evenhand_core::{AgentSeat, GPUS_PER_NODE_MAX, Packets};
use evenhand_live::{Found, Program, Wanted, Wish, Work};
use std::collections::BTreeSet;

/// The wish to run a gang of this many pods, or what is wrong with it if it cannot be one.
pub(crate) fn wish(identity: &Identity, gang: &Gang<'_>, size: u32, sums: &Sums) -> Result<Wish, Note> {
    let refused = |message: String| Note { reason: "Refused", message };
    let pods: Vec<&PodFacts> = gang.waiting.iter().take(size as usize).copied().collect();
    if let Some(why) = pods.iter().find_map(|pod| pod.wishes.refused.clone()) {
        return Err(refused(why));
    }
    let gpus = gpus_of_each(&pods).map_err(refused)?;
    let Some(first) = pods.first().map(|pod| &pod.wishes) else {
        return Err(refused("it has no pods".to_owned()));
    };
    check_room(&pods, gpus, sums)?;
    let total = pods.iter().map(|pod| pod.gpus).sum();
    let wanted = Wanted {
        name: Some(format!("{}.{}", identity.namespace, identity.group.name())),
        tenant: first.tenant.clone(),
        gpus: total,
        models: first.models.clone(),
        priority: first.priority,
        steps: first.steps,
        steps_per_second: first.steps_per_second,
        after: Vec::new(),
        after_any: Vec::new(),
        app: None,
        agent: AgentSeat::default(),
        deadline: None,
        array: None,
        program: Program::default(),
    };
    let outside = Outside { identity: identity.clone(), pods: size, gpus };
    let packets = Some(Packets { gpus, apart: false });
    let found = Found { wanted, outside: outside.written(), packets };
    Ok(Wish::Submit { work: Work::Found(Box::new(found)), key: Some(key(identity, &pods)) })
}

/// A gang that the cluster could not hold if it were empty says so at once; autoscalers of the cluster listen to this word.
fn check_room(pods: &[&PodFacts], gpus: u8, sums: &Sums) -> Result<(), Note> {
    let models = pods.first().map_or(&[][..], |pod| pod.wishes.models.as_slice());
    let with_gpus = pods.iter().filter(|pod| pod.gpus > 0).count() as u32;
    let fits = sums.fits(gpus, models);
    if with_gpus <= fits {
        return Ok(());
    }
    let which = if models.is_empty() { "one model".to_owned() } else { models.join(" or ") };
    let message =
        format!("{with_gpus} pods need {gpus} GPUs of {which} each; the whole cluster has room for {fits}");
    Err(Note { reason: "Unschedulable", message })
}

/// All pods of a gang that have GPUs have equally many: a launcher may have none.
fn gpus_of_each(pods: &[&PodFacts]) -> Result<u8, String> {
    let counts: BTreeSet<u32> = pods.iter().map(|pod| pod.gpus).filter(|gpus| *gpus > 0).collect();
    match counts.into_iter().collect::<Vec<_>>().as_slice() {
        [] => Err("its pods ask for no nvidia.com/gpu".to_owned()),
        [gpus] if *gpus <= u32::from(GPUS_PER_NODE_MAX) => Ok(*gpus as u8),
        [gpus] => Err(format!("a pod asks for {gpus} GPUs: at most {GPUS_PER_NODE_MAX} are on one node")),
        counts => Err(format!("its pods ask for {counts:?} GPUs: each must ask for as many, or for none")),
    }
}

/// The same for the same gang, also after its pods were made anew.
fn key(identity: &Identity, pods: &[&PodFacts]) -> String {
    let maker = |pod: &&PodFacts| pod.owner.clone().unwrap_or_else(|| pod.uid.clone());
    let owner = Some(identity.owner.clone()).filter(|owner| !owner.is_empty());
    let owner = owner.or_else(|| pods.iter().map(maker).min()).unwrap_or_default();
    format!("pods/{}/{:?}/{owner}", identity.namespace, identity.group)
}

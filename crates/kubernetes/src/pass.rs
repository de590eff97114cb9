//! One look at everything: what the cluster and the engine should be told now.

use crate::books::{Asked, Books, Note};
use crate::facts::{Facts, Gang};
use crate::gang::Identity;
use crate::pod::{Phase, PodFacts};
use crate::submission;
use crate::sums::Sums;
use crate::tracked::Act;
use evenhand_core::{JobId, LeaseId, Span, Time};
use evenhand_live::{Mail, Wish};
use std::collections::{BTreeMap, BTreeSet};

/// How long nothing of a job must be in the cluster before it counts as taken back: a controller may be about to make pods anew.
const MISSING: Span = Span::from_secs(60);
/// The same where whatever made its pods is gone.
const OWNER_MISSING: Span = Span::from_secs(2);

/// What should be done now.
#[derive(Debug, Default)]
pub(crate) struct Todo {
    pub mails: Vec<Mail>,
    pub acts: Vec<(LeaseId, Act)>,
    pub wishes: Vec<(Identity, Wish)>,
    /// Gangs have something new to say.
    pub noted: bool,
}

/// GPUs that each node has for leases, and those that leases have there.
type Rooms = BTreeMap<String, (u32, u32)>;
type Gangs<'a> = BTreeMap<Identity, Gang<'a>>;

impl Books {
    /// Looks at everything.
    pub(crate) fn pass(&mut self, now: Time) -> Todo {
        let mut todo = Todo::default();
        if !self.begun {
            return todo;
        }
        self.tell_machines(&mut todo);
        // Taken out so that gangs may be looked at while the rest is changed.
        let mut facts = std::mem::take(&mut self.facts);
        for pod in std::mem::take(&mut facts.gone) {
            self.note_last_steps(&facts, &pod);
        }
        let gangs = facts.gangs(&self.scheduler);
        self.advance(&facts, &gangs, now, &mut todo);
        self.find_jobs(&facts, &gangs, now, &mut todo);
        self.miss_jobs(&facts, &gangs, now, &mut todo);
        drop(gangs);
        self.facts = facts;
        todo
    }

    /// Machines are told when they changed, or what strangers hold there: to describe thousands of them takes a while.
    fn tell_machines(&mut self, todo: &mut Todo) {
        let foreign = self.facts.foreign(|pod| self.is_ours(pod));
        let foreign: BTreeMap<String, u32> =
            foreign.into_iter().map(|(node, gpus)| (node.to_owned(), gpus)).collect();
        let is_old = !self.facts.nodes_changed && self.foreign == foreign;
        self.foreign = foreign;
        if is_old && self.machines.is_some() {
            return;
        }
        self.facts.nodes_changed = false;
        let machines = self.found_nodes();
        if self.machines.as_ref() != Some(&machines) {
            todo.mails.push(Mail::Machines(machines.clone()));
            self.machines = Some(machines);
        }
    }

    fn advance(&mut self, facts: &Facts, gangs: &Gangs<'_>, now: Time, todo: &mut Todo) {
        let none = Gang::default();
        // Only those whose pods are still to be chosen need to know about nodes.
        let incomplete = self.leases.iter().filter(|(_, tracked)| !tracked.is_complete());
        let seats: BTreeMap<LeaseId, _> =
            incomplete.map(|(id, tracked)| (*id, self.seats(&tracked.lease))).collect();
        let rooms = if seats.is_empty() { Rooms::new() } else { self.rooms(facts) };
        for (id, tracked) in &mut self.leases {
            let seats = seats.get(id).map_or(&[][..], Vec::as_slice);
            let fits = |node: &String| rooms.get(node).is_some_and(|(has, held)| held <= has);
            let has_room = seats.iter().all(|(node, _)| fits(node));
            let gang = gangs.get(&tracked.outside.identity).unwrap_or(&none);
            if let Some(known) = self.jobs.get(&tracked.lease.job) {
                tracked.note_done(facts, &known.done);
            }
            let before = (tracked.started, tracked.ended);
            let acts = tracked.advance(facts, gang, seats, has_room, now);
            todo.acts.extend(acts.into_iter().map(|act| (*id, act)));
            if (tracked.started, tracked.ended) != before {
                todo.mails.push(Mail::Look(*id));
            }
        }
    }

    /// Gangs that are complete and not jobs yet.
    fn find_jobs(&mut self, facts: &Facts, gangs: &Gangs<'_>, now: Time, todo: &mut Todo) {
        self.asked.retain(|identity, _| gangs.contains_key(identity));
        self.notes.retain(|identity, _| gangs.contains_key(identity));
        let mut sums = None;
        for (identity, gang) in gangs {
            if let Some(job) = self.by_identity.get(identity) {
                self.note_steps(*job, gang);
                continue;
            }
            if gang.waiting.is_empty() {
                self.notes.remove(identity);
                continue;
            }
            match self.asked.get(identity) {
                Some(Asked::Waiting | Asked::Ended(_)) => continue,
                Some(Asked::Refused(until)) if now < *until => continue,
                _ => {}
            }
            match judge(facts, identity, gang, sums.get_or_insert_with(|| Sums::of(facts))) {
                Ok(wish) => {
                    self.asked.insert(identity.clone(), Asked::Waiting);
                    todo.wishes.push((identity.clone(), wish));
                }
                Err(note) => {
                    todo.noted |= self.notes.get(identity) != Some(&note);
                    self.notes.insert(identity.clone(), note);
                }
            }
        }
    }

    fn note_last_steps(&mut self, facts: &Facts, pod: &PodFacts) {
        let job = facts.identity(pod).and_then(|identity| self.by_identity.get(&identity).copied());
        if let Some(job) = job {
            self.note_steps(job, &Gang { waiting: Vec::new(), all: vec![pod] });
        }
    }

    fn note_steps(&mut self, job: JobId, gang: &Gang<'_>) {
        let Some(known) = self.jobs.get_mut(&job) else { return };
        let told = gang.all.iter().filter_map(|pod| pod.steps_done);
        known.steps = told.filter(|steps| steps.is_finite()).chain(known.steps).reduce(f64::max);
        let done = gang.all.iter().filter(|pod| pod.phase == Phase::Succeeded);
        known.done.extend(done.map(|pod| pod.uid.clone()));
    }

    /// Jobs of which nothing is there any more.
    fn miss_jobs(&mut self, facts: &Facts, gangs: &Gangs<'_>, now: Time, todo: &mut Todo) {
        let with_pods = self.leases.values().filter(|tracked| tracked.has_pods());
        let leased: BTreeSet<JobId> = with_pods.map(|tracked| tracked.lease.job).collect();
        for (job, known) in &mut self.jobs {
            let identity = &known.outside.identity;
            let over = facts.is_over(identity);
            let is_there = gangs.get(identity).is_some_and(|gang| gang.all.iter().any(|pod| !pod.is_over()));
            if is_there || leased.contains(job) {
                known.missing_since = None;
                continue;
            }
            let since = *known.missing_since.get_or_insert(now);
            if now.since(since) > if over { OWNER_MISSING } else { MISSING } {
                todo.mails.push(Mail::Gone(*job));
                // Said again if it was not heard.
                known.missing_since = Some(now);
            }
        }
    }
}

/// The wish to run a gang, or why it cannot be one yet.
fn judge(facts: &Facts, identity: &Identity, gang: &Gang<'_>, sums: &Sums) -> Result<Wish, Note> {
    let Some(size) = facts.size(identity, gang, sums) else {
        let message = match gang.all.iter().find_map(|pod| pod.wishes.jobs_in_set) {
            Some(jobs) => format!("not all {jobs} Jobs of {identity} are there"),
            None => "how many pods it has is not known: label them with evenhand.io/gang-size".to_owned(),
        };
        return Err(Note { reason: "GangSizeUnknown", message });
    };
    // Pods of it that run under a ledger that is lost, or ended well, need not come again.
    let over = gang.all.iter().filter(|pod| pod.is_over()).count();
    if (gang.waiting.len() as u32) < size {
        let message = format!("{} of {size} pods of {identity} are there and wait", gang.waiting.len());
        let message = if over > 0 { format!("{message}; {over} have ended") } else { message };
        return Err(Note { reason: "GangIncomplete", message });
    }
    submission::wish(identity, gang, size, sums)
}

//! A submission made into jobs, before any of them is taken: all of them make sense, or none is.

use super::Terms;
use super::checks::{NAME_MAX, between, check_size, models};
pub(super) use super::checks::{check_name, invalid};
use crate::array::{Indices, JOBS_MAX};
use crate::deadline;
use crate::program::Program;
use crate::request::{Answer, Called, Found, Refusal, Wanted, Work};
use crate::runner::LiveJob;
use crate::store::{Batch, Phase, StoreError, Target, member_name};
use evenhand_core::{
    AgentSeat, App, AppId, Event, Goal, JobId, JobSpec, Member, PerModel, Priority, Rate, Snapshot, Tenant,
    TenantId, Time, Work as Steps,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many steps a job may have, and how fast they may be: far beyond any real job, and far from where sums of times overflow.
const STEPS: (f64, f64) = (1e-3, 1e12);
const SPEEDS: (f64, f64) = (1e-6, 1e9);

/// What the programs of all jobs of a submission may be together, in bytes: each job keeps its own.
const PROGRAMS_BYTES_MAX: usize = 8 << 20;

/// How many pairs of jobs, one of which waits for the other, a submission may make: each is kept.
const PAIRS_MAX: usize = 100_000;

/// Why there are no drafts.
pub(super) enum Stopped {
    /// The submission makes no sense.
    Refused(Refusal),
    /// The store failed.
    Store(StoreError),
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What a submission is held against.
pub(super) struct Surroundings<'a, 'b> {
    pub now: Time,
    pub epoch_ms: u64,
    /// The tenant whose the asker is.
    pub asker: Option<&'a str>,
    /// The system user as whom the jobs are to run, if that is not the service's own.
    pub user: Option<Arc<str>>,
    pub snapshot: Snapshot,
    pub batch: &'a Batch<'b>,
    pub terms: Terms,
}

/// Jobs that may be taken as they are.
pub(super) struct Drafts {
    /// What the engine is to be told: tenants and apps that are new, then the jobs.
    pub events: Vec<Event>,
    pub jobs: Vec<LiveJob>,
    /// The number of whatever is submitted after them.
    pub next_job: JobId,
    tenants: BTreeMap<String, TenantId>,
    apps: BTreeMap<(TenantId, String), AppId>,
    /// What may be waited for by name: jobs, and arrays with all their jobs.
    names: BTreeMap<String, Vec<JobId>>,
}

/// What the submitter is told of a submission whose first job has this number: the other numbers follow.
pub(super) fn answer(work: &Work, first: JobId, created: bool) -> Answer {
    let members = |wanted: &Wanted| Some(Indices::parse(wanted.array.as_deref()?).ok()?.each.len() as u64);
    match work {
        Work::Found(_) => Answer::Job { job: first, created },
        Work::One(wanted) => match members(wanted) {
            None => Answer::Job { job: first, created },
            Some(count) => {
                let jobs = (first.0..first.0 + count).map(JobId).collect();
                Answer::Array { array: JobId(first.0 - 1), jobs, created }
            }
        },
        Work::Batch(wanted) => {
            // An array has the number before that of its first job.
            let is_array = wanted.first().and_then(members).is_some();
            let mut next = if is_array { first.0 - 1 } else { first.0 };
            let number = |wanted: &Wanted| {
                let number = next;
                next += 1 + members(wanted).unwrap_or(0);
                JobId(number)
            };
            Answer::Batch { jobs: wanted.iter().map(number).collect(), created }
        }
    }
}

/// Makes jobs of a submission, with numbers from `next_job` on.
pub(super) fn draft(
    work: &Work,
    surroundings: Surroundings<'_, '_>,
    next_job: JobId,
) -> Result<Drafts, Stopped> {
    let drafts = Drafts {
        events: Vec::new(),
        jobs: Vec::new(),
        next_job,
        tenants: BTreeMap::new(),
        apps: BTreeMap::new(),
        names: BTreeMap::new(),
    };
    let mut drafting = Drafting { surroundings, drafts };
    match work {
        Work::One(wanted) => drafting.one(wanted)?,
        Work::Batch(jobs) => drafting.batch(jobs)?,
        Work::Found(found) => drafting.found(found)?,
    }
    let Drafting { surroundings: Surroundings { snapshot, terms, .. }, drafts } = drafting;
    check_sums(&drafts.jobs)?;
    let waiting = (snapshot.jobs.len() - snapshot.leases.len()) as u64;
    if waiting + drafts.jobs.len() as u64 > terms.queue_max {
        return Err(Refusal::QueueFull { waiting, most: terms.queue_max }.into());
    }
    Ok(drafts)
}

/// What each job may have, many may not have together.
fn check_sums(jobs: &[LiveJob]) -> Result<(), Refusal> {
    let bytes: usize = jobs.iter().map(|job| job.program.bytes()).sum();
    if bytes > PROGRAMS_BYTES_MAX {
        return invalid(format!(
            "argv and environment of all jobs together have {bytes} bytes: at most {PROGRAMS_BYTES_MAX} are allowed"
        ));
    }
    let pairs: usize = jobs.iter().map(|job| job.spec.befores().count()).sum();
    if pairs > PAIRS_MAX {
        return invalid(format!(
            "after makes {pairs} pairs of jobs: at most {PAIRS_MAX} are allowed. Let one job wait for all of them, and the others for that one"
        ));
    }
    Ok(())
}

struct Drafting<'a, 'b> {
    surroundings: Surroundings<'a, 'b>,
    drafts: Drafts,
}

impl Drafting<'_, '_> {
    fn one(&mut self, wanted: &Wanted) -> Result<(), Stopped> {
        match &wanted.array {
            None => self.add(wanted),
            Some(array) => self.array(wanted, &Indices::parse(array).map_err(Refusal::Invalid)?),
        }
    }

    fn batch(&mut self, jobs: &[Wanted]) -> Result<(), Stopped> {
        if jobs.is_empty() || jobs.len() > JOBS_MAX {
            return invalid(format!("jobs has {} jobs: 1 to {JOBS_MAX} are allowed", jobs.len()))?;
        }
        for (at, wanted) in jobs.iter().enumerate() {
            self.one(wanted).map_err(|stopped| match stopped {
                Stopped::Refused(Refusal::Invalid(what)) => {
                    Refusal::Invalid(format!("jobs[{at}]: {what}")).into()
                }
                stopped => stopped,
            })?;
        }
        let made = self.drafts.jobs.len();
        if made > JOBS_MAX {
            return invalid(format!(
                "jobs has {made} jobs with those of its arrays: at most {JOBS_MAX} are allowed"
            ))?;
        }
        Ok(())
    }

    fn found(&mut self, found: &Found) -> Result<(), Stopped> {
        let mut spec = self.spec(&found.wanted)?;
        spec.packets = found.packets;
        let program = Program { outside: Some(found.outside.clone()), ..Program::default() };
        self.push(spec, Arc::new(program));
        Ok(())
    }

    fn add(&mut self, wanted: &Wanted) -> Result<(), Stopped> {
        wanted.program.check().map_err(Refusal::Invalid)?;
        let spec = self.spec(wanted)?;
        self.push(spec, Arc::new(wanted.program.clone()));
        Ok(())
    }

    /// The array has a number of its own, and its jobs have those that follow.
    fn array(&mut self, wanted: &Wanted, indices: &Indices) -> Result<(), Stopped> {
        let last = indices.each.last().map_or(0, |index| format!("-{index}").len());
        if wanted.name.as_ref().is_some_and(|name| name.chars().count() + last > NAME_MAX) {
            return invalid(format!("name is too long: with -INDEX, {NAME_MAX} letters are allowed"))?;
        }
        wanted.program.check().map_err(Refusal::Invalid)?;
        let (template, program) = (self.spec(wanted)?, Arc::new(wanted.program.clone()));
        let array = template.id;
        self.drafts.next_job.0 += 1;
        let mut members = Vec::new();
        for index in &indices.each {
            let mut spec = JobSpec { id: self.drafts.next_job, ..template.clone() };
            spec.array = Some(Member { array, index: *index, at_once: indices.at_once });
            spec.label = wanted.name.as_ref().map(|name| Arc::from(format!("{name}-{index}")));
            members.push(spec.id);
            self.push(spec, program.clone());
        }
        self.drafts.names.extend(wanted.name.iter().map(|name| (name.clone(), members.clone())));
        Ok(())
    }

    fn push(&mut self, spec: JobSpec, program: Arc<Program>) {
        self.drafts.next_job.0 += 1;
        if let Some(name) = &spec.label {
            self.drafts.names.insert(name.to_string(), vec![spec.id]);
        }
        let spec = Arc::new(spec);
        self.drafts.jobs.push(LiveJob { spec: spec.clone(), program, user: self.surroundings.user.clone() });
        self.drafts.events.push(Event::Submitted(spec));
    }

    /// What the engine is told of a job; a tenant or app that nobody has heard of is made first.
    fn spec(&mut self, wanted: &Wanted) -> Result<JobSpec, Stopped> {
        check_name("tenant", &wanted.tenant)?;
        wanted.name.as_deref().map_or(Ok(()), check_job_name)?;
        let snapshot = &self.surroundings.snapshot;
        let models = models(wanted, snapshot)?;
        check_size(wanted, models, snapshot)?;
        let work =
            wanted.steps.map(|steps| between("steps", steps, STEPS).map(Steps::from_steps)).transpose()?;
        let speed =
            wanted.steps_per_second.map(|speed| between("steps_per_second", speed, SPEEDS)).transpose()?;
        let (now, epoch_ms) = (self.surroundings.now, self.surroundings.epoch_ms);
        let deadline = wanted.deadline.as_ref().map(|text| deadline::parse(text, now, epoch_ms));
        let deadline = deadline.transpose().map_err(Refusal::Invalid)?;
        let after_ok = self.befores("after", &wanted.after, true)?;
        let after = self.befores("after_any", &wanted.after_any, false)?;
        let tenant = self.tenant(&wanted.tenant);
        if wanted.app.is_none() && wanted.agent == AgentSeat::Outside {
            return invalid(
                "agent is outside, but there is no app that it could speak for: say app".to_owned(),
            )?;
        }
        let app = wanted.app.as_ref().map(|app| self.app(app, tenant, wanted.agent)).transpose()?;
        let mut spec = JobSpec::new(self.drafts.next_job, tenant, wanted.gpus, work);
        spec.label = wanted.name.as_deref().map(Arc::from);
        spec.priority = Priority(wanted.priority);
        spec.models = models;
        spec.restart = self.surroundings.terms.restart;
        spec.speeds = speed.and_then(|speed| Rate::new(speed).ok()).map(PerModel::all);
        (spec.after, spec.after_ok, spec.app, spec.deadline) = (after, after_ok, app, deadline);
        Ok(spec)
    }

    fn tenant(&mut self, name: &str) -> TenantId {
        let known = self.surroundings.batch.tenant(name).or_else(|| self.drafts.tenants.get(name).copied());
        known.unwrap_or_else(|| {
            let id = TenantId((self.surroundings.snapshot.tenants.len() + self.drafts.tenants.len()) as u32);
            self.drafts.tenants.insert(name.to_owned(), id);
            self.drafts.events.push(Event::TenantChanged(Tenant::new(id, name)));
            id
        })
    }

    /// The app of this name that is open, or a new one. An agent inside bids by what everybody can see.
    fn app(&mut self, name: &str, tenant: TenantId, agent: AgentSeat) -> Result<AppId, Stopped> {
        check_name("app", name)?;
        if name.parse::<u64>().is_ok() {
            return invalid(format!("app is {name}: a number would be taken for that of an app"))?;
        }
        let key = (tenant, name.to_owned());
        if let Some(app) = self.drafts.apps.get(&key) {
            return Ok(*app);
        }
        let batch = self.surroundings.batch;
        let app = if let Some(app) = batch.open_app(name, tenant)? {
            let open = self.surroundings.snapshot.apps.get(&app);
            if agent == AgentSeat::Outside && open.is_some_and(|open| open.agent != agent) {
                return invalid(format!("agent is outside, but app {name} is open with its agent inside"))?;
            }
            app
        } else {
            let id = AppId(batch.next_app()?.0 + self.drafts.apps.len() as u64);
            let app = App { label: Some(Arc::from(name)), agent, ..App::new(id, tenant, Goal::AllJobs) };
            self.drafts.events.push(Event::AppOpened(app));
            id
        };
        self.drafts.apps.insert(key, app);
        Ok(app)
    }

    /// The jobs that are meant and have not ended. What is another's is as unknown as what is not there.
    fn befores(&self, field: &str, called: &[Called], well: bool) -> Result<Vec<JobId>, Stopped> {
        let mut befores = Vec::new();
        for called in called {
            let name = called.to_string();
            if let Some(jobs) = self.drafts.names.get(&name) {
                befores.extend(jobs);
                continue;
            }
            let target = self.surroundings.batch.find(&name, self.surroundings.asker)?;
            let Some(target) = target else {
                return invalid(format!("{field} has {name}: there is no such job"))?;
            };
            for job in target.jobs() {
                befores.extend(self.before(field, &target, *job, well)?);
            }
        }
        befores.sort_unstable();
        befores.dedup();
        Ok(befores)
    }

    fn before(&self, field: &str, target: &Target, job: JobId, well: bool) -> Result<Option<JobId>, Stopped> {
        let phase = self.surroundings.batch.phase(job)?.unwrap_or(Phase::Finished);
        match phase {
            Phase::Finished | Phase::Retired => Ok(None),
            Phase::Failed | Phase::Cancelled if !well => Ok(None),
            Phase::Failed | Phase::Cancelled => {
                let which =
                    if matches!(target, Target::Array { .. }) { format!(" ({job})") } else { String::new() };
                let phase = phase.name();
                invalid(format!(
                    "{field} has {}{which}: that {phase}, so this job would never run",
                    target.id().0
                ))?
            }
            _ => Ok(Some(job)),
        }
    }
}

/// A name must not look like a number or like one of an array.
fn check_job_name(name: &str) -> Result<(), Refusal> {
    check_name("name", name)?;
    if name.parse::<u64>().is_ok() || member_name(name).is_some() {
        return invalid(format!("name is {name}: that would be taken for the number of a job"));
    }
    Ok(())
}

//! What people ask for, made into events, or refused with a reason.

use crate::request::{Answer, Refusal, Wanted, Wish};
use crate::runner::LiveJob;
use crate::store::{Batch, StoreError, Submission};
use crate::world::World;
use evenhand_core::{
    Choice, Event, GpuCount, Health, JobId, JobSpec, ModelFilter, ModelIndex, Node, NodeId, PerModel,
    Priority, Rate, Snapshot, Tenant, TenantId, Time, Work, nearest,
};
use evenhand_engine::Engine;
use std::sync::Arc;

/// The longest name of a job or tenant, in letters.
const NAME_MAX: usize = 128;

/// The longest key, in bytes: that of a client, and before it the tenant for which it counts.
const KEY_MAX: usize = 1024;

/// How many steps a job may have, and how fast they may be: far beyond any real job, and far from where sums of times overflow.
const STEPS: (f64, f64) = (1e-3, 1e12);
const SPEEDS: (f64, f64) = (1e-6, 1e9);

/// What a wish came to.
pub(super) struct Taken {
    pub events: Vec<Event>,
    pub answer: Result<Answer, Refusal>,
}

impl From<Refusal> for Taken {
    fn from(refusal: Refusal) -> Self {
        Self { events: Vec::new(), answer: Err(refusal) }
    }
}

/// All that is needed to judge a wish.
pub(super) struct Intake<'a, 'b> {
    pub now: Time,
    pub engine: &'a mut Engine,
    pub batch: &'a mut Batch<'b>,
    pub world: &'a mut World,
    pub next_job: &'a mut JobId,
    pub queue_max: u64,
    /// The system user of whoever wishes.
    pub user: Option<String>,
}

impl Intake<'_, '_> {
    /// Makes events of a wish. An error means that the store failed, and with it the whole batch.
    pub(super) fn take(&mut self, wish: Wish) -> Result<Taken, StoreError> {
        let taken = match wish {
            Wish::Submit { wanted, key } => return self.submit(&wanted, key),
            Wish::Cancel(job) => self.about(job, Event::Cancelled(job)),
            Wish::Hold(job) => self.about(job, Event::Held(job)),
            Wish::Release(job) => self.about(job, Event::Released(job)),
            Wish::Drain(node) => self.node(node, |node| Event::NodeDraining(node.id)),
            Wish::Return(node) => {
                self.node(node, |node| Event::NodeUp(Node { health: Health::Up, ..node.clone() }))
            }
            Wish::ChangePolicy(choice) if self.engine.knows_policy(&choice) => {
                Ok(done(Event::PolicyChanged(choice)))
            }
            Wish::ChangePolicy(choice) => no_policy(&choice),
            Wish::Rehearse(choice) => match self.engine.rehearse(self.now, &choice) {
                Some(found) => {
                    Ok(Taken { events: Vec::new(), answer: Ok(Answer::Rehearsed(Arc::new(found))) })
                }
                None => no_policy(&choice),
            },
            Wish::ChangeTenant(tenant) => self.tenant(*tenant),
            Wish::NoteToken(_) => Ok(Taken { events: Vec::new(), answer: Ok(Answer::Done) }),
        };
        Ok(taken.unwrap_or_else(Taken::from))
    }

    fn about(&self, job: JobId, event: Event) -> Result<Taken, Refusal> {
        self.engine.snapshot().jobs.by_id(job).ok_or(Refusal::NoJob(job))?;
        Ok(done(event))
    }

    fn node(&self, id: NodeId, event: impl Fn(&Node) -> Event) -> Result<Taken, Refusal> {
        let snapshot = self.engine.snapshot();
        Ok(done(event(snapshot.cluster.node(id).ok_or(Refusal::NoNode(id))?)))
    }

    fn tenant(&self, tenant: Tenant) -> Result<Taken, Refusal> {
        check_name("tenant", &tenant.name)?;
        let id = self.batch.tenant(&tenant.name).unwrap_or_else(|| self.new_tenant());
        Ok(done(Event::TenantChanged(Tenant { id, ..tenant })))
    }

    fn new_tenant(&self) -> TenantId {
        TenantId(self.engine.snapshot().tenants.len() as u32)
    }

    fn submit(&mut self, wanted: &Wanted, key: Option<String>) -> Result<Taken, StoreError> {
        let content = serde_json::to_string(wanted).expect("a submission can be written as JSON");
        if let Some(key) = &key {
            if key.is_empty() || key.len() > KEY_MAX {
                return Ok(Refusal::Invalid(format!(
                    "the key has {} bytes: 1 to {KEY_MAX} are allowed",
                    key.len()
                ))
                .into());
            }
            if let Some((job, before, user)) = self.batch.by_key(key)? {
                // Of jobs from before there were users nobody knows whose they are.
                let is_same = before == content && (user.is_none() || user == self.user);
                let answer = if is_same {
                    Ok(Answer::Job { job, created: false })
                } else {
                    Err(Refusal::KeyTaken(job))
                };
                return Ok(Taken { events: Vec::new(), answer });
            }
        }
        let snapshot = self.engine.snapshot();
        let waiting = (snapshot.jobs.len() - snapshot.leases.len()) as u64;
        if waiting >= self.queue_max {
            return Ok(Refusal::QueueFull { waiting, most: self.queue_max }.into());
        }
        let mut events = Vec::new();
        let spec = match self.spec(wanted, &snapshot, &mut events) {
            Ok(spec) => Arc::new(spec),
            Err(refusal) => return Ok(refusal.into()),
        };
        let job = spec.id;
        self.next_job.0 += 1;
        let program = serde_json::to_string(&wanted.program).expect("a program can be written as JSON");
        let user = self.user.clone();
        self.batch.submit(&Submission { job, key, content, program, user })?;
        let (program, user) = (Arc::new(wanted.program.clone()), self.user.as_deref().map(Arc::from));
        self.world.admit(LiveJob { spec: spec.clone(), program, user });
        events.push(Event::Submitted(spec));
        Ok(Taken { events, answer: Ok(Answer::Job { job, created: true }) })
    }

    /// What the engine is told of a job; a tenant that nobody has heard of is made first.
    fn spec(
        &self,
        wanted: &Wanted,
        snapshot: &Snapshot,
        events: &mut Vec<Event>,
    ) -> Result<JobSpec, Refusal> {
        wanted.program.check().map_err(Refusal::Invalid)?;
        check_name("tenant", &wanted.tenant)?;
        if let Some(name) = &wanted.name {
            check_name("name", name)?;
            if name.parse::<u64>().is_ok() {
                return invalid(format!("name is {name}: a number would be taken for that of a job"));
            }
        }
        let models = models(wanted, snapshot)?;
        check_size(wanted, models, snapshot)?;
        let work =
            wanted.steps.map(|steps| between("steps", steps, STEPS).map(Work::from_steps)).transpose()?;
        let speed =
            wanted.steps_per_second.map(|speed| between("steps_per_second", speed, SPEEDS)).transpose()?;
        if let Some(unknown) = wanted.after.iter().find(|after| after.0 >= self.next_job.0) {
            return invalid(format!("after has {}: there is no such job", unknown.0));
        }
        let tenant = self.batch.tenant(&wanted.tenant).unwrap_or_else(|| {
            let tenant = Tenant::new(self.new_tenant(), &wanted.tenant);
            let id = tenant.id;
            events.push(Event::TenantChanged(tenant));
            id
        });
        let mut spec = JobSpec::new(*self.next_job, tenant, wanted.gpus, work);
        spec.label = wanted.name.as_deref().map(Arc::from);
        spec.priority = Priority(wanted.priority);
        spec.models = models;
        spec.after.clone_from(&wanted.after);
        spec.speeds = speed.and_then(|speed| Rate::new(speed).ok()).map(PerModel::all);
        Ok(spec)
    }
}

fn done(event: Event) -> Taken {
    Taken { events: vec![event], answer: Ok(Answer::Done) }
}

fn invalid<T>(what: String) -> Result<T, Refusal> {
    Err(Refusal::Invalid(what))
}

fn no_policy<T>(choice: &Choice) -> Result<T, Refusal> {
    invalid(format!("policy is {}: there is none, or not with these parameters", choice.name))
}

fn check_name(field: &str, name: &str) -> Result<(), Refusal> {
    let letters = name.chars().count();
    if letters == 0 || letters > NAME_MAX || name.chars().any(char::is_control) {
        return invalid(format!(
            "{field} is {name:?}: 1 to {NAME_MAX} letters are allowed, none of them a control character"
        ));
    }
    Ok(())
}

fn between(field: &str, value: f64, (least, most): (f64, f64)) -> Result<f64, Refusal> {
    if value >= least && value <= most {
        Ok(value)
    } else {
        invalid(format!("{field} is {value}: {least} to {most} are allowed"))
    }
}

fn models(wanted: &Wanted, snapshot: &Snapshot) -> Result<ModelFilter, Refusal> {
    if wanted.models.is_empty() {
        return Ok(ModelFilter::ANY);
    }
    let known: Vec<&str> = snapshot.cluster.models.iter().map(|model| model.name.as_str()).collect();
    let mut found = Vec::new();
    for name in &wanted.models {
        let Some(at) = known.iter().position(|known| known == name) else {
            let near =
                nearest(name, &known).map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return invalid(format!("models has {name}: this cluster has {}{near}", known.join(", ")));
        };
        found.push(ModelIndex(at as u16));
    }
    Ok(ModelFilter::only(found))
}

/// A job that could never run is refused at once; one that has to wait for a node is not.
fn check_size(wanted: &Wanted, models: ModelFilter, snapshot: &Snapshot) -> Result<(), Refusal> {
    if wanted.gpus == 0 {
        return invalid("gpus is 0: at least 1 is needed".to_owned());
    }
    let owned = |model: ModelIndex| {
        let nodes = snapshot.cluster.nodes.iter().filter(|node| node.model == model);
        GpuCount(nodes.map(|node| u32::from(node.gpus)).sum())
    };
    let most = snapshot.cluster.model_indices().filter(|model| models.allows(*model)).map(owned).max();
    let most = most.unwrap_or(GpuCount::ZERO).0;
    if wanted.gpus > most {
        return invalid(format!(
            "gpus is {}: no GPU model that will do has more than {most} in this cluster",
            wanted.gpus
        ));
    }
    Ok(())
}

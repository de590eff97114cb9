//! What is believed of jobs on one GPU, beside whatever a predictor believes of their speed: learned beforehand, corrected by what is measured.
//!
//! ```text
//! class      jobs of which the same demand was declared: the same graph, the same batch
//! demand     as declared until a job of the class was measured; then as measured
//! slowdown   that of the trees x exp(off), where off is what measured slowdowns of the class were off beside that other class,
//!            shrunk towards what they were off beside anybody, shrunk towards nothing                               `Corrected`
//! ```
//!
//! So a wrong forecast hurts once: the first time that two classes meet.

mod corrected;

use crate::learned::Learned;
use corrected::{Corrected, Offs};
use evenhand_core::{
    Bytes, Cluster, Demand, DemandClass, Estimate, Event, Forecast, GpuId, GpuSet, Interference, Job,
    JobSpec, Lease, LeaseId, ModelIndex, Moved, PerModel, Predictor, Sample, SaveError, Saved, Sharing,
    SharingMode,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A predictor that believes a trained model of jobs on one GPU, and corrects it.
pub fn with_learned(speeds: Box<dyn Predictor>, model: Learned) -> Box<dyn Predictor> {
    let corrected = Arc::new(Corrected::of(Arc::new(model)));
    let (offs, classes, seats, taken) = (Offs::default(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    Box::new(WithLearned { speeds, corrected, offs, classes, seats, taken })
}

/// A measured share counts as another one if it is off by more than this.
const TOLERANCE: f64 = 0.02;

struct WithLearned {
    /// Says everything but what becomes of jobs on one GPU.
    speeds: Box<dyn Predictor>,
    corrected: Arc<Corrected>,
    offs: Offs,
    classes: BTreeMap<Declared, Class>,
    /// Who is on shared GPUs.
    seats: BTreeMap<GpuId, Vec<Sitting>>,
    /// The GPUs to which each of them came: a lease may have others when it ends.
    taken: BTreeMap<LeaseId, GpuSet>,
}

/// What was declared, as it is compared.
type Declared = [u64; 5];

/// Jobs of which the same was declared.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Class {
    id: DemandClass,
    /// What one of them was measured to ask.
    measured: Option<Demand>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Sitting {
    lease: LeaseId,
    demand: Demand,
    mode: SharingMode,
}

impl Predictor for WithLearned {
    fn observe(&mut self, sample: &Sample<'_>) -> Moved {
        let moved = self.speeds.observe(sample);
        let told = match (sample.event, sample.lease) {
            (Event::LeaseStarted(_), Some(lease)) => self.sit(sample, lease),
            (Event::LeaseEnded { lease, .. }, _) => {
                self.rise(*lease);
                Moved::Nothing
            }
            (Event::Telemetry { demand, slowdown, .. }, Some(lease)) => {
                let asks = self.measure(sample, lease, demand);
                let slowed = slowdown.is_some_and(|slowdown| self.compare(lease, slowdown.get()));
                match (asks, slowed) {
                    (true, _) => Moved::Alike,
                    (false, true) => Moved::Job,
                    (false, false) => Moved::Nothing,
                }
            }
            _ => Moved::Nothing,
        };
        match (moved, told) {
            (Moved::Alike, _) | (_, Moved::Alike) => Moved::Alike,
            (Moved::Job, _) | (_, Moved::Job) => Moved::Job,
            _ => Moved::Nothing,
        }
    }

    fn alike(&self, other: &JobSpec, observed: &JobSpec) -> bool {
        let same = other.demand.is_some() && other.demand == observed.demand;
        same || self.speeds.alike(other, observed)
    }

    fn forecast(&self, job: &Job, cluster: &Cluster) -> Arc<Forecast> {
        let mut forecast = self.speeds.forecast(job, cluster);
        if job.spec.demand.is_some() {
            let demands = &mut Arc::make_mut(&mut forecast).demand;
            for demand in &mut demands.0 {
                *demand = self.believed(demand);
            }
        }
        forecast
    }

    fn interference(&self) -> Arc<dyn Interference> {
        self.corrected.clone()
    }

    fn save(&self) -> Result<Saved, SaveError> {
        let Self { offs, classes, seats, taken, .. } = self;
        Saved::of(&(self.speeds.save()?, self.corrected.save()?, offs, classes, seats, taken))
    }

    fn load(&mut self, saved: &Saved) -> Result<(), SaveError> {
        let (speeds, told): (Saved, Saved);
        (speeds, told, self.offs, self.classes, self.seats, self.taken) = saved.read()?;
        Arc::make_mut(&mut self.corrected).load(&told)?;
        self.speeds.load(&speeds)
    }
}

impl WithLearned {
    /// What a job asks, for all that is known of those of which the same was declared.
    fn believed(&self, declared: &Demand) -> Demand {
        let Some(class) = self.classes.get(&key(declared)) else { return *declared };
        Demand { class: class.id, ..class.measured.unwrap_or(*declared) }
    }

    fn class(&mut self, declared: &Demand) -> &mut Class {
        let next = DemandClass(self.classes.len() as u32 + 1);
        self.classes.entry(key(declared)).or_insert(Class { id: next, measured: None })
    }

    /// A job has come to its GPUs: from now on its class has a number.
    fn sit(&mut self, sample: &Sample<'_>, lease: &Lease) -> Moved {
        let Sharing::Beside { mode, .. } = lease.sharing else { return Moved::Nothing };
        let Some(declared) = declared(sample, lease) else { return Moved::Nothing };
        let is_new = !self.classes.contains_key(&key(&declared));
        self.class(&declared);
        let sitting = Sitting { lease: lease.id, demand: self.believed(&declared), mode };
        lease.gpus.iter().for_each(|gpu| self.seats.entry(gpu).or_default().push(sitting));
        self.taken.insert(lease.id, lease.gpus.clone());
        if is_new { Moved::Alike } else { Moved::Nothing }
    }

    /// A job has left the GPUs to which it had come.
    fn rise(&mut self, lease: LeaseId) {
        for gpu in self.taken.remove(&lease).iter().flat_map(GpuSet::iter) {
            if let Some(sitting) = self.seats.get_mut(&gpu) {
                sitting.retain(|sitting| sitting.lease != lease);
            }
        }
    }

    /// Takes a measured demand in; says whether the class is told anew.
    fn measure(&mut self, sample: &Sample<'_>, lease: &Lease, seen: &Demand) -> bool {
        let Some(declared) = declared(sample, lease) else { return false };
        let class = self.class(&declared);
        if class.measured.is_some_and(|known| !is_off(&known, seen)) {
            return false;
        }
        class.measured = Some(*seen);
        let demand = Demand { class: class.id, ..*seen };
        for gpu in lease.gpus.iter() {
            let own = self.seats.get_mut(&gpu).into_iter().flatten();
            own.filter(|sitting| sitting.lease == lease.id).for_each(|sitting| sitting.demand = demand);
        }
        true
    }

    /// Takes a measured slowdown in; says whether something else is believed now.
    fn compare(&mut self, lease: &Lease, slowdown: f64) -> bool {
        let worst = lease.gpus.iter().filter_map(|gpu| {
            let sitting = self.seats.get(&gpu)?;
            let own = sitting.iter().find(|sitting| sitting.lease == lease.id)?.demand;
            let others = sitting.iter().filter(|sitting| sitting.lease != lease.id);
            let others: Vec<Demand> = others.map(|sitting| sitting.demand).collect();
            let mode = SharingMode::together(sitting.iter().map(|sitting| sitting.mode));
            let all: Vec<&Demand> = others.iter().collect();
            let believed = self.corrected.uncorrected(&own, &all, mode).mean.get();
            (!others.is_empty()).then_some((believed, own, others, mode))
        });
        let worst = worst.max_by(|a, b| a.0.total_cmp(&b.0));
        worst.is_some_and(|(believed, own, others, mode)| {
            let others: Vec<DemandClass> = others.iter().map(|other| other.class).collect();
            let off = (slowdown.max(1.0) / believed).ln();
            self.offs.take(off, own.class, &others, mode, &mut self.corrected)
        })
    }
}

/// What was declared of a job for the GPU model of its lease, if anything.
fn declared(sample: &Sample<'_>, lease: &Lease) -> Option<Demand> {
    let node = lease.gpus.seats().first()?.node;
    let model: ModelIndex = sample.cluster.nodes[node.index()].model;
    let demands: &PerModel<Demand> = sample.job.spec.demand.as_deref()?;
    Some(demands[model])
}

fn key(demand: &Demand) -> Declared {
    let Demand { duty, sm, tensor, bandwidth, memory: Estimate { mean: Bytes(memory), .. }, .. } = demand;
    [duty.to_bits(), sm.to_bits(), tensor.to_bits(), bandwidth.to_bits(), *memory]
}

fn is_off(known: &Demand, seen: &Demand) -> bool {
    let shares = |demand: &Demand| [demand.duty, demand.sm, demand.tensor, demand.bandwidth];
    let differs = shares(known).into_iter().zip(shares(seen)).any(|(a, b)| (a - b).abs() > TOLERANCE);
    let (a, b) = (known.memory.high.0 as f64, seen.memory.high.0 as f64);
    differs || (a - b).abs() > TOLERANCE * a.max(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_for_tests;
    use evenhand_core::{
        EndCause, GpuMask, GpuModel, JobId, LeaseState, Node, NodeId, RackId, Ratio, Reason, Time, Work,
    };

    /// Everything that a predictor is shown of jobs on one GPU.
    struct Stage {
        predictor: Box<dyn Predictor>,
        cluster: Cluster,
        jobs: Vec<Job>,
    }

    impl Stage {
        /// Jobs of which these duties were declared, side by side on one GPU.
        fn new(duties: &[f64]) -> Self {
            let mut cluster = Cluster::new(vec![GpuModel { name: "h200".into() }]);
            cluster.put(Node::new(NodeId(0), RackId(0), ModelIndex(0), 1), GpuMask(0));
            let declared = (crate::PREDICTORS[0].build)();
            let predictor = with_learned(declared, Learned::shipped());
            let jobs = duties.iter().enumerate().map(|(id, duty)| {
                let mut job = job_for_tests(100.0);
                let spec = Arc::make_mut(&mut job.spec);
                spec.id = JobId(id as u64);
                let demand = Demand { duty: *duty, sm: *duty, ..Demand::default() };
                spec.demand = Some(Arc::new(PerModel::all(demand)));
                job
            });
            Self { predictor, cluster, jobs: jobs.collect() }
        }

        fn lease(at: usize) -> Lease {
            Lease {
                id: LeaseId(at as u64),
                job: JobId(at as u64),
                gpus: GpuSet::of([GpuId { node: NodeId(0), ordinal: 0 }]),
                sharing: Sharing::Beside { slowdown_max: Ratio::UNLIMITED, mode: SharingMode::Mps },
                starts: Time::ZERO,
                expires: Time::NEVER,
                reason: Reason::Packed,
                state: LeaseState::Held,
                taken: Time::ZERO,
                booked: Time::ZERO,
            }
        }

        fn show(&mut self, at: usize, event: &Event) -> Moved {
            let (job, lease) = (&self.jobs[at], Self::lease(at));
            let (now, cluster) = (Time::ZERO, &self.cluster);
            let sample = Sample { now, job, event, demand: None, lease: Some(&lease), halted: None, cluster };
            self.predictor.observe(&sample)
        }

        fn measure(&mut self, at: usize, duty: f64, slowdown: f64) -> Moved {
            let demand = Demand { duty, sm: duty, ..Demand::default() };
            let slowdown = Ratio::new(slowdown).ok();
            self.show(at, &Event::Telemetry { lease: LeaseId(at as u64), demand, slowdown })
        }

        fn demand(&self, at: usize) -> Demand {
            self.predictor.forecast(&self.jobs[at], &self.cluster).demand[ModelIndex(0)]
        }

        fn slowdown(&self, own: usize, other: usize) -> Estimate<Ratio> {
            let (own, other) = (self.demand(own), self.demand(other));
            let model = &self.cluster.models[0];
            self.predictor.interference().slowdown(&own, &[&other], model, SharingMode::Mps)
        }
    }

    #[test]
    fn what_one_job_is_measured_to_ask_is_believed_of_all_of_which_the_same_was_declared() {
        let mut stage = Stage::new(&[0.3, 0.6, 0.3]);
        assert_eq!(stage.show(0, &Event::LeaseStarted(LeaseId(0))), Moved::Alike);
        assert_eq!(stage.measure(0, 0.9, 1.0), Moved::Alike);
        for (at, duty) in [0.9, 0.6, 0.9].into_iter().enumerate() {
            assert!((stage.demand(at).duty - duty).abs() < 1e-12, "job {at}");
        }
        assert_eq!(stage.measure(0, 0.905, 1.0), Moved::Nothing, "noise is no news");
        let specs = [0, 1, 2].map(|at| stage.jobs[at].spec.clone());
        assert!(stage.predictor.alike(&specs[2], &specs[0]) && !stage.predictor.alike(&specs[1], &specs[0]));
    }

    #[test]
    fn measured_slowdowns_correct_the_pair_most_and_others_less() {
        let mut stage = Stage::new(&[0.3, 0.6, 0.8]);
        for at in 0..2 {
            stage.show(at, &Event::LeaseStarted(LeaseId(at as u64)));
            stage.measure(at, [0.3, 0.6][at], 1.0);
        }
        let (beside, elsewhere) = (stage.slowdown(0, 1), stage.slowdown(0, 2));
        for _ in 0..10 {
            stage.measure(0, 0.3, 2.0 * beside.mean.get());
        }
        let (now, then) = (stage.slowdown(0, 1), beside.mean.get());
        assert!((now.mean.get() / (2.0 * then) - 1.0).abs() < 0.1, "{now:?} after {beside:?}");
        assert!(now.high.get() / now.mean.get() < beside.high.get() / then, "surer than before");
        let others = stage.slowdown(0, 2).mean.get() / elsewhere.mean.get();
        assert!(others > 1.2 && others < 2.0, "{others}");
        // The other side was not measured to be slower.
        assert!(stage.slowdown(1, 0).mean.get() < 1.3);
        // Once it has left, nobody can be blamed.
        let ended = Event::LeaseEnded {
            lease: LeaseId(1),
            done: Work::ZERO,
            saved: Work::ZERO,
            cause: EndCause::Stopped,
        };
        stage.show(1, &ended);
        assert_eq!(stage.measure(0, 0.3, 9.0), Moved::Nothing);
    }
}

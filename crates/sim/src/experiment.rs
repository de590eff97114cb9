//! One run, and many side by side: in parallel, each single-threaded and so repeatable.

use crate::cluster::ClusterSpec;
use crate::faults::Faults;
use crate::original::OriginalWorld;
use crate::workload::Workload;
use crate::world::World;
use evenhand_core::{
    Abilities, Backend, BackendError, Choice, Command, EngineConfig, Header, LEDGER_VERSION, LedgerWriter,
    Limits, Plan, Policy, PolicyError, Predictor, Record, Snapshot, Span, nearest,
};
use evenhand_engine::{Engine, Parts, run};
use evenhand_policies::placement::{DEFAULT_PLACER, PLACERS};
use evenhand_policies::{DEFAULT_POLICY, NameError, PLANNERS, POLICIES, find};
use evenhand_predict::learned::Learned;
use evenhand_predict::{DEFAULT_PREDICTOR, PREDICTORS, PredictorEntry, with_learned};
use evenhand_report::{Costs, Report};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// Everything about a run except the work and the machines.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Who decides.
    pub policy: Choice,
    /// Who places.
    pub placer: Choice,
    /// Who predicts; `None`: whoever suits the policy.
    pub predictor: Option<Choice>,
    /// Whose slowdowns on shared GPUs are believed: `rule`, `learned`, or a trained model's file; `None`: the rule's.
    pub sharing: Option<String>,
    /// How the engine works.
    pub engine: EngineConfig,
    /// How long a policy may think.
    pub limits: Limits,
    /// What goes wrong.
    pub faults: Faults,
    /// Where chance comes from.
    pub seed: u64,
    /// Whose rules of time.
    pub semantics: Semantics,
}

/// Whose rules a simulation follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semantics {
    /// Ours: event-driven, with exact finish times.
    #[default]
    Exact,
    /// Those of the published simulators: everything happens at the ends of rounds.
    Original,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            policy: Choice::named(DEFAULT_POLICY),
            placer: Choice::named(DEFAULT_PLACER),
            predictor: None,
            sharing: None,
            engine: EngineConfig::default(),
            limits: Limits::default(),
            faults: Faults::default(),
            seed: 1,
            semantics: Semantics::Exact,
        }
    }
}

impl Semantics {
    /// How the world calls itself in the ledger.
    fn world_name(self) -> &'static str {
        match self {
            Self::Exact => "simulated",
            Self::Original => "simulated, original semantics",
        }
    }
}

impl Setup {
    /// The world that the run takes place in, and its count of pairs on one GPU that nobody has measured.
    fn world(&self, cluster: &ClusterSpec, workload: &Arc<Workload>) -> (Box<dyn Backend>, Arc<AtomicU64>) {
        let (models, nodes, work) = (cluster.models.clone(), &cluster.nodes, workload.clone());
        match self.semantics {
            Semantics::Exact => {
                let world = World::new(models, nodes, work, self.faults.clone(), self.seed);
                let unmeasured = world.unmeasured();
                (Box::new(world), unmeasured)
            }
            Semantics::Original => {
                (Box::new(OriginalWorld::new(models, nodes, work, self.engine.round)), Arc::default())
            }
        }
    }

    /// How the engine works: a world with rounds of its own rings when they end, whatever the engine's clock says.
    fn engine(&self) -> EngineConfig {
        let round = if self.semantics == Semantics::Original { Span::ZERO } else { self.engine.round };
        EngineConfig { round, ..self.engine.clone() }
    }

    /// Whose beliefs the policy goes by if nobody says.
    fn usual_predictor(&self) -> &'static str {
        let planner = PLANNERS.iter().find(|(policy, _)| *policy == self.policy.name);
        planner.map_or(DEFAULT_PREDICTOR, |(_, predictor)| predictor)
    }

    /// Under original semantics, a policy that has a published variant is run in that variant and with the rounds of
    /// the run, unless told otherwise.
    pub fn use_published_variant(&mut self) {
        let entry = POLICIES.iter().find(|entry| entry.name == self.policy.name);
        let has_one = entry.is_some_and(|entry| entry.parameters.iter().any(|spec| spec.name == "variant"));
        if has_one && self.semantics == Semantics::Original {
            let parameters = &mut self.policy.parameters.0;
            let variant = parameters.entry("variant".into()).or_insert_with(|| "fork".into());
            if variant != "fork" {
                return;
            }
        }
        let knows_rounds =
            entry.is_some_and(|entry| entry.parameters.iter().any(|spec| spec.name == "round"));
        if knows_rounds && self.semantics == Semantics::Original {
            // The engine is told nothing of rounds that the world ends, so the policy cannot learn it there.
            let round = self.engine.round.seconds();
            self.policy.parameters.0.entry("round".into()).or_insert_with(|| format!("{round}s"));
        }
    }

    /// Whose beliefs the policy goes by.
    fn predictor(&self) -> Choice {
        let predictor = self.predictor.clone();
        let mut predictor = predictor.unwrap_or_else(|| Choice::named(self.usual_predictor()));
        if let Some(sharing) = &self.sharing {
            predictor.parameters.0.insert(SHARING.into(), sharing.clone());
        }
        predictor
    }

    /// The first line of this run's ledger.
    pub fn header(&self, abilities: Abilities, world: &str) -> Header {
        Header {
            evenhand: LEDGER_VERSION,
            policy: self.policy.clone(),
            placer: self.placer.clone(),
            predictor: self.predictor(),
            seed: self.seed,
            engine: self.engine(),
            limits: self.limits,
            abilities,
            world: world.to_owned(),
        }
    }
}

/// A part that does not exist, or a parameter that it does not take.
#[derive(Clone, Debug, Error)]
pub enum SetupError {
    /// No such part.
    #[error(transparent)]
    Name(#[from] NameError),
    /// No such parameter, or no such value.
    #[error("policy {policy}: {error}")]
    Parameter {
        /// Whose.
        policy: String,
        /// What is wrong.
        error: evenhand_core::ParameterError,
    },
    /// No such model of jobs on shared GPUs.
    #[error("sharing is `{given}`: it is rule, learned, or a model file of `evenhand train` ({what})")]
    Sharing {
        /// As given.
        given: String,
        /// What is wrong with the file.
        what: String,
    },
}

/// The parameter of every predictor that says whose slowdowns on shared GPUs are believed.
const SHARING: &str = "sharing";

/// The predictor that is chosen, with its beliefs about shared GPUs.
fn make_predictor(choice: &Choice) -> Result<Box<dyn Predictor>, SetupError> {
    let speeds = (find_predictor(&choice.name)?.build)();
    match choice.parameters.0.get(SHARING).map(String::as_str) {
        None | Some("rule") => Ok(speeds),
        Some("learned") => Ok(with_learned(speeds, Learned::shipped())),
        Some(path) => {
            let wrong = |what: String| SetupError::Sharing { given: path.to_owned(), what };
            let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
            let model = Learned::read(&text).map_err(|error| wrong(error.to_string()))?;
            Ok(with_learned(speeds, model))
        }
    }
}

/// The predictor of this name.
fn find_predictor(name: &str) -> Result<&'static PredictorEntry, NameError> {
    PREDICTORS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = PREDICTORS.iter().map(|entry| entry.name).collect();
        NameError { what: "predictor", name: name.to_owned(), nearest: nearest(name, &known), known }
    })
}

/// The engine that a header describes: it decides exactly as the one that wrote the header did.
pub fn engine_for(header: &Header) -> Result<Engine, SetupError> {
    make_engine(header, |policy| policy)
}

fn make_engine(
    header: &Header,
    wrap: impl FnOnce(Box<dyn Policy>) -> Box<dyn Policy>,
) -> Result<Engine, SetupError> {
    let choice = &header.policy;
    let entry = find(POLICIES, "policy", &choice.name)?;
    let made = entry.make(&choice.parameters);
    let policy = made.map_err(|error| SetupError::Parameter { policy: choice.name.clone(), error })?;
    let placer = find(PLACERS, "placer", &header.placer.name)?;
    Ok(Engine::new(Parts {
        policy: wrap(policy),
        placer: (placer.build)(),
        predictor: make_predictor(&header.predictor)?,
        make_policy: Box::new(evenhand_policies::make),
        config: header.engine.clone(),
        limits: header.limits,
        seed: header.seed,
        abilities: header.abilities,
    }))
}

/// How long decisions took: counts in steps of 5 %, so that a long run needs no more memory than a short one.
#[derive(Clone, Debug)]
pub struct Timings {
    counts: Vec<u64>,
}

const TIMING_STEP: f64 = 1.05;

impl Default for Timings {
    fn default() -> Self {
        Self { counts: vec![0; 512] }
    }
}

impl Timings {
    fn add(&mut self, nanoseconds: u64) {
        let place = (nanoseconds.max(1) as f64).log(TIMING_STEP) as usize;
        let last = self.counts.len() - 1;
        self.counts[place.min(last)] += 1;
    }

    /// The time that this fraction of decisions stayed below, in milliseconds; NaN if there were none.
    pub fn quantile_ms(&self, fraction: f64) -> f64 {
        let total: u64 = self.counts.iter().sum();
        let wanted = (total as f64 * fraction).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return TIMING_STEP.powf(place as f64 + 0.5) / 1e6;
            }
        }
        f64::NAN
    }
}

/// A policy whose decisions are timed. The engine cannot do it: it has no clock.
struct Timed {
    policy: Box<dyn Policy>,
    timings: Arc<Mutex<Timings>>,
}

impl Policy for Timed {
    fn decide(&self, snapshot: &Snapshot, limits: Limits) -> Result<Plan, PolicyError> {
        // Reading a thread's processor time costs as much as a small decision: of many, every sixteenth is timed.
        let round = snapshot.round.0;
        if round > TIMED_ALL_MAX && !round.is_multiple_of(16) {
            return self.policy.decide(snapshot, limits);
        }
        let before = nanoseconds(ClockId::ThreadCPUTime);
        let plan = self.policy.decide(snapshot, limits);
        let spent = nanoseconds(ClockId::ThreadCPUTime) - before;
        self.timings.lock().unwrap_or_else(PoisonError::into_inner).add(spent);
        plan
    }
}

/// Up to this many decisions, each is timed.
const TIMED_ALL_MAX: u64 = 2000;

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The most memory this process has held, in megabytes; NaN where the system does not say.
fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
}

/// A run that came to its end.
pub struct Finished {
    /// What it was.
    pub setup: Setup,
    /// All that can be said of it.
    pub report: Report,
    /// What it cost.
    pub costs: Costs,
}

/// Why a run did not.
#[derive(Debug, Error)]
pub enum RunError {
    /// It could not begin.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// It could not go on.
    #[error(transparent)]
    World(#[from] BackendError),
    /// The ledger could not be opened or written.
    #[error("the ledger could not be written: {0}")]
    Ledger(#[from] io::Error),
}

/// Where a run writes its ledger, and how it says how far it is.
pub struct Run<'a> {
    /// The ledger's stream; `None` = it is not kept.
    pub ledger: Option<Box<dyn Write + Send>>,
    /// Where that is, for the summary.
    pub ledger_path: Option<String>,
    /// Told the number of jobs that have ended, now and then.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// Jobs that end between two words about it.
const PROGRESS_EVERY: u64 = 256;

/// Runs the work on the machines under one policy.
pub fn simulate(
    cluster: &ClusterSpec,
    workload: &Arc<Workload>,
    setup: &Setup,
    how: Run<'_>,
) -> Result<Finished, RunError> {
    let (mut world, unmeasured) = setup.world(cluster, workload);
    let header = setup.header(world.abilities(), setup.semantics.world_name());
    let timings = Arc::new(Mutex::new(Timings::default()));
    let mut engine = make_engine(&header, |policy| Box::new(Timed { policy, timings: timings.clone() }))?;
    let mut ledger = how.ledger.map(|to| LedgerWriter::new(to, &header)).transpose()?;
    let mut report = Report::new(&header);
    let (cpu, wall) = (nanoseconds(ClockId::ThreadCPUTime), nanoseconds(ClockId::Monotonic));
    let mut ended = 0;
    run(&mut engine, &mut *world, &mut |record: &Record| {
        report.take(record);
        let before = ended / PROGRESS_EVERY;
        ended +=
            record.commands.iter().filter(|command| matches!(command, Command::End { .. })).count() as u64;
        if ended / PROGRESS_EVERY > before {
            (how.progress)(ended);
        }
        ledger.as_mut().map_or(Ok(()), |ledger| ledger.write(record))
    })?;
    if let Some(ledger) = ledger {
        ledger.finish()?;
    }
    (how.progress)(ended);
    let timings = timings.lock().unwrap_or_else(PoisonError::into_inner);
    let costs = Costs {
        decide_ms_p50: timings.quantile_ms(0.5),
        decide_ms_p99: timings.quantile_ms(0.99),
        cpu_s: (nanoseconds(ClockId::ThreadCPUTime) - cpu) as f64 / 1e9,
        wall_s: (nanoseconds(ClockId::Monotonic) - wall) as f64 / 1e9,
        peak_rss_mb: peak_rss_mb(),
        pairings_unmeasured: unmeasured.load(Ordering::Relaxed),
        ledger: how.ledger_path,
    };
    Ok(Finished { setup: setup.clone(), report, costs })
}

/// Does so many pieces of work on up to `threads` threads, the first ones first. The results are in the order of the
/// pieces and do not depend on the number of threads.
pub fn in_parallel<T: Send>(count: usize, threads: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = results.get(at) else { break };
                    let result = work(at);
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
                }
            });
        }
    });
    let taken = results.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    taken.map(|result| result.expect("every piece of work was done")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adjusted(name: &str, set: &[(&str, &str)], semantics: Semantics) -> Vec<(String, String)> {
        let engine = EngineConfig { round: Span(90_500), ..EngineConfig::default() };
        let mut setup = Setup { policy: Choice::named(name), engine, semantics, ..Setup::default() };
        setup.policy.parameters.0 =
            set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        setup.use_published_variant();
        engine_for(&setup.header(Abilities::default(), "")).expect("the parameters fit the policy");
        setup.policy.parameters.0.into_iter().collect()
    }

    #[test]
    fn a_published_variant_has_the_rounds_of_the_run_unless_told_otherwise() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let original = Semantics::Original;
        assert_eq!(adjusted("fifo", &[], original), pairs(&[("round", "90.5s"), ("variant", "fork")]));
        let set = [("round", "60s"), ("variant", "fork")];
        assert_eq!(adjusted("fifo", &set, original), pairs(&set));
        let set = [("variant", "exact")];
        assert_eq!(adjusted("fifo", &set, original), pairs(&set));
        assert_eq!(adjusted("las", &[], original), pairs(&[]));
        assert_eq!(adjusted("fifo", &[], Semantics::Exact), pairs(&[]));
    }
}

//! What somebody could reach who knows from the beginning who will come: a schedule of a scenario's work, improved by search, in which nobody is later than promised.
//!
//! ```text
//! minimise    sum_i (C_i - a_i)
//! subject to  C_i <= a_i + rho max(F_i - a_i, 60 s)    F_i the end of job i under fluid fair sharing
//!             max_i C_i - min_i a_i <= D
//! ```
//!
//! A schedule is a list of all jobs and, for each, a moment b_i >= a_i before which it is not begun. Whenever somebody comes, begins or ends, GPUs are given in the order of the list to
//! everybody who fits; whoever was stopped and goes on pays for the restart. Lists and moments are changed at random and what is worse is taken less and less (simulated
//! annealing). What is found is possible; what is not found may be possible all the same. One GPU model, no apps; distance costs nothing.
//!
//!     cargo run --release -p evenhand-sim --example clairvoyant -- trace.toml [rho=1.1] [makespan_s=D] [steps=400000] [seed=1]
//!
//! The best that was found is printed as JSON, with `null`s if nothing was that keeps all promises.

use evenhand_core::{GpuCount, ModelIndex, Random, Span, Time};
use evenhand_fairness::{FluidJob, fluid_finishes};
use evenhand_sim::{Scenario, SimJob, alone};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// A job of seconds is late by the time of a start alone.
const SHORT_S: f64 = 60.0;
/// Left of a job that has ended, but for rounding.
const OVER_S: f64 = 1e-6;
/// What a second late costs beside a second of waiting, and what being late costs at all, in seconds.
const LATE: f64 = 20.0;
const LATE_AT_ALL_S: f64 = 2_000.0;
/// What a second beyond the makespan costs.
const BEYOND: f64 = 400.0;

/// What is asked for.
struct Wish {
    rho: f64,
    makespan_s: f64,
    steps: u64,
    seed: u64,
}

struct Job {
    came_s: f64,
    gang: u32,
    takes_s: f64,
    fair_s: f64,
}

/// What is to be scheduled, and how.
struct Problem {
    jobs: Vec<Job>,
    gpus: u32,
    restart_s: f64,
    wish: Wish,
}

/// A schedule.
struct Schedule {
    /// Jobs, the first first.
    list: Vec<usize>,
    /// The place of each in the list.
    place: Vec<usize>,
    /// b.
    from_s: Vec<f64>,
}

/// What comes of a schedule.
#[derive(Clone, Copy)]
struct Outcome {
    cost_s: f64,
    mean_s: f64,
    worst: f64,
    makespan_s: f64,
    keeps_all: bool,
}

/// A change that can be taken back.
#[derive(Clone, Copy)]
enum Change {
    Moved { from: usize, to: usize },
    Begins { job: usize, before_s: f64 },
}

impl Problem {
    fn read(path: &Path, wish: Wish) -> Result<Self, Box<dyn Error>> {
        let scenario = Scenario::read(path)?;
        let cluster = scenario.cluster()?;
        let workload = scenario.workload(&cluster, 1)?;
        let gpus = cluster.gpus();
        if cluster.gpus_of(ModelIndex(0)) != gpus {
            return Err("there are several GPU models: who runs on which is not searched for".into());
        }
        if !workload.apps.is_empty() {
            return Err("there are apps: what their tuners will end is not known beforehand".into());
        }
        let fluid = |job: &SimJob| {
            let takes = alone(&job.truth, 1).ok_or_else(|| format!("{} has no end", job.truth.id))?;
            Ok(FluidJob { arrival: job.submit, alone: takes, gang: job.truth.gpus.min })
        };
        let fluid = workload.jobs.iter().map(fluid).collect::<Result<Vec<_>, String>>()?;
        let ends = fluid_finishes(&fluid, GpuCount(gpus));
        let job = |(job, end): (&FluidJob, Time)| Job {
            came_s: job.arrival.seconds(),
            gang: job.gang.0,
            takes_s: job.alone.seconds(),
            fair_s: end.since(job.arrival).seconds(),
        };
        let restart = workload.jobs.iter().map(|job| job.truth.restart.restore).max();
        let jobs = fluid.iter().zip(ends).map(job).collect();
        Ok(Self { jobs, gpus, restart_s: restart.map_or(0.0, Span::seconds), wish })
    }

    /// By the ends under fluid sharing, each from when it comes.
    fn first(&self) -> Schedule {
        let mut list: Vec<usize> = (0..self.jobs.len()).collect();
        let end_s = |at: &usize| self.jobs[*at].came_s + self.jobs[*at].fair_s;
        list.sort_by(|a, b| end_s(a).total_cmp(&end_s(b)));
        let mut place = vec![0; list.len()];
        list.iter().enumerate().for_each(|(at, job)| place[*job] = at);
        Schedule { list, place, from_s: self.jobs.iter().map(|job| job.came_s).collect() }
    }

    /// When each job ends.
    fn play(&self, schedule: &Schedule) -> Vec<f64> {
        let mut coming: Vec<usize> = (0..self.jobs.len()).collect();
        coming.sort_unstable_by(|a, b| schedule.from_s[*b].total_cmp(&schedule.from_s[*a]));
        let mut left_s: Vec<f64> = self.jobs.iter().map(|job| job.takes_s).collect();
        let (mut runs, mut ran) = (vec![false; left_s.len()], vec![false; left_s.len()]);
        let (mut there, mut ends_s): (Vec<usize>, _) = (Vec::new(), vec![0.0; left_s.len()]);
        let mut now_s = 0.0;
        loop {
            let mut free = self.gpus;
            let mut next_s = coming.last().map_or(f64::INFINITY, |at| schedule.from_s[*at]);
            for at in there.iter().copied() {
                let fits = self.jobs[at].gang <= free;
                if fits {
                    free -= self.jobs[at].gang;
                    if !runs[at] && ran[at] {
                        left_s[at] += self.restart_s;
                    }
                    ran[at] = true;
                    next_s = next_s.min(now_s + left_s[at]);
                }
                runs[at] = fits;
            }
            if next_s.is_infinite() {
                return ends_s;
            }
            let passed_s = next_s - now_s;
            now_s = next_s;
            there.retain(|at| {
                left_s[*at] -= if runs[*at] { passed_s } else { 0.0 };
                ends_s[*at] = now_s;
                left_s[*at] > OVER_S
            });
            while let Some(at) = coming.pop_if(|at| schedule.from_s[*at] <= now_s) {
                let before = there.partition_point(|other| schedule.place[*other] < schedule.place[at]);
                there.insert(before, at);
            }
        }
    }

    fn outcome(&self, schedule: &Schedule) -> Outcome {
        let ends_s = self.play(schedule);
        let (mut total_s, mut late_s, mut late, mut worst) = (0.0, 0.0, 0, 0.0_f64);
        for (job, end_s) in self.jobs.iter().zip(&ends_s) {
            let took_s = end_s - job.came_s;
            assert!(took_s >= job.takes_s - OVER_S, "nobody is faster than alone");
            let fair_s = job.fair_s.max(SHORT_S);
            let over_s = took_s - self.wish.rho * fair_s;
            total_s += took_s;
            late_s += over_s.max(0.0);
            late += u32::from(over_s > OVER_S);
            worst = worst.max(took_s / fair_s);
        }
        let first_s = self.jobs.iter().map(|job| job.came_s).fold(f64::INFINITY, f64::min);
        let makespan_s = ends_s.into_iter().fold(0.0, f64::max) - first_s;
        let beyond_s = (makespan_s - self.wish.makespan_s).max(0.0);
        Outcome {
            cost_s: total_s + LATE * late_s + LATE_AT_ALL_S * f64::from(late) + BEYOND * beyond_s,
            mean_s: total_s / self.jobs.len() as f64,
            worst,
            makespan_s,
            keeps_all: late == 0 && beyond_s <= OVER_S,
        }
    }

    /// The best that keeps all promises.
    fn search(&self) -> Option<Outcome> {
        let mut random = Random::new(self.wish.seed);
        let mut schedule = self.first();
        let mut here = self.outcome(&schedule);
        let mut best = Some(here).filter(|outcome| outcome.keeps_all);
        let heat_s = here.mean_s / 2.0;
        for step in 0..self.wish.steps {
            let cold = step as f64 / self.wish.steps as f64;
            let heat = heat_s * (1.0 - cold).powi(2) + 1e-3;
            let change = self.change(&mut schedule, &mut random);
            let there = self.outcome(&schedule);
            if there.keeps_all && best.is_none_or(|best| there.mean_s < best.mean_s) {
                best = Some(there);
            }
            if random.chance(((here.cost_s - there.cost_s) / heat).exp().min(1.0)) {
                here = there;
            } else {
                schedule.take_back(change);
            }
        }
        best
    }

    /// One job goes elsewhere in the list, near more often than far; or one, mostly a large one, is begun at another time.
    fn change(&self, schedule: &mut Schedule, random: &mut Random) -> Change {
        let count = self.jobs.len();
        let job = random.below(count as u64) as usize;
        let large = self.jobs[job].gang * 32 >= self.gpus;
        if random.chance(if large { 0.5 } else { 0.97 }) {
            let far = (random.unit().powi(3) * count as f64 / 2.0).max(1.0) as usize;
            let from = schedule.place[job];
            let to = if random.chance(0.5) { (from + far).min(count - 1) } else { from.saturating_sub(far) };
            schedule.shift(from, to);
            return Change::Moved { from, to };
        }
        let Job { came_s, takes_s, fair_s, .. } = self.jobs[job];
        let spare_s = (self.wish.rho * fair_s - takes_s).max(0.0);
        let before_s = schedule.from_s[job];
        let near_s = before_s + random.between(-0.1, 0.1) * spare_s;
        schedule.from_s[job] = match random.below(3) {
            0 => came_s,
            1 => near_s.clamp(came_s, came_s + spare_s),
            _ => came_s + random.unit() * spare_s,
        };
        Change::Begins { job, before_s }
    }
}

impl Schedule {
    fn shift(&mut self, from: usize, to: usize) {
        let job = self.list.remove(from);
        self.list.insert(to, job);
        for at in from.min(to)..=from.max(to) {
            self.place[self.list[at]] = at;
        }
    }

    fn take_back(&mut self, change: Change) {
        match change {
            Change::Moved { from, to } => self.shift(to, from),
            Change::Begins { job, before_s } => self.from_s[job] = before_s,
        }
    }
}

impl Wish {
    /// From words like `rho=1.1`.
    fn read(words: &[String]) -> Result<Self, Box<dyn Error>> {
        let mut wish = Self { rho: 1.1, makespan_s: f64::INFINITY, steps: 400_000, seed: 1 };
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not KEY=VALUE"))?;
            match key {
                "rho" => wish.rho = positive(word, value)?,
                "makespan_s" => wish.makespan_s = positive(word, value)?,
                "steps" => wish.steps = value.parse().map_err(|_| format!("`{word}`: a count of steps"))?,
                "seed" => wish.seed = value.parse().map_err(|_| format!("`{word}`: a whole number"))?,
                _ => return Err(format!("`{word}`: one of rho, makespan_s, steps, seed").into()),
            }
        }
        Ok(wish)
    }
}

fn positive(word: &str, value: &str) -> Result<f64, String> {
    let number = value.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("`{word}`: a number above 0"))
}

#[expect(clippy::print_stdout, reason = "what was found is what it is run for")]
fn search(words: &[String]) -> Result<(), Box<dyn Error>> {
    let (path, wishes) = words.split_first().ok_or("no scenario is named")?;
    let wish = Wish::read(wishes)?;
    match Problem::read(Path::new(path), wish)?.search() {
        Some(Outcome { mean_s, worst, makespan_s, .. }) => {
            println!("{{\"mean_s\": {mean_s}, \"worst\": {worst}, \"makespan_s\": {makespan_s}}}");
        }
        None => println!("{{\"mean_s\": null, \"worst\": null, \"makespan_s\": null}}"),
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "what is wrong is told where errors go")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match search(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

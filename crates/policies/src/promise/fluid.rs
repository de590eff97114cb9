//! The virtual system that promises come from: every job present holds its fair share of the GPUs, divided without end.
//!
//! ```text
//! p_i' = min(1, l w_i)          the rate at which job i progresses ;  w_i the weight of its tenant                   between jobs
//! p_i' = x_t / sum_{i of t} g_i    x_t the weighted max-min share of its tenant in its group, within its quota        between tenants
//! p_i' = x_a / sum_{i of a} g_i    x_a the weighted max-min share of its app, which is promised the end of its last job    between apps
//! sum_i g_i p_i' = min(M, sum_i g_i)                                  this sets l: no GPU is idle while somebody could use it ;  M what starting again leaves (M' of `overhead.rs`)
//! job i is done when p_i = T_i ;  T_i the time that it takes alone on GPUs of average speed
//! ```
//!
//! A job that ended early in the real system stays in this one until its fair finish: what it was given ahead of its share was
//! nobody's loss, and others must not be promised more for it. Jobs of one party progress alike, so that one clock serves them all and
//! a walk over their ends in order costs O(n log n).

use super::entitled::{Asked, Entitled, Party};
use evenhand_core::{AppId, JobId, JobSpec, TenantId, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a job's time may change by, as a part of it, without its coming back: how fast it was over so long is known.
const LITTLE: f64 = 0.02;

/// A job in the virtual system.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Member {
    pub job: JobId,
    /// g.
    pub gang: u32,
    /// Whose it is.
    pub tenant: TenantId,
    /// What it is part of.
    #[serde(default)]
    pub app: Option<AppId>,
    /// p: seconds of its time that its share has brought so far.
    pub progress_s: f64,
    /// T: seconds that it takes alone on GPUs of average speed, as far as is known now.
    pub total_s: f64,
    /// When it came, in seconds since the start of the run.
    pub since_s: f64,
    /// When its share was enough, if it was.
    pub finish_s: Option<f64>,
    /// What it had done when it came, and when it was last seen: seconds on GPUs of average speed.
    pub before_s: f64,
    pub done_s: f64,
    /// Whether it ran then.
    pub runs: bool,
    /// What it was last told to be promised, and whether it had to wait then.
    pub told: Option<(Time, bool)>,
}

impl Member {
    /// A job that has come just now, with this much of it done.
    pub fn new(spec: &JobSpec, gang: u32, now: Time, before_s: f64) -> Self {
        Self {
            job: spec.id,
            gang,
            tenant: spec.tenant,
            app: spec.app,
            progress_s: 0.0,
            total_s: 0.0,
            since_s: now.seconds(),
            finish_s: None,
            before_s,
            done_s: before_s,
            runs: false,
            told: None,
        }
    }

    /// It needs this long in all, it is believed now. If its share had seen it through, it was that much sooner or later; or it has to come back, if it was
    /// taken for much shorter.
    pub fn revise(&mut self, total_s: f64) {
        let before_s = std::mem::replace(&mut self.total_s, total_s);
        let Some(finish_s) = self.finish_s else { return };
        if (total_s - before_s).abs() <= LITTLE * before_s {
            self.finish_s = Some(self.since_s + (finish_s - self.since_s) * total_s / before_s);
            self.progress_s = total_s;
        } else if self.left_s() > 1.0 {
            self.finish_s = None;
        }
    }

    /// What is left of it counts as if it came now.
    pub fn begin_again(&mut self, now: Time) {
        self.total_s -= self.done_s - self.before_s;
        (self.before_s, self.progress_s, self.finish_s) = (self.done_s, 0.0, None);
        self.since_s = now.seconds();
    }

    /// It is gone from the real system, where it has had no more than this.
    pub fn leave(&mut self, elapsed_s: f64) {
        if std::mem::take(&mut self.runs) {
            self.done_s += elapsed_s;
        }
        self.total_s = self.total_s.min(self.done_s - self.before_s);
    }

    /// Whether its share was enough.
    pub fn is_over(&self) -> bool {
        self.finish_s.is_some()
    }

    fn left_s(&self) -> f64 {
        (self.total_s - self.progress_s).max(0.0)
    }
}

/// The jobs of the virtual system at one instant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Fluid {
    then: Time,
    /// By number.
    pub members: Vec<Member>,
}

impl Fluid {
    /// Until when time has passed.
    pub fn then(&self) -> Time {
        self.then
    }

    /// The member of this number.
    pub fn get_mut(&mut self, job: JobId) -> Option<&mut Member> {
        let at = self.members.binary_search_by_key(&job, |member| member.job).ok()?;
        Some(&mut self.members[at])
    }

    /// Lets time pass.
    pub fn advance(&mut self, now: Time, gpus: f64, entitled: &Entitled<'_>) {
        let (from_s, until_s) = (self.then.seconds(), now.seconds());
        self.then = now;
        if gpus <= 0.0 || until_s <= from_s {
            return;
        }
        let mut walk = Walk::new(&self.members, gpus, from_s, entitled);
        let ends = walk.run(until_s);
        for (member, party) in self.members.iter_mut().zip(&walk.parties) {
            member.progress_s += party.map_or(0.0, |party| walk.groups[party].clock_s);
        }
        for (at, finish_s) in ends {
            let member = &mut self.members[at];
            (member.finish_s, member.progress_s) = (Some(finish_s), member.total_s);
        }
    }

    /// When every job would be done if nobody else came, in seconds since the start of the run, in the order of the members.
    pub fn finishes(&self, gpus: f64, entitled: &Entitled<'_>) -> Vec<f64> {
        let mut finishes: Vec<f64> =
            self.members.iter().map(|member| member.finish_s.unwrap_or(f64::INFINITY)).collect();
        if gpus > 0.0 {
            let mut walk = Walk::new(&self.members, gpus, self.then.seconds(), entitled);
            for (at, finish_s) in walk.run(f64::INFINITY) {
                finishes[at] = finish_s;
            }
        }
        if entitled.is_between_apps() {
            self.end_apps_as_a_whole(&mut finishes);
        }
        finishes
    }

    /// Whatever is part of an app is promised for when the last of it would be done: in which order its jobs come is its own affair.
    fn end_apps_as_a_whole(&self, finishes: &mut [f64]) {
        let mut ends: BTreeMap<AppId, f64> = BTreeMap::new();
        for (member, finish_s) in self.members.iter().zip(&*finishes) {
            if let Some(app) = member.app {
                let end_s = ends.entry(app).or_insert(*finish_s);
                *end_s = end_s.max(*finish_s);
            }
        }
        for (member, finish_s) in self.members.iter().zip(finishes) {
            *finish_s = member.app.and_then(|app| ends.get(&app)).copied().unwrap_or(*finish_s);
        }
    }
}

/// Jobs that progress alike.
struct Group {
    party: Party,
    /// One of its members.
    tenant: TenantId,
    /// GPUs asked for by those not done.
    gangs: f64,
    /// Seconds by which each of them has progressed since the walk began.
    clock_s: f64,
    rate: f64,
    /// What each has left at the start of the walk, and its place: those with the least last.
    left: Vec<(f64, usize, u32)>,
}

/// Goes from end to end.
struct Walk<'a> {
    entitled: &'a Entitled<'a>,
    gpus: f64,
    now_s: f64,
    groups: Vec<Group>,
    /// The group of each member that is not done.
    parties: Vec<Option<usize>>,
}

impl<'a> Walk<'a> {
    fn new(members: &[Member], gpus: f64, now_s: f64, entitled: &'a Entitled<'a>) -> Self {
        let mut places: BTreeMap<Party, usize> = BTreeMap::new();
        let (mut groups, mut parties): (Vec<Group>, _) = (Vec::new(), vec![None; members.len()]);
        for (at, member) in members.iter().enumerate().filter(|(_, member)| member.finish_s.is_none()) {
            let party = entitled.party(member.tenant, member.app, member.gang);
            let place = *places.entry(party).or_insert_with(|| {
                let (tenant, left) = (member.tenant, Vec::new());
                groups.push(Group { party, tenant, gangs: 0.0, clock_s: 0.0, rate: 0.0, left });
                groups.len() - 1
            });
            let group = &mut groups[place];
            group.gangs += f64::from(member.gang);
            group.left.push((member.left_s(), at, member.gang));
            parties[at] = Some(place);
        }
        for group in &mut groups {
            group.left.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        }
        Self { entitled, gpus, now_s, groups, parties }
    }

    /// Goes on until then; the places of those who end on the way, in order.
    fn run(&mut self, until_s: f64) -> Vec<(usize, f64)> {
        let mut ends = Vec::new();
        loop {
            self.set_rates();
            let next = self.groups.iter().filter_map(|group| {
                let (left_s, ..) = group.left.last()?;
                Some((left_s - group.clock_s).max(0.0) / group.rate)
            });
            // A party that may hold nothing never ends.
            let step_s = next.filter(|step_s| !step_s.is_nan()).fold(f64::INFINITY, f64::min);
            if self.now_s + step_s > until_s || step_s.is_infinite() {
                self.pass(if until_s.is_finite() { until_s - self.now_s } else { 0.0 });
                return ends;
            }
            self.pass(step_s);
            for group in &mut self.groups {
                // Rounding may leave a hair of what was to be done.
                while let Some((_, at, gang)) = group.left.pop_if(|left| left.0 <= group.clock_s + 1e-6) {
                    group.gangs -= f64::from(gang);
                    ends.push((at, self.now_s));
                }
            }
        }
    }

    fn pass(&mut self, step_s: f64) {
        self.now_s += step_s;
        for group in &mut self.groups {
            group.clock_s += step_s * group.rate;
        }
    }

    fn set_rates(&mut self) {
        let asked = |group: &Group| Asked {
            party: group.party,
            tenant: group.tenant,
            jobs: group.left.len(),
            gpus: group.gangs.max(0.0),
        };
        let asked: Vec<Asked> = self.groups.iter().map(asked).collect();
        let shares = self.entitled.shares(&asked, self.gpus);
        for (group, share) in self.groups.iter_mut().zip(shares) {
            group.rate = if group.left.is_empty() { 1.0 } else { (share / group.gangs).min(1.0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entitled::Between;
    use super::*;
    use evenhand_core::{GpuCount, Random, Span, Tenant, Tenants, Weight};
    use evenhand_fairness::{FluidJob, fluid_finishes};

    fn member(job: u64, gang: u32, tenant: u32, total_s: f64, since_s: f64) -> Member {
        let spec = JobSpec::new(JobId(job), TenantId(tenant), gang, None);
        let fresh = Member::new(&spec, gang, Time::ZERO, 0.0);
        Member { total_s, since_s, ..fresh }
    }

    /// Tenant 0 weighs three times as much as the others.
    fn tenants() -> Tenants {
        let mut tenants = Tenants::default();
        let heavy = Tenant { weight: Weight::new(3.0).unwrap(), ..Tenant::new(TenantId(0), "heavy") };
        tenants.put(heavy);
        tenants.put(Tenant::new(TenantId(1), "light"));
        tenants
    }

    #[test]
    fn with_equal_weights_it_is_the_fluid_of_the_reports() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let mut jobs: Vec<(u64, u64, u32)> =
                (0..30).map(|_| (random.below(2000), 1 + random.below(400), 1 << random.below(4))).collect();
            jobs.sort_unstable();
            let rows = jobs.iter().map(|(at, alone, gang)| FluidJob {
                arrival: Time::from_seconds(*at as f64),
                alone: Span::from_secs(*alone),
                gang: GpuCount(*gang),
            });
            let expected = fluid_finishes(&rows.collect::<Vec<_>>(), GpuCount(8));
            let tenants = Tenants::default();
            let entitled = Entitled::new(&tenants, Between::Jobs);
            let mut fluid = Fluid::default();
            for (number, (at, alone, gang)) in jobs.iter().enumerate() {
                fluid.advance(Time::from_seconds(*at as f64), 8.0, &entitled);
                fluid.members.push(member(number as u64, *gang, 0, *alone as f64, *at as f64));
            }
            let found = fluid.finishes(8.0, &entitled);
            for (job, finish) in expected.iter().enumerate() {
                let found = found[job];
                assert!(
                    (found - finish.seconds()).abs() < 0.01,
                    "seed {seed}, job {job}: {found}, {finish:?}"
                );
            }
        }
    }

    #[test]
    fn whoever_takes_a_little_longer_than_was_thought_was_promised_a_little_later() {
        let tenants = Tenants::default();
        let entitled = Entitled::new(&tenants, Between::Jobs);
        let members = vec![member(0, 1, 0, 100.0, 0.0), member(1, 1, 0, 400.0, 0.0)];
        let mut fluid = Fluid { members, ..Fluid::default() };
        let mut revised = |now_s: f64, total_s: f64| {
            fluid.advance(Time::from_seconds(now_s), 1.0, &entitled);
            fluid.members[0].revise(total_s);
            fluid.finishes(1.0, &entitled)[0]
        };
        // Half of the GPU: 200 s for 100. When that is long over, it proves to be a hundredth more.
        assert!((revised(300.0, 101.0) - 202.0).abs() < 1e-6);
        assert!((revised(310.0, 100.0) - 200.0).abs() < 1e-6);
        // Half as long again is another matter: what is missing is shared from now on.
        assert!((revised(320.0, 150.0) - 420.0).abs() < 1e-6);
    }

    #[test]
    fn a_heavier_job_has_more_until_it_runs_as_fast_as_alone() {
        let tenants = tenants();
        let entitled = Entitled::new(&tenants, Between::Jobs);
        let members = vec![member(0, 1, 0, 60.0, 0.0), member(1, 1, 1, 60.0, 0.0)];
        let mut fluid = Fluid { members, ..Fluid::default() };
        // Three quarters of the GPU until 80 s; the other has had 20 s by then and is alone.
        let found = fluid.finishes(1.0, &entitled);
        assert!((found[0] - 80.0).abs() < 1e-6 && (found[1] - 120.0).abs() < 1e-6, "{found:?}");
        fluid.members.push(member(2, 1, 1, 60.0, 0.0));
        // Two GPUs: the heavy one at full speed, the others share what is left.
        let found = fluid.finishes(2.0, &entitled);
        assert!((found[0] - 60.0).abs() < 1e-6 && (found[1] - 90.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn between_tenants_more_jobs_bring_no_more() {
        let tenants = tenants();
        let entitled = Entitled::new(&tenants, Between::Tenants);
        let mut members = vec![member(0, 1, 0, 60.0, 0.0)];
        members.extend((1..4).map(|job| member(job, 1, 1, 20.0, 0.0)));
        let fluid = Fluid { members, ..Fluid::default() };
        // Three quarters of the GPU for the heavy one, a twelfth for each of the three others.
        let found = fluid.finishes(1.0, &entitled);
        assert!((found[0] - 80.0).abs() < 1e-6 && (found[1] - 120.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn an_app_is_promised_the_end_of_its_last_job_at_its_own_share() {
        let tenants = Tenants::default();
        let entitled = Entitled::new(&tenants, Between::Apps);
        let of_app = |member: Member| Member { app: Some(AppId(7)), ..member };
        let mut members = vec![member(0, 1, 0, 60.0, 0.0)];
        members.extend([(1, 20.0), (2, 40.0)].map(|(job, total_s)| of_app(member(job, 1, 0, total_s, 0.0))));
        let fluid = Fluid { members, ..Fluid::default() };
        // Half of the GPU each: the first of the app would end after 80 s, and both they and the job without an app after 120 s.
        let found = fluid.finishes(1.0, &entitled);
        assert!(found.iter().all(|finish_s| (finish_s - 120.0).abs() < 1e-6), "{found:?}");
    }
}

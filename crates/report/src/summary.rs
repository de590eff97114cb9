//! The fixed JSON object of one run: `simulate --json`, and each element of `compare --json`.

use crate::{Audit, Costs};
use evenhand_core::{Header, Parameters, Reading};
use serde::Serialize;

/// One run in numbers. Names and order of the fields are a promise to scripts (design/cli.md); what each number
/// means is written once, in the file of its metric. NaN (nothing to measure) becomes `null`.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the files of the metrics define these, and every name carries its unit")]
pub struct Summary {
    pub policy: String,
    pub parameters: Parameters,
    pub seed: u64,
    pub jobs: u64,
    pub finished: u64,
    pub retired: u64,
    pub gpus: u64,
    pub makespan_s: f64,
    pub jct_mean_s: f64,
    pub jct_p50_s: f64,
    pub jct_p95_s: f64,
    pub jct_p99_s: f64,
    pub wait_mean_s: f64,
    pub wait_p50_s: f64,
    pub ftf_worst: f64,
    pub ftf_mean: f64,
    pub ftf_p95: f64,
    pub unfair_fraction: f64,
    pub ftf_dynamic_worst: f64,
    pub unfair_dynamic_fraction: f64,
    pub ftf_fluid_worst: f64,
    pub ftf_fluid_mean: f64,
    pub ftf_fluid_p99: f64,
    pub unfair_fluid_fraction: f64,
    pub jain: f64,
    pub apps: u64,
    pub app_rho_worst: f64,
    pub app_rho_mean: f64,
    pub app_rho_p50: f64,
    pub app_rho_p95: f64,
    pub app_unfair_fraction: f64,
    pub app_rho_share_worst: f64,
    pub app_unfair_share_fraction: f64,
    pub app_jain: f64,
    pub app_jct_mean_s: f64,
    pub utilisation: f64,
    pub preemptions: u64,
    pub lost_gpu_hours: f64,
    pub lease_kept_fraction: f64,
    pub gpu_hours: f64,
    pub rounds: u64,
    pub out_of_memory: u64,
    pub shared_slowdown_mean: f64,
    pub shared_slowdown_worst: f64,
    pub busy_fraction: f64,
    pub pairings_unmeasured: u64,
    pub decide_ms_p50: f64,
    pub decide_ms_p99: f64,
    pub cpu_s: f64,
    pub wall_s: f64,
    pub peak_rss_mb: f64,
    pub ledger: Option<String>,
    pub audit: Option<Audit>,
    #[serde(skip)]
    pub packable: f64,
    /// Whether there are apps but those of one job.
    #[serde(skip)]
    pub has_apps: bool,
}

impl Summary {
    /// Puts the readings of the registered metrics where they belong.
    pub(crate) fn new(header: &Header, readings: &[Reading], costs: &Costs, audit: Option<Audit>) -> Self {
        let read = |name: &str| {
            let found = readings.iter().find(|reading| reading.name == name);
            found.map_or(f64::NAN, |reading| reading.value)
        };
        let count = |name: &str| read(name) as u64;
        Self {
            policy: header.policy.name.clone(),
            parameters: header.policy.parameters.clone(),
            seed: header.seed,
            jobs: count("jobs"),
            finished: count("finished"),
            retired: count("retired"),
            gpus: count("gpus"),
            makespan_s: read("makespan_s"),
            jct_mean_s: read("jct_mean_s"),
            jct_p50_s: read("jct_p50_s"),
            jct_p95_s: read("jct_p95_s"),
            jct_p99_s: read("jct_p99_s"),
            wait_mean_s: read("wait_mean_s"),
            wait_p50_s: read("wait_p50_s"),
            ftf_worst: read("ftf_worst"),
            ftf_mean: read("ftf_mean"),
            ftf_p95: read("ftf_p95"),
            unfair_fraction: read("unfair_fraction"),
            ftf_dynamic_worst: read("ftf_dynamic_worst"),
            unfair_dynamic_fraction: read("unfair_dynamic_fraction"),
            ftf_fluid_worst: read("ftf_fluid_worst"),
            ftf_fluid_mean: read("ftf_fluid_mean"),
            ftf_fluid_p99: read("ftf_fluid_p99"),
            unfair_fluid_fraction: read("unfair_fluid_fraction"),
            jain: read("jain"),
            apps: count("apps"),
            app_rho_worst: read("app_rho_worst"),
            app_rho_mean: read("app_rho_mean"),
            app_rho_p50: read("app_rho_p50"),
            app_rho_p95: read("app_rho_p95"),
            app_unfair_fraction: read("app_unfair_fraction"),
            app_rho_share_worst: read("app_rho_share_worst"),
            app_unfair_share_fraction: read("app_unfair_share_fraction"),
            app_jain: read("app_jain"),
            app_jct_mean_s: read("app_jct_mean_s"),
            utilisation: read("utilisation"),
            preemptions: count("preemptions"),
            lost_gpu_hours: read("lost_gpu_hours"),
            lease_kept_fraction: read("lease_kept_fraction"),
            gpu_hours: read("gpu_hours"),
            rounds: count("rounds"),
            out_of_memory: count("out_of_memory"),
            shared_slowdown_mean: read("shared_slowdown_mean"),
            shared_slowdown_worst: read("shared_slowdown_worst"),
            busy_fraction: read("busy_fraction"),
            pairings_unmeasured: costs.pairings_unmeasured,
            decide_ms_p50: costs.decide_ms_p50,
            decide_ms_p99: costs.decide_ms_p99,
            cpu_s: costs.cpu_s,
            wall_s: costs.wall_s,
            peak_rss_mb: costs.peak_rss_mb,
            ledger: costs.ledger.clone(),
            audit,
            packable: read("packable"),
            has_apps: false,
        }
    }

    /// The same, knowing what the policy promises; see [`Audit::promising`].
    pub fn promising(mut self, properties: &[&str], others: &[&str]) -> Self {
        self.audit = self.audit.map(|audit| audit.promising(properties, others));
        self
    }
}

//! What a run cost its machine: the only numbers of a report that do not come from the ledger.

/// What deciding and simulating cost, measured by the caller; NaN where it was not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Median time of one decision, in milliseconds.
    pub decide_ms_p50: f64,
    /// 99th percentile of the time of one decision, in milliseconds.
    pub decide_ms_p99: f64,
    /// Processor time of the whole run, in seconds.
    pub cpu_s: f64,
    /// Time on the wall clock, in seconds.
    pub wall_s: f64,
    /// The most memory held at once, in megabytes.
    pub peak_rss_mb: f64,
    /// Times that a job came beside another with which nobody has measured it, so that a rule said how they get along.
    pub pairings_unmeasured: u64,
    /// Where the ledger is, if it was kept.
    pub ledger: Option<String>,
}

impl Default for Costs {
    /// Nothing was measured.
    fn default() -> Self {
        let unknown = f64::NAN;
        Self {
            decide_ms_p50: unknown,
            decide_ms_p99: unknown,
            cpu_s: unknown,
            wall_s: unknown,
            peak_rss_mb: unknown,
            pairings_unmeasured: 0,
            ledger: None,
        }
    }
}

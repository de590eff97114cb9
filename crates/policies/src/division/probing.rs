//! Probes: now and then a job runs for a round where its kind was not measured, so that no report goes unchecked.
//!
//! ```text
//! guess     the forecast has a lower end of zero: nobody has seen such a job on this model
//! chance    1/2 a round where it is a guess, 1/32 where it was measured; 0 where it is known exactly, or the party runs there
//! at most   a sixteenth of a model's GPUs, or one gang
//! ```
//!
//! A share is a vertex of a program: a party may be owed GPUs of one model for ever, and its speedups would then be what it
//! says. Probes come at random rounds, because whoever knew them could behave meanwhile. What a party receives on a probe is
//! booked like anything else, so others get it back.

use super::parties::{Parties, Row};
use evenhand_core::{Estimate, GpuCount, ModelIndex, PerModel, Random, Rate, Snapshot};

const GUESS_CHANCE: f64 = 0.5;
const MEASURED_CHANCE: f64 = 1.0 / 32.0;
const PART_MAX: u32 = 16;

/// Parties, by their place, and the models that each should be tried on in the round to come.
pub(super) fn probes(snapshot: &Snapshot, parties: &Parties<'_>) -> Vec<(usize, ModelIndex)> {
    let seed = snapshot.seed ^ snapshot.round.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = Random::stream(seed, "probe");
    let mut probes = Vec::new();
    let mut used = PerModel::all(GpuCount::ZERO);
    for (at, row) in parties.rows.iter().enumerate() {
        for model in snapshot.cluster.model_indices() {
            // Always drawn, so that what is known of one party does not shift the draws of another.
            let drawn = random.unit();
            let most = GpuCount(snapshot.cluster.capacity(model).0 / PART_MAX).max(row.gang);
            if drawn < chance(snapshot, row, model) && used[model] + row.gang <= most {
                used[model] += row.gang;
                probes.push((at, model));
            }
        }
    }
    probes
}

fn chance(snapshot: &Snapshot, row: &Row<'_>, model: ModelIndex) -> f64 {
    let (index, job) = row.jobs[0];
    let Estimate { mean, low, high } = snapshot.forecast(index).speed[model];
    let possible = mean > Rate::ZERO && job.spec.models.allows(model);
    let exact = low >= high;
    if !possible || exact || row.gang > snapshot.cluster.capacity(model) || runs_on(snapshot, row, model) {
        0.0
    } else if low == Rate::ZERO {
        GUESS_CHANCE
    } else {
        MEASURED_CHANCE
    }
}

fn runs_on(snapshot: &Snapshot, row: &Row<'_>, model: ModelIndex) -> bool {
    row.jobs.iter().any(|(_, job)| {
        let lease = snapshot.leases.of_job(Some(job)).filter(|lease| lease.is_lasting());
        lease.and_then(|lease| snapshot.model_of(lease)) == Some(model)
    })
}

//! By when all the work that is there is to be done, and when large gangs have to start for that.
//!
//! ```text
//! C     >= now + max( max_i R_i ,                                          i the newcomers, on their fastest model: nothing has to be packed for one job to run
//!                     W / M + eps min( W / M , 2.5 L ) ,                   W = sum_i g_i R_i ,  L = sum_i g_i R_i^2 / W
//!                     (1 + eps / 2) need )                                 at every arrival
//! Large  = { i : g_i > M / 8 , g_i > 1 , sigma_i <= ln 1.8 }
//! s_i    the latest start of i, on the model on which that is latest, if all of these are done by C one after the other (`turns.rs`) ;  of more than 256, the longest
//! need   = C - min_i s_i                                                   how long they take: the longest last, so that short ones are out of the way first
//! ```
//!
//! W / M is what the work takes if GPUs are never idle. What cannot be packed are the last jobs, so room goes by how long they are: L is what the job takes that a GPU-second belongs to, on average. Room in proportion
//! to W / M alone is wasted where many jobs wait: on traces four times as long as those of `experiments/promise/twenty.py` (174 of nine seeds) makespans were 0.5 % longer at the same mean, and 6 % on 32 GPUs with
//! changing jobs. With 2 L or L it is 0.6 and 1.0 %, but with exact forecasts the canonical trace has a worst ratio to the contention met of 2.31, or ends 3 % later.
//!
//! GPU-time says nothing of how large gangs fit, so a horizon made of it is too early for them, and held to that they took GPUs from a crowd for nothing: means of 1 to 8 % more. With a horizon that
//! allows for them, made anew whenever somebody comes, they are held to the end only when nobody comes any more, and then nobody pays for it: over 144 traces with such gangs makespans
//! are 0.3 % shorter at the same mean and with as many late. With all of the room (eps) 0.2 %; with none of it, 0.8 % more mean on the whole and 4 % on small clusters.

use super::case::Case;
use super::turns::{self, Turn};
use evenhand_core::{GpuCount, Snapshot};

/// The room that packing needs is no more than a part of so many times what jobs take.
const LENGTHS: f64 = 2.5;

/// A horizon that nobody is anywhere near.
const FAR_S: f64 = 1e9;

/// s: the large gangs with their latest starts for all of them to be done in so many seconds.
pub(super) fn latest_starts_s(snapshot: &Snapshot, cases: &[Case<'_>], within_s: f64) -> Vec<(usize, f64)> {
    let mut large: Vec<usize> =
        (0..cases.len()).filter(|at| cases[*at].large && cases[*at].sets_end()).collect();
    large.sort_by(|a, b| cases[*b].fastest_s().total_cmp(&cases[*a].fastest_s()).then(a.cmp(b)));
    large.truncate(turns::MOST);
    let turn = |at: &usize| {
        let Case { view, start_s, .. } = &cases[*at];
        let takes_s = |rate: &f64| cases[*at].sure_s() / rate + start_s;
        Turn { gang: view.gang, takes_s: view.rates.iter().map(takes_s).collect(), due_s: within_s }
    };
    let turns: Vec<Turn> = large.iter().map(turn).collect();
    let gpus: Vec<GpuCount> =
        snapshot.cluster.model_indices().map(|model| snapshot.cluster.capacity(model)).collect();
    large.into_iter().zip(turns::latest_starts(&gpus, &turns)).collect()
}

/// C - now, as it has to be at least, with so much room, when newcomers have come of whom the longest takes so long.
pub(super) fn within_s(snapshot: &Snapshot, cases: &[Case<'_>], newcomer_s: f64, room: f64) -> f64 {
    let work: Vec<(f64, f64)> = cases.iter().map(|case| (f64::from(case.view.gang), case.left_s)).collect();
    let packed_s = packed_s(snapshot.cluster.capacity_total(), &work, room);
    newcomer_s.max(packed_s).max((1.0 + room / 2.0) * need_s(snapshot, cases))
}

/// W / M + eps min( W / M , 2.5 L ), of gangs and the seconds that they take.
fn packed_s(gpus: GpuCount, work: &[(f64, f64)], room: f64) -> f64 {
    let area_s: f64 = work.iter().map(|(gang, takes_s)| gang * takes_s).sum();
    let length_s = work.iter().map(|(gang, takes_s)| gang * takes_s.powi(2)).sum::<f64>() / area_s.max(1.0);
    let least_s = area_s / f64::from(gpus.0.max(1));
    least_s + room * least_s.min(LENGTHS * length_s)
}

/// need: how long large gangs take.
fn need_s(snapshot: &Snapshot, cases: &[Case<'_>]) -> f64 {
    let starts_s = latest_starts_s(snapshot, cases, FAR_S).into_iter();
    starts_s.map(|(_, start_s)| FAR_S - start_s).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_goes_by_the_work_while_that_is_little_and_by_how_long_jobs_are_where_many_wait() {
        let alike = |jobs: usize| packed_s(GpuCount(4), &vec![(2.0, 100.0); jobs], 0.1);
        // A GPU-second is more likely to be one of a long job than of a short one.
        let short = vec![(1.0, 10.0); 100];
        let mixed = packed_s(GpuCount(1), &[short, vec![(1.0, 1000.0)]].concat(), 0.1);
        let found = [alike(0), alike(2), alike(4), alike(40), mixed];
        let expected = [0.0, 110.0, 220.0, 2025.0, 2126.25];
        let all = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6);
        assert!(all, "{found:?}");
    }
}

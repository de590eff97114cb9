//! When large gangs have to start for all work to be done by the horizon, and what horizon they ask for.
//!
//! ```text
//! L      = { i : g_i > M / 8 , g_i > 1 , sigma_i <= ln 1.8 }
//! s_i    the latest start of i, on the model on which that is latest, if all of L are done by C one after the other (`turns.rs`) ;  of more than 256, the longest
//! need   = C - min_i s_i                    how long L takes: the longest last, so that short ones are out of the way first
//! C     >= now + (1 + eps / 2) need         at every arrival
//! ```
//!
//! GPU-time says nothing of how large gangs fit, so a horizon made of it is too early for them, and held to that they took GPUs from a crowd for nothing: means of 1 to 8 % more. With a horizon that
//! allows for them, made anew whenever somebody comes, they are held to the end only when nobody comes any more, and then nobody pays for it: over 144 traces with such gangs makespans
//! are 0.3 % shorter at the same mean and with as many late. With all of the room (eps) 0.2 %; with none of it, 0.8 % more mean on the whole and 4 % on small clusters.

use super::case::Case;
use super::turns::{self, Turn};
use evenhand_core::{GpuCount, Snapshot};

/// A horizon that nobody is anywhere near.
const FAR_S: f64 = 1e9;

/// s: the cases of L with their latest starts for everybody to be done in so many seconds.
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

/// need.
pub(super) fn need_s(snapshot: &Snapshot, cases: &[Case<'_>]) -> f64 {
    let starts_s = latest_starts_s(snapshot, cases, FAR_S).into_iter();
    starts_s.map(|(_, start_s)| FAR_S - start_s).fold(0.0, f64::max)
}

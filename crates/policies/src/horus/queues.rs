//! Algorithm 1: jobs that look alike wait in one queue, and every queue gets its part of a decision.
//!
//! ```text
//! cluster  k-means by L1 distance over (tasks, predicted utilisation, GPUs per task, predicted memory), standardised
//! W_x      = max(1, median wait of x in seconds) |x|
//! n_x      = beta W_x / sum W, by largest remainder, at most |x|; the longest wait first
//! ```
//!
//! Left open by the paper and fixed here: features are standardised first (megabytes would swamp the rest); k-means++ from the seed of
//! the snapshot; ties go to the job with the smaller number; empty clusters are dropped; what a queue cannot use goes to the queue with
//! the next weight. Our jobs have one task for each GPU.

use evenhand_core::{JobId, Random};

/// What a job is told apart by.
pub(super) type Features = [f64; 4];

/// A job that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub job: JobId,
    pub features: Features,
    pub wait_s: f64,
}

/// Passes of k-means: the assignment hardly ever changes after ten.
const PASSES_MAX: usize = 50;

/// The jobs of one decision: `beta` of them at most, queue by queue, the heaviest queue first. `waiting` is in the order of numbers.
pub(super) fn choose(waiting: &[Waiting], k: usize, beta: usize, seed: u64) -> Vec<JobId> {
    let mut queues = clusters(waiting, k, seed);
    for queue in &mut queues {
        queue.sort_by(|a, b| b.wait_s.total_cmp(&a.wait_s).then(a.job.cmp(&b.job)));
    }
    let mut weighed: Vec<(f64, Vec<Waiting>)> =
        queues.into_iter().map(|queue| (weight(&queue), queue)).collect();
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1[0].job.cmp(&b.1[0].job)));
    let sizes: Vec<usize> = weighed.iter().map(|(_, queue)| queue.len()).collect();
    let weights: Vec<f64> = weighed.iter().map(|(weight, _)| *weight).collect();
    let parts = parts(&weights, &sizes, beta);
    let chosen = weighed.iter().zip(parts).flat_map(|((_, queue), part)| queue.iter().take(part));
    chosen.map(|waiting| waiting.job).collect()
}

/// `W_x` of a queue whose jobs stand in the order of their waits.
fn weight(queue: &[Waiting]) -> f64 {
    let (upper, lower) = (queue[(queue.len() - 1) / 2].wait_s, queue[queue.len() / 2].wait_s);
    f64::midpoint(upper, lower).max(1.0) * queue.len() as f64
}

/// How many jobs each queue sends, the heaviest first.
fn parts(weights: &[f64], sizes: &[usize], beta: usize) -> Vec<usize> {
    let total: f64 = weights.iter().sum();
    let due: Vec<f64> = weights.iter().map(|weight| beta as f64 * weight / total.max(1e-300)).collect();
    let mut parts: Vec<usize> = due.iter().map(|due| due.floor() as usize).collect();
    let mut order: Vec<usize> = (0..due.len()).collect();
    order.sort_by(|a, b| due[*b].fract().total_cmp(&due[*a].fract()).then(a.cmp(b)));
    let missing = beta.saturating_sub(parts.iter().sum());
    order.iter().take(missing).for_each(|at| parts[*at] += 1);
    let mut left = 0;
    for (part, size) in parts.iter_mut().zip(sizes) {
        left += part.saturating_sub(*size);
        *part = (*part).min(*size);
    }
    for (part, size) in parts.iter_mut().zip(sizes) {
        let more = left.min(size - *part);
        *part += more;
        left -= more;
    }
    parts
}

/// The jobs in up to `k` clusters, none of them empty, each in the order of numbers.
fn clusters(waiting: &[Waiting], k: usize, seed: u64) -> Vec<Vec<Waiting>> {
    let points = standardised(waiting);
    let mut centres = first_centres(&points, k.min(points.len()), seed);
    let mut own = vec![usize::MAX; points.len()];
    for _ in 0..PASSES_MAX {
        let nearest: Vec<usize> = points.iter().map(|point| nearest(point, &centres).0).collect();
        if nearest == own {
            break;
        }
        own = nearest;
        for (at, centre) in centres.iter_mut().enumerate() {
            let members: Vec<&Features> =
                points.iter().zip(&own).filter(|(_, own)| **own == at).map(|(point, _)| point).collect();
            if !members.is_empty() {
                *centre = std::array::from_fn(|feature| {
                    members.iter().map(|member| member[feature]).sum::<f64>() / members.len() as f64
                });
            }
        }
    }
    let members = |at: usize| waiting.iter().zip(&own).filter(move |(_, own)| **own == at);
    let all = (0..centres.len()).map(|at| members(at).map(|(job, _)| *job).collect::<Vec<_>>());
    all.filter(|cluster| !cluster.is_empty()).collect()
}

/// Each feature with mean 0 and deviation 1; one that all have in common is 0.
fn standardised(waiting: &[Waiting]) -> Vec<Features> {
    let count = waiting.len() as f64;
    let mut points: Vec<Features> = waiting.iter().map(|job| job.features).collect();
    for feature in 0..4 {
        let mean = points.iter().map(|point| point[feature]).sum::<f64>() / count;
        let variance = points.iter().map(|point| (point[feature] - mean).powi(2)).sum::<f64>() / count;
        for point in &mut points {
            let off = point[feature] - mean;
            point[feature] = if variance > 1e-18 { off / variance.sqrt() } else { 0.0 };
        }
    }
    points
}

/// k-means++: a job at random, then each by the square of its distance to the nearest so far.
fn first_centres(points: &[Features], k: usize, seed: u64) -> Vec<Features> {
    let mut random = Random::stream(seed, "horus-plus");
    let mut centres: Vec<Features> = random.pick(points).copied().into_iter().collect();
    while centres.len() < k {
        let weights: Vec<f64> = points.iter().map(|point| nearest(point, &centres).1.powi(2)).collect();
        // Points that all lie on a centre need no other.
        let Some(at) = random.weighted(&weights).filter(|at| weights[*at] > 0.0) else { break };
        centres.push(points[at]);
    }
    centres
}

/// The first of the nearest centres, and how far it is.
fn nearest(point: &Features, centres: &[Features]) -> (usize, f64) {
    let distance = |centre: &Features| point.iter().zip(centre).map(|(a, b)| (a - b).abs()).sum::<f64>();
    let mut best = (0, f64::INFINITY);
    for (at, centre) in centres.iter().enumerate() {
        let distance = distance(centre);
        if distance < best.1 {
            best = (at, distance);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u64, utilisation: f64, wait_s: f64) -> Waiting {
        Waiting { job: JobId(id), features: [1.0, utilisation, 1.0, 10.0 * utilisation], wait_s }
    }

    /// Four idle jobs that wait for 10 s, two busy ones for 100 s.
    fn two_kinds() -> Vec<Waiting> {
        let idle = (0..4).map(|id| job(id, 0.1, 10.0));
        idle.chain((4..6).map(|id| job(id, 0.9, 100.0 + id as f64))).collect()
    }

    #[test]
    fn jobs_that_look_alike_are_in_one_queue_whatever_the_seed() {
        for seed in 0..50 {
            let mut found: Vec<usize> = clusters(&two_kinds(), 3, seed).iter().map(Vec::len).collect();
            found.sort_unstable();
            assert_eq!(found, [2, 4], "seed {seed}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_queues() {
        let mut random = Random::new(5);
        let jobs: Vec<Waiting> =
            (0..200).map(|id| job(id, random.unit(), random.between(0.0, 1e4))).collect();
        for seed in 0..20 {
            assert_eq!(choose(&jobs, 3, 30, seed), choose(&jobs, 3, 30, seed));
            let all = choose(&jobs, 3, 1000, seed);
            assert_eq!(all.len(), 200, "everybody is chosen once if there is room for all");
        }
    }

    #[test]
    fn queues_send_jobs_by_their_weights_and_the_longest_wait_goes_first() {
        // W = 104.5 x 2 = 209 against 10 x 4 = 40: of three jobs 2.5 and 0.5, of which the remainder is a tie for the heavier queue.
        assert_eq!(choose(&two_kinds(), 3, 3, 1), [5, 4, 0].map(JobId));
        assert_eq!(parts(&[209.0, 40.0], &[2, 4], 3), [2, 1]);
        assert_eq!(parts(&[209.0, 40.0], &[2, 4], 5), [2, 3]);
    }
}

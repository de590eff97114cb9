//! What can be lent: GPU-time that nobody needs yet to keep all promises.
//!
//! ```text
//! s_i  = d_i - R_i                                                 the latest start of job i
//! S(t) = M (t - now) - sum_i g_i max(0, R_i - max(0, d_i - t))     GPU-time until t, less what must be done by then
//! ```
//!
//! If everybody started at its latest, job i would hold g_i GPUs from s_i to d_i; S(t) is what is left until t if that is done as much earlier as it must be.
//! No promise is in danger, as far as GPU-time goes, while S(t) >= 0 for every t. A job that runs now takes GPU-time from everything that must be done
//! before its own latest start: from every S(t) with t < s_k. So it may overtake the others as long as the least of these stays positive. S
//! bends at latest starts and dues only; a tree of ranges over these answers and books in O(log n).

/// S, where it bends.
pub(super) struct Slack {
    /// Leaves from `size` on: the least S of each range, without what its ancestors still add.
    least: Vec<f64>,
    add: Vec<f64>,
    size: usize,
    times_s: Vec<f64>,
}

impl Slack {
    /// Of jobs with their gangs, latest starts and dues in seconds from now; a latest start may be past, a due is not.
    pub fn new(gpus: f64, jobs: impl Iterator<Item = (f64, f64, f64)>) -> Self {
        let mut bends: Vec<(f64, f64)> = Vec::new();
        for (gang, start_s, due_s) in jobs {
            bends.push((start_s.max(0.0), gang));
            bends.push((due_s.max(0.0), -gang));
        }
        bends.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let size = bends.len().next_power_of_two();
        let mut least = vec![f64::INFINITY; 2 * size];
        let (mut slack, mut then_s, mut load) = (0.0, 0.0, 0.0);
        for (leaf, (at_s, change)) in least[size..].iter_mut().zip(&bends) {
            slack += (gpus - load) * (at_s - then_s);
            (then_s, load) = (*at_s, load + change);
            *leaf = slack;
        }
        for node in (1..size).rev() {
            least[node] = least[2 * node].min(least[2 * node + 1]);
        }
        let times_s = bends.into_iter().map(|(at_s, _)| at_s).collect();
        Self { least, add: vec![0.0; 2 * size], size, times_s }
    }

    fn place(&self, at_s: f64) -> usize {
        self.times_s.partition_point(|time_s| *time_s < at_s)
    }

    /// The most that can be lent to a job with this latest start.
    pub fn before(&self, start_s: f64) -> f64 {
        self.least_of(1, 0, self.size, self.place(start_s))
    }

    fn least_of(&self, node: usize, from: usize, to: usize, end: usize) -> f64 {
        if end <= from {
            return f64::INFINITY;
        }
        if to <= end {
            return self.least[node];
        }
        let middle = usize::midpoint(from, to);
        let left = self.least_of(2 * node, from, middle, end);
        let right = self.least_of(2 * node + 1, middle, to, end);
        self.add[node] + left.min(right)
    }

    /// Lends this much to a job with this latest start.
    pub fn lend(&mut self, start_s: f64, work: f64) {
        self.take(1, (0, self.size), self.place(start_s), work);
    }

    fn take(&mut self, node: usize, (from, to): (usize, usize), end: usize, work: f64) {
        if end <= from {
            return;
        }
        if to <= end {
            self.least[node] -= work;
            self.add[node] -= work;
            return;
        }
        let middle = usize::midpoint(from, to);
        self.take(2 * node, (from, middle), end, work);
        self.take(2 * node + 1, (middle, to), end, work);
        self.least[node] = self.add[node] + self.least[2 * node].min(self.least[2 * node + 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Random;

    /// S by its definition.
    fn slow(gpus: f64, jobs: &[(f64, f64, f64)], at_s: f64) -> f64 {
        let must = |(gang, start_s, due_s): &(f64, f64, f64)| {
            let left_s = due_s - start_s.max(0.0);
            gang * (left_s - (due_s - at_s).max(0.0)).max(0.0)
        };
        gpus * at_s - jobs.iter().map(must).sum::<f64>()
    }

    #[test]
    fn the_tree_agrees_with_the_definition() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let count = 1 + random.below(20);
            let job = |random: &mut Random| {
                let start_s = random.between(0.0, 300.0);
                (1.0 + random.below(4) as f64, start_s, start_s + random.between(0.0, 300.0))
            };
            let jobs: Vec<(f64, f64, f64)> = (0..count).map(|_| job(&mut random)).collect();
            let mut tree = Slack::new(3.0, jobs.iter().copied());
            let mut lent: Vec<(f64, f64)> = Vec::new();
            for _ in 0..40 {
                let (until_s, work) = (random.between(0.0, 700.0), random.between(0.0, 20.0));
                let bends = jobs.iter().flat_map(|(_, start_s, due_s)| [*start_s, *due_s]);
                let value = |at_s: f64| {
                    let taken = lent.iter().filter(|(to_s, _)| at_s < *to_s).map(|(_, work)| work);
                    slow(3.0, &jobs, at_s) - taken.sum::<f64>()
                };
                let least = bends.filter(|at_s| *at_s < until_s).map(value).fold(f64::INFINITY, f64::min);
                let found = tree.before(until_s);
                let equal = found.is_infinite() && least.is_infinite() || (found - least).abs() < 1e-6;
                assert!(equal, "seed {seed}: {found}, {least}");
                tree.lend(until_s, work);
                lent.push((until_s, work));
            }
        }
    }
}

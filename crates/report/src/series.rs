//! Curves over time in bounded memory.
//!
//! A run may last a minute or a year, and its length is not known before its end. Time is cut into buckets of equal
//! width; when the last one is full, neighbours are merged and the width doubles. Each bucket holds an integral, so
//! merging loses resolution but no area.

use evenhand_core::{Span, Time};

/// The most buckets of a curve: about as many as a plot has pixels.
const BUCKETS_MAX: u64 = 512;

/// The width to begin with.
const WIDTH_FIRST: Span = Span::from_secs(1);

/// Some curves over the same stretch of time.
#[derive(Clone, Debug)]
pub struct Series {
    origin: Option<Time>,
    until: Time,
    width: Span,
    /// The integral of each curve over each bucket, in milliseconds times its unit.
    tracks: Vec<Vec<f64>>,
}

impl Default for Series {
    fn default() -> Self {
        Self { origin: None, until: Time::ZERO, width: WIDTH_FIRST, tracks: Vec::new() }
    }
}

/// The mean of a curve over one bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// From then, in seconds after the curve's beginning.
    pub from_s: f64,
    /// Until then.
    pub to_s: f64,
    /// The mean in between.
    pub mean: f64,
}

impl Series {
    /// Adds the constant values of some curves between two times, given in the order of time.
    pub fn add(&mut self, from: Time, to: Time, values: &(impl Iterator<Item = (usize, f64)> + Clone)) {
        let origin = *self.origin.get_or_insert(from);
        self.until = self.until.max(to);
        while to.since(origin).0 > self.width.0 * BUCKETS_MAX {
            self.halve();
        }
        let (begin, end) = (from.since(origin).0, to.since(origin).0);
        let mut at = begin;
        while at < end {
            let bucket = at / self.width.0;
            let next = ((bucket + 1) * self.width.0).min(end);
            let overlap = (next - at) as f64;
            for (track, value) in values.clone() {
                self.put(track, bucket as usize, value * overlap);
            }
            at = next;
        }
    }

    /// One curve, bucket by bucket; a curve never added to is zero throughout.
    pub fn steps(&self, track: usize) -> Vec<Step> {
        let Some(origin) = self.origin else { return Vec::new() };
        let length = self.until.since(origin).0;
        let integrals = self.tracks.get(track).map_or(&[][..], Vec::as_slice);
        let count = length.div_ceil(self.width.0);
        let step = |bucket: u64| {
            let (from, to) = (bucket * self.width.0, ((bucket + 1) * self.width.0).min(length));
            let integral = integrals.get(bucket as usize).copied().unwrap_or(0.0);
            Step { from_s: from as f64 / 1e3, to_s: to as f64 / 1e3, mean: integral / (to - from) as f64 }
        };
        (0..count).map(step).collect()
    }

    fn put(&mut self, track: usize, bucket: usize, amount: f64) {
        if self.tracks.len() <= track {
            self.tracks.resize_with(track + 1, Vec::new);
        }
        let buckets = &mut self.tracks[track];
        if buckets.len() <= bucket {
            buckets.resize(bucket + 1, 0.0);
        }
        buckets[bucket] += amount;
    }

    fn halve(&mut self) {
        self.width = self.width + self.width;
        for buckets in &mut self.tracks {
            *buckets = buckets.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }
}

/// The same curve with at most `count` steps: neighbours are averaged.
pub fn thin(steps: &[Step], count: usize) -> Vec<Step> {
    let group = steps.len().div_ceil(count.max(1)).max(1);
    let merge = |group: &[Step]| {
        let (from_s, to_s) = (group[0].from_s, group[group.len() - 1].to_s);
        let area: f64 = group.iter().map(|step| step.mean * (step.to_s - step.from_s)).sum();
        Step { from_s, to_s, mean: area / (to_s - from_s) }
    };
    steps.chunks(group).map(merge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_buckets_keeps_the_area_and_bounds_the_memory() {
        let mut series = Series::default();
        let at = |second: u64| Time(1_000_000 + second * 1000);
        for second in 0..100_000 {
            series.add(at(second), at(second + 1), &[(0, (second % 10) as f64)].into_iter());
        }
        let steps = series.steps(0);
        assert!((256..=512).contains(&steps.len()), "{}", steps.len());
        let area: f64 = steps.iter().map(|step| step.mean * (step.to_s - step.from_s)).sum();
        assert!((area - 450_000.0).abs() < 1e-3, "{area}");
        assert!((steps[steps.len() - 1].to_s - 100_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_last_bucket_that_is_not_full_still_has_the_right_mean() {
        let mut series = Series::default();
        series.add(Time(0), Time(1500), &[(0, 4.0)].into_iter());
        let means: Vec<f64> = series.steps(0).iter().map(|step| step.mean).collect();
        assert_eq!(means.len(), 2);
        assert!(means.iter().all(|mean| (mean - 4.0).abs() < 1e-12));
    }
}

//! When large gangs have to start so that all of them are done when due: as a rule they cannot run side by side.
//!
//! ```text
//! L   = { i : g_i > M / 8 , R_i > h tau }          whoever is done by the next look is in nobody's way
//! s_i = max { s <= d_i - R_i : from s to s + R_i those of L that are placed leave g_i of M GPUs }    one after the other, the last due first ;
//!                                                    R_i with what starting again takes
//! ```
//!
//! The slack counts GPU-time, of which there may be enough where there is no room: two gangs of 80 on 128 GPUs have to take turns, and whoever waits for
//! its own latest start then finds the other in its place. What is placed fits together, so all are done when due if each starts by its s_i; with the
//! last due placed first, the earliest due goes first. Where even that is not enough, an s_i is past, and somebody will be late.
//!
//! With several GPU models a gang fits into one of them, and this does not say which: there everybody keeps its own latest start.

use evenhand_core::GpuCount;

/// Gangs of more than one in so many GPUs are large.
pub(super) const LARGE_PART: f64 = 8.0;

/// No more are placed, those with the least time first: whoever comes after so many has time, or no hope.
pub(super) const MOST: usize = 256;

/// A gang, and the time that it takes from when it starts, with the time in which it has to be done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub gang: u32,
    pub takes_s: f64,
    pub due_s: f64,
}

/// s: the latest start of each, in seconds from now; it may be past. With n gangs that takes O(n^2).
pub(super) fn latest_starts(gpus: GpuCount, turns: &[Turn]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by(|a, b| turns[*b].due_s.total_cmp(&turns[*a].due_s).then(a.cmp(b)));
    let mut taken = Taken(vec![(f64::NEG_INFINITY, 0)]);
    let mut starts_s = vec![0.0; turns.len()];
    for at in order {
        let Turn { gang, takes_s, due_s } = turns[at];
        let end_s = taken.latest_end_s(gpus.0.saturating_sub(gang), takes_s, due_s);
        taken.take(gang, end_s - takes_s, end_s);
        starts_s[at] = end_s - takes_s;
    }
    starts_s
}

/// How many GPUs are taken, from each of these moments to the next.
struct Taken(Vec<(f64, u32)>);

impl Taken {
    /// The latest moment until due before which no more than so many GPUs are taken for so long.
    fn latest_end_s(&self, most: u32, takes_s: f64, due_s: f64) -> f64 {
        let mut end_s = due_s;
        for (from_s, taken) in self.0.iter().rev().filter(|(from_s, _)| *from_s < due_s) {
            if *taken > most {
                end_s = *from_s;
            } else if *from_s <= end_s - takes_s {
                break;
            }
        }
        end_s
    }

    fn take(&mut self, gang: u32, from_s: f64, to_s: f64) {
        let (first, last) = (self.cut(from_s), self.cut(to_s));
        for (_, taken) in &mut self.0[first..last] {
            *taken += gang;
        }
    }

    /// The place of what begins at this moment.
    fn cut(&mut self, at_s: f64) -> usize {
        let place = self.0.partition_point(|(from_s, _)| *from_s < at_s);
        if self.0.get(place).is_none_or(|(from_s, _)| *from_s > at_s) {
            let taken = self.0[place - 1].1;
            self.0.insert(place, (at_s, taken));
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Random;

    fn starts(turns: &[(u32, f64, f64)]) -> Vec<f64> {
        let turn =
            |(gang, takes_s, due_s): &(u32, f64, f64)| Turn { gang: *gang, takes_s: *takes_s, due_s: *due_s };
        latest_starts(GpuCount(128), &turns.iter().map(turn).collect::<Vec<_>>())
    }

    #[test]
    fn whoever_does_not_fit_beside_the_others_has_to_be_done_before_they_begin() {
        // 80 and 100 take turns; 28 fits beside 100, and 48 beside 80.
        assert_eq!(starts(&[(80, 50.0, 200.0), (100, 60.0, 190.0)]), [150.0, 90.0]);
        assert_eq!(starts(&[(80, 50.0, 200.0), (100, 60.0, 190.0), (28, 100.0, 180.0)]), [150.0, 90.0, 80.0]);
        assert_eq!(starts(&[(80, 50.0, 200.0), (48, 60.0, 190.0)]), [150.0, 130.0]);
        // Too much for everybody: the first should have started 20 s ago.
        assert_eq!(starts(&[(80, 100.0, 150.0), (100, 70.0, 150.0)]), [50.0, -20.0]);
        assert_eq!(starts(&[]), [0.0; 0]);
    }

    #[test]
    fn at_their_latest_starts_all_fit_and_none_is_late() {
        let gpus = GpuCount(128);
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let turn = |random: &mut Random| {
                let takes_s = random.between(1.0, 100.0);
                Turn {
                    gang: 17 + random.below(112) as u32,
                    takes_s,
                    due_s: takes_s + random.between(0.0, 300.0),
                }
            };
            let turns: Vec<Turn> = (0..=random.below(12)).map(|_| turn(&mut random)).collect();
            let starts_s = latest_starts(gpus, &turns);
            for (turn, start_s) in turns.iter().zip(&starts_s) {
                assert!(start_s + turn.takes_s <= turn.due_s + 1e-9, "seed {seed}");
                let there = |(other, from_s): &(&Turn, &f64)| {
                    **from_s <= *start_s + 1e-9 && *start_s + 1e-9 < **from_s + other.takes_s
                };
                let taken: u32 = turns.iter().zip(&starts_s).filter(there).map(|(other, _)| other.gang).sum();
                assert!(taken <= gpus.0, "seed {seed}: {taken}");
            }
        }
    }
}

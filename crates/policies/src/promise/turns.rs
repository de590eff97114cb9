//! When large gangs have to start so that all of them are done when due: as a rule they cannot run side by side.
//!
//! ```text
//! s_ij = max { s <= d_i - R_ij : from s to s + R_ij those that are placed leave g_i of the M_j GPUs of model j }      one after the other, the last due first,
//! s_i  = max_j s_ij                                                                                             of those due together the longest first
//! ```
//!
//! The slack counts GPU-time, of which there may be enough where there is no room: two gangs of 80 on 128 GPUs have to take turns, and whoever waits for
//! its own latest start then finds the other in its place. What is placed fits together, so all are done when due if each starts by its s_i on that model; with the
//! last due placed first, the earliest due goes first, and of those due together the shortest. Where even that is not enough, an s_i is past, and somebody will be late.
//!
//! R_ij is what is left with what starting again takes. Dues are promises on one GPU model (with several, counting the places on all of them made nobody less late), for gangs of more than M / 8 that take longer than
//! until the next look: whoever is done by then is in nobody's way. They are the horizon on any number of models (`drain.rs`).

use evenhand_core::GpuCount;

/// Gangs of more than one in so many GPUs are large.
pub(super) const LARGE_PART: f64 = 8.0;

/// No more are placed. Of promises those with the least time: whoever comes after so many has time, or no hope. Of the horizon the longest, which set it.
pub(super) const MOST: usize = 256;

/// A gang, and the time that it takes from when it starts on each GPU model (no end where it cannot run), with the time in which it has to be done.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub gang: u32,
    pub takes_s: Vec<f64>,
    pub due_s: f64,
}

impl Turn {
    fn least_s(&self) -> f64 {
        self.takes_s.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// s: the latest start of each, in seconds from now; it may be past. With n gangs and so many GPUs of each model that takes O(n^2). Whoever fits nowhere is in nobody's way, and need not start before it is due.
pub(super) fn latest_starts(gpus: &[GpuCount], turns: &[Turn]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..turns.len()).collect();
    let later = |a: &Turn, b: &Turn| b.due_s.total_cmp(&a.due_s).then(b.least_s().total_cmp(&a.least_s()));
    order.sort_by(|a, b| later(&turns[*a], &turns[*b]).then(a.cmp(b)));
    let mut taken = vec![Taken::default(); gpus.len()];
    let mut starts_s: Vec<f64> = turns.iter().map(|turn| turn.due_s).collect();
    for at in order {
        let Turn { gang, takes_s, due_s } = &turns[at];
        let places = gpus.iter().zip(takes_s).zip(&mut taken);
        let fitting = places.filter(|((gpus, takes_s), _)| *gang <= gpus.0 && takes_s.is_finite());
        let ends = fitting.map(|((gpus, takes_s), taken)| {
            let end_s = taken.latest_end_s(gpus.0 - gang, *takes_s, *due_s);
            (end_s - takes_s, end_s, taken)
        });
        if let Some((start_s, end_s, taken)) =
            ends.reduce(|best, other| if other.0 > best.0 { other } else { best })
        {
            taken.take(*gang, start_s, end_s);
            starts_s[at] = start_s;
        }
    }
    starts_s
}

/// How many GPUs are taken, from each of these moments to the next.
#[derive(Clone)]
struct Taken(Vec<(f64, u32)>);

impl Default for Taken {
    fn default() -> Self {
        Self(vec![(f64::NEG_INFINITY, 0)])
    }
}

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
        let turn = |(gang, takes_s, due_s): &(u32, f64, f64)| Turn {
            gang: *gang,
            takes_s: vec![*takes_s],
            due_s: *due_s,
        };
        latest_starts(&[GpuCount(128)], &turns.iter().map(turn).collect::<Vec<_>>())
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
        // Of those due together the longest comes last. Nobody waits for who fits nowhere.
        assert_eq!(
            starts(&[(80, 30.0, 200.0), (80, 60.0, 200.0), (200, 50.0, 200.0)]),
            [110.0, 140.0, 200.0]
        );
    }

    #[test]
    fn a_gang_is_placed_on_the_model_on_which_it_can_start_last() {
        let turn = |fast_s, slow_s| Turn { gang: 8, takes_s: vec![fast_s, slow_s], due_s: 100.0 };
        let turns = [turn(40.0, 80.0), turn(30.0, 60.0), turn(20.0, 70.0), turn(5.0, f64::INFINITY)];
        // The second would start at 30 before the first on fast GPUs, and on slow ones at 40, where there is no room for the third.
        assert_eq!(latest_starts(&[GpuCount(12), GpuCount(12)], &turns), [60.0, 40.0, 40.0, 35.0]);
    }

    #[test]
    fn whoever_can_run_nowhere_now_does_not_ask_for_time_without_end() {
        let lost = Turn { gang: 8, takes_s: vec![f64::INFINITY], due_s: 100.0 };
        let other = Turn { gang: 8, takes_s: vec![30.0], due_s: 100.0 };
        assert_eq!(latest_starts(&[GpuCount(12)], &[lost, other]), [100.0, 70.0]);
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
                    takes_s: vec![takes_s],
                    due_s: takes_s + random.between(0.0, 300.0),
                }
            };
            let turns: Vec<Turn> = (0..=random.below(12)).map(|_| turn(&mut random)).collect();
            let starts_s = latest_starts(&[gpus], &turns);
            for (turn, start_s) in turns.iter().zip(&starts_s) {
                assert!(start_s + turn.takes_s[0] <= turn.due_s + 1e-9, "seed {seed}");
                let there = |(other, from_s): &(&Turn, &f64)| {
                    **from_s <= *start_s + 1e-9 && *start_s + 1e-9 < **from_s + other.takes_s[0]
                };
                let taken: u32 = turns.iter().zip(&starts_s).filter(there).map(|(other, _)| other.gang).sum();
                assert!(taken <= gpus.0, "seed {seed}: {taken}");
            }
        }
    }
}

//! A window planned ahead, as the ledger tells it.

use crate::{JobId, PerModel, Span, Time};
use serde::{Deserialize, Serialize};

/// What a policy that looks ahead has planned and foresees. Told when a window is planned anew, and for people only: nobody acts on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ahead {
    /// Rounds of the window; the first of them is the one that is decided now.
    pub rounds: u32,
    /// How long each of them lasts.
    pub round: Span,
    /// What the plan gains over doing nothing, in the unit of the policy's objective.
    pub gain: f64,
    /// What one more GPU of each model in one round would add, in the same unit; 0 where no more GPUs are wanted than there are.
    pub prices: PerModel<f64>,
    /// Jobs that run in the window, and those planned for the first time; each once, by number.
    pub jobs: Vec<Foreseen>,
}

/// What is foreseen for one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Line", into = "Line")]
pub struct Foreseen {
    /// Which job.
    pub job: JobId,
    /// When it should be done.
    pub finish: Time,
    /// When it runs: stretches of rounds, in order.
    pub turns: Vec<Turns>,
}

/// Rounds of a window that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct Turns {
    /// The first of them, counted from 0.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// As it is written: names would be most of it.
type Line = (JobId, Time, Vec<Turns>);

impl Ahead {
    /// What is foreseen for a job.
    pub fn of(&self, job: JobId) -> Option<&Foreseen> {
        let at = self.jobs.binary_search_by_key(&job, |foreseen| foreseen.job).ok()?;
        Some(&self.jobs[at])
    }
}

impl Turns {
    /// Rounds in rising order as stretches.
    pub fn stretches(rounds: impl Iterator<Item = u32>) -> Vec<Self> {
        let mut stretches: Vec<Self> = Vec::new();
        for round in rounds {
            match stretches.last_mut() {
                Some(last) if last.first + last.count == round => last.count += 1,
                _ => stretches.push(Self { first: round, count: 1 }),
            }
        }
        stretches
    }
}

impl From<Line> for Foreseen {
    fn from((job, finish, turns): Line) -> Self {
        Self { job, finish, turns }
    }
}

impl From<Foreseen> for Line {
    fn from(foreseen: Foreseen) -> Self {
        (foreseen.job, foreseen.finish, foreseen.turns)
    }
}

impl From<(u32, u32)> for Turns {
    fn from((first, count): (u32, u32)) -> Self {
        Self { first, count }
    }
}

impl From<Turns> for (u32, u32) {
    fn from(turns: Turns) -> Self {
        (turns.first, turns.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_written_in_few_words_and_read_back() {
        let turns = Turns::stretches([0, 1, 2, 5, 7, 8].into_iter());
        let jobs = vec![Foreseen { job: JobId(3), finish: Time(90_000), turns }];
        let mut prices = PerModel::all(0.0);
        prices.0[0] = 0.5;
        let ahead = Ahead { rounds: 9, round: Span::from_secs(6), gain: 2.5, prices, jobs };
        let text = serde_json::to_string(&ahead).unwrap();
        let jobs = r#""jobs":[[3,90000,[[0,3],[5,1],[7,2]]]]"#;
        assert_eq!(text, format!(r#"{{"rounds":9,"round":6000,"gain":2.5,"prices":[0.5,0.0],{jobs}}}"#));
        assert_eq!(serde_json::from_str::<Ahead>(&text).unwrap(), ahead);
        assert_eq!(ahead.of(JobId(3)), ahead.jobs.first());
        assert_eq!(ahead.of(JobId(4)), None);
    }
}

//! Finish times that a policy has promised, as the ledger tells them.

use crate::{JobId, Time};
use serde::{Deserialize, Serialize};

/// What one job was promised. Told when it is promised something else than before or has to wait, and for people only: nobody acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Line", into = "Line")]
pub struct Promised {
    /// Which job.
    pub job: JobId,
    /// Its fair share alone would have it done then.
    pub by: Time,
    /// When it is expected to be done.
    pub expected: Time,
    /// By when it may well be done: one in ten is later.
    pub at_most: Time,
    /// Jobs that hold the GPUs that it could use; 0 if it does not wait, or for something else.
    pub behind: u32,
    /// When it is expected to have GPUs.
    pub until: Time,
}

/// As it is written: names would be most of it.
type Line = (JobId, Time, Time, Time, u32, Time);

impl From<Line> for Promised {
    fn from((job, by, expected, at_most, behind, until): Line) -> Self {
        Self { job, by, expected, at_most, behind, until }
    }
}

impl From<Promised> for Line {
    fn from(promised: Promised) -> Self {
        let Promised { job, by, expected, at_most, behind, until } = promised;
        (job, by, expected, at_most, behind, until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_written_in_few_words_and_read_back() {
        let [by, expected, at_most, until] = [90, 60, 70, 30].map(|at| Time(at * 1000));
        let promised = Promised { job: JobId(3), by, expected, at_most, behind: 2, until };
        let text = serde_json::to_string(&promised).unwrap();
        assert_eq!(text, "[3,90000,60000,70000,2,30000]");
        assert_eq!(serde_json::from_str::<Promised>(&text).unwrap(), promised);
    }
}

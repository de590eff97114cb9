//! What a reader skipped or changed: typed, counted, with the first line of each.

use std::collections::BTreeMap;

/// Something about a row that a user should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// The row cannot be read; skipped.
    BadRow,
    /// The job asks for no GPU; skipped.
    ZeroGpu,
    /// The job did not start or did not end, so nobody knows how long it takes; skipped.
    MissingTime,
    /// The duration is not positive; skipped.
    NoDuration,
    /// Another row has the same name or is the same; the name was changed.
    Duplicate,
    /// The duration looks cut off at a limit of the trace; kept.
    Clamped,
    /// A fraction of a GPU was rounded up to a whole one.
    Fraction,
    /// The number of GPUs is not a power of two; kept.
    OddSize,
    /// Rows were not in the order of submission; sorted.
    Unsorted,
    /// Attempts of one job differ in their GPUs; the last counts.
    AttemptsDiffer,
    /// The kind of job is not in the table of throughputs; skipped.
    UnknownKind,
    /// The job does not run on any GPU model of the table; skipped.
    DoesNotRun,
    /// A part of another job; skipped.
    JobStep,
    /// The row is the same as another in all that is known; kept.
    SameRow,
    /// The trace has multiplied the duration by a speed-up; it was divided by it again.
    Rescaled,
    /// Submitted while the trace was nearly empty; kept.
    Sparse,
    /// The trace counts processors; each stands for a GPU.
    Processors,
}

impl Warning {
    /// The words for people after a count of rows, be it one or many: without a verb that would have to agree.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::BadRow => "that could not be read: skipped",
            Self::ZeroGpu => "with no GPU: skipped",
            Self::MissingTime => "without a start or an end: skipped",
            Self::NoDuration => "without a positive duration: skipped",
            Self::Duplicate => "with the name of another: renamed",
            Self::Clamped => "with a duration at the limit of the trace: kept",
            Self::Fraction => "with a fraction of a GPU: rounded up",
            Self::OddSize => "with a number of GPUs that is no power of two: kept",
            Self::Unsorted => "with an earlier time than the row above: sorted",
            Self::AttemptsDiffer => "with attempts that differ in their GPUs: the last counts",
            Self::UnknownKind => "of a kind without a known speed: skipped",
            Self::DoesNotRun => "that no GPU model of the table can run: skipped",
            Self::JobStep => "for a step or a part of another job: skipped",
            Self::SameRow => "equal to another row: kept",
            Self::Rescaled => "with a duration scaled by an assumed speed-up: scaled back",
            Self::Sparse => "from when the trace was nearly empty: kept",
            Self::Processors => "with processors in place of GPUs: each stands for a GPU",
        }
    }

    /// Whether the row is not among the jobs.
    pub fn is_skip(self) -> bool {
        use Warning::{BadRow, DoesNotRun, JobStep, MissingTime, NoDuration, UnknownKind, ZeroGpu};
        matches!(self, BadRow | ZeroGpu | MissingTime | NoDuration | UnknownKind | DoesNotRun | JobStep)
    }
}

/// Warnings with their count and the first line of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings(BTreeMap<Warning, (u64, u64)>);

impl Warnings {
    /// Counts one.
    pub fn add(&mut self, warning: Warning, line: u64) {
        self.0.entry(warning).or_insert((0, line)).0 += 1;
    }

    /// What there is to say: warning, count, first line.
    pub fn iter(&self) -> impl Iterator<Item = (Warning, u64, u64)> + '_ {
        self.0.iter().map(|(warning, (count, line))| (*warning, *count, *line))
    }

    /// How often one was counted.
    pub fn count(&self, warning: Warning) -> u64 {
        self.0.get(&warning).map_or(0, |(count, _)| *count)
    }

    /// Rows that are not among the jobs.
    pub fn skipped(&self) -> u64 {
        self.iter().filter(|(warning, ..)| warning.is_skip()).map(|(_, count, _)| count).sum()
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

//! Tuners: who watches over the jobs of an app and ends those that promise nothing. One per file, each listed here.
//!
//! A tuner is told what its trials report and that they have ended, and answers with what to do. It has no clock, does no
//! I/O and draws no lots; it never sees a curve, only what was reported of it. A trial may report an epoch twice (after a
//! crash), miss one, or end at any time for reasons that are not the tuner's: nobody ever waits for a trial that is gone.

mod history;
mod hyperband;
mod hyperdrive;
mod median_stopping;
mod none;
mod rungs;
mod successive_halving;

use crate::SimJob;
use evenhand_core::{Choice, JobId, Loss, ParameterError, ParameterSpec, Parameters, nearest};
use thiserror::Error;

/// One job as its tuner knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Which.
    pub job: JobId,
    /// Reports up to its iteration limit; 0 if it never reports.
    pub epochs: u32,
    /// The loss at which it is finished.
    pub target: Option<Loss>,
}

impl Trial {
    /// What the tuner knows of a job.
    pub fn of(job: &SimJob) -> Self {
        let epochs = job.curve.as_ref().map_or(0, |curve| curve.epochs());
        Self { job: job.truth.id, epochs, target: job.truth.target }
    }
}

/// What a tuner wants done with one of its trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It ends here.
    Retire(JobId),
    /// It waits for others.
    Hold(JobId),
    /// It goes on.
    Release(JobId),
}

/// Watches over the trials of one app.
pub trait Tuner: Send {
    /// A trial has reported its loss at the end of an epoch, counted from 1.
    fn reported(&mut self, job: JobId, epoch: u32, loss: Loss) -> Vec<Verdict>;
    /// A trial has ended: with its last loss if it is finished, without if it is gone for any other reason.
    fn ended(&mut self, job: JobId, loss: Option<Loss>) -> Vec<Verdict>;
}

/// Makes a tuner for some trials, with these parameters.
pub type Build = fn(&Parameters, &[Trial]) -> Result<Box<dyn Tuner>, ParameterError>;

/// A tuner and what is said of it.
#[derive(Clone, Copy)]
pub struct TunerEntry {
    /// Its fixed name.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What it can be told.
    pub parameters: &'static [ParameterSpec],
    /// Makes one for these trials.
    pub build: Build,
}

/// All tuners.
pub const TUNERS: &[TunerEntry] =
    &[none::ENTRY, successive_halving::ENTRY, hyperband::ENTRY, hyperdrive::ENTRY, median_stopping::ENTRY];

/// The tuner of an app that names none.
pub const DEFAULT_TUNER: &str = "none";

/// A tuner that does not exist, or a parameter that it does not take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TunerError {
    /// No such tuner.
    #[error("there is no tuner `{name}`; {}", hint(.name))]
    Unknown {
        /// As given.
        name: String,
    },
    /// Not written as a name and parameters.
    #[error("a tuner is written like `successive-halving eta=4`, not `{text}`")]
    Unreadable {
        /// As given.
        text: String,
    },
    /// A parameter that does not fit.
    #[error("{0}")]
    Parameter(#[from] ParameterError),
}

fn hint(name: &str) -> String {
    let names: Vec<&'static str> = TUNERS.iter().map(|entry| entry.name).collect();
    nearest(name, &names)
        .map_or_else(|| format!("known: {}", names.join(", ")), |near| format!("did you mean `{near}`?"))
}

/// Makes the chosen tuner for these trials.
pub fn make(choice: &Choice, trials: &[Trial]) -> Result<Box<dyn Tuner>, TunerError> {
    let entry = TUNERS.iter().find(|entry| entry.name == choice.name);
    let entry = entry.ok_or_else(|| TunerError::Unknown { name: choice.name.clone() })?;
    choice.parameters.only(entry.parameters)?;
    Ok((entry.build)(&choice.parameters, trials)?)
}

/// Reads a tuner as people write it: its name, then its parameters as `name=value`, with spaces between.
pub fn parse(text: &str) -> Result<Choice, TunerError> {
    let mut words = text.split_whitespace();
    let mut choice = Choice::named(words.next().unwrap_or_default());
    for word in words {
        let unreadable = || TunerError::Unreadable { text: text.to_owned() };
        let (name, value) = word.split_once('=').ok_or_else(unreadable)?;
        choice.parameters.0.insert(name.to_owned(), value.to_owned());
    }
    make(&choice, &[])?;
    Ok(choice)
}

/// Writes a tuner so that it can be read again.
pub fn text(choice: &Choice) -> String {
    let parameters = choice.parameters.0.iter().map(|(name, value)| format!(" {name}={value}"));
    std::iter::once(choice.name.clone()).chain(parameters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuner_is_read_as_it_is_written() {
        let choice = parse("successive-halving eta=4").unwrap();
        assert_eq!(
            (choice.name.as_str(), text(&choice).as_str()),
            ("successive-halving", "successive-halving eta=4")
        );
        for (wrong, says) in [
            ("hyperbnd", "did you mean `hyperband`?"),
            ("hyperband eta", "is written like"),
            ("hyperband eta=1", "from 2 to 10"),
            ("none eta=3", "unknown parameter"),
        ] {
            let error = parse(wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn every_tuner_is_described() {
        for entry in TUNERS {
            assert!(entry.summary.ends_with('.') && !entry.paper.is_empty(), "{}", entry.name);
            assert!(make(&Choice::named(entry.name), &[]).is_ok(), "{}", entry.name);
        }
        assert!(TUNERS.iter().any(|entry| entry.name == DEFAULT_TUNER));
    }
}

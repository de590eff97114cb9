//! Tables of throughput as Gavel and Shockwave publish them: GPU model -> kind of job -> steps per second, alone and
//! beside another job on the same GPU.
//!
//! The keys are printed Python tuples, `('ResNet-18 (batch size 16)', 1)`, or plain names in one older file. A zero
//! means that the job does not run there; a pair of zeros means that the pair does not fit (one GPU) or was not
//! measured (several).

use super::open_file;
use super::reading::Applications;
use crate::InputError;
use evenhand_core::{MODELS_MAX, ModelIndex, PerModel};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

/// A kind of job: its name with the batch size, and its gang.
pub type Kind = (String, u32);

/// Steps per second of every kind of job on every GPU model.
#[derive(Clone, Debug, Default)]
pub struct Throughputs {
    /// GPU models, in the order of the file; spread-out variants are kept apart.
    pub models: Vec<String>,
    alone: BTreeMap<Kind, PerModel<f64>>,
    spread: BTreeMap<Kind, PerModel<f64>>,
    pairs: BTreeMap<(Kind, Kind), PerModel<[f64; 2]>>,
    applications: Applications,
}

/// The ending of a GPU model's name under which jobs on spread-out GPUs are listed.
const SPREAD: &str = "_unconsolidated";

impl Throughputs {
    /// Reads a table from a file, compressed or not; or the applications of Pollux from their folder.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        if path.is_dir() {
            return Ok(Self { applications: Applications::open(path)?, ..Self::default() });
        }
        let place = path.display().to_string();
        let cannot = |error: &dyn std::fmt::Display| {
            InputError::whole(&place, format!("the throughputs cannot be read: {error}"))
        };
        let mut source = open_file(path).map_err(|error| cannot(&error))?;
        Self::read(&mut source).map_err(|error| error.within(&place))
    }

    /// Reads a table.
    pub fn read(source: &mut dyn BufRead) -> Result<Self, InputError> {
        type Table = BTreeMap<String, BTreeMap<String, BTreeMap<String, Value>>>;
        let table: Table = serde_json::from_reader(source).map_err(|error| InputError {
            line: error.line() as u64,
            allowed: format!("not a table of throughputs: {error}"),
            ..InputError::default()
        })?;
        let mut found = Self::default();
        // Fast models first: the first model is the reference, and v100 is what published durations refer to.
        let mut names: Vec<&String> = table.keys().filter(|name| !name.ends_with(SPREAD)).collect();
        names.sort_by_key(|name| (name.as_str() != "v100", std::cmp::Reverse(name.as_str())));
        if names.len() >= MODELS_MAX {
            return Err(InputError::field(
                0,
                "the number of GPU models",
                names.len(),
                format!("it must be below {MODELS_MAX}"),
            ));
        }
        for (at, name) in names.into_iter().enumerate() {
            let model = ModelIndex(at as u16);
            found.models.push(name.clone());
            found.add(model, &table[name])?;
            if let Some(rows) = table.get(&format!("{name}{SPREAD}")) {
                for (key, row) in rows {
                    if let (Some(kind), Some(rate)) = (kind(key), row.get("null").and_then(Value::as_f64)) {
                        found.spread.entry(kind).or_insert(PerModel::all(0.0))[model] = rate;
                    }
                }
            }
        }
        Ok(found)
    }

    fn add(
        &mut self,
        model: ModelIndex,
        rows: &BTreeMap<String, BTreeMap<String, Value>>,
    ) -> Result<(), InputError> {
        for (key, row) in rows {
            let wrong = |what: &str| InputError::field(0, "a kind of job", key, what);
            let own = kind(key).ok_or_else(|| wrong("it is written like ('LM (batch size 10)', 1)"))?;
            for (other, value) in row {
                if other == "null" {
                    let rate = value.as_f64().filter(|rate| rate.is_finite() && *rate >= 0.0);
                    let rate = rate.ok_or_else(|| wrong("its speed alone must be a number of at least 0"))?;
                    self.alone.entry(own.clone()).or_insert(PerModel::all(0.0))[model] = rate;
                } else if let (Some(other), Some([mine, theirs])) = (kind(other), pair(value)) {
                    let row = self.pairs.entry((own.clone(), other)).or_insert(PerModel::all([0.0; 2]));
                    row[model] = [mine, theirs];
                }
            }
        }
        Ok(())
    }

    /// Steps per second of a kind of job alone, on each GPU model.
    pub fn alone(&self, name: &str, gang: u32) -> Option<PerModel<f64>> {
        self.alone.get(&(name.to_owned(), gang)).copied()
    }

    /// How much slower a gang runs on spread-out GPUs of the first model; `None` if nobody measured it.
    pub fn slowdown_spread(&self, name: &str, gang: u32) -> Option<f64> {
        let kind = (name.to_owned(), gang);
        let (packed, spread) = (self.alone.get(&kind)?.0[0], self.spread.get(&kind)?.0[0]);
        (packed > 0.0 && spread > 0.0).then(|| (packed / spread).max(1.0))
    }

    /// Steps per second of two kinds of job on one GPU of each model; zeros where they do not fit.
    pub fn pair(&self, own: &Kind, other: &Kind) -> Option<PerModel<[f64; 2]>> {
        self.pairs.get(&(own.clone(), other.clone())).copied()
    }

    /// All pairs that were tried on one GPU.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&(Kind, Kind), &PerModel<[f64; 2]>)> {
        self.pairs.iter()
    }

    #[cfg(test)]
    pub(crate) fn of_applications(applications: Applications) -> Self {
        Self { applications, ..Self::default() }
    }

    /// What is known of the applications of Pollux.
    pub(crate) fn applications(&self) -> &Applications {
        &self.applications
    }

    /// All kinds of job, with their speeds alone.
    pub fn kinds(&self) -> impl Iterator<Item = (&Kind, &PerModel<f64>)> {
        self.alone.iter()
    }
}

fn pair(value: &Value) -> Option<[f64; 2]> {
    let list = value.as_array().filter(|list| list.len() == 2)?;
    Some([list[0].as_f64()?, list[1].as_f64()?])
}

/// Reads `('LM (batch size 10)', 1)`, or a plain name, which means a gang of one.
fn kind(key: &str) -> Option<Kind> {
    let Some(inside) = key.strip_prefix("('") else { return Some((key.to_owned(), 1)) };
    let (name, gang) = inside.strip_suffix(')')?.split_once("', ")?;
    Some((name.to_owned(), gang.trim().parse().ok().filter(|gang| (1..=100_000).contains(gang))?))
}

/// Splits `LM (batch size 10)` into the model and its batch size; models without one have batch size 0.
pub(crate) fn model_and_batch(name: &str) -> (&str, u32) {
    let split = name.split_once(" (batch size ");
    let batch = split.and_then(|(model, rest)| Some((model, rest.strip_suffix(')')?.parse().ok()?)));
    batch.unwrap_or((name, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_tuples_are_read() {
        let text = r#"{"k80":{"('LM (batch size 5)', 1)":{"null":6.0,"('A3C', 1)":[0.0,0.0]}},
            "v100":{"('LM (batch size 5)', 1)":{"null":24.0,"('A3C', 1)":[12.0,3.5]},"('LM (batch size 5)', 2)":{"null":40}},
            "v100_unconsolidated":{"('LM (batch size 5)', 2)":{"null":20}}}"#;
        let table = Throughputs::read(&mut text.as_bytes()).unwrap();
        assert_eq!(table.models, ["v100", "k80"]);
        let alone = table.alone("LM (batch size 5)", 1).unwrap();
        assert!((alone.0[0] - 24.0).abs() < 1e-12 && (alone.0[1] - 6.0).abs() < 1e-12);
        assert!((table.slowdown_spread("LM (batch size 5)", 2).unwrap() - 2.0).abs() < 1e-12);
        let pair = table.pair(&("LM (batch size 5)".into(), 1), &("A3C".into(), 1)).unwrap();
        assert!((pair.0[0][1] - 3.5).abs() < 1e-12);
        assert_eq!(model_and_batch("LM (batch size 5)"), ("LM", 5));
        assert_eq!(model_and_batch("A3C"), ("A3C", 0));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Throughputs::read(&mut &b"[]"[..]).is_err());
        assert!(Throughputs::read(&mut &br#"{"v100":{"x":{"null":-1}}}"#[..]).is_err());
    }
}

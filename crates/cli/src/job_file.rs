//! Job files: TOML or YAML, told apart by how their names end.

use crate::failure::wrong;
use anyhow::Result;
use evenhand_live::Wanted;
use serde_json::{Map, Value, json};
use std::path::Path;

/// A job as a file describes it.
#[derive(Debug, Default)]
pub struct JobFile {
    /// What it says.
    pub fields: Map<String, Value>,
    /// Where it is from: a file, or the command.
    pub place: String,
    text: String,
}

impl JobFile {
    /// No file: everything is said on the command line.
    pub fn none() -> Self {
        Self { place: "submit".to_owned(), ..Self::default() }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let place = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| wrong(&place, format!("it cannot be read: {error}")))?;
        let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
        let fields = if is_yaml {
            // As YAML 1.2 has it: `no` and `n` are words. What is no number is told by us, as for TOML.
            let options = serde_saphyr::options! {
                strict_booleans: true,
                non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
            };
            let read = serde_saphyr::from_str_with_options(&text, options);
            read.map_err(|error: serde_saphyr::Error| wrong(&place, error.without_snippet()))?
        } else {
            toml::from_str(&text).map_err(|error| wrong(&place, error))?
        };
        Ok(Self { fields, place, text })
    }

    /// The job, if everything makes sense; what does not is told with its line.
    pub fn wanted(&self) -> Result<Wanted> {
        if !self.fields.contains_key("argv") {
            return Err(wrong(&self.place, "what is to run? Give a program after --, or argv in a file"));
        }
        if let Some(name) = nothing(&self.fields) {
            let what = format!("{name} is not a number, or nothing at all: nan and inf are not allowed");
            return Err(wrong(self.at(&[name]), what));
        }
        serde_json::from_value(Value::Object(self.fields.clone())).map_err(|error| {
            match culprit(&self.fields) {
                Some((path, error)) => wrong(self.at(&path), format!("{}: {error}", path.join("."))),
                None => wrong(&self.place, error),
            }
        })
    }

    /// The file and the line on which a field is set; of one in a table, the first such line from that of the table on.
    fn at(&self, path: &[&str]) -> String {
        let sets = |field: &str, line: &str| {
            let line = line.trim_start().trim_start_matches(['[', '"', '\'']);
            let rest = line.strip_prefix(field).map(|rest| rest.trim_start_matches(['"', '\'', ' ']));
            rest.is_some_and(|rest| rest.starts_with(['=', ':', ']']))
        };
        let mut found = None;
        for field in path {
            let mut lines = self.text.lines().enumerate().skip(found.unwrap_or(0));
            found = lines.find(|(_, line)| sets(field, line)).map(|(at, _)| at).or(found);
        }
        found.map_or_else(|| self.place.clone(), |at| format!("{}: line {}", self.place, at + 1))
    }
}

/// The first field that would not do in a job that has nothing else, and why; of a table that would do if it were empty, the first in it.
fn culprit(fields: &Map<String, Value>) -> Option<(Vec<&str>, serde_json::Error)> {
    fields.iter().find_map(|(name, value)| {
        let error = refused(name, value.clone())?;
        let is_table = refused(name, json!({})).is_none();
        let inner =
            value.as_object().filter(|_| is_table).into_iter().flatten().find_map(|(inner, value)| {
                let alone = Map::from_iter([(inner.clone(), value.clone())]);
                Some((vec![name.as_str(), inner.as_str()], refused(name, Value::Object(alone))?))
            });
        Some(inner.unwrap_or_else(|| (vec![name.as_str()], error)))
    })
}

/// Why a field would not do in a job that has nothing else.
fn refused(name: &str, value: Value) -> Option<serde_json::Error> {
    let mut fields = Map::from_iter([("argv".to_owned(), json!(["true"]))]);
    fields.insert(name.to_owned(), value);
    serde_json::from_value::<Wanted>(Value::Object(fields)).err()
}

/// The field that is nan or infinite, if there is one. JSON has nothing for these but null, which would count as not said.
fn nothing(fields: &Map<String, Value>) -> Option<&str> {
    fields.iter().find_map(|(name, value)| match value {
        Value::Null => Some(name.as_str()),
        Value::Object(inner) => nothing(inner),
        _ => None,
    })
}

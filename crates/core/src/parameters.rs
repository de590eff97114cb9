//! Parameters of policies: strings at the edge, typed where they are read.

use crate::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;
use thiserror::Error;

/// The name of a part and its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Choice {
    /// The registered name.
    pub name: String,
    /// As given; the rest are at their defaults.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
}

impl Choice {
    /// A part with all parameters at their defaults.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), parameters: Parameters::default() }
    }
}

/// One parameter that a part understands.
#[derive(Clone, Copy, Debug)]
pub struct ParameterSpec {
    /// Its name.
    pub name: &'static str,
    /// What it is when not given.
    pub default: &'static str,
    /// What it does.
    pub summary: &'static str,
}

/// Names and values, as given.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(pub BTreeMap<String, String>);

/// What is wrong with a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParameterError {
    /// No such parameter.
    #[error("unknown parameter `{name}`; {}", known_names(.name, .known))]
    Unknown {
        /// As given.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A value that does not fit.
    #[error("parameter `{name}` is `{value}`, but {allowed}")]
    Value {
        /// Which parameter.
        name: String,
        /// As given.
        value: String,
        /// What would fit.
        allowed: String,
    },
}

fn known_names(name: &str, known: &[&'static str]) -> String {
    match (crate::nearest(name, known), known) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => "there are none".into(),
        (None, known) => format!("known: {}", known.join(", ")),
    }
}

impl Parameters {
    /// Whether none were given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses names that are not in the list.
    pub fn only(&self, known: &[ParameterSpec]) -> Result<(), ParameterError> {
        let unknown = self.0.keys().find(|name| known.iter().all(|spec| spec.name != name.as_str()));
        match unknown {
            None => Ok(()),
            Some(name) => Err(ParameterError::Unknown {
                name: name.clone(),
                known: known.iter().map(|spec| spec.name).collect(),
            }),
        }
    }

    /// The value of a parameter, given or default, as text.
    pub fn text<'a>(&'a self, spec: &'a ParameterSpec) -> &'a str {
        self.0.get(spec.name).map_or(spec.default, String::as_str)
    }

    /// The value of a parameter, read as a number or a truth value.
    pub fn read<T: FromStr>(&self, spec: &ParameterSpec, allowed: &str) -> Result<T, ParameterError> {
        let text = self.text(spec);
        text.parse().map_err(|_| Self::refuse(spec, text, allowed))
    }

    /// The value of a parameter, read as a number from `least` to `most`.
    pub fn number(&self, spec: &ParameterSpec, least: f64, most: f64) -> Result<f64, ParameterError> {
        let allowed = format!("it is a number from {least} to {most}");
        let number: f64 = self.read(spec, &allowed)?;
        let fits = (least..=most).contains(&number);
        if fits { Ok(number) } else { Err(Self::refuse(spec, self.text(spec), &allowed)) }
    }

    /// The value of a parameter, read as a length of time that is not zero.
    pub fn span(&self, spec: &ParameterSpec) -> Result<Span, ParameterError> {
        let allowed = "it is a duration such as 90s, 20m or 6h";
        let span: Span = self.read(spec, allowed)?;
        if span > Span::ZERO { Ok(span) } else { Err(Self::refuse(spec, self.text(spec), allowed)) }
    }

    /// The value of a parameter, read as one of these words.
    pub fn word<T: Copy>(&self, spec: &ParameterSpec, words: &[(&str, T)]) -> Result<T, ParameterError> {
        let text = self.text(spec);
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let list: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            Self::refuse(spec, text, &format!("it is one of {}", list.join(", ")))
        })
    }

    fn refuse(spec: &ParameterSpec, value: &str, allowed: &str) -> ParameterError {
        ParameterError::Value { name: spec.name.into(), value: value.into(), allowed: allowed.into() }
    }
}

impl FromStr for Span {
    type Err = &'static str;

    /// `90s`, `20m`, `6h`, `2d`, `250ms`; a bare number is seconds.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const ALLOWED: &str = "a duration is written like 90s, 20m, 6h or 2d";
        let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let scale = match unit {
            "ms" => 1e-3,
            "s" | "" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(ALLOWED),
        };
        let seconds: f64 = number.trim().parse::<f64>().map_err(|_| ALLOWED)? * scale;
        if seconds.is_finite() && (0.0..1e12).contains(&seconds) {
            Ok(Self::from_seconds(seconds))
        } else {
            Err(ALLOWED)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKFILL: ParameterSpec = ParameterSpec { name: "backfill", default: "false", summary: "" };

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!("90s".parse(), Ok(Span::from_secs(90)));
        assert_eq!("1.5h".parse(), Ok(Span::from_minutes(90)));
        assert_eq!("250ms".parse(), Ok(Span(250)));
        assert!("soon".parse::<Span>().is_err());
        assert!("-5m".parse::<Span>().is_err());
        assert!("NaN".parse::<Span>().is_err());
    }

    #[test]
    fn unknown_names_and_bad_values_are_refused() {
        let given = |name: &str, value: &str| Parameters([(name.to_owned(), value.to_owned())].into());
        assert!(given("backfil", "true").only(&[BACKFILL]).is_err());
        assert_eq!(given("backfill", "true").read(&BACKFILL, "true or false"), Ok(true));
        let error = given("backfill", "yes").read::<bool>(&BACKFILL, "it is true or false").unwrap_err();
        assert_eq!(error.to_string(), "parameter `backfill` is `yes`, but it is true or false");
    }
}

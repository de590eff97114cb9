//! The `[[policy]]` tables of a scenario: parameters, set or swept.

use crate::InputError;
use evenhand_core::{Choice, Parameters};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyTable {
    name: String,
    #[serde(default)]
    set: BTreeMap<String, Scalar>,
    #[serde(default)]
    sweep: BTreeMap<String, Vec<Scalar>>,
}

/// A parameter may be written with or without quotes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Scalar {
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Self::Truth(value) => value.to_string(),
            Self::Whole(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Text(value) => value.clone(),
        }
    }
}

impl PolicyTable {
    /// The policy with its parameters, once for every combination of the values that are swept.
    pub(super) fn choices(&self) -> Result<Vec<Choice>, InputError> {
        let parameters = self.set.iter().map(|(name, value)| (name.clone(), value.text())).collect();
        let mut choices = vec![Choice { name: self.name.clone(), parameters: Parameters(parameters) }];
        for (name, values) in &self.sweep {
            if values.is_empty() {
                return Err(InputError::field(0, "sweep", name, "give at least one value"));
            }
            if self.set.contains_key(name) {
                return Err(InputError::field(0, "sweep", name, "a parameter is either set or swept"));
            }
            let with = |choice: Choice| {
                values.iter().map(move |value| {
                    let mut choice = choice.clone();
                    choice.parameters.0.insert(name.clone(), value.text());
                    choice
                })
            };
            choices = choices.into_iter().flat_map(with).collect();
        }
        Ok(choices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(text: &str) -> Result<Vec<String>, String> {
        let table: PolicyTable = toml::from_str(text).expect("this is a policy table");
        let choices = table.choices().map_err(|error| error.to_string())?;
        let text = |choice: Choice| {
            let set = choice.parameters.0.iter().map(|(name, value)| format!(" {name}={value}"));
            format!("{}{}", choice.name, set.collect::<String>())
        };
        Ok(choices.into_iter().map(text).collect())
    }

    #[test]
    fn a_sweep_is_every_combination_of_its_values() {
        let found = sweep(
            r#"name = "a"
            set = { x = true }
            sweep = { f = [0, 0.5], lease = ["5m", "20m"] }"#,
        );
        let expected = [
            "a f=0 lease=5m x=true",
            "a f=0 lease=20m x=true",
            "a f=0.5 lease=5m x=true",
            "a f=0.5 lease=20m x=true",
        ];
        assert_eq!(found.unwrap(), expected);
        assert_eq!(sweep(r#"name = "a""#).unwrap(), ["a"]);
    }

    #[test]
    fn a_sweep_that_says_nothing_or_too_much_is_refused() {
        assert!(sweep("name = \"a\"\nsweep = { f = [] }").unwrap_err().contains("at least one value"));
        assert!(
            sweep("name = \"a\"\nset = { f = 1 }\nsweep = { f = [2] }")
                .unwrap_err()
                .contains("either set or swept")
        );
    }
}

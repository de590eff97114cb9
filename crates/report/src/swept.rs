//! Which parameters a number of runs of one policy differ in, if these are numbers or lengths of time.

use evenhand_core::{Parameters, Span};
use std::collections::{BTreeMap, BTreeSet};

/// A parameter that was swept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Whether its values are lengths of time, in seconds.
    pub is_time: bool,
}

impl Parameter {
    /// Its value in a run, as a number and as it was given.
    pub fn value<'a>(&self, given: &'a Parameters) -> Option<(f64, &'a str)> {
        let text = given.0.get(&self.name)?;
        number(text).map(|number| (number, text.as_str()))
    }
}

/// The one or two parameters that were swept, the one with the most values first; `None` if the runs differ in something
/// else, or not at all.
pub fn swept(runs: &[&Parameters]) -> Option<Vec<Parameter>> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in runs.iter().flat_map(|run| &run.0) {
        values.entry(name).or_default().insert(value);
    }
    values.retain(|name, values| values.len() > 1 || runs.iter().any(|run| !run.0.contains_key(*name)));
    if !(1..=2).contains(&values.len()) {
        return None;
    }
    let everywhere =
        |name: &&str| runs.iter().filter(|run| run.0.contains_key(*name)).count() + 1 >= runs.len();
    let numeric = values.values().flatten().all(|value| number(value).is_some());
    if !numeric || !values.keys().all(everywhere) || values.values().any(|values| values.len() < 2) {
        return None;
    }
    let mut found: Vec<(usize, Parameter)> = values
        .iter()
        .map(|(name, values)| {
            let is_time = values.iter().any(|value| value.parse::<f64>().is_err());
            (values.len(), Parameter { name: (*name).to_owned(), is_time })
        })
        .collect();
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    Some(found.into_iter().map(|(_, parameter)| parameter).collect())
}

/// A plain number, or a length of time in seconds.
fn number(text: &str) -> Option<f64> {
    let plain = text.parse::<f64>().ok().filter(|number| number.is_finite());
    plain.or_else(|| text.parse::<Span>().ok().map(Span::seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(runs: &[&[(&str, &str)]]) -> Option<Vec<(String, bool)>> {
        let given = |pairs: &&[(&str, &str)]| {
            Parameters(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
        };
        let runs: Vec<Parameters> = runs.iter().map(given).collect();
        let found = swept(&runs.iter().collect::<Vec<_>>())?;
        Some(found.into_iter().map(|parameter| (parameter.name, parameter.is_time)).collect())
    }

    #[test]
    fn numbers_and_times_are_swept_and_the_most_values_come_first() {
        let two: &[&[(&str, &str)]] = &[
            &[("f", "0"), ("lease", "5m")],
            &[("f", "0.5"), ("lease", "5m")],
            &[("f", "0"), ("lease", "10m")],
            &[("f", "0"), ("lease", "1h")],
        ];
        assert_eq!(found(two), Some(vec![("lease".into(), true), ("f".into(), false)]));
        let one: &[&[(&str, &str)]] = &[&[("f", "0"), ("x", "y")], &[("f", "1"), ("x", "y")]];
        assert_eq!(found(one), Some(vec![("f".into(), false)]));
        // One run at the defaults does not hide the sweep.
        let default: &[&[(&str, &str)]] = &[&[], &[("f", "0")], &[("f", "1")]];
        assert_eq!(found(default), Some(vec![("f".into(), false)]));
    }

    #[test]
    fn words_and_single_settings_are_no_sweep() {
        assert_eq!(found(&[&[], &[("backfill", "true")]]), None);
        assert_eq!(found(&[&[("a", "1")], &[("a", "x")]]), None);
        assert_eq!(found(&[&[("a", "1")], &[("a", "1")]]), None);
        assert_eq!(found(&[]), None);
        let three: &[&[(&str, &str)]] =
            &[&[("a", "1"), ("b", "1"), ("c", "1")], &[("a", "2"), ("b", "2"), ("c", "2")]];
        assert_eq!(found(three), None);
    }
}

//! Tables of numbers in CSV files: a row per tenant, a column per GPU model.
//!
//! A header row of model names and a first column of tenant names are both optional. How many GPU models there are is known
//! beforehand, so one column more than that is a column of names. The first row is a header if it has no number under a model,
//! if it names the models that are expected, or if it begins with a title of the names; the last two are for models that are
//! called `3090`. Lines that begin with `#` are remarks.

use csv::{Position, ReaderBuilder, StringRecord, Trim};
use evenhand_sim::{InputError, traces};
use std::fmt;
use std::io::BufRead;
use std::path::Path;

/// What may stand in a header above the names of tenants, where these could be taken for numbers.
const TITLES: &[&str] = &["", "tenant", "tenants", "name", "user", "party", "id"];
/// No number that makes sense is larger.
const NUMBER_MOST: f64 = 1e12;

/// A table as it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberTable {
    /// The file.
    pub place: String,
    /// Names of the columns, if there is a header.
    pub models: Option<Vec<String>>,
    /// Names of the rows, if there is a column of them.
    pub tenants: Option<Vec<String>>,
    /// The numbers.
    pub rows: Vec<Vec<f64>>,
    /// The line of the header, or of the first row if there is none.
    pub first_line: u64,
    /// The line of each row.
    pub lines: Vec<u64>,
}

impl NumberTable {
    /// Reads a file with a column for each of `count` models; `names` are what they are called, if that is known.
    pub fn read(path: &Path, count: usize, names: Option<&[String]>, what: &str) -> Result<Self, InputError> {
        let place = path.display().to_string();
        let file = traces::open_file(path)
            .map_err(|error| InputError::whole(&place, format!("the file cannot be read: {error}")))?;
        let records = records(file).map_err(|error| error.within(&place))?;
        let table = Self::of_records(&records, count, names, what);
        table.map(|table| Self { place: place.clone(), ..table }).map_err(|error| error.within(&place))
    }

    fn of_records(
        records: &[StringRecord],
        count: usize,
        names: Option<&[String]>,
        what: &str,
    ) -> Result<Self, InputError> {
        let Some(first) = records.first() else { return Err(nothing("the file is empty")) };
        let is_named = first.len() == count + 1;
        let skip = usize::from(is_named);
        let has_header = is_header(first, skip, names);
        let rows = &records[usize::from(has_header)..];
        if rows.is_empty() {
            return Err(nothing("there is no row of a tenant"));
        }
        // A column of numbers too many would pass for names.
        let titled = has_header && TITLES.contains(&first[0].to_lowercase().as_str());
        let doubtful = is_named && !titled && rows.iter().all(|row| is_number(&row[0]));
        for record in records {
            if record.len() != first.len() || !(count..=count + 1).contains(&record.len()) || doubtful {
                return Err(InputError::field(
                    line(record),
                    "the number of columns",
                    record.len(),
                    width(count),
                ));
            }
        }
        if !is_named && !rows.iter().any(|row| is_number(&row[0])) && count > 1 {
            // Names where numbers should be: one model is missing, and no cell is to blame.
            let allowed = format!("there are {count} GPU models");
            return Err(InputError::field(
                line(first),
                "the number of columns after the names",
                count - 1,
                allowed,
            ));
        }
        let models: Option<Vec<String>> = has_header.then(|| cells(first, skip));
        let column = |at: usize| {
            models.as_ref().map_or(format!("column {}", skip + at + 1), |names| names[at].clone())
        };
        let mut numbers = Vec::with_capacity(rows.len());
        for record in rows {
            let row = record.iter().skip(skip).enumerate().map(|(at, cell)| {
                let allowed = format!("{what} is a number from 0 to {NUMBER_MOST:e}");
                number(cell).ok_or_else(|| InputError::field(line(record), &column(at), cell, allowed))
            });
            numbers.push(row.collect::<Result<_, _>>()?);
        }
        if let Some(models) = &models {
            distinct(models.iter().map(|name| (name.as_str(), line(first))), "a GPU model")?;
        }
        let tenants: Option<Vec<String>> =
            is_named.then(|| rows.iter().map(|row| row[0].to_owned()).collect());
        if is_named {
            distinct(rows.iter().map(|row| (&row[0], line(row))), "a tenant")?;
        }
        Ok(Self {
            place: String::new(),
            models,
            tenants,
            rows: numbers,
            first_line: line(first),
            lines: rows.iter().map(line).collect(),
        })
    }
}

/// Splits lines into cells. Line by line, because the place that the reader of CSV gives for a record is that of the remarks
/// before it.
fn records(file: impl BufRead) -> Result<Vec<StringRecord>, InputError> {
    let mut records = Vec::new();
    for (text, number) in file.lines().zip(1..) {
        let text = text.map_err(|error| unreadable(number, &error))?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let mut reader = ReaderBuilder::new();
        let reader = reader.has_headers(false).trim(Trim::All).from_reader(text.as_bytes());
        for record in reader.into_records() {
            let mut record = record.map_err(|error| unreadable(number, &error))?;
            let mut position = Position::new();
            position.set_line(number);
            record.set_position(Some(position));
            records.push(record);
        }
    }
    Ok(records)
}

fn is_header(first: &StringRecord, skip: usize, names: Option<&[String]>) -> bool {
    let found = cells(first, skip);
    let expected = names.is_some_and(|names| names.iter().all(|name| found.contains(name)));
    let titled = skip > 0 && TITLES.contains(&first[0].to_lowercase().as_str());
    expected || titled || !found.iter().any(|cell| is_number(cell))
}

fn cells(record: &StringRecord, skip: usize) -> Vec<String> {
    record.iter().skip(skip).map(str::to_owned).collect()
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|number| (0.0..=NUMBER_MOST).contains(number))
}

/// Refuses names that are empty or used twice.
pub fn distinct<'a>(names: impl Iterator<Item = (&'a str, u64)>, what: &str) -> Result<(), InputError> {
    let mut seen = std::collections::BTreeSet::new();
    for (name, line) in names {
        if name.is_empty() {
            return Err(InputError::field(line, "a name", name, format!("{what} has one")));
        }
        if !seen.insert(name) {
            return Err(InputError::field(
                line,
                "a name",
                name,
                format!("{what} of this name was there before"),
            ));
        }
    }
    Ok(())
}

fn width(count: usize) -> String {
    let models = if count == 1 { "is 1 GPU model".into() } else { format!("are {count} GPU models") };
    format!("there {models}: a column for each, and before them one for the names of tenants if you like")
}

fn line(record: &StringRecord) -> u64 {
    record.position().map_or(0, Position::line)
}

fn nothing(allowed: &str) -> InputError {
    InputError { line: 1, allowed: allowed.into(), ..InputError::default() }
}

fn unreadable(line: u64, error: &dyn fmt::Display) -> InputError {
    InputError { line, allowed: format!("the line cannot be read: {error}"), ..InputError::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, count: usize, names: Option<&[String]>) -> Result<NumberTable, String> {
        let records = records(text.as_bytes()).map_err(|error| error.to_string())?;
        NumberTable::of_records(&records, count, names, "a speedup").map_err(|error| error.to_string())
    }

    #[test]
    fn header_and_names_are_optional() {
        let plain = read("1,2\n# a remark\n1, 5\n", 2, None).unwrap();
        assert_eq!((plain.models, plain.tenants, &plain.lines[..]), (None, None, &[1, 3][..]));
        for (text, header, named) in [
            ("k80,v100\n1,2\n1,5\n", true, false),
            ("ann,1,2\nbob,1,5\n", false, true),
            (",k80,v100\nann,1,2\nbob,1,5\n", true, true),
            ("tenant,3080,3090\n7,1,2\n8,1,5\n", true, true),
        ] {
            let table = read(text, 2, None).unwrap();
            assert_eq!(table.rows, plain.rows, "{text}");
            assert_eq!((table.models.is_some(), table.tenants.is_some()), (header, named), "{text}");
        }
        let names = ["3090".to_owned(), "3080".to_owned()];
        assert!(read("3080,3090\n1,2\n", 2, Some(&names)).unwrap().models.is_some());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, message) in [
            ("", "line 1: the file is empty"),
            ("k80,v100\n", "line 1: there is no row of a tenant"),
            ("1,2\n1,x\n", "line 2: column 2 is `x`, but a speedup is a number from 0 to 1e12"),
            ("a,b\n1,-2\n", "line 2: b is `-2`, but a speedup"),
            ("a,b\n1,nan\n", "line 2: b is `nan`, but"),
            ("1,2\n1\n", "line 2: the number of columns is `1`, but there are 2 GPU models"),
            ("1,2,3\n4,5,6\n", "line 1: the number of columns is `3`, but there are 2 GPU models"),
            ("a,b,c\n4,5,6\n", "line 1: the number of columns is `3`, but there are 2 GPU models"),
            ("1,2,3,4\n", "line 1: the number of columns is `4`"),
            ("ann,1\nbob,2\n", "line 1: the number of columns after the names is `1`, but there are 2"),
            ("ann,1,2\nann,1,3\n", "line 2: a name is `ann`, but a tenant of this name was there before"),
            ("a,a\n1,3\n", "line 1: a name is `a`, but a GPU model of this name was there before"),
        ] {
            let found = read(text, 2, None).unwrap_err();
            assert!(found.starts_with(message), "{found}\n  is not\n{message}");
        }
    }
}

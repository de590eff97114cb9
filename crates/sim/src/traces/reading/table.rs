//! Tables with a header line: rows by the names of their columns.

use super::{Clock, Draft, Gather, Lines};
use crate::InputError;
use crate::traces::{Opening, Trace, Warning, Warnings};
use std::borrow::Cow;
use std::io::BufRead;

/// No table has more columns; what comes after is not split.
const COLUMNS_MAX: usize = 1000;

/// Splits a line; a field may stand in double quotes.
pub(crate) fn split(text: &str, separator: char) -> Vec<Cow<'_, str>> {
    let mut fields = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest
        && fields.len() < COLUMNS_MAX
    {
        let (field, after) = match text.strip_prefix('"').and_then(|inside| quoted(inside, separator)) {
            Some(found) => found,
            None => {
                text.split_once(separator).map_or((Cow::Borrowed(text.trim()), None), |(field, after)| {
                    (Cow::Borrowed(field.trim()), Some(after))
                })
            }
        };
        fields.push(field);
        rest = after;
    }
    fields
}

/// The rest of a quoted field, and what comes after it; `None` if the quotes are not closed before a separator.
fn quoted(inside: &str, separator: char) -> Option<(Cow<'_, str>, Option<&str>)> {
    let mut from = 0;
    loop {
        let end = from + inside.get(from..)?.find('"')?;
        let after = &inside[end + 1..];
        if after.starts_with('"') {
            from = end + 2;
            continue;
        }
        let field = &inside[..end];
        let field =
            if field.contains('"') { Cow::Owned(field.replace("\"\"", "\"")) } else { Cow::Borrowed(field) };
        if after.is_empty() {
            return Some((field, None));
        }
        return after.strip_prefix(separator).map(|after| (field, Some(after)));
    }
}

/// Whether the first line of a file has all these columns.
pub(crate) fn columns(opening: &Opening<'_>, names: &[&str]) -> bool {
    let header = split(opening.first_line(), ',');
    names.iter().all(|name| header.iter().any(|column| column == name))
}

/// A text that says something: logs write `None`, `nan` or `Unknown` where they know nothing.
pub(crate) fn known(text: &str) -> Option<&str> {
    let text = text.trim();
    let nothing = ["", "none", "null", "nan", "nat", "unknown", "n/a", "\\n"];
    (!nothing.iter().any(|word| text.eq_ignore_ascii_case(word))).then_some(text)
}

/// A number of a size that can be a time or a count; `None` where the file says nothing.
pub(crate) fn number(text: &str) -> Result<Option<f64>, Warning> {
    let Some(text) = known(text) else { return Ok(None) };
    let number = text.parse::<f64>().ok().filter(|number| number.abs() <= 1e13);
    number.map(Some).ok_or(Warning::BadRow)
}

/// Seconds in milliseconds.
pub(crate) fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1e3).round() as i64
}

/// A table that is read row by row.
pub(crate) struct Table<'a> {
    lines: Lines<'a>,
    separator: char,
    columns: Vec<String>,
}

/// One row by the names of its columns.
pub(crate) struct Row<'a> {
    /// Its line in the file.
    pub line: u64,
    columns: &'a [String],
    cells: Vec<Cow<'a, str>>,
}

impl<'a> Table<'a> {
    /// Reads the header and checks that these columns are there.
    pub(crate) fn open(
        source: &'a mut dyn BufRead,
        separator: char,
        needed: &[&str],
    ) -> Result<Self, InputError> {
        let mut lines = Lines::new(source);
        let mut columns = Vec::new();
        while columns.is_empty() && lines.advance()? {
            let text = lines.text().unwrap_or_default();
            if !text.trim().is_empty() && !text.starts_with('#') {
                columns = split(text, separator).into_iter().map(Cow::into_owned).collect();
            }
        }
        if let Some(missing) = needed.iter().find(|name| !columns.iter().any(|column| column == *name)) {
            let allowed = format!("the header has no column `{missing}`; needed are {}", needed.join(", "));
            return Err(InputError { line: lines.number(), allowed, ..InputError::default() });
        }
        Ok(Self { lines, separator, columns })
    }

    /// Whether the header has this column.
    pub(crate) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// The next row; an error with its line if it does not have the columns of the header.
    pub(crate) fn next(&mut self) -> Result<Option<Result<Row<'_>, u64>>, InputError> {
        loop {
            if !self.lines.advance()? {
                return Ok(None);
            }
            if self.lines.text().is_none_or(|text| !text.trim().is_empty()) {
                break;
            }
        }
        let line = self.lines.number();
        let Some(text) = self.lines.text() else { return Ok(Some(Err(line))) };
        let mut cells = split(text, self.separator);
        // Some tools end every row with a separator.
        if cells.len() == self.columns.len() + 1 && cells.last().is_some_and(|last| last.is_empty()) {
            cells.pop();
        }
        let fits = cells.len() == self.columns.len();
        Ok(Some(if fits { Ok(Row { line, columns: &self.columns, cells }) } else { Err(line) }))
    }
}

impl Row<'_> {
    /// Whether there is such a column.
    pub(crate) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// The text of a cell; `None` if there is no such column or the cell says nothing.
    pub(crate) fn text(&self, column: &str) -> Option<&str> {
        let at = self.columns.iter().position(|name| name == column)?;
        known(&self.cells[at])
    }

    /// The text of a cell without which the row is of no use.
    pub(crate) fn named(&self, column: &str) -> Result<&str, Warning> {
        self.text(column).ok_or(Warning::BadRow)
    }

    /// A number; `None` where the file says nothing.
    pub(crate) fn number(&self, column: &str) -> Result<Option<f64>, Warning> {
        self.text(column).map_or(Ok(None), number)
    }

    /// A number without which the row is of no use.
    pub(crate) fn needed(&self, column: &str) -> Result<f64, Warning> {
        self.number(column)?.ok_or(Warning::BadRow)
    }

    /// A moment on the wall clock; `None` where the file says nothing.
    pub(crate) fn clock(&self, column: &str) -> Result<Option<Clock>, Warning> {
        let Some(text) = self.text(column) else { return Ok(None) };
        Clock::parse(text).map(Some).ok_or(Warning::BadRow)
    }
}

/// Reads a whole table: `job` says what a row means, or why it cannot be used.
pub(crate) fn read_table(
    source: &mut dyn BufRead,
    separator: char,
    needed: &[&str],
    mut job: impl for<'r> FnMut(&'r Row<'_>, &mut Warnings) -> Result<Draft<'r>, Warning>,
) -> Result<Trace, InputError> {
    let mut table = Table::open(source, separator, needed)?;
    let mut gather = Gather::default();
    while let Some(row) = table.next()? {
        match row {
            Ok(row) => {
                let draft = job(&row, &mut gather.trace.warnings);
                gather.add(row.line, draft)?;
            }
            Err(line) => gather.trace.warnings.add(Warning::BadRow, line),
        }
    }
    Ok(gather.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_stand_in_quotes() {
        assert_eq!(split("a, b ,\"c,d\",\"e\"\"f\",", ','), ["a", "b", "c,d", "e\"f", ""]);
        assert_eq!(split("5\" disk,\"open,x", ','), ["5\" disk", "\"open", "x"]);
        assert_eq!(split("", ','), [""]);
        assert_eq!(split(&",".repeat(5000), ',').len(), COLUMNS_MAX);
    }

    #[test]
    fn nothing_is_told_from_rubbish() {
        assert_eq!((number("nan"), number(" 1.5 "), number("")), (Ok(None), Ok(Some(1.5)), Ok(None)));
        for rubbish in ["x", "inf", "1e300", "1,5"] {
            assert_eq!(number(rubbish), Err(Warning::BadRow), "{rubbish}");
        }
    }

    #[test]
    fn rows_of_another_length_are_told() {
        let mut source = &b"# remark\na,b\n1,2\n\n1,2,\n1\n1,2,3\n\xff,1"[..];
        let mut table = Table::open(&mut source, ',', &["a"]).unwrap();
        let mut found = Vec::new();
        while let Some(row) = table.next().unwrap() {
            found.push(row.map(|row| row.line));
        }
        assert_eq!(found, [Ok(3), Ok(5), Err(6), Err(7), Err(8)]);
    }
}

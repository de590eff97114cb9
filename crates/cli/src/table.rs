//! Tables for people: aligned, with the best of each column marked.

use crate::output;

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    best: bool,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, best: false }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

/// A table.
#[derive(Debug, Default)]
pub struct Table {
    titles: Vec<(String, Side)>,
    rows: Vec<Vec<Cell>>,
}

/// Between two columns.
const GAP: usize = 2;

impl Table {
    /// A table with these columns; a title may have several lines.
    pub fn new<T: Into<String>>(titles: impl IntoIterator<Item = (T, Side)>) -> Self {
        let titles = titles.into_iter().map(|(title, side)| (title.into(), side)).collect();
        Self { titles, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let row: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        assert_eq!(row.len(), self.titles.len(), "a row has a cell for every column");
        self.rows.push(row);
    }

    /// Marks the cells of a column that read like the one in row `best`, unless all do.
    pub fn mark(&mut self, column: usize, best: usize) {
        let text = self.rows[best][column].text.clone();
        if self.rows.iter().any(|row| row[column].text != text) {
            for row in &mut self.rows {
                row[column].best = row[column].text == text;
            }
        }
    }

    /// The text: bold marks on a terminal, stars elsewhere; on a terminal that is too narrow, in several pieces.
    pub fn render(&self) -> String {
        let styled = output::is_styled();
        let room = output::terminal_width().unwrap_or(usize::MAX);
        let pieces = self.pieces(room).into_iter().map(|columns| self.piece(&columns, styled));
        pieces.collect::<Vec<_>>().join("\n\n")
    }

    /// Columns that fit side by side; the first, which names the rows, is in every piece.
    fn pieces(&self, room: usize) -> Vec<Vec<usize>> {
        let mut pieces = vec![vec![0]];
        let mut used = self.width(0);
        for column in 1..self.titles.len() {
            let width = self.width(column) + GAP;
            if used + width > room && pieces.last().is_some_and(|piece| piece.len() > 1) {
                pieces.push(vec![0]);
                used = self.width(0);
            }
            used += width;
            pieces.last_mut().expect("there is always a piece").push(column);
        }
        pieces
    }

    fn piece(&self, columns: &[usize], styled: bool) -> String {
        let titles = columns.iter().map(|at| &self.titles[*at].0);
        let title_lines = titles.map(|title| title.lines().count()).max().unwrap_or(0);
        let mut lines: Vec<String> = (0..title_lines)
            .map(|line| joined(columns.iter().map(|at| self.title(*at, line, title_lines))))
            .collect();
        lines.push(joined(columns.iter().map(|at| ("-".repeat(self.width(*at)), ' '))));
        for row in &self.rows {
            lines.push(joined(columns.iter().map(|at| self.cell(*at, &row[*at], styled))));
        }
        lines.join("\n")
    }

    /// One line of a title; titles stand on the bottom line, next to what they name.
    fn title(&self, column: usize, line: usize, lines: usize) -> (String, char) {
        let (title, side) = &self.titles[column];
        let from = lines - title.lines().count();
        let text = line.checked_sub(from).and_then(|at| title.lines().nth(at)).unwrap_or_default();
        (pad(text, text.chars().count(), self.width(column), *side), ' ')
    }

    fn cell(&self, column: usize, cell: &Cell, styled: bool) -> (String, char) {
        let bold = cell.best && styled;
        let shown = if bold { format!("\x1b[1m{}\x1b[0m", cell.text) } else { cell.text.clone() };
        let text = pad(&shown, cell.text.chars().count(), self.width(column), self.titles[column].1);
        (text, if cell.best && !styled { '*' } else { ' ' })
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].text.chars().count());
        let title = self.titles[column].0.lines().map(|line| line.chars().count());
        cells.chain(title).max().unwrap_or(0)
    }
}

/// Cells on one line; a mark stands in the gap after its cell.
fn joined(cells: impl Iterator<Item = (String, char)>) -> String {
    let line: Vec<String> = cells.map(|(text, mark)| format!("{text}{mark}")).collect();
    line.join(&" ".repeat(GAP - 1)).trim_end().to_owned()
}

/// Spaces up to the width, on the side that the text does not stand on.
fn pad(text: &str, length: usize, width: usize, side: Side) -> String {
    let space = " ".repeat(width.saturating_sub(length));
    if side == Side::Left { format!("{text}{space}") } else { format!("{space}{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_the_best_is_marked() {
        let mut table = Table::new([("policy", Side::Left), ("mean\nwait", Side::Right)]);
        table.row(["fifo", "12 s"]);
        table.row(["las", "5 s"]);
        table.mark(1, 1);
        let expected = "        mean\npolicy  wait\n------  ----\nfifo    12 s\nlas      5 s*";
        assert_eq!(table.piece(&[0, 1], false), expected);
        assert!(table.piece(&[0, 1], true).ends_with("las      \x1b[1m5 s\x1b[0m"));
    }

    #[test]
    fn a_tie_of_all_is_not_marked() {
        let mut table = Table::new([("a", Side::Right)]);
        table.row(["1"]);
        table.row(["1"]);
        table.mark(0, 0);
        assert!(!table.piece(&[0], false).contains('*'));
    }

    #[test]
    fn a_wide_table_is_cut_into_pieces_that_name_their_rows() {
        let table = Table::new(["policy", "aaaa", "bbbb", "cccc"].map(|title| (title, Side::Left)));
        assert_eq!(table.pieces(80), [[0, 1, 2, 3]]);
        assert_eq!(table.pieces(18), [vec![0, 1, 2], vec![0, 3]]);
        assert_eq!(table.pieces(3), [[0, 1], [0, 2], [0, 3]]);
    }
}

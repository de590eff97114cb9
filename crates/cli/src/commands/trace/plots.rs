//! Small plots for a terminal: bars of block characters, without colour.

/// Eighths of a block, from the left.
const LEFT: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Eighths of a block, from the bottom.
const RISING: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns of the longest bar.
const WIDTH: usize = 40;

/// A bar for every row: label, value, and what to write behind it.
pub fn bars(rows: &[(String, f64, String)]) -> String {
    let most = rows.iter().map(|row| row.1).fold(0.0, f64::max);
    let label_width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let line = |(label, value, text): &(String, f64, String)| {
        let space = " ".repeat(label_width - label.chars().count());
        format!("  {space}{label}  {} {text}", bar(*value, most)).trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn bar(value: f64, most: f64) -> String {
    let eighths = if most > 0.0 { (value / most * (WIDTH * 8) as f64).round() as usize } else { 0 };
    // What is there is seen, however little it is.
    let eighths = if value > 0.0 { eighths.max(1) } else { eighths };
    let mut bar = LEFT[7].to_string().repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(LEFT[eighths % 8 - 1]);
    }
    bar
}

/// Values side by side as columns of one line; more than `width` are added up in equal groups. Returns the line and how
/// many values stand in one column.
pub fn columns(values: &[u64], width: usize) -> (String, usize) {
    let group = values.len().div_ceil(width.max(1)).max(1);
    let sums: Vec<u64> = values.chunks(group).map(|chunk| chunk.iter().sum()).collect();
    let most = sums.iter().copied().max().unwrap_or(0).max(1);
    let column = |sum: &u64| match sum {
        0 => ' ',
        sum => RISING[((sum * 8).div_ceil(most) as usize - 1).min(7)],
    };
    (sums.iter().map(column).collect(), group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion() {
        let row = |label: &str, value: f64| (label.to_owned(), value, format!("{value}"));
        let text = bars(&[row("a", 80.0), row("bb", 41.0), row("c", 0.0), row("d", 0.001)]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], format!("   a  {} 80", "█".repeat(40)));
        assert_eq!(lines[1], format!("  bb  {}▌ 41", "█".repeat(20)));
        assert_eq!(lines[2], "   c   0");
        assert_eq!(lines[3], "   d  ▏ 0.001");
    }

    #[test]
    fn columns_are_added_up_when_there_are_too_many() {
        assert_eq!(columns(&[1, 8, 0, 4], 10), ("▁█ ▄".into(), 1));
        assert_eq!(columns(&[1, 1, 4, 4, 2], 3), ("▂█▂".into(), 2));
        assert_eq!(columns(&[], 3), (String::new(), 1));
    }
}

//! Suggestions for misspelt names.

/// The word that looks most like a misspelt one, if any comes near.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // A very long word is like none of ours, and comparing it would cost its length in memory.
    if name.len() > 64 {
        return None;
    }
    let scored = known.iter().map(|word| (distance(name, word), *word));
    scored.min().filter(|(score, word)| *score <= word.len().max(name.len()) / 3 + 1).map(|(_, word)| word)
}

/// How many letters must be changed, added, left out or swapped.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1);
            best = best.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_recognised_and_a_wild_guess_is_not() {
        assert_eq!(nearest("fiof", &["fifo", "las"]), Some("fifo"));
        assert_eq!(nearest("shokwave", &["fifo", "shockwave"]), Some("shockwave"));
        assert_eq!(nearest("shortest-job-first", &["fifo", "las"]), None);
    }
}

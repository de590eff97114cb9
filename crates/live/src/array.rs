//! The indices of an array, as people write them.

use std::collections::BTreeSet;

/// The most jobs of one submission.
pub const JOBS_MAX: usize = 1000;

/// The largest index.
const INDEX_MAX: u32 = 9_999_999;

/// Which jobs an array has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indices {
    /// One for each job, smallest first.
    pub each: Vec<u32>,
    /// Jobs that may be on their way at a time.
    pub at_once: Option<u32>,
}

impl Indices {
    /// Reads `0-9`, `1,3,5-7`, `0-15:4` (every fourth) or `0-99%4` (four at a time).
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("array is {text:?}: {what}");
        let (list, at_once) = match text.split_once('%') {
            None => (text, None),
            Some((list, most)) => match most.parse::<u32>() {
                Ok(most) if most > 0 => (list, Some(most)),
                _ => return Err(wrong("after % comes how many may run at a time, at least 1")),
            },
        };
        let mut each = BTreeSet::new();
        for part in list.split(',') {
            let (first, last, step) = range(part)
                .ok_or_else(|| wrong("indices are written 0-9 or 1,3,5-7, with %4 for four at a time"))?;
            if last > INDEX_MAX {
                return Err(wrong(&format!("{INDEX_MAX} is the largest index")));
            }
            // Counted before they are made: a range is written more quickly than filled.
            let many = u64::from((last - first) / step) + 1;
            if many > JOBS_MAX as u64 {
                return Err(wrong(&format!("at most {JOBS_MAX} jobs are allowed")));
            }
            each.extend((first..=last).step_by(step as usize));
        }
        if each.len() > JOBS_MAX {
            return Err(wrong(&format!("at most {JOBS_MAX} jobs are allowed")));
        }
        Ok(Self { each: each.into_iter().collect(), at_once })
    }
}

/// `7`, `0-9` or `0-15:4`.
fn range(text: &str) -> Option<(u32, u32, u32)> {
    let (ends, step) = match text.split_once(':') {
        Some((ends, step)) => (ends, step.parse().ok().filter(|step| *step > 0)?),
        None => (text, 1),
    };
    let (first, last) = ends.split_once('-').unwrap_or((ends, ends));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some((first, last, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_read_as_slurm_writes_them() {
        let read = |text: &str| Indices::parse(text).map(|found| (found.each, found.at_once));
        assert_eq!(read("0-3"), Ok((vec![0, 1, 2, 3], None)));
        assert_eq!(read("5-7,1,3,6"), Ok((vec![1, 3, 5, 6, 7], None)));
        assert_eq!(read("0-15:4%2"), Ok((vec![0, 4, 8, 12], Some(2))));
        let wrongs =
            ["", "3-1", "a", "1,", "-1", "0-9%0", "0-9%x", "0-1000", "0-4294967295:4294967295", "0-3:0"];
        for wrong in wrongs {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

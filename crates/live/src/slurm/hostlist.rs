//! Lists of nodes as Slurm writes them: `gpu[0-3,7],login1`.

/// The most nodes that are read from one list: a damaged one is no reason to fill the memory.
const NODES_MAX: usize = 65_536;

/// The names in a list; `None` if it cannot be read.
pub(super) fn expand(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for part in split(list) {
        expand_part(part, &mut names)?;
        if names.len() > NODES_MAX {
            return None;
        }
    }
    Some(names)
}

/// Splits at commas outside brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// One name, or one with brackets; there may be more brackets after the first.
fn expand_part(part: &str, names: &mut Vec<String>) -> Option<()> {
    let Some((prefix, rest)) = part.split_once('[') else {
        names.push(part.to_owned());
        return Some(());
    };
    let (ranges, suffix) = rest.split_once(']')?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let (from, to) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if to < from || (to - from) as usize > NODES_MAX {
            return None;
        }
        for number in from..=to {
            expand_part(&format!("{prefix}{number:0width$}{suffix}"), names)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded_as_slurm_means_them() {
        let names = |list| expand(list).unwrap().join(" ");
        assert_eq!(names("gpu2"), "gpu2");
        assert_eq!(names("gpu[0-2,7],login1"), "gpu0 gpu1 gpu2 gpu7 login1");
        assert_eq!(names("n[08-10]x"), "n08x n09x n10x");
        assert_eq!(names("r[1-2]n[3-4]"), "r1n3 r1n4 r2n3 r2n4");
        assert_eq!(names(""), "");
        assert!(
            expand("gpu[1-").is_none() && expand("gpu[3-1]").is_none() && expand("gpu[0-4000000]").is_none()
        );
    }
}

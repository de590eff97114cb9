//! Held-out predictions: every row is foretold by a predictor that has not seen its group.

use evenhand_core::Random;
use std::collections::BTreeSet;

/// A group for each of `count` rows, drawn by lot: so many groups, as equal as may be.
pub fn by_lot(count: usize, groups: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = Random::stream(seed, "folds");
    for at in (1..count).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut group = vec![0; count];
    for (place, row) in order.into_iter().enumerate() {
        group[row] = place % groups.max(1);
    }
    group
}

/// A group for each name, the same for the same.
pub fn by_name<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<usize> {
    let known: Vec<&str> = names.clone().collect::<BTreeSet<_>>().into_iter().collect();
    names.map(|name| known.partition_point(|other| *other < name)).collect()
}

/// For every row, what a predictor fitted without the rows of its groups says of it. A row may be in several groups: it is told once for
/// each of them, and the mean counts.
pub fn held_out<P>(
    groups: &[Vec<usize>],
    fit: impl Fn(&[usize]) -> P,
    tell: impl Fn(&P, usize) -> f64,
) -> Vec<f64> {
    let all: BTreeSet<usize> = groups.iter().flatten().copied().collect();
    let mut sums = vec![(0.0, 0.0); groups.len()];
    for group in all {
        let (out, kept): (Vec<usize>, Vec<usize>) =
            (0..groups.len()).partition(|row| groups[*row].contains(&group));
        let predictor = fit(&kept);
        for row in out {
            sums[row].0 += tell(&predictor, row);
            sums[row].1 += 1.0;
        }
    }
    sums.into_iter().map(|(sum, count)| sum / f64::max(count, 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_by_what_has_seen_it() {
        let groups: Vec<Vec<usize>> = by_lot(23, 5, 1).into_iter().map(|group| vec![group]).collect();
        let told = held_out(&groups, <[usize]>::to_vec, |kept, row| f64::from(u8::from(kept.contains(&row))));
        assert!(told.iter().all(|seen| *seen == 0.0));
        let sizes: Vec<usize> =
            (0..5).map(|group| groups.iter().filter(|own| own[0] == group).count()).collect();
        assert!(sizes.iter().all(|size| (4..=5).contains(size)), "{sizes:?}");
    }

    #[test]
    fn equal_names_are_one_group() {
        assert_eq!(by_name(["b", "a", "b", "c"].into_iter()), [1, 0, 1, 2]);
    }
}

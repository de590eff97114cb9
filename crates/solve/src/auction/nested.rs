//! Gangs that must sit inside one node, as capacities that are nested.
//!
//! Why the pieces of [`nested_capacities`] are enough. Necessary: a node with c free GPUs holds at most floor(c / s) pieces of
//! size s, and a gang of size g >= s is g / s of them. Sufficient: seat the largest gangs first, anywhere they fit. While a gang of
//! size s waits, everything seated is a multiple of s, so the nodes together have lost exactly the pieces of size s that were
//! seated, and the inequality for s says that one is left.

/// K_s for each of the sizes: how many pieces of size s the nodes hold, given the GPUs that are free on each.
///
/// If the sizes form a chain in which each divides the next, such as 1, 2, 4, 8, gangs of these sizes fit, each inside one node,
/// if and only if for every size s
///
/// ```text
/// sum over gangs of size g >= s of  g / s   <=   K_s = sum_b floor(c_b / s)          c_b: GPUs free on node b
/// ```
///
/// Where sizes do not divide one another this is taken with floor(g / s); it is then necessary but not sufficient, and whoever
/// seats the gangs seats what it can. A gang that may be split over nodes uses pieces of size 1 only. A size of 0 holds nothing.
pub fn nested_capacities(free: &[u32], sizes: &[u32]) -> Vec<u32> {
    let pieces = |size: &u32| free.iter().map(|gpus| gpus.checked_div(*size).unwrap_or(0)).sum();
    sizes.iter().map(pieces).collect()
}

/// How many pieces of each of the sizes a gang uses that must sit inside one node.
pub fn nested_units(gang: u32, sizes: &[u32]) -> Vec<u32> {
    sizes.iter().map(|size| gang.checked_div(*size).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Random;

    /// Tries every node for every gang.
    fn fits(gangs: &[u32], free: &mut Vec<u32>) -> bool {
        let Some((gang, rest)) = gangs.split_first() else { return true };
        (0..free.len()).any(|node| {
            let enough = free[node] >= *gang;
            enough && {
                free[node] -= gang;
                let found = fits(rest, free);
                free[node] += gang;
                found
            }
        })
    }

    fn within(gangs: &[u32], free: &[u32], sizes: &[u32]) -> bool {
        let mut used = vec![0; sizes.len()];
        for gang in gangs {
            used.iter_mut().zip(nested_units(*gang, sizes)).for_each(|(used, units)| *used += units);
        }
        used.iter().zip(nested_capacities(free, sizes)).all(|(used, capacity)| *used <= capacity)
    }

    #[test]
    fn gangs_whose_sizes_form_a_chain_fit_exactly_if_the_pieces_do() {
        let mut random = Random::new(8);
        let mut fitting = 0;
        for round in 0..3_000 {
            let sizes: &[u32] = [&[1, 2, 4, 8][..], &[1, 3, 6], &[2, 4]][round % 3];
            let mut free: Vec<u32> = (0..=random.below(4)).map(|_| random.below(10) as u32).collect();
            let pick = |random: &mut Random| sizes[random.below(sizes.len() as u64) as usize];
            let gangs: Vec<u32> = (0..=random.below(7)).map(|_| pick(&mut random)).collect();
            let found = fits(&gangs, &mut free);
            assert_eq!(found, within(&gangs, &free, sizes), "gangs {gangs:?} on {free:?}");
            fitting += usize::from(found);
        }
        assert!((500..2_500).contains(&fitting), "{fitting} fit: both sides are to be seen");
    }

    #[test]
    fn gangs_of_other_sizes_fit_only_if_the_pieces_do() {
        let mut random = Random::new(9);
        for _ in 0..2_000 {
            let mut free: Vec<u32> = (0..=random.below(4)).map(|_| random.below(10) as u32).collect();
            let gangs: Vec<u32> = (0..=random.below(6)).map(|_| 1 + random.below(5) as u32).collect();
            let sizes = [1, 2, 3, 4, 5];
            assert!(!fits(&gangs, &mut free) || within(&gangs, &free, &sizes), "gangs {gangs:?} on {free:?}");
        }
        // Two gangs of 3 and one of 2 on nodes of 4 and 4: nothing is short by count, and yet the last finds no node.
        assert!(within(&[3, 3, 2], &[4, 4], &[1, 2, 3]) && !fits(&[3, 3, 2], &mut vec![4, 4]));
    }
}

//! How many GPUs whole gangs can use: the largest sum of gangs, a bounded knapsack (Kellerer, Pferschy and Pisinger, Knapsack
//! Problems, 2004, chapter 7).

/// The most GPUs, up to `gpus`, that can be in use at once by jobs of which there are `(gang, count)`; all of them if the jobs do
/// not even want so many. Three gangs of 3 use 6 of 8 GPUs.
///
/// What is divided is what can be used: owing more would leave debts that no round can pay, and those grow without end.
pub fn packable(gpus: u32, gangs: &[(u32, u32)]) -> u32 {
    let wanted: u64 = gangs.iter().map(|(gang, count)| u64::from(*gang) * u64::from(*count)).sum();
    let largest = gangs.iter().filter(|(_, count)| *count > 0).map(|(gang, _)| *gang).max().unwrap_or(0);
    let ones: u32 = gangs.iter().filter(|(gang, _)| *gang == 1).map(|(_, count)| count).sum();
    // Whatever the larger gangs leave is less than the largest of them, and the jobs of one GPU fill it.
    if wanted < u64::from(gpus) || ones + 1 >= largest.min(gpus) {
        return gpus;
    }
    // Which sums can be reached; for each, how many of the present gang the cheapest way takes.
    let mut reached = vec![false; gpus as usize + 1];
    reached[0] = true;
    for (gang, count) in gangs {
        let mut taken = vec![0_u32; reached.len()];
        for sum in *gang as usize..reached.len() {
            let before = sum - *gang as usize;
            if !reached[sum] && reached[before] && taken[before] < *count {
                reached[sum] = true;
                taken[sum] = taken[before] + 1;
            }
        }
    }
    reached.iter().rposition(|reached| *reached).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gangs_fill_what_they_can() {
        assert_eq!(packable(8, &[(3, 10)]), 6);
        assert_eq!(packable(8, &[(3, 10), (1, 1)]), 7);
        assert_eq!(packable(8, &[(3, 10), (1, 2)]), 8);
        assert_eq!(packable(8, &[(3, 1), (5, 1), (7, 1)]), 8);
        assert_eq!(packable(12, &[(8, 4)]), 8);
        assert_eq!(packable(12, &[(8, 1)]), 12);
        assert_eq!(packable(5, &[(1, 9)]), 5);
        assert_eq!(packable(2, &[(4, 9)]), 0);
        assert_eq!(packable(11, &[(4, 9), (1, 3)]), 11);
    }
}

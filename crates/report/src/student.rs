//! Student's t: how wide an interval must be that holds the true mean in 95 of 100 cases, with few samples.

/// 97.5 % quantiles for 1 to 30 degrees of freedom.
const QUANTILES: [f64; 30] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604,
    2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555,
    2.0518, 2.0484, 2.0452, 2.0423,
];

/// The same of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// The 97.5 % quantile with so many degrees of freedom; infinite with none.
pub fn quantile(freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY,
        1..=30 => QUANTILES[freedom - 1],
        // The first two terms of the expansion around the normal distribution: four digits from here on.
        _ => {
            let (z, n) = (NORMAL, freedom as f64);
            let first = (z.powi(3) + z) / (4.0 * n);
            let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n);
            z + first + second
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let known = [
            (1, 12.7062),
            (4, 2.7764),
            (9, 2.2622),
            (19, 2.0930),
            (30, 2.0423),
            (31, 2.0395),
            (40, 2.0211),
            (60, 2.0003),
            (120, 1.9799),
            (1_000_000, 1.9600),
        ];
        for (freedom, expected) in known {
            let found = quantile(freedom);
            assert!((found - expected).abs() < 1e-4, "{freedom}: {found} is not {expected}");
        }
        assert!(quantile(0).is_infinite());
        assert!((1..2000).all(|freedom| quantile(freedom) > quantile(freedom + 1)));
    }
}

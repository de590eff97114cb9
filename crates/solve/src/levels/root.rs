//! Where a convex, piecewise linear, increasing function reaches a value.

/// A place at which the function becomes steeper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bend {
    pub at: f64,
    pub steeper: f64,
}

/// `value_at_0 + slope * t`, steeper after every bend.
#[derive(Clone, Debug, Default)]
pub(super) struct Bent {
    pub at_0: f64,
    pub slope: f64,
    pub bends: Vec<Bend>,
}

impl Bent {
    /// The largest t up to `most` at which the function is at most `value`, and its slope just before it. Bends are put in no
    /// particular order: halves of them are set aside until none is left, which takes time in proportion to their number.
    pub fn reach(&mut self, value: f64, most: f64) -> (f64, f64) {
        // On the line that is in force to the right of everything set aside: f(t) = offset + slope * t.
        let (mut offset, mut slope) = (self.at_0, self.slope);
        let mut left = &mut self.bends[..];
        while !left.is_empty() {
            let middle = left.len() / 2;
            let (before, bend, after) = left.select_nth_unstable_by(middle, |a, b| a.at.total_cmp(&b.at));
            let (mut lower, mut steeper) = (offset, slope);
            for bend in before.iter() {
                steeper += bend.steeper;
                lower -= bend.steeper * bend.at;
            }
            if lower + steeper * bend.at >= value {
                left = before;
            } else {
                slope = steeper + bend.steeper;
                offset = lower - bend.steeper * bend.at;
                left = after;
            }
        }
        let root = if slope > 0.0 { (value - offset) / slope } else { f64::INFINITY };
        (root.clamp(0.0, most), slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_lies_on_the_right_piece() {
        let bends = [(3.0, 1.0), (1.0, 2.0), (2.0, 4.0)].map(|(at, steeper)| Bend { at, steeper });
        let bent = Bent { at_0: 0.0, slope: 1.0, bends: bends.to_vec() };
        // f(1) = 1, f(2) = 4, f(3) = 11, then 8 a unit.
        for (value, root, slope) in [(0.5, 0.5, 1.0), (2.5, 1.5, 3.0), (7.5, 2.5, 7.0), (19.0, 4.0, 8.0)] {
            let (found, steep) = bent.clone().reach(value, 10.0);
            assert!((found - root).abs() < 1e-12 && (steep - slope).abs() < 1e-12, "{found} {steep}");
        }
        assert!((bent.clone().reach(1e9, 10.0).0 - 10.0).abs() < 1e-12);
    }
}

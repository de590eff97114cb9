//! Trees that were fitted elsewhere: a number from a row of numbers, in microseconds, the same everywhere.

use serde::{Deserialize, Serialize};

/// A place in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Node {
    /// Left where the feature is below the threshold, else right; both lie further on in the list.
    Split(u16, f64, u16, u16),
    /// The value.
    Leaf(f64),
}

/// Nodes, the root first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree(pub Vec<Node>);

/// Trees whose values are added to a base.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trees {
    /// The value without any tree.
    pub base: f64,
    /// The trees.
    pub trees: Vec<Tree>,
}

impl Tree {
    /// The value for a row. A feature that the row does not have counts as 0.
    pub fn value(&self, row: &[f64]) -> f64 {
        let mut at = 0;
        loop {
            match self.0.get(at) {
                Some(Node::Split(feature, threshold, left, right)) => {
                    let value = row.get(usize::from(*feature)).copied().unwrap_or(0.0);
                    at = usize::from(if value < *threshold { *left } else { *right });
                }
                Some(Node::Leaf(value)) => return *value,
                None => return 0.0,
            }
        }
    }

    /// Whether it can be walked: every way leads on, and to a leaf.
    pub fn is_sound(&self, features: usize) -> bool {
        let onwards = |(at, node): (usize, &Node)| match node {
            Node::Leaf(value) => value.is_finite(),
            Node::Split(feature, threshold, left, right) => {
                let leads = |to: &u16| usize::from(*to) > at && usize::from(*to) < self.0.len();
                usize::from(*feature) < features && threshold.is_finite() && leads(left) && leads(right)
            }
        };
        !self.0.is_empty() && self.0.iter().enumerate().all(onwards)
    }
}

impl Trees {
    /// The value for a row.
    pub fn value(&self, row: &[f64]) -> f64 {
        self.base + self.trees.iter().map(|tree| tree.value(row)).sum::<f64>()
    }

    /// Whether all of them can be walked with so many features.
    pub fn is_sound(&self, features: usize) -> bool {
        self.base.is_finite() && self.trees.iter().all(|tree| tree.is_sound(features))
    }

    /// How much each feature moves the value for this row: what is lost, one by one, when it is as in `usual` instead.
    pub fn drivers(&self, row: &[f64], usual: &[f64]) -> Vec<f64> {
        let whole = self.value(row);
        let mut changed = row.to_vec();
        (0..row.len().min(usual.len()))
            .map(|at| {
                changed[at] = usual[at];
                let without = self.value(&changed);
                changed[at] = row[at];
                whole - without
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stump() -> Tree {
        Tree(vec![Node::Split(1, 2.0, 1, 2), Node::Leaf(-1.0), Node::Leaf(3.0)])
    }

    #[test]
    fn a_row_walks_down_to_its_leaf() {
        let trees = Trees { base: 10.0, trees: vec![stump(), stump()] };
        assert!(trees.is_sound(2));
        assert!((trees.value(&[0.0, 1.9]) - 8.0).abs() < 1e-12);
        assert!((trees.value(&[0.0, 2.0]) - 16.0).abs() < 1e-12);
        assert!((trees.value(&[]) - 8.0).abs() < 1e-12);
        assert_eq!(trees.drivers(&[5.0, 2.0], &[0.0, 0.0]), [0.0, 8.0]);
    }

    #[test]
    fn trees_that_cannot_be_walked_are_found_out() {
        assert!(!stump().is_sound(1), "a feature that there is not");
        assert!(!Tree(vec![]).is_sound(1));
        assert!(!Tree(vec![Node::Split(0, 1.0, 0, 1), Node::Leaf(0.0)]).is_sound(1), "a circle");
        assert!(!Tree(vec![Node::Split(0, 1.0, 1, 7), Node::Leaf(0.0)]).is_sound(1), "nowhere");
        assert!(!Tree(vec![Node::Leaf(f64::NAN)]).is_sound(1));
    }

    #[test]
    fn trees_are_written_and_read() {
        let trees = Trees { base: 0.5, trees: vec![stump()] };
        let text = serde_json::to_string(&trees).unwrap();
        assert_eq!(text, r#"{"base":0.5,"trees":[[[1,2.0,1,2],-1.0,3.0]]}"#);
        assert_eq!(serde_json::from_str::<Trees>(&text).unwrap(), trees);
    }
}

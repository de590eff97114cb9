//! Operators with bodies. Whoever walks the graph walks the bodies; nothing is left to do here.

use super::work::Work;
use super::{Fault, Op, Role};

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("If", Role::If, |_| Err(Fault), |_, _| Work::nothing()),
    Op::new("Loop", Role::Loop, |_| Err(Fault), |_, _| Work::nothing()),
    Op::new("Scan", Role::Scan, |_| Err(Fault), |_, _| Work::nothing()),
];

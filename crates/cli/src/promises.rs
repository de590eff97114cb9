//! What a policy promises, in the words of a report.

pub use evenhand_live::with_promises as told;

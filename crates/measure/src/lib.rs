//! How fast jobs were seen to run: from leases and what jobs say of their progress to speeds per GPU model. And how their
//! loss was seen to fall: from what they reported to what is to come.
//!
//! ```text
//! stint    from one word of a job about how far it is to the next, within one lease
//! pace     work / time of a stint, as though alone on `gpus.min` GPUs in one place, in the job's first regime
//! kind     jobs of a tenant that were declared alike; they share what is measured
//! speed    the trimmed mean of the last paces of a kind on a GPU model
//! ```
//!
//! A predictor believes such speeds, and a report holds them against the declared ones; both measure in the same way, because
//! it is written here once. Nothing in here decides anything.

mod kind;
mod loss;
mod table;
mod watch;
mod window;

pub use kind::Kind;
pub use loss::LossFit;
pub use table::{Row, Speeds};
pub use watch::{Pace, Runner, Watch};
pub use window::Window;

//! Reports: folds over the ledger into numbers, tables and one self-contained page.
//!
//! A [`Report`] takes the records of one ledger in, in order, whether they are read from a file or arrive from a run
//! in progress. [`METRICS`] lists what is measured; each metric's file defines its numbers. [`html()`] draws one page
//! about one run, or about several runs of the same work side by side.
//!
//! Nothing in here performs I/O or reads a clock: the same ledger gives the same report to the byte.

mod ahead;
mod apps;
mod auctions;
mod audit;
mod average;
mod book;
mod costs;
mod document;
mod explain;
mod fact;
mod gantt;
mod heat;
mod machines;
mod metrics;
mod page;
mod presence;
mod quantile;
mod report;
mod rounds;
mod series;
mod shares;
mod speed_check;
mod speeds;
mod standings;
mod stretches;
mod student;
mod summary;
mod swept;
mod timeline;

pub use audit::{Audit, Audited, AuditedTenant, HELD_WITHIN, Total};
pub use average::{Average, groups};
pub use costs::Costs;
pub use document::Document;
pub use explain::{Explanation, Line, party_name};
pub use metrics::{Entry, METRICS};
pub use page::{DRAWN_MAX, FIGURES, FigureEntry, STYLE, body, html, html_with, own_shares, tenant_colours};
pub use report::{Report, TenantRow, WallClock};
pub use speed_check::{SpeedCheck, SpeedRow};
pub use summary::Summary;

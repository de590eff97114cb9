//! What the arbiter of an auction and the agents of apps say to each other.
//!
//! An agent speaks for one app, next to whatever tunes it. It may be a few functions in this process or a program far
//! away; either way these few messages are all that passes between the two. They are typed, versioned and
//! serialisable, and whatever comes from outside is checked before anybody acts on it: see [`RawBid::read`] for what
//! can be wrong with a bid by itself, and [`Offer::check`] for what can be wrong with it as an answer.
//!
//! Identical GPUs have no names in an auction. An offer counts them per node; a row of a bid names a *shape*: so many
//! gangs of so many GPUs of a model, each spread no further than so. Which GPUs exactly is settled afterwards.

use crate::{AppId, GpuCount, Locality, ModelIndex, NodeId, Party, RackId, Ratio, Round, Span, Time};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The version of these messages. An answer in another version is refused.
pub const AGENT_VERSION: u32 = 1;

/// The most rows of a bid.
pub const BID_ROWS_MAX: usize = 64;

/// The most parts of a row.
pub const BID_PARTS_MAX: usize = 16;

/// The longest bid that is read at all.
pub const BID_BYTES_MAX: usize = 256 * 1024;

/// Where an app's agent lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentSeat {
    /// In the scheduler: it goes by forecasts and progress, as everybody can.
    #[default]
    Inside,
    /// Outside, next to the app's tuner: it is asked for bids, and may be late, silent or wrong.
    Outside,
}

/// Asks how an app fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RhoQuery {
    /// See [`AGENT_VERSION`].
    pub version: u32,
    /// The decision it is asked for.
    pub round: Round,
    /// When.
    pub now: Time,
}

/// How an app fares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RhoReport {
    /// Which app; a job of no app speaks for itself.
    pub app: Party,
    /// The decision it was asked for.
    pub round: Round,
    /// Its finish-time fairness with what it holds.
    pub rho: Ratio,
    /// GPUs it holds and keeps.
    pub held: GpuCount,
    /// GPUs it could use on top of them.
    pub demand: GpuCount,
}

/// Free GPUs of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedNode {
    /// The node.
    pub node: NodeId,
    /// Nodes of one rack are close together.
    pub rack: RackId,
    /// What GPUs it has.
    pub model: ModelIndex,
    /// How many of them are offered.
    pub gpus: GpuCount,
}

/// GPUs shown to apps. All that are asked are shown the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// See [`AGENT_VERSION`].
    pub version: u32,
    /// The decision that the offer belongs to; an answer repeats it.
    pub round: Round,
    /// For how long the GPUs may be had.
    pub lease: Span,
    /// Later answers count as none.
    pub reply_by: Time,
    /// The GPUs.
    pub nodes: Vec<OfferedNode>,
}

/// An offer, and who is to be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Apps whose agents live outside.
    pub to: Vec<AppId>,
    /// What they are shown.
    pub offer: Offer,
}

/// Some gangs of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Part {
    /// Of which GPU model.
    pub model: ModelIndex,
    /// GPUs of each gang.
    pub gang: GpuCount,
    /// How many gangs.
    pub gangs: u32,
    /// How far each may be spread.
    pub span: Locality,
}

impl Part {
    /// GPUs in all.
    pub fn gpus(&self) -> GpuCount {
        GpuCount(self.gang.0.saturating_mul(self.gangs))
    }
}

/// What parts of an offer are worth to an app.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BidTable {
    /// The offer it answers.
    pub round: Round,
    /// Row 0 is "nothing new".
    pub rows: Vec<BidRow>,
}

/// One line of a bid table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BidRow {
    /// What it is about; nothing in row 0.
    pub parts: Vec<Part>,
    /// The finish-time fairness ratio the app would reach with them.
    pub rho: Ratio,
}

impl BidRow {
    /// GPUs in all.
    pub fn gpus(&self) -> GpuCount {
        self.parts.iter().map(Part::gpus).sum()
    }
}

/// A bid as it came from outside: anything may be wrong with it.
#[derive(Clone, Debug, Deserialize)]
pub struct RawBid {
    /// See [`AGENT_VERSION`].
    pub version: u32,
    /// The offer it answers.
    pub round: Round,
    /// Row 0 should be "nothing new".
    pub rows: Vec<RawRow>,
}

/// One line of a bid as it came from outside.
#[derive(Clone, Debug, Deserialize)]
pub struct RawRow {
    /// What it is about.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// Should be a positive number.
    pub rho: Option<f64>,
}

/// What became of an offer to one app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A bid that can be read.
    Table(BidTable),
    /// A bid that cannot; it counts as "nothing new".
    Refused(BidError),
}

/// Why a bid was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BidError {
    /// The app was not asked, or answered too late.
    #[error("it was not asked for, or came too late")]
    NotAsked,
    /// The app did not answer in time.
    #[error("no answer came in time")]
    Silent,
    /// It answers another offer.
    #[error("it answers the offer of {0:?}")]
    Stale(Round),
    /// It speaks another version of the messages.
    #[error("it is in version {0}, and only version {AGENT_VERSION} is understood")]
    Version(u32),
    /// It is not a bid.
    #[error("it cannot be read")]
    Unreadable,
    /// It is too long to be read.
    #[error("it is {0} bytes long, and at most {BID_BYTES_MAX} are read")]
    TooLong(u64),
    /// It has too many rows.
    #[error("it has {0} rows, and at most {BID_ROWS_MAX} are taken")]
    TooManyRows(u64),
    /// A row has too many parts.
    #[error("row {0} has more than {BID_PARTS_MAX} parts")]
    TooManyParts(u32),
    /// Its first row is not "nothing new".
    #[error("its first row is not about nothing")]
    FirstRow,
    /// A ratio is no number.
    #[error("the ratio of row {0} is not a number")]
    NotANumber(u32),
    /// A ratio is zero or negative.
    #[error("the ratio of row {0} is not positive")]
    NotPositive(u32),
    /// A row asks for GPUs and leaves the app worse off than without.
    #[error("row {0} is worse than nothing")]
    WorseThanNothing(u32),
    /// A row after the first asks for nothing.
    #[error("row {0} asks for nothing")]
    Empty(u32),
    /// A row is about GPUs that were not offered.
    #[error("row {0} is about GPUs that were not offered")]
    NotOffered(u32),
}

impl RawBid {
    /// Reads what came over a wire.
    pub fn decode(bytes: &[u8]) -> Result<BidTable, BidError> {
        if bytes.len() > BID_BYTES_MAX {
            return Err(BidError::TooLong(bytes.len() as u64));
        }
        let raw: Self = serde_json::from_slice(bytes).map_err(|_| BidError::Unreadable)?;
        raw.read()
    }

    /// The bid, if it is one by itself; whether it answers an offer is another question.
    pub fn read(self) -> Result<BidTable, BidError> {
        if self.version != AGENT_VERSION {
            return Err(BidError::Version(self.version));
        }
        if self.rows.len() > BID_ROWS_MAX {
            return Err(BidError::TooManyRows(self.rows.len() as u64));
        }
        let rows = self.rows.into_iter().enumerate().map(|(at, row)| {
            let at = at as u32;
            if row.parts.len() > BID_PARTS_MAX {
                return Err(BidError::TooManyParts(at));
            }
            let rho = row.rho.filter(|rho| !rho.is_nan()).ok_or(BidError::NotANumber(at))?;
            let rho = Ratio::new(rho).ok().filter(|rho| rho.get() > 0.0).ok_or(BidError::NotPositive(at))?;
            Ok(BidRow { parts: row.parts, rho })
        });
        Ok(BidTable { round: self.round, rows: rows.collect::<Result<_, _>>()? })
    }
}

impl Offer {
    /// GPUs offered in all.
    pub fn gpus(&self) -> GpuCount {
        self.nodes.iter().map(|node| node.gpus).sum()
    }

    /// Whether a bid answers this offer: about nothing but what was offered, and never for something worse than nothing.
    pub fn check(&self, table: &BidTable) -> Result<(), BidError> {
        if table.round != self.round {
            return Err(BidError::Stale(table.round));
        }
        if table.rows.len() > BID_ROWS_MAX {
            return Err(BidError::TooManyRows(table.rows.len() as u64));
        }
        let nothing =
            table.rows.first().filter(|row| row.gpus() == GpuCount::ZERO).ok_or(BidError::FirstRow)?;
        for (at, row) in table.rows.iter().enumerate() {
            if row.rho > nothing.rho {
                return Err(BidError::WorseThanNothing(at as u32));
            }
            if at > 0 && (row.parts.is_empty() || row.parts.iter().any(|part| part.gangs == 0)) {
                return Err(BidError::Empty(at as u32));
            }
            if !self.holds(row) {
                return Err(BidError::NotOffered(at as u32));
            }
        }
        Ok(())
    }

    /// Whether each size of gang in a row is to be had, and all of them together by count.
    fn holds(&self, row: &BidRow) -> bool {
        let offered = |model: ModelIndex| {
            self.nodes.iter().filter(move |node| node.model == model).map(|node| u64::from(node.gpus.0))
        };
        row.parts.iter().all(|part| {
            let same_model = row.parts.iter().filter(|other| other.model == part.model);
            let wanted: u64 = same_model.map(|part| u64::from(part.gang.0) * u64::from(part.gangs)).sum();
            let gang = u64::from(part.gang.0);
            let gangs: u64 = match part.span {
                Locality::Socket | Locality::Node => offered(part.model).map(|gpus| gpus / gang.max(1)).sum(),
                Locality::Rack | Locality::Cluster => offered(part.model).sum::<u64>() / gang.max(1),
            };
            gang > 0 && u64::from(part.gangs) <= gangs && wanted <= offered(part.model).sum()
        })
    }
}

/// Speaks for one app in auctions.
pub trait Agent {
    /// How the app fares.
    fn report(&self, query: &RhoQuery) -> RhoReport;
    /// What parts of an offer are worth to it: at most [`BID_ROWS_MAX`] rows, the first of them "nothing new".
    fn bid(&self, offer: &Offer) -> BidTable;
}

/// What one bidder bid, won and paid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bidder {
    /// Who.
    pub party: Party,
    /// Its ratio with what it holds: row 0 of its bid.
    pub before: Ratio,
    /// The best ratio that it bid.
    pub best: Ratio,
    /// The GPUs it bid for at most.
    pub wanted: GpuCount,
    /// The GPUs it won.
    pub won: GpuCount,
    /// The fraction of them that it may keep: the rest is its payment.
    pub kept_fraction: f64,
    /// The whole GPUs that it kept.
    pub kept: GpuCount,
    /// Its ratio with all that it then holds, gifts included.
    pub after: Ratio,
}

/// One auction, as the ledger tells it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Auction {
    /// GPUs that were offered.
    pub offered: GpuCount,
    /// Apps that could use GPUs, bidders or not.
    pub apps: u32,
    /// Who was asked, the worst off first.
    pub bidders: Vec<Bidder>,
    /// Left-overs: to apps that were not asked, and lent to bidders where those cannot use them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gifts: Vec<(Party, GpuCount)>,
}

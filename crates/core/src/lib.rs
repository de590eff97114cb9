//! The nouns and the contracts of Evenhand: everything that the other crates say to each other.
//!
//! A [`Policy`] looks at a [`Snapshot`] and answers with a [`Plan`]; a [`Placer`] turns grants into GPUs; a
//! [`Backend`] is a world that turns [`Command`]s into [`Event`]s; the ledger holds one [`Record`] per event.
//! Nothing in here performs I/O, reads a clock, or knows which world it is in.

mod agent;
mod ahead;
mod app;
mod balance;
mod class;
mod cluster;
mod contract;
mod ends;
mod event;
mod forecast;
mod free;
mod gpus;
mod ids;
mod job;
mod lease;
mod ledger;
mod memory;
mod names;
mod parameters;
mod plan;
mod promised;
mod reason;
mod record;
mod saved;
mod seed;
mod snapshot;
mod table;
mod tenant;
mod units;

pub use agent::{
    AGENT_VERSION, Agent, AgentSeat, Answer, Auction, BID_ROWS_MAX, BidError, BidRow, BidTable, Bidder,
    Invitation, Offer, OfferedNode, Part, RawBid, RawRow, RhoQuery, RhoReport,
};
pub use ahead::{Ahead, Foreseen, Turns};
pub use app::{App, Goal};
pub use balance::Balances;
pub use class::{Class, ClassKey, Classes};
pub use cluster::{Cluster, GpuModel, Health, Host, MODELS_MAX, Node, Rack};
pub use contract::{
    Abilities, Backend, BackendError, Better, Guest, Limits, Metric, MetricRepository, Moved, Observed,
    Opening, Placement, Placer, Policy, PolicyError, Predictor, Reading, Sample, Unit,
};
pub use ends::{EndPoint, Ends};
pub use event::{Command, EndCause, Event, Outcome, Retry, StopReason};
pub use forecast::{Demand, DemandClass, DemandSharing, Forecast, Interference, RegimeForecast};
pub use free::FreeIndex;
pub use gpus::{GPUS_PER_NODE_MAX, GpuMask, GpuSet, Seat};
pub use ids::{AppId, GpuId, JobId, LeaseId, NodeId, RackId, TenantId};
pub use job::{
    Consent, GpuRange, GraphDigest, Job, JobSpec, JobState, Locality, Member, Mode, ModelFilter, Packets,
    Priority, QueueKey, Regime, RegimeSpan, RegimeSpec, Restart, Scaling,
};
pub use lease::{Lease, LeaseState, Leases};
pub use ledger::{LedgerError, LedgerReader, LedgerWriter, TornLine};
pub use memory::Memory;
pub use names::nearest;
pub use parameters::{Choice, ParameterError, ParameterSpec, Parameters};
pub use plan::{Drop, Grant, Others, Party, Plan, PlanError, Quality, Shares, Sharing, SharingMode, Site};
pub use promised::Promised;
pub use reason::Reason;
pub use record::{Decision, EngineConfig, Header, LEDGER_VERSION, Note, RETRY_DOUBLINGS_MAX, Record};
pub use saved::{SaveError, Saved};
pub use seed::Random;
pub use snapshot::{Jobs, Occasion, Snapshot};
pub use table::{ClassIndex, JobIndex, ModelIndex, PerModel, Place, Table};
pub use tenant::{Tenant, Tenants};
pub use units::{
    Bytes, Estimate, GpuCount, GpuTime, Loss, Rate, Ratio, Round, Span, Time, UnitError, Weight, Work,
};

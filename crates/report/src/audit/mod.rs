//! What the tenants of a run really received, as one division of the cluster: which properties of a fair division it
//! has, and what that cost in throughput.
//!
//! What a policy promises is about the shares that it owes, round by round. What is looked at here is what came of it
//! over a whole run, in whole GPUs and whole gangs, while jobs came and went. So a kept promise can still leave a
//! violation behind, and a property can hold that nobody promised.

mod account;
mod capacity;
mod check;
mod curves;
mod kind_curves;
mod kinds;
mod reach;
mod received;
mod total;

use crate::book::Book;
use crate::shares::Shares;
use received::Received;
use serde::Serialize;

pub use account::Account;
pub use check::HELD_WITHIN;
pub use total::Total;

/// The audit of a run. Numbers are rounded to six decimals; NaN (nothing to measure) becomes `null` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audit {
    /// The GPU model that throughputs are relative to: 1 is what one GPU of it gives.
    pub reference: String,
    /// The GPU models, in the order of `gpus` and `speedups`.
    pub models: Vec<String>,
    /// Time in which somebody had work, in seconds.
    pub active_s: f64,
    /// All throughput together, and what it could have been.
    #[serde(flatten)]
    pub total: Total,
    /// Every property of a division.
    pub properties: Vec<Audited>,
    /// What else the policy promises, which one run cannot show; `None` if nobody knows what it promises.
    pub other_promises: Option<Vec<String>>,
    /// Every tenant whose jobs could run.
    pub tenants: Vec<AuditedTenant>,
    /// Tenants with jobs of which none could run.
    pub tenants_left_out: u64,
    /// How much less each tenant (row) has than it would have made of another's GPUs (column); 0 = no envy.
    #[serde(skip)]
    pub(crate) envy: Vec<Vec<f64>>,
}

/// One property in this run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audited {
    /// Its fixed name.
    pub name: &'static str,
    /// For people.
    #[serde(skip)]
    pub title: &'static str,
    /// One line for people.
    #[serde(skip)]
    pub summary: &'static str,
    /// Whether the policy promises it of the shares it owes; `None` if nobody knows.
    pub promised: Option<bool>,
    /// Whether the violation is within [`HELD_WITHIN`]; `None` if it was not checked.
    pub held: Option<bool>,
    /// The worst violation, as a ratio that the property defines.
    pub violation: f64,
    /// Whom it concerns.
    pub who: Vec<String>,
    /// The worst violation in a sentence, or why it was not checked.
    pub why: Option<String>,
}

/// One tenant in the division that was received.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditedTenant {
    /// What people call it.
    pub name: String,
    /// Its number.
    #[serde(skip)]
    pub(crate) place: usize,
    /// The part of the cluster that was its own, by weight among those with work; over time.
    pub part: f64,
    /// GPUs that its jobs could use, on average.
    pub asked: f64,
    /// GPUs of each model that it held, on average.
    pub gpus: Vec<f64>,
    /// How much faster its jobs are on each model than on the reference, on average.
    pub speedups: Vec<f64>,
    /// What its jobs made of these, each by its own speedups.
    pub throughput: f64,
    /// What it would have made of its own part of every model: the line below which it loses by sharing.
    pub alone: f64,
}

impl Audit {
    /// The audit of a run; `None` if nobody had work that the cluster could do.
    pub(crate) fn new(book: &Book, account: &Account, shares: &Shares) -> Option<Self> {
        let received = Received::new(book, account, shares)?;
        Some(Self {
            total: Total::new(&received),
            properties: check::check(&received),
            other_promises: None,
            tenants: tenants(&received),
            envy: check::envy_of_all(&received),
            tenants_left_out: received.left_out,
            reference: received.reference,
            models: received.models,
            active_s: received.active_s,
        })
    }

    /// The same, knowing what the policy promises: properties by their names, and what else.
    pub fn promising(mut self, properties: &[&str], others: &[&str]) -> Self {
        for property in &mut self.properties {
            property.promised = Some(properties.contains(&property.name));
        }
        self.other_promises = Some(others.iter().map(|&name| name.to_owned()).collect());
        self
    }

    /// What was found of a property.
    pub fn property(&self, name: &str) -> Option<&Audited> {
        self.properties.iter().find(|property| property.name == name)
    }
}

fn tenants(received: &Received) -> Vec<AuditedTenant> {
    let rounded_row = |row: &[f64]| row.iter().copied().map(rounded).collect();
    let tenant = |party: usize| AuditedTenant {
        name: received.names[party].clone(),
        place: received.tenants[party],
        part: rounded(received.market.weights[party]),
        asked: rounded(received.market.demands[party]),
        gpus: rounded_row(received.shares.row(party)),
        speedups: rounded_row(received.market.speedups.row(party)),
        throughput: rounded(received.throughputs[party]),
        alone: rounded(received.alone[party]),
    };
    (0..received.names.len()).map(tenant).collect()
}

/// Six decimals: what a solver adds after them is noise.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

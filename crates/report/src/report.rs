//! Everything there is to know about one run, folded from its ledger record by record.

use crate::ahead::Plans;
use crate::auctions::Auctions;
use crate::audit::{Account, Audit};
use crate::book::Book;
use crate::gantt::Gantt;
use crate::metrics::{Fold, METRICS, ratios};
use crate::quantile::{largest, mean};
use crate::rounds::Rounds;
use crate::shares::Shares;
use crate::speeds::SpeedBook;
use crate::timeline::Timeline;
use crate::{Costs, SpeedCheck, Summary};
use evenhand_core::{Header, Metric, Reading, Record};
use serde::Serialize;

/// One run, folded from its ledger. Memory grows by some dozen bytes per finished job and not with time.
pub struct Report {
    pub(crate) header: Header,
    pub(crate) book: Book,
    pub(crate) timeline: Timeline,
    pub(crate) shares: Shares,
    pub(crate) gantt: Gantt,
    pub(crate) speed_book: SpeedBook,
    pub(crate) auctions: Auctions,
    pub(crate) plans: Plans,
    /// The latest rounds, for those who watch.
    pub(crate) rounds: Option<Rounds>,
    /// By which clock times are told; by none, since the first submission.
    pub(crate) clock: Option<WallClock>,
    account: Account,
    metrics: Vec<Box<dyn Fold>>,
}

/// The clock of whoever looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClock {
    /// When time began, in milliseconds since 1970.
    pub epoch_ms: u64,
    /// How far the clock is ahead of UTC, in seconds.
    pub offset_s: i32,
}

/// What one tenant got.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TenantRow {
    /// What people call it.
    pub name: String,
    /// Jobs it submitted.
    pub jobs: u64,
    /// GPU-hours its leases held.
    pub gpu_hours: f64,
    /// GPU-hours a fair division would have given it while it had active jobs.
    pub owed_gpu_hours: f64,
    /// Mean completion time of its finished jobs, in seconds; NaN if none finished.
    pub jct_mean_s: f64,
    /// The worst ratio of completion time to that under fluid fair sharing; NaN if none is known.
    pub ftf_fluid_worst: f64,
}

impl Report {
    /// An empty report of the run with this header.
    pub fn new(header: &Header) -> Self {
        Self {
            header: header.clone(),
            book: Book::default(),
            timeline: Timeline::default(),
            shares: Shares::default(),
            gantt: Gantt::default(),
            speed_book: SpeedBook::default(),
            auctions: Auctions::default(),
            plans: Plans::default(),
            rounds: None,
            clock: None,
            account: Account::default(),
            metrics: METRICS.iter().map(|entry| (entry.fold)()).collect(),
        }
    }

    /// The same for a run that goes on and is watched: the latest rounds are kept, to be looked into.
    pub fn watching(header: &Header) -> Self {
        Self { rounds: Some(Rounds::default()), ..Self::new(header) }
    }

    /// Takes one record in, in the order of the ledger.
    pub fn take(&mut self, record: &Record) {
        self.speed_book.take(record);
        let Self { book, timeline, shares, gantt, auctions, plans, rounds, account, metrics, .. } = self;
        book.take(record, &mut |book, fact| {
            for metric in &mut *metrics {
                metric.take(book, fact);
            }
            timeline.take(book, fact);
            shares.take(book, fact);
            gantt.take(book, fact);
            auctions.take(book, fact);
            plans.take(book, fact);
            account.take(book, fact);
            if let Some(rounds) = rounds {
                rounds.take(book, account, fact);
            }
        });
    }

    /// Tells times as a clock on the wall shows them.
    pub fn tell_times(&mut self, clock: WallClock) {
        self.clock = Some(clock);
    }

    /// Looks into the latest rounds: what GPUs are worth, and which properties the shares have. Costs a few solves for each
    /// round that is new.
    pub fn look_into_rounds(&mut self) {
        self.rounds.iter_mut().for_each(Rounds::look);
    }

    /// Every reading of every registered metric, in the order of registration.
    pub fn readings(&self) -> Vec<Reading> {
        self.metrics.iter().flat_map(|metric| metric.readings(&self.book)).collect()
    }

    /// The run in numbers.
    pub fn summary(&self, costs: &Costs) -> Summary {
        let summary = Summary::new(&self.header, &self.readings(), costs, self.audit());
        Summary { has_apps: self.has_apps(), ..summary }
    }

    /// What the tenants received, held against the properties of a fair division; nobody has said what the policy
    /// promises. `None` if nobody had work that the cluster could do.
    pub fn audit(&self) -> Option<Audit> {
        Audit::new(&self.book, &self.account, &self.shares)
    }

    /// Whether there are apps but those of one job.
    pub fn has_apps(&self) -> bool {
        self.book.apps.any()
    }

    /// Whose speeds the run believed.
    pub fn predictor(&self) -> &str {
        &self.header.predictor.name
    }

    /// What was reported of speeds, held against what was measured.
    pub fn speeds(&self) -> SpeedCheck {
        SpeedCheck::new(&self.speed_book, &self.book.standings)
    }

    /// What each tenant got, by number of tenant; tenants without jobs are groups and left out.
    pub fn tenants(&self) -> Vec<TenantRow> {
        let standings = self.book.standings.rows();
        let mut times = vec![Vec::new(); standings.len()];
        for life in &self.book.lives {
            times[life.tenant.index()].push(life.jct().seconds());
        }
        let mut worst = vec![Vec::new(); standings.len()];
        for row in ratios(&self.book) {
            worst[row.life.tenant.index()].push(row.fluid);
        }
        let row = |at: usize| {
            let total = self.shares.total(at);
            TenantRow {
                name: standings[at].name.clone(),
                jobs: standings[at].jobs,
                gpu_hours: total.received_gpu_hours,
                owed_gpu_hours: total.owed_gpu_hours,
                jct_mean_s: mean(&times[at]),
                ftf_fluid_worst: largest(&worst[at]),
            }
        };
        (0..standings.len()).filter(|at| standings[*at].jobs > 0).map(row).collect()
    }
}

/// A report is a metric too: all of them at once.
impl Metric for Report {
    fn take(&mut self, record: &Record) {
        Self::take(self, record);
    }

    fn readings(&self) -> Vec<Reading> {
        Self::readings(self)
    }
}

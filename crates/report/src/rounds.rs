//! The latest rounds: what a GPU of each model was worth in them, which properties the shares had that were owed, and how many
//! promised finishes were expected in time.
//!
//! The market of a round is that of the tenants with work: their weights, how many GPUs their jobs can use, how much faster these
//! are on which model. What a GPU is worth is its price when everybody spends a budget in proportion to its weight and nobody would
//! trade (Eisenberg and Gale, 1959). Properties are looked at where a policy says which shares it owes to tenants.

use crate::audit::Account;
use crate::book::Book;
use crate::fact::Fact;
use evenhand_core::{Decision, JobId, ModelIndex, Party, PerModel, Round, Span, TenantId, Time, Weight};
use evenhand_fairness::division::PROPERTIES;
use evenhand_solve::{Effort, Market, Matrix, nash};
use std::collections::{BTreeMap, VecDeque};

/// Rounds that are kept, the latest.
const ROUNDS_MAX: usize = 240;

/// The least time between two that are kept.
const APART: Span = Span::from_secs(1);

/// In markets of more tenants than this properties are not looked at: some cost a linear program.
const PARTIES_MAX: usize = 64;

/// The latest rounds.
#[derive(Debug, Default)]
pub struct Rounds {
    kept: VecDeque<Kept>,
    /// What each tenant is owed, as last said.
    owed: BTreeMap<usize, PerModel<f64>>,
    /// When each job is expected, and by when it was promised.
    promises: BTreeMap<JobId, (Time, Time)>,
}

/// One round.
#[derive(Debug)]
pub struct Kept {
    /// Which.
    pub round: Round,
    /// When.
    pub at: Time,
    /// Jobs that were promised a finish, and how many of them are expected in time.
    pub promised: (u32, u32),
    /// The models that there were.
    pub models: Vec<ModelIndex>,
    /// What one GPU of each was worth, relative to all GPUs; empty if nobody had work.
    pub prices: Vec<f64>,
    /// Whether each property held, in the order of the registry; nothing where no shares were owed.
    pub held: Vec<Option<bool>>,
    /// What is still to be looked into.
    market: Option<(Market, Option<Matrix>)>,
}

impl Rounds {
    /// Takes a fact in.
    pub fn take(&mut self, book: &Book, account: &Account, fact: &Fact<'_>) {
        let Fact::Decided(decision) = fact else { return };
        self.hear(book, decision);
        if self.kept.back().is_some_and(|last| book.now < last.at + APART) {
            return;
        }
        let known = |job: &JobId, _: &mut (Time, Time)| book.spec(*job).is_some();
        self.promises.retain(known);
        let in_time = self.promises.values().filter(|(expected, by)| expected <= by).count();
        let (models, market) = market(book, account, &self.owed);
        self.kept.push_back(Kept {
            round: decision.round,
            at: book.now,
            promised: (self.promises.len() as u32, in_time as u32),
            models,
            prices: Vec::new(),
            held: Vec::new(),
            market,
        });
        if self.kept.len() > ROUNDS_MAX {
            self.kept.pop_front();
        }
    }

    /// Those that are kept, oldest first.
    pub fn kept(&self) -> impl ExactSizeIterator<Item = &Kept> {
        self.kept.iter()
    }

    /// Looks into those that nobody has looked into.
    pub fn look(&mut self) {
        for kept in &mut self.kept {
            let Some((market, owed)) = kept.market.take() else { continue };
            let all: f64 = market.capacity.iter().sum();
            let worth = nash(&market, &Effort::default()).ok();
            // Prices are in the unit of what was maximised: what matters is how they compare with the mean GPU.
            kept.prices = worth.map_or_else(Vec::new, |division| {
                let spent: f64 =
                    division.prices.iter().zip(&market.capacity).map(|(price, gpus)| price * gpus).sum();
                division.prices.iter().map(|price| price * all / spent.max(f64::MIN_POSITIVE)).collect()
            });
            kept.held = match owed {
                Some(owed) if market.parties() <= PARTIES_MAX => PROPERTIES
                    .iter()
                    .map(|property| Some((property.check)(&market, &owed).ok()?.holds))
                    .collect(),
                _ => Vec::new(),
            };
        }
    }

    fn hear(&mut self, book: &Book, decision: &Decision) {
        for promised in &decision.promises {
            self.promises.insert(promised.job, (promised.expected, promised.by));
        }
        // Only changes are told; whoever is not named any more is owed nothing.
        if decision.shares.is_empty() {
            return;
        }
        self.owed.clear();
        for (party, share) in &decision.shares {
            if let Some(tenant) = tenant_of(book, *party) {
                let sum = self.owed.entry(tenant.index()).or_default();
                sum.0.iter_mut().zip(share.0).for_each(|(sum, gpus)| *sum += gpus);
            }
        }
    }
}

fn tenant_of(book: &Book, party: Party) -> Option<TenantId> {
    match party {
        Party::Tenant(tenant) | Party::TenantClass(tenant, _) => Some(tenant),
        Party::Job(job) => book.spec(job).map(|spec| spec.tenant),
        Party::App(_) => None,
    }
}

type Found = (Vec<ModelIndex>, Option<(Market, Option<Matrix>)>);

/// The market of those with work, and what they are owed if that is known of all of them.
fn market(book: &Book, account: &Account, owed: &BTreeMap<usize, PerModel<f64>>) -> Found {
    let up: Vec<(ModelIndex, f64)> = book
        .machines
        .models_up()
        .filter(|(_, gpus)| gpus.0 > 0)
        .map(|(model, gpus)| (model, f64::from(gpus.0)))
        .collect();
    let models: Vec<ModelIndex> = up.iter().map(|(model, _)| *model).collect();
    let Some(reference) = account.kinds.reference(&models) else { return (models, None) };
    let (mut rows, mut weights, mut demands, mut shares) = (vec![], vec![], vec![], vec![]);
    let standings = book.standings.rows();
    for tenant in book.standings.present() {
        let wants = (standings[tenant].asks.min(standings[tenant].limit)) as f64;
        let Some(mean) = account.kinds.mean(tenant, reference).filter(|_| wants > 0.0) else { continue };
        let row: Vec<f64> = models.iter().map(|model| mean[*model]).collect();
        if row.iter().any(|speed| *speed > 0.0) {
            rows.push(row);
            weights.push(Weight::get(standings[tenant].weight));
            demands.push(wants);
            shares.push(
                owed.get(&tenant).map(|share| models.iter().map(|model| share[*model]).collect::<Vec<f64>>()),
            );
        }
    }
    if rows.is_empty() {
        return (models, None);
    }
    let owed = shares.into_iter().collect::<Option<Vec<_>>>().map(|rows| Matrix::from_rows(&rows));
    let capacity: Vec<f64> = up.iter().map(|(_, gpus)| *gpus).collect();
    // A division of more than there is would be none: then it was owed before machines went away.
    let fits = |owed: &Matrix| {
        owed.column_sums().iter().zip(&capacity).all(|(sum, gpus)| *sum <= gpus * (1.0 + 1e-6))
    };
    let owed = owed.filter(fits);
    let market = Market::new(Matrix::from_rows(&rows), capacity).weighing(weights).demanding(demands);
    let market = market.check().is_ok().then_some((market, owed));
    (models, market)
}

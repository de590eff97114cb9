//! What every policy that divides promises, on ten thousand random markets; and how often and how badly the rest fails.
//!
//! Registering a policy with a way to divide enrols it here. `cargo test --test fairness -- --nocapture` prints the table.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{Parameters, Random};
use evenhand_fairness::division::{Finding, PROPERTIES};
use evenhand_fairness::{LieKind, Search, strategy_resistance};
use evenhand_policies::{Entry, POLICIES, Promise};
use evenhand_solve::instances::{FAMILIES, small};
use evenhand_solve::{Market, Matrix};
use std::fmt::Write as _;

const MARKETS: usize = 10_000;
/// Lies are searched for on one market in so many: a search divides some hundred times.
const LIES_EVERY: usize = 100;
const TOLERANCE: f64 = 1e-6;

/// The promise that a property is, if it is one.
fn promise(property: &str) -> Option<Promise> {
    Some(match property {
        "envy_free" => Promise::EnvyFree,
        "sharing_incentive" => Promise::SharingIncentive,
        "pareto" => Promise::ParetoEfficient,
        "equal_throughput" => Promise::EqualThroughput,
        _ => return None,
    })
}

/// Whether a policy promises that no lie of this kind pays.
fn resists(entry: &Entry, kind: LieKind) -> bool {
    let inflating = kind == LieKind::Inflating && entry.promises.contains(&Promise::InflationProof);
    inflating || entry.promises.contains(&Promise::Truthful)
}

fn market(at: usize) -> Market {
    let mut random = Random::stream(at as u64, "fairness");
    let market = small(FAMILIES[at % 3], &mut random);
    if at.is_multiple_of(2) {
        return market;
    }
    let weights = (0..market.parties()).map(|_| random.between(0.5, 4.0)).collect();
    market.weighing(weights)
}

fn divide(entry: &Entry, market: &Market) -> Matrix {
    let divide = entry.divide.expect("only policies that divide are asked");
    divide(market, &Parameters::default()).unwrap().shares
}

/// How often something failed, and how badly.
#[derive(Clone, Copy, Default)]
struct Failures {
    count: usize,
    tried: usize,
    worst: f64,
}

impl Failures {
    fn add(&mut self, violation: f64) {
        self.tried += 1;
        if violation > TOLERANCE {
            self.count += 1;
            self.worst = self.worst.max(violation);
        }
    }

    fn cell(self) -> String {
        if self.count == 0 {
            return "never".into();
        }
        let often = 100.0 * self.count as f64 / self.tried as f64;
        format!("{often:.1} %, worst {:.1} %", 100.0 * self.worst)
    }
}

/// Checks one policy everywhere; a promise broken stops the test.
fn examine(entry: &Entry) -> Vec<(String, bool, Failures)> {
    let mut properties = vec![Failures::default(); PROPERTIES.len()];
    let mut lies = [Failures::default(); 3];
    for at in 0..MARKETS {
        let market = market(at);
        let shares = divide(entry, &market);
        let used = shares.column_sums();
        let fits = used.iter().zip(&market.capacity).all(|(used, gpus)| *used <= gpus * (1.0 + 1e-9));
        assert!(fits, "{}, market {at}: {used:?} of {:?}", entry.name, market.capacity);
        for (property, failures) in PROPERTIES.iter().zip(&mut properties) {
            let Finding { worst, .. } = (property.check)(&market, &shares).unwrap();
            let promised = promise(property.name).is_some_and(|promise| entry.promises.contains(&promise));
            assert!(
                !promised || worst <= TOLERANCE,
                "{}, {}, market {at}: {worst}",
                entry.name,
                property.name
            );
            failures.add(worst);
        }
        if at.is_multiple_of(LIES_EVERY) {
            let search = Search { seed: at as u64, random_rows: 4, reference: Some(0) };
            let found = strategy_resistance(&market, &|market| divide(entry, market), search);
            for (failures, temptation) in lies.iter_mut().zip(found) {
                let promised = resists(entry, temptation.kind);
                let place = format!("{}, {}, market {at}", entry.name, temptation.kind.name());
                assert!(!promised || temptation.gain <= TOLERANCE, "{place}: {temptation:?}");
                failures.add(temptation.gain);
            }
        }
    }
    let promised = |name: &str| promise(name).is_some_and(|promise| entry.promises.contains(&promise));
    let properties = PROPERTIES.iter().zip(properties);
    let mut rows: Vec<_> = properties
        .map(|(property, found)| (property.title.to_owned(), promised(property.name), found))
        .collect();
    for (kind, found) in LieKind::ALL.into_iter().zip(lies) {
        rows.push((format!("{} lies do not pay", kind.name()), resists(entry, kind), found));
    }
    rows
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is for whoever runs this to read")]
fn every_promise_is_kept_and_the_rest_is_reported() {
    let dividing: Vec<&Entry> = POLICIES.iter().filter(|entry| entry.divide.is_some()).collect();
    let found: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = dividing.iter().map(|entry| scope.spawn(|| examine(entry))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut table = String::from("| policy | property | promised | fails |\n|---|---|---|---|\n");
    for (entry, rows) in dividing.iter().zip(&found) {
        for (property, promised, failures) in rows {
            let promised = if *promised { "yes" } else { "" };
            writeln!(table, "| `{}` | {property} | {promised} | {} |", entry.name, failures.cell()).unwrap();
        }
    }
    println!("{table}");
    let fails = |policy: &str, property: &str| {
        let at = dividing.iter().position(|entry| entry.name == policy).unwrap();
        found[at].iter().find(|(name, ..)| name == property).unwrap().2
    };
    // What the documentation says of the rest.
    let incentive = fails("oef-noncooperative", "sharing incentive");
    assert!(
        incentive.count * 2 > incentive.tried,
        "equal throughput often leaves somebody worse off than alone"
    );
    assert!(fails("oef-cooperative", "Pareto efficiency").count > 0, "without envy is not always efficient");
    assert!(fails("oef-noncooperative", "deflating lies do not pay").count > 0, "smaller reports pay");
    assert!(fails("oef-cooperative", "inflating lies do not pay").count > 0);
}

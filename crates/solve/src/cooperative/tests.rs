//! Divisions without envy: worked examples, and random markets against the whole program.

use super::{CooperativeOptions, cooperative};
use crate::instances::{self, FAMILIES, Family};
use crate::{Division, Market, Matrix, Problem};
use evenhand_core::Random;

fn divide(market: &Market) -> Division {
    cooperative(market, &CooperativeOptions::default()).unwrap()
}

/// The total of the program with a row for every pair, as it stands in the paper.
fn whole(market: &Market) -> f64 {
    let mut problem = Problem::maximise();
    let mut shares = Vec::new();
    for party in 0..market.parties() {
        let row = market.speedups.row(party).iter().enumerate();
        let own: Vec<_> =
            row.map(|(model, speedup)| problem.variable(("x", party, model), *speedup, 0.0..)).collect();
        shares.push(own);
    }
    for (model, gpus) in market.capacity.iter().enumerate() {
        problem.at_most(("capacity", model), shares.iter().map(|own| (own[model], 1.0)), *gpus);
    }
    for party in 0..market.parties() {
        for other in (0..market.parties()).filter(|other| *other != party) {
            let worth = |whose: usize, sign: f64| {
                let speedups = market.speedups.row(party).iter();
                let per_weight = speedups.map(move |speedup| sign * speedup / market.weights[whose]);
                shares[whose].iter().copied().zip(per_weight).collect::<Vec<_>>()
            };
            let terms = worth(party, 1.0).into_iter().chain(worth(other, -1.0));
            problem.at_least(("envy", party, other), terms, 0.0);
        }
    }
    problem.solve_interior().unwrap().value
}

/// No envy, no model overused, nothing negative, and the total between what it says and its bound.
fn assert_sound(market: &Market, division: &Division, case: &str) {
    for (used, gpus) in division.shares.column_sums().iter().zip(&market.capacity) {
        assert!(*used <= gpus * (1.0 + 1e-10), "{case}: {used} of {gpus}");
    }
    assert!(division.shares.rows().flatten().all(|share| *share >= 0.0), "{case}");
    for party in 0..market.parties() {
        let per_weight =
            |whose: usize| market.throughput(party, division.shares.row(whose)) / market.weights[whose];
        let own = per_weight(party);
        for other in 0..market.parties() {
            let envy = (per_weight(other) - own) / own;
            assert!(envy <= 1e-9, "{case}: {party} envies {other} by {envy}");
        }
    }
    let total: f64 = division.throughputs(market).iter().sum();
    assert!((total - division.value).abs() <= 1e-9 * total, "{case}");
    assert!(division.value <= division.bound, "{case}");
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let close = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6);
    assert!(close, "{found:?} is not {expected:?}");
}

/// A market with weights from 1 to 3; in a free one some models will not do for some parties.
fn market(random: &mut Random, family: Family, parties: usize, models: usize) -> Market {
    let mut market = instances::market(family, parties, models, random);
    if family == Family::Free {
        for party in 0..parties {
            for model in 1..models {
                if random.chance(1.0 / 6.0) {
                    market.speedups.row_mut(party)[model] = 0.0;
                }
            }
        }
    }
    market.weights = (0..parties).map(|_| 1.0 + random.below(3) as f64).collect();
    market
}

#[test]
fn the_worked_examples_come_out() {
    let a = Market::new(Matrix::from_rows(&[[1.0, 2.0], [1.0, 5.0]]), vec![1.0, 1.0]);
    let division = divide(&a);
    assert_close(&division.throughputs(&a), &[1.5, 3.75]);
    assert_close(division.shares.row(0), &[1.0, 0.25]);
    assert_close(division.shares.row(1), &[0.0, 0.75]);

    let b = Market::new(Matrix::from_rows(&[[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]]), vec![1.0, 1.0]);
    let division = divide(&b);
    assert_close(&division.throughputs(&b), &[1.0, 1.5, 2.0]);
    assert_close(division.shares.row(0), &[1.0, 0.0]);
    assert_close(division.shares.row(1), &[0.0, 0.5]);

    let rows = [[1.0, 1.2, 1.5], [1.0, 1.5, 2.5], [1.0, 2.0, 4.0]];
    let c = Market::new(Matrix::from_rows(&rows), vec![8.0; 3]);
    let division = divide(&c);
    assert_close(&division.throughputs(&c), &[136.0 / 13.0, 188.0 / 13.0, 1504.0 / 65.0]);
    assert_close(division.shares.row(0), &[8.0, 80.0 / 39.0, 0.0]);
    assert_close(division.shares.row(1), &[0.0, 232.0 / 39.0, 144.0 / 65.0]);
    assert_close(division.shares.row(2), &[0.0, 0.0, 376.0 / 65.0]);
    assert_close(&[division.value], &[3124.0 / 65.0]);
    assert!(division.gap() < 1e-9);
}

#[test]
fn without_envy_is_not_always_pareto_efficient() {
    let rows = [[1.0, 6.0, 8.0], [1.0, 1.0, 5.0], [1.0, 8.0, 9.0]];
    let market = Market::new(Matrix::from_rows(&rows), vec![1.0, 2.0, 2.0]);
    let division = divide(&market);
    assert_close(&division.throughputs(&market), &[34.0 / 3.0, 13.0 / 3.0, 14.0]);
    assert_close(&[division.value], &[89.0 / 3.0]);
}

#[test]
fn every_random_market_is_divided_as_well_as_by_the_whole_program() {
    for seed in 0..450 {
        let family = FAMILIES[seed as usize % 3];
        let mut random = Random::new(seed);
        let (parties, models) = (1 + random.below(8) as usize, 1 + random.below(5) as usize);
        let market = market(&mut random, family, parties, models);
        let case = format!("seed {seed}, {family:?}");
        let (division, best) = (divide(&market), whole(&market));
        assert_sound(&market, &division, &case);
        assert!((division.value - best).abs() <= 1e-6 * best, "{case}: {} {best}", division.value);
        assert!(division.bound >= best * (1.0 - 1e-9), "{case}: {} {best}", division.bound);
        assert!(division.gap() < 1e-8, "{case}: {}", division.gap());
        assert_eq!(division, divide(&market), "{case}");
    }
}

#[test]
fn two_models_are_divided_by_thresholds_as_well_as_by_the_whole_program() {
    for seed in 0..60 {
        let mut random = Random::new(1000 + seed);
        let parties = 9 + random.below(17) as usize;
        let market = market(&mut random, FAMILIES[seed as usize % 3], parties, 2);
        let (division, best) = (divide(&market), whole(&market));
        assert_sound(&market, &division, &format!("seed {seed}"));
        assert!((division.value - best).abs() <= 1e-7 * best, "seed {seed}: {} {best}", division.value);
        assert!(division.gap() < 1e-12, "seed {seed}: {}", division.gap());
    }
}

#[test]
fn a_weight_is_worth_as_many_parties() {
    for seed in 0..60 {
        let mut random = Random::new(2000 + seed);
        let (parties, models) = (2 + random.below(4) as usize, 2 + random.below(3) as usize);
        let weighted = market(&mut random, FAMILIES[seed as usize % 3], parties, models);
        let (mut rows, mut whose) = (Vec::new(), Vec::new());
        for (party, weight) in weighted.weights.iter().enumerate() {
            for _ in 0..*weight as usize {
                rows.push(weighted.speedups.row(party).to_vec());
                whose.push(party);
            }
        }
        let alike = Market::new(Matrix::from_rows(&rows), weighted.capacity.clone());
        let (one, many) = (divide(&weighted), divide(&alike));
        assert!((one.value - many.value).abs() <= 1e-9 * one.value, "seed {seed}");
        let mut sums = vec![0.0; parties];
        for (party, reached) in whose.iter().zip(many.throughputs(&alike)) {
            sums[*party] += reached;
        }
        assert_close(&one.throughputs(&weighted), &sums);
    }
}

#[test]
fn many_parties_pick_from_a_menu_and_the_gap_covers_what_that_loses() {
    for seed in 0..12 {
        let mut random = Random::new(3000 + seed);
        let models = 3 + random.below(3) as usize;
        let market = market(&mut random, FAMILIES[seed as usize % 3], 40, models);
        let best = divide(&market);
        assert_sound(&market, &best, &format!("seed {seed}"));
        assert!(best.gap() < 1e-8, "seed {seed}: {}", best.gap());
        let options = CooperativeOptions { exact_parties_max: 0, bundles_max: 8 };
        let picked = cooperative(&market, &options).unwrap();
        assert_sound(&market, &picked, &format!("seed {seed}"));
        assert!(picked.value <= best.bound, "seed {seed}");
        assert!(picked.bound >= best.value, "seed {seed}: {} {}", picked.bound, best.value);
        assert!(picked.value >= 0.8 * best.value, "seed {seed}: {} {}", picked.value, best.value);
    }
}

#[test]
fn a_model_that_nobody_can_use_and_rows_that_differ_in_scale_do_no_harm() {
    let rows = [[1.0, 2.0, 0.0, 3.0], [2.0, 4.0, 0.0, 6.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 5.0]];
    let market =
        Market::new(Matrix::from_rows(&rows), vec![3.0, 4.0, 5.0, 6.0]).weighing(vec![1.0, 0.5, 2.0, 1.5]);
    let division = divide(&market);
    assert_sound(&market, &division, "scale");
    assert!((division.value - whole(&market)).abs() < 1e-6);
    assert!(division.gap() < 1e-9);
    let none = Market::new(Matrix::default(), vec![4.0]);
    assert!(divide(&none).shares.is_empty());
    let gone = Market::new(Matrix::from_rows(&[[1.0, 2.0]]), vec![0.0, 3.0]);
    assert_eq!(divide(&gone).shares.row(0), [0.0, 3.0]);
}

#[test]
fn small_numbers_that_make_many_ways_equally_good_are_no_trouble() {
    for seed in 0..20 {
        let mut random = Random::new(4000 + seed);
        let mut market = market(&mut random, Family::Free, 24, 4);
        for party in 0..24 {
            market.speedups.row_mut(party).iter_mut().for_each(|speedup| *speedup = speedup.ceil().min(3.0));
        }
        for party in 0..24 {
            if market.speedups.row(party).iter().all(|speedup| *speedup < 1.0) {
                market.speedups.row_mut(party)[0] = 1.0;
            }
        }
        let (division, best) = (divide(&market), whole(&market));
        assert_sound(&market, &division, &format!("seed {seed}"));
        assert!((division.value - best).abs() <= 1e-6 * best, "seed {seed}: {} {best}", division.value);
        assert!(division.gap() < 1e-8, "seed {seed}: {}", division.gap());
    }
}

#[test]
fn where_arithmetic_fails_nobody_envies_anybody_and_the_gap_says_so() {
    let rows = [[1.0, 1e12, 0.0], [1e-9, 1.0, 3.0], [0.0, 0.0, 5.0], [1.0, 1.0, 1.0]];
    let market = Market::new(Matrix::from_rows(&rows), vec![3.0; 3]);
    let division = cooperative(&market, &CooperativeOptions::default()).unwrap();
    assert!(division.value <= division.bound && division.bound.is_finite());
    for party in 0..4 {
        let own = market.throughput(party, division.shares.row(party));
        for other in 0..4 {
            let theirs = market.throughput(party, division.shares.row(other));
            assert!(own >= theirs * (1.0 - 1e-9), "{party} envies {other}: {theirs} over {own}");
        }
    }
}

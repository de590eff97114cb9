use super::*;
use crate::instances::{FAMILIES, benchmark, limited, small};
use evenhand_core::Random;
use microlp::{ComparisonOp, OptimizationDirection, Problem};

fn market<const K: usize>(rows: &[[f64; K]], capacity: [f64; K]) -> Market {
    Market::new(Matrix::from_rows(rows), capacity.to_vec())
}

fn assert_shares<const K: usize>(division: &Division, rows: &[[f64; K]]) {
    let expected = Matrix::from_rows(rows);
    for (found, expected) in division.shares.rows().zip(expected.rows()) {
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close, "{}is not\n{expected:?}", division.shares);
    }
}

fn solve(market: &Market) -> Division {
    equal_throughput(market, &Effort::default()).unwrap()
}

/// The same by the price method alone.
fn by_prices(market: &Market) -> Division {
    raise(market, &Ladder::from_nothing(market), &Effort::default()).division
}

#[test]
fn the_worked_examples_come_out() {
    let a = market(&[[1.0, 2.0], [1.0, 5.0]], [1.0, 1.0]);
    let b = market(&[[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]], [1.0, 1.0]);
    let c = market(&[[1.0, 1.2, 1.5], [1.0, 1.5, 2.5], [1.0, 2.0, 4.0]], [8.0, 8.0, 8.0]);
    for solve in [solve, by_prices] {
        let division = solve(&a);
        assert!((division.value - 15.0 / 7.0).abs() < 1e-9);
        assert_shares(&division, &[[1.0, 4.0 / 7.0], [0.0, 3.0 / 7.0]]);
        let division = solve(&b);
        assert!((division.value - 18.0 / 13.0).abs() < 1e-9);
        assert_shares(&division, &[[1.0, 5.0 / 26.0], [0.0, 6.0 / 13.0], [0.0, 9.0 / 26.0]]);
        let division = solve(&c);
        assert!((division.value - 336.0 / 23.0).abs() < 1e-8);
        assert_shares(
            &division,
            &[[8.0, 380.0 / 69.0, 0.0], [0.0, 172.0 / 69.0, 100.0 / 23.0], [0.0, 0.0, 84.0 / 23.0]],
        );
    }
}

#[test]
fn models_that_are_no_neighbours_may_be_forced_on_a_party() {
    let division = solve(&market(&[[1.0, 5.0, 8.0], [1.0, 7.0, 9.0]], [1.0, 1.0, 1.0]));
    assert!((division.value - 137.0 / 17.0).abs() < 1e-9);
    assert_shares(&division, &[[1.0, 0.0, 15.0 / 17.0], [0.0, 1.0, 2.0 / 17.0]]);
}

#[test]
fn equality_does_not_leave_gpus_idle_that_others_want() {
    let division = solve(&market(&[[1.0, 0.0], [1.0, 1.0]], [1.0, 5.0]));
    assert_shares(&division, &[[1.0, 0.0], [0.0, 5.0]]);
}

#[test]
fn a_demand_is_never_exceeded_and_the_rest_goes_to_the_others() {
    let division = solve(&market(&[[1.0], [1.0], [1.0]], [9.0]).demanding(vec![1.0, f64::INFINITY, 3.0]));
    assert_shares(&division, &[[1.0], [5.0], [3.0]]);
}

/// max t by simplex, from nothing.
fn oracle(market: &Market) -> f64 {
    oracle_from(market, &Ladder::from_nothing(market))
}

/// max t by simplex.
fn oracle_from(market: &Market, ladder: &Ladder) -> f64 {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let t = problem.add_var(1.0, (0.0, f64::INFINITY));
    let x: Vec<Vec<_>> = (0..market.parties())
        .map(|_| (0..market.models()).map(|_| problem.add_var(0.0, (0.0, f64::INFINITY))).collect())
        .collect();
    for party in 0..market.parties() {
        let row = x[party].iter().copied().zip(market.speedups.row(party).iter().copied());
        let terms: Vec<_> = row.chain([(t, -ladder.slope[party])]).collect();
        // A hair less than the base, so that rounding in it does not make the program infeasible.
        problem.add_constraint(terms, ComparisonOp::Ge, ladder.base[party] * (1.0 - 1e-10));
        if market.demands[party].is_finite() {
            let terms: Vec<_> = x[party].iter().map(|x| (*x, 1.0)).collect();
            problem.add_constraint(terms, ComparisonOp::Le, market.demands[party] * (1.0 + 1e-10));
        }
    }
    for model in 0..market.models() {
        let terms: Vec<_> = x.iter().map(|row| (row[model], 1.0)).collect();
        problem.add_constraint(terms, ComparisonOp::Le, market.capacity[model]);
    }
    problem.solve().unwrap().into_solution().unwrap().objective()
}

fn assert_carried_out(market: &Market, division: &Division, place: &str) {
    for (used, gpus) in division.shares.column_sums().iter().zip(&market.capacity) {
        assert!(*used <= gpus * (1.0 + 1e-12), "{place}: {used} of {gpus}");
    }
    for (party, row) in division.shares.rows().enumerate() {
        assert!(row.iter().all(|share| *share >= 0.0), "{place}: {row:?}");
        assert!(row.iter().sum::<f64>() <= market.demands[party] * (1.0 + 1e-9), "{place}");
    }
    assert!(division.gap() <= 1e-8, "{place}: {} < {}", division.value, division.bound);
}

fn random_weights(market: Market, random: &mut Random) -> Market {
    let weights = (0..market.parties()).map(|_| random.between(0.5, 4.0)).collect();
    market.weighing(weights)
}

#[test]
fn every_method_agrees_with_a_plain_program() {
    let mut random = Random::new(7);
    for round in 0..600 {
        let market = small(FAMILIES[round % 3], &mut random);
        let market = if round % 2 == 0 { market } else { random_weights(market, &mut random) };
        let expected = oracle(&market);
        for (name, division) in [("routed", solve(&market)), ("prices", by_prices(&market))] {
            let place = format!("{name}, round {round}");
            assert_carried_out(&market, &division, &place);
            assert!(
                (division.value - expected).abs() <= 1e-7 * expected,
                "{place}: {}, {expected}",
                division.value
            );
            let throughputs = division.throughputs(&market);
            let levels = throughputs.iter().zip(&market.weights).map(|(u, weight)| u / weight);
            let most = levels.fold(0.0, f64::max);
            assert!(most <= division.value * (1.0 + 1e-7), "{place}: {most} above {}", division.value);
            let some = division.shares.rows().flatten().filter(|share| **share > 0.0).count();
            assert!(some < market.parties() + market.models(), "{place}: {some} parts\n{}", division.shares);
        }
    }
}

#[test]
fn demands_and_models_that_will_not_do_agree_with_a_plain_program() {
    let mut random = Random::new(8);
    for round in 0..600 {
        let market = random_weights(limited(FAMILIES[round % 3], &mut random), &mut random);
        let expected = oracle(&market);
        let division = max_min(&market, &Effort::default()).unwrap();
        let place = format!("round {round}");
        assert_carried_out(&market, &division, &place);
        assert!(
            (division.value - expected).abs() <= 1e-7 * expected,
            "{place}: {}, {expected}",
            division.value
        );
    }
}

/// Raises one party above its level, everybody else kept at theirs: by how much it can be done.
fn can_rise(market: &Market, division: &Division, party: usize) -> f64 {
    let base = division.throughputs(market);
    let mut slope = vec![0.0; market.parties()];
    slope[party] = base[party];
    oracle_from(market, &Ladder { base, slope })
}

#[test]
fn after_water_filling_nobody_can_rise_unless_another_falls() {
    let mut random = Random::new(9);
    for round in 0..200 {
        let market = limited(FAMILIES[round % 3], &mut random);
        let division = water_filling(&market, &Effort::default()).unwrap();
        for party in 0..market.parties() {
            let rise = can_rise(&market, &division, party);
            assert!(rise <= 1e-5, "round {round}: party {party} can rise by {rise}\n{}", division.shares);
        }
    }
}

#[test]
fn weights_are_worth_as_much_as_that_many_parties() {
    let mut random = Random::new(10);
    for round in 0..60 {
        let market = small(FAMILIES[round % 3], &mut random);
        let weights: Vec<f64> = (0..market.parties()).map(|_| 1.0 + random.below(3) as f64).collect();
        let copies: Vec<&[f64]> = (0..market.parties())
            .flat_map(|party| std::iter::repeat_n(market.speedups.row(party), weights[party] as usize))
            .collect();
        let copied = Market::new(Matrix::from_rows(&copies), market.capacity.clone());
        let (one, other) = (solve(&market.weighing(weights)), solve(&copied));
        assert!((one.value - other.value).abs() <= 1e-9 * one.value, "round {round}");
    }
}

#[test]
fn many_parties_are_no_harder_than_few() {
    for models in [3, 10] {
        let market = benchmark(2_000, models, &mut Random::new(11));
        let division = solve(&market);
        assert_carried_out(&market, &division, "many");
        assert!(division.steps < 400, "{} steps", division.steps);
        let gavel = market.demanding(vec![1.0; 2_000]);
        let division = max_min(&gavel, &Effort { gap: 1e-7, ..Effort::default() }).unwrap();
        assert!(division.gap() <= 1e-7 && division.steps < 400, "{} steps", division.steps);
    }
}

#[test]
fn rising_by_fixed_weights_is_water_filling() {
    let mut random = Random::new(12);
    for round in 0..200 {
        let mut market = random_weights(small(FAMILIES[round % 3], &mut random), &mut random);
        for party in 0..market.parties() {
            if random.chance(0.7) {
                market.demands[party] = 0.5 + random.below(6) as f64;
            }
        }
        let expected = water_filling(&market, &Effort::default()).unwrap().throughputs(&market);
        let found = rise_by(&market, &Effort::default(), |_| market.weights.clone());
        assert_carried_out(&market, &found, &format!("round {round}"));
        for (found, expected) in found.throughputs(&market).iter().zip(&expected) {
            assert!((found / expected - 1.0).abs() < 1e-5, "round {round}: {found}, {expected}");
        }
    }
}

/// What a party cannot use goes to the other of its group first: the groups of two are equal, as long as they can use it.
#[test]
fn weights_may_change_as_parties_leave() {
    let market = market(&[[1.0], [1.0], [1.0], [1.0]], [8.0]).demanding(vec![1.0, 9.0, 9.0, 9.0]);
    let weigh = |gone: &[bool]| {
        let in_group = |party: usize| (0..4).filter(|other| other / 2 == party / 2 && !gone[*other]).count();
        (0..4).map(|party| if gone[party] { 0.0 } else { 1.0 / in_group(party) as f64 }).collect()
    };
    let division = rise_by(&market, &Effort::default(), weigh);
    assert_shares_near(&division, &[[1.0], [3.0], [2.0], [2.0]]);
}

fn assert_shares_near<const K: usize>(division: &Division, rows: &[[f64; K]]) {
    for (found, expected) in division.shares.rows().zip(rows) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{}", division.shares);
    }
}

#[test]
fn a_gap_that_can_be_reached_is_asked_for() {
    let mut random = Random::new(13);
    for round in 0..400 {
        let mut market = small(FAMILIES[round % 3], &mut random);
        for party in 0..market.parties() {
            market.demands[party] = 1.0 + random.below(4) as f64;
        }
        let slope = (0..market.parties()).map(|_| random.between(10.0, 5_000.0)).collect();
        let ladder = Ladder { base: vec![0.0; market.parties()], slope };
        let steps = raise(&market, &ladder, &Effort::default()).division.steps;
        assert!(steps < 200, "round {round}: {steps} steps");
    }
}

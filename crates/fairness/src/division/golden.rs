//! The properties of divisions that are known exactly: three toys and the counter-examples to what OEF's modes promise.

use super::*;

fn market(rows: &[&[f64]], capacity: &[f64]) -> Market {
    Market::new(Matrix::from_rows(rows), capacity.to_vec())
}

fn toy_a() -> Market {
    market(&[&[1.0, 2.0], &[1.0, 5.0]], &[1.0, 1.0])
}

fn toy_b() -> Market {
    market(&[&[1.0, 2.0], &[1.0, 3.0], &[1.0, 4.0]], &[1.0, 1.0])
}

fn toy_c() -> Market {
    market(&[&[1.0, 1.2, 1.5], &[1.0, 1.5, 2.5], &[1.0, 2.0, 4.0]], &[8.0, 8.0, 8.0])
}

fn equal_split(market: &Market) -> Matrix {
    let parties = market.parties();
    let row: Vec<f64> = market.capacity.iter().map(|gpus| gpus / parties as f64).collect();
    Matrix::from_rows(&vec![row; parties])
}

/// The worst violation of each property, in the order of the registry.
fn worst(market: &Market, shares: &Matrix) -> Vec<f64> {
    market.check().unwrap();
    let check = |property: &Property| {
        let finding = (property.check)(market, shares).unwrap();
        assert_eq!(finding.holds, finding.who.is_empty(), "{}: {finding:?}", property.name);
        finding.worst
    };
    PROPERTIES.iter().map(check).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(close, "{found:?} is not {expected:?}");
}

#[test]
fn equal_throughputs_are_efficient_and_neither_envy_free_nor_worth_sharing_for() {
    // Envy, sharing incentive, Pareto, spread, idle.
    let shares = Matrix::from_rows(&[[1.0, 4.0 / 7.0], [0.0, 3.0 / 7.0]]);
    assert_close(&worst(&toy_a(), &shares), &[4.0 / 9.0, 2.0 / 7.0, 0.0, 0.0, 0.0]);
    let shares = Matrix::from_rows(&[[1.0, 5.0 / 26.0], [0.0, 6.0 / 13.0], [0.0, 9.0 / 26.0]]);
    assert_close(&worst(&toy_b(), &shares), &[1.0 / 4.0, 11.0 / 65.0, 0.0, 0.0, 0.0]);
    assert_eq!(envy_free(&toy_b(), &shares).who, [2, 1]);
    assert_eq!(sharing_incentive(&toy_b(), &shares).who, [2]);
    let shares = Matrix::from_rows(&[
        [8.0, 380.0 / 69.0, 0.0],
        [0.0, 172.0 / 69.0, 100.0 / 23.0],
        [0.0, 0.0, 84.0 / 23.0],
    ]);
    assert_close(&worst(&toy_c(), &shares), &[67.0 / 193.0, 5.0 / 23.0, 0.0, 0.0, 0.0]);
    assert_close(&throughputs(&toy_c(), &shares), &[336.0 / 23.0; 3]);
}

#[test]
fn equal_throughput_can_lose_to_an_equal_split() {
    let shares = Matrix::from_rows(&[[1.0, 4.0 / 7.0], [0.0, 3.0 / 7.0]]);
    let total = |shares: &Matrix| throughputs(&toy_a(), shares).iter().sum::<f64>();
    assert_close(&[total(&shares), total(&equal_split(&toy_a()))], &[30.0 / 7.0, 4.5]);
}

#[test]
fn cooperative_divisions_are_envy_free_and_worth_sharing_for() {
    let shares = Matrix::from_rows(&[[1.0, 0.25], [0.0, 0.75]]);
    assert_close(&worst(&toy_a(), &shares), &[0.0, 0.0, 0.0, 0.6, 0.0]);
    let shares = Matrix::from_rows(&[[1.0, 0.0], [0.0, 0.5], [0.0, 0.5]]);
    assert_close(&worst(&toy_b(), &shares), &[0.0, 0.0, 0.0, 0.5, 0.0]);
    let shares = Matrix::from_rows(&[
        [8.0, 80.0 / 39.0, 0.0],
        [0.0, 232.0 / 39.0, 144.0 / 65.0],
        [0.0, 0.0, 376.0 / 65.0],
    ]);
    let spread = 1.0 - (136.0 / 13.0) / (1504.0 / 65.0);
    assert_close(&worst(&toy_c(), &shares), &[0.0, 0.0, 0.0, spread, 0.0]);
}

#[test]
fn equal_incomes_are_envy_free_efficient_and_worth_sharing_for() {
    let shares = Matrix::from_rows(&[[8.0, 8.0 / 3.0, 0.0], [0.0, 16.0 / 3.0, 2.4], [0.0, 0.0, 5.6]]);
    assert_close(&worst(&toy_c(), &shares), &[0.0, 0.0, 0.0, 0.5, 0.0]);
}

#[test]
fn an_equal_split_is_fair_and_wasteful() {
    for (market, gain) in [(toy_a(), Some(1.0 / 6.0)), (toy_b(), None), (toy_c(), None)] {
        let found = worst(&market, &equal_split(&market));
        assert_close(&found[..2], &[0.0, 0.0]);
        assert!(found[2] > 0.05 && found[3] > 0.1, "{found:?}");
        assert_close(&found[4..], &[0.0]);
        if let Some(gain) = gain {
            assert_close(&found[2..3], &[gain]);
        }
    }
}

#[test]
fn a_cooperative_division_may_be_inefficient_and_what_beats_it_is_envied() {
    let market = market(&[&[1.0, 6.0, 8.0], &[1.0, 1.0, 5.0], &[1.0, 8.0, 9.0]], &[1.0, 2.0, 2.0]);
    let third = 2.0 / 3.0;
    let shares = Matrix::from_rows(&[[0.0, 1.0, third], [1.0, 0.0, third], [0.0, 1.0, third]]);
    assert_close(&throughputs(&market, &shares), &[34.0 / 3.0, 13.0 / 3.0, 14.0]);
    let spread = 1.0 - 13.0 / 42.0;
    assert_close(&worst(&market, &shares), &[0.0, 0.0, 277.0 / 267.0 - 1.0, spread, 0.0]);
    let found = pareto(&market, &shares).unwrap();
    assert_eq!(found.who, [2]);
    let better = Matrix::from_rows(&[[0.0, 1.0 / 9.0, 4.0 / 3.0], [1.0, 0.0, third], [0.0, 17.0 / 9.0, 0.0]]);
    let found = worst(&market, &better);
    assert!(found[0] > 0.01, "{found:?}");
    assert_close(&found[1..3], &[0.0, 0.0]);
}

#[test]
fn models_that_are_not_adjacent_can_be_forced() {
    let market = market(&[&[1.0, 5.0, 8.0], &[1.0, 7.0, 9.0]], &[1.0, 1.0, 1.0]);
    let shares = Matrix::from_rows(&[[1.0, 0.0, 15.0 / 17.0], [0.0, 1.0, 2.0 / 17.0]]);
    assert_close(&throughputs(&market, &shares), &[137.0 / 17.0; 2]);
    assert_close(&worst(&market, &shares)[2..], &[0.0, 0.0, 0.0]);
}

#[test]
fn every_violation_has_a_sentence_that_names_those_concerned() {
    let market = market(&[&[1.0, 0.0], &[1.0, 5.0]], &[1.0, 2.0]).weighing(vec![1.0, 2.0]);
    let shares = Matrix::from_rows(&[[0.1, 1.0], [0.5, 0.5]]);
    let parties = ["ann".to_owned(), "bob".to_owned()];
    let models = ["slow".to_owned(), "fast".to_owned()];
    for property in PROPERTIES {
        let finding = (property.check)(&market, &shares).unwrap();
        assert!(!finding.holds, "{}", property.name);
        let names = Names { parties: &parties, models: &models };
        let sentence = (property.explain)(&market, &shares, &finding, names);
        assert!(sentence.ends_with('.') && sentence.contains('`'), "{sentence}");
        assert!(finding.who.first().is_some_and(|who| sentence.contains(&parties[*who])), "{sentence}");
    }
}

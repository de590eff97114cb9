use super::*;
use crate::instances;
use evenhand_core::Random;

/// One model: a row of utilities by round for each party.
fn market(rows: &[&[f64]], gpus: f64) -> MarketOverTime {
    let of = |row: &&[f64]| Matrix::from_rows(&row.iter().map(|utility| [*utility]).collect::<Vec<_>>());
    MarketOverTime::new(rows.iter().map(of).collect(), &[gpus])
}

fn solved(market: &MarketOverTime) -> DivisionOverTime {
    let division = nash_over_time(market, &Effort::default()).unwrap();
    for (round, shares) in division.rounds.iter().enumerate() {
        let capacity = market.capacity.row(round);
        let used = shares.column_sums();
        assert!(used.iter().zip(capacity).all(|(used, gpus)| *used <= gpus * (1.0 + 1e-9)), "{used:?}");
        for (row, cap) in shares.rows().zip(&market.caps) {
            assert!(row.iter().sum::<f64>() <= cap * (1.0 + 1e-9), "more than a cap: {row:?}");
        }
    }
    division
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
}

#[test]
fn a_job_that_doubles_its_speed_half_way_has_thirty_and_not_twenty() {
    // 20 rounds; the batch doubles after the tenth. Seen once and for all it is 20 u_0, over time 10 u_0 + 10 (2 u_0).
    let changing: Vec<f64> = (0..20).map(|round| if round < 10 { 1.0 } else { 2.0 }).collect();
    for (row, expected) in [(vec![1.0; 20], 20.0), (changing, 30.0)] {
        let market = market(&[&row], 1.0);
        let division = solved(&market);
        close(market.utility(0, &division.rounds), expected);
        close(division.value, expected);
    }
}

#[test]
fn whoever_speeds_up_waits_for_its_fast_round() {
    // At prices 1 and 1 the first spends all on the second round (2 for 1), and the second is as well off with the first round.
    let market = market(&[&[1.0, 2.0], &[1.0, 1.0]], 1.0);
    let division = solved(&market);
    close(market.utility(0, &division.rounds), 2.0);
    close(market.utility(1, &division.rounds), 1.0);
    close(division.prices.row(0)[0], 1.0);
    close(division.prices.row(1)[0], 1.0);
    assert!(division.gap() < 1e-9);
}

#[test]
fn rounds_that_are_alike_are_divided_by_weight() {
    // Budgets 2 and 1 for three GPU-rounds at a price of 1.
    let market = market(&[&[1.0, 1.0, 1.0], &[4.0, 4.0, 4.0]], 1.0).weighing(vec![2.0, 1.0]);
    let division = solved(&market);
    close(market.utility(0, &division.rounds), 2.0);
    close(market.utility(1, &division.rounds), 4.0);
}

#[test]
fn a_late_party_is_paid_for_by_both_models() {
    // Three budgets for four goods of one price: 0.75. The first two buy 4/3 GPU-rounds of their models, all of the first round and a third
    // of the second; the third has two thirds of both models in the second.
    let rows = [[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]];
    let market = MarketOverTime::new(rows.iter().map(|rows| Matrix::from_rows(rows)).collect(), &[1.0, 1.0]);
    let division = solved(&market);
    for party in 0..3 {
        close(market.utility(party, &division.rounds), 4.0 / 3.0);
    }
    close(division.rounds[1].row(2)[0], 2.0 / 3.0);
    assert!(division.prices.rows().flatten().all(|price| (price - 0.75).abs() < 1e-6));
}

#[test]
fn a_gang_cannot_use_more_than_itself_in_a_round() {
    // a_t GPUs of the first in round t: maximise ln(a_1 + 2 a_2) + ln(4 - a_1 - a_2) with a <= 1. At a_2 = 1 the slope in a_1 is 0
    // where a_1 + 2 = 3 - a_1; the slope in a_2 there is 2/2.5 - 1/2.5 > 0, so the cap holds.
    let market = market(&[&[1.0, 2.0], &[1.0, 1.0]], 2.0).capping(vec![1.0, f64::INFINITY]);
    let division = solved(&market);
    close(division.rounds[0].row(0)[0], 0.5);
    close(division.rounds[1].row(0)[0], 1.0);
    close(division.value, 2.5);
    assert!(division.gap() < 1e-6, "{:e}", division.gap());
}

#[test]
fn caps_that_hold_nobody_change_nothing_and_all_gaps_are_small() {
    let mut random = Random::new(8);
    for at in 0..100 {
        let free = instances::over_time(&mut random);
        let division = solved(&free);
        assert!(division.gap() < 1e-7, "market {at}: {:e}", division.gap());
        let loose = free.clone().capping(vec![1e3; free.parties()]);
        let same = solved(&loose);
        assert!((same.value / division.value - 1.0).abs() < 1e-6, "market {at}");
        let caps = (0..free.parties()).map(|_| random.between(0.5, 4.0)).collect();
        let tight = solved(&free.clone().capping(caps));
        assert!(tight.value <= division.bound && tight.gap() < 1e-5, "market {at}: {:e}", tight.gap());
    }
}

#[test]
fn lengths_that_do_not_agree_are_refused() {
    let mut market = market(&[&[1.0, 2.0], &[1.0, 1.0]], 1.0);
    market.utilities[1] = Matrix::from_rows(&[[1.0]]);
    assert!(matches!(
        nash_over_time(&market, &Effort::default()),
        Err(OverTimeError::Market(MarketError::Length { .. }))
    ));
}

#[test]
fn goods_that_are_hardly_worth_anything_do_not_spoil_the_certificate() {
    let mut random = Random::new(77);
    for at in 0..100 {
        let mut market = instances::over_time(&mut random);
        for utilities in &mut market.utilities {
            for round in 0..utilities.len() {
                for utility in utilities.row_mut(round).iter_mut().skip(1) {
                    *utility *= if random.chance(0.5) { 1e-9 } else { 1.0 };
                }
            }
        }
        let caps = (0..market.parties()).map(|_| random.between(0.5, 100.0)).collect();
        let division = solved(&market.capping(caps));
        assert!(division.gap() < 1e-4, "market {at}: {:e}", division.gap());
    }
    let unknown = DivisionOverTime { bound: f64::INFINITY, ..solved(&market(&[&[1.0]], 1.0)) };
    assert!(unknown.gap().is_infinite());
}

//! Auctions worked out by hand, and twins: all choices tried one by one, and each problem solved on its own.

use super::fold::Folded;
use super::*;
use evenhand_core::Random;

const EXACTLY: AuctionEffort = AuctionEffort { steps: u64::MAX };
const BY_PRICES: AuctionEffort = AuctionEffort { steps: 0 };

/// A row with this valuation, not its logarithm.
fn row(uses: &[(usize, u32)], valuation: f64) -> AuctionRow {
    AuctionRow { uses: uses.to_vec(), log_value: valuation.ln() }
}

fn assert_close(found: &[f64], expected: &[f64]) {
    let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(close && found.len() == expected.len(), "{found:?} is not {expected:?}");
}

/// Two GPUs. A values 0, 1, 2 of them at 1, 2, 3, and B at 1, 3, 4. Products: 2 for A 3, one each 6, 2 for B 4. So one each.
/// Without A, B has both: it has 3 of 4. Without B, A has both: it has 2 of 3.
#[test]
fn two_bidders_worked_out_by_hand() {
    let bid = |values: [f64; 3]| (0..).zip(values).map(|(gpus, value)| row(&[(0, gpus)], value)).collect();
    let two = Auction { capacity: vec![2], bidders: vec![bid([1.0, 2.0, 3.0]), bid([1.0, 3.0, 4.0])] };
    for effort in [EXACTLY, BY_PRICES] {
        let found = auction(&two, &effort).unwrap();
        assert_eq!(found.chosen, [1, 1]);
        assert_close(&[found.value], &[6_f64.ln()]);
        assert_close(&found.kept, &[0.75, 2.0 / 3.0]);
    }
    let found = auction(&two, &EXACTLY).unwrap();
    assert!(found.is_exact() && found.gap().abs() < 1e-12);
    assert_close(&found.kept_least, &found.kept);
}

/// Nodes with 4 and 3 GPUs free, so one piece of size 4 and seven of size 1. A and B want a gang of 4 on one node, which A
/// values at 3 and B at 2; C values 1, 3, 7 GPUs anywhere at 2, 4, 6; nothing is worth 1 to anybody.
///
/// A with C on the other three: 3 * 4 = 12. B with C: 8. C alone: 6. Both gangs do not fit. So A and C win. Without A the others
/// have 8 instead of 4: it keeps a half. Without C there is still but one piece of size 4, so A has 3 either way: C keeps all.
#[test]
fn three_bidders_worked_out_by_hand() {
    let sizes = [1, 4];
    let gang: Vec<(usize, u32)> = nested_units(4, &sizes).into_iter().enumerate().collect();
    let bid = |value: f64| vec![row(&[], 1.0), row(&gang, value)];
    let c = [(1, 2.0), (3, 4.0), (7, 6.0)].map(|(gpus, value)| row(&[(0, gpus)], value));
    let c = std::iter::once(row(&[], 1.0)).chain(c).collect();
    let three =
        Auction { capacity: nested_capacities(&[4, 3], &sizes), bidders: vec![bid(3.0), bid(2.0), c] };
    for effort in [EXACTLY, BY_PRICES] {
        let found = auction(&three, &effort).unwrap();
        assert_eq!(found.chosen, [1, 0, 2]);
        assert_close(&[found.value], &[12_f64.ln()]);
        assert_close(&found.kept, &[0.5, 1.0, 1.0]);
    }
}

/// A small auction; in every other one values are few, so that there are ties.
fn small(random: &mut Random, round: usize) -> Auction {
    let capacity: Vec<u32> = (0..=random.below(3)).map(|_| random.below(7) as u32).collect();
    let value = |random: &mut Random| {
        if round.is_multiple_of(2) { random.between(-3.0, 3.0) } else { random.below(4) as f64 }
    };
    let bid = |random: &mut Random| {
        let rows = (0..random.below(5)).map(|_| {
            let uses = (0..capacity.len()).map(|at| (at, random.below(5) as u32)).collect();
            AuctionRow { uses, log_value: value(random) }
        });
        let rows: Vec<AuctionRow> = rows.collect();
        std::iter::once(AuctionRow::nothing(value(random))).chain(rows).collect()
    };
    let bidders = (0..random.below(6)).map(|_| bid(random)).collect();
    Auction { capacity, bidders }
}

/// Bidders with gangs of one size each, on nodes of up to 6 GPUs.
fn with_gangs(random: &mut Random, bidders: usize) -> Auction {
    let sizes = [1, 2, 4];
    let free: Vec<u32> = (0..2 + bidders / 2).map(|_| random.below(7) as u32).collect();
    let bid = |random: &mut Random| {
        let gang = nested_units(sizes[random.below(3) as usize], &sizes);
        let mut rows = vec![AuctionRow::nothing(random.between(-2.0, 0.0))];
        for count in 1..=3 {
            let uses = gang.iter().map(|units| units * count).enumerate().collect();
            let log_value = rows[rows.len() - 1].log_value + random.between(0.0, 1.0);
            rows.push(AuctionRow { uses, log_value });
        }
        rows
    };
    Auction {
        capacity: nested_capacities(&free, &sizes),
        bidders: (0..bidders).map(|_| bid(random)).collect(),
    }
}

/// The best that bidders from `from` on can reach, by trying everything; one of them may be gone.
fn best(auction: &Auction, from: usize, left: &[u32], gone: Option<usize>) -> f64 {
    if from == auction.bidders.len() {
        return 0.0;
    }
    if gone == Some(from) {
        return best(auction, from + 1, left, gone);
    }
    let worth = |row: &AuctionRow| {
        let mut left = left.to_vec();
        for (at, units) in &row.uses {
            left[*at] = left[*at].checked_sub(*units)?;
        }
        Some(row.log_value + best(auction, from + 1, &left, gone))
    };
    auction.bidders[from].iter().filter_map(worth).fold(f64::NEG_INFINITY, f64::max)
}

/// Whether the chosen rows fit and are worth what is said.
fn assert_sound(auction: &Auction, found: &AuctionOutcome) {
    let mut used = vec![0; auction.capacity.len()];
    let mut value = 0.0;
    for (rows, chosen) in auction.bidders.iter().zip(&found.chosen) {
        rows[*chosen].uses.iter().for_each(|(at, units)| used[*at] += units);
        value += rows[*chosen].log_value;
    }
    assert!(used.iter().zip(&auction.capacity).all(|(used, capacity)| used <= capacity), "{found:?}");
    assert_close(&[found.value], &[value]);
    for (bidder, (kept, least)) in found.kept.iter().zip(&found.kept_least).enumerate() {
        assert!(*kept > 0.0 && *kept <= 1.0 && *least > 0.0 && *least <= *kept, "{found:?}");
        // Nobody loses more than what it won was worth to it: it could have stayed away.
        let rows = &auction.bidders[bidder];
        assert!(
            *kept >= (rows[0].log_value - rows[found.chosen[bidder]].log_value).exp() - 1e-9,
            "{found:?}"
        );
    }
}

fn instance(random: &mut Random, round: usize) -> Auction {
    if round.is_multiple_of(3) { with_gangs(random, 2 + round % 4) } else { small(random, round) }
}

#[test]
fn the_exact_method_is_as_good_as_trying_everything() {
    let mut random = Random::new(1);
    for round in 0..900 {
        let small = instance(&mut random, round);
        let found = auction(&small, &EXACTLY).unwrap();
        assert_sound(&small, &found);
        assert!(found.is_exact());
        assert_close(&[found.value], &[best(&small, 0, &small.capacity, None)]);
        for (bidder, kept) in found.kept.iter().enumerate() {
            let own = small.bidders[bidder][found.chosen[bidder]].log_value;
            let without = best(&small, 0, &small.capacity, Some(bidder));
            assert!((kept - (found.value - own - without).exp()).abs() < 1e-9, "round {round}: {small:?}");
        }
    }
}

#[test]
fn prices_give_a_choice_that_fits_and_a_bound_that_holds() {
    let mut random = Random::new(1);
    let mut best_count = 0;
    for round in 0..900 {
        let small = instance(&mut random, round);
        let found = auction(&small, &BY_PRICES).unwrap();
        assert_sound(&small, &found);
        let best_value = best(&small, 0, &small.capacity, None);
        assert!(
            found.bound >= best_value - 1e-9 && found.value <= best_value + 1e-9,
            "round {round}: {small:?}"
        );
        let reached = found.value >= best_value - 1e-9;
        best_count += usize::from(reached);
        assert!(reached || !found.is_exact(), "round {round}");
        for (bidder, least) in found.kept_least.iter().enumerate() {
            let own = small.bidders[bidder][found.chosen[bidder]].log_value;
            let without = best(&small, 0, &small.capacity, Some(bidder));
            assert!(*least <= (found.value - own - without).exp() + 1e-9, "round {round}: {small:?}");
        }
    }
    assert!(best_count >= 850, "only {best_count} of 900 choices are the best");
}

#[test]
fn bidders_with_one_gang_size_each_need_one_sum_and_prices_come_close_to_the_best() {
    let mut random = Random::new(2);
    for round in 0..60 {
        let gangs = with_gangs(&mut random, 30);
        assert!(Folded::of(&Tables::of(&gangs)).bases.len() <= 1, "round {round}");
        let (exact, priced) = (auction(&gangs, &EXACTLY).unwrap(), auction(&gangs, &BY_PRICES).unwrap());
        assert_sound(&gangs, &priced);
        assert!(priced.bound >= exact.value - 1e-9 && priced.value <= exact.value + 1e-9, "round {round}");
        assert!(priced.gap() < 0.02, "round {round}: a gap of {}", priced.gap());
        assert!(exact.value - priced.value < 0.05, "round {round}: {} of {}", priced.value, exact.value);
    }
}

#[test]
fn together_and_one_by_one_are_the_same() {
    let mut random = Random::new(3);
    for round in 0..300 {
        let auctioned = if round < 20 { with_gangs(&mut random, 30) } else { instance(&mut random, round) };
        let together = auction(&auctioned, &EXACTLY).unwrap();
        let separately = auction_separately(&auctioned, &EXACTLY).unwrap();
        assert_eq!(together.chosen, separately.chosen, "round {round}");
        assert_close(&together.kept, &separately.kept);
    }
}

#[test]
fn a_bidder_that_values_everything_more_by_the_same_factor_changes_nothing() {
    let mut random = Random::new(4);
    for _ in 0..50 {
        let before = with_gangs(&mut random, 8);
        let mut after = before.clone();
        after.bidders[3].iter_mut().for_each(|row| row.log_value += 5_f64.ln());
        for effort in [EXACTLY, BY_PRICES] {
            let (before, after) = (auction(&before, &effort).unwrap(), auction(&after, &effort).unwrap());
            assert_eq!(before.chosen, after.chosen);
            assert_close(&before.kept, &after.kept);
        }
    }
}

#[test]
fn equals_that_win_the_same_keep_the_same() {
    let mut random = Random::new(5);
    for _ in 0..50 {
        let mut equal = with_gangs(&mut random, 12);
        (4..12).for_each(|bidder| equal.bidders[bidder] = equal.bidders[bidder % 4].clone());
        for effort in [EXACTLY, BY_PRICES] {
            let found = auction(&equal, &effort).unwrap();
            for (a, b) in (0..12).flat_map(|a| (a % 4..12).step_by(4).map(move |b| (a, b))) {
                let same = found.chosen[a] == found.chosen[b];
                assert!(!same || (found.kept[a] - found.kept[b]).abs() < 1e-9, "{found:?}");
            }
        }
    }
}

#[test]
fn of_equals_the_first_bidders_win_their_first_rows() {
    let bid = || vec![AuctionRow::nothing(0.0), row(&[(0, 1)], 2.0), row(&[(0, 1)], 2.0)];
    let equal = Auction { capacity: vec![2], bidders: vec![bid(), bid(), bid()] };
    for effort in [EXACTLY, BY_PRICES] {
        let found = auction(&equal, &effort).unwrap();
        assert_eq!(found.chosen.iter().sum::<usize>(), 2, "{found:?}");
        assert!(found.chosen.iter().all(|row| *row < 2), "{found:?}");
    }
    assert_eq!(auction(&equal, &EXACTLY).unwrap().chosen, [1, 1, 0]);
}

#[test]
fn what_is_no_auction_is_refused() {
    let held = |rows: Vec<AuctionRow>| {
        auction(&Auction { capacity: vec![1], bidders: vec![rows] }, &AuctionEffort::default()).unwrap_err()
    };
    assert_eq!(held(Vec::new()), AuctionError::NoRows { bidder: 0 });
    assert_eq!(held(vec![row(&[(0, 1)], 1.0)]), AuctionError::NotNothing { bidder: 0 });
    let nothing = || AuctionRow::nothing(0.0);
    let unknown = AuctionError::Capacity { bidder: 0, row: 1, capacity: 7, count: 1 };
    assert_eq!(held(vec![nothing(), row(&[(7, 1)], 1.0)]), unknown);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        let found = held(vec![nothing(), AuctionRow { uses: Vec::new(), log_value: value }]);
        assert!(matches!(found, AuctionError::Value { bidder: 0, row: 1, .. }), "{found}");
    }
    let nobody = Auction { capacity: vec![3], bidders: Vec::new() };
    assert!(auction(&nobody, &AuctionEffort::default()).unwrap().chosen.is_empty());
}

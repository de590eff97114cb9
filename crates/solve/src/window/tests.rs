use super::*;
use crate::instances;
use evenhand_core::Random;

/// One GPU model, and gains that fall.
fn item(gang: u32, gains: &[f64], remaining: f64) -> WindowItem {
    let progress = vec![1.0; gains.len()];
    WindowItem { gang, gains: gains.to_vec(), progress, remaining, urgency: 1.0, rates: vec![1.0] }
}

fn window(rounds: usize, gpus: u32, items: Vec<WindowItem>) -> Window {
    Window { rounds, capacity: vec![gpus], items, remaining_cost: 0.0 }
}

/// A tiny window: all sizes of gangs, regimes that change the speed, costs of all scales.
fn tiny(random: &mut Random) -> Window {
    let (rounds, gpus) = (2 + random.below(3) as usize, 2 + random.below(7) as u32);
    let items = 3 + random.below(4);
    let items = (0..items)
        .map(|_| {
            let mut gain = random.between(0.1, 4.0);
            let mut gains = Vec::new();
            for _ in 0..rounds {
                gains.push(gain);
                gain *= random.between(0.2, 1.0);
            }
            let mut item = item(1 + random.below(gpus.into()) as u32, &gains, random.between(0.0, 8.0));
            item.progress.iter_mut().for_each(|speed| *speed = random.between(0.0, 2.0));
            item.urgency = random.between(0.0, 3.0);
            item
        })
        .collect();
    let cost = if random.chance(0.2) { 0.0 } else { 10_f64.powf(random.between(-2.0, 1.5)) };
    Window { remaining_cost: cost, ..window(rounds, gpus, items) }
}

/// The value of a plan from the window alone, and that it can be carried out.
fn assert_plan(window: &Window, plan: &WindowPlan) {
    let mut work = vec![0.0; window.items.len()];
    let mut counts = vec![0; window.items.len()];
    assert_eq!(plan.rounds.len(), window.rounds);
    for (items, models) in plan.rounds.iter().zip(&plan.models) {
        let mut used = vec![0; window.capacity.len()];
        assert!(items.is_sorted_by(|a, b| a < b), "nobody runs twice in a round: {items:?}");
        for (item, model) in items.iter().zip(models) {
            used[*model] += window.items[*item].gang;
            work[*item] += window.items[*item].rates[*model];
            counts[*item] += 1;
        }
        assert!(
            used.iter().zip(&window.capacity).all(|(used, gpus)| used <= gpus),
            "{used:?} GPUs in a round"
        );
    }
    assert_eq!(counts, plan.counts);
    let tables = Tables::of(window, 0);
    let gain: f64 = work.iter().enumerate().map(|(item, work)| tables.gain(item, *work)).sum();
    let left = work.iter().enumerate().map(|(item, work)| tables.left(item, *work)).fold(0.0, f64::max);
    let value = gain - window.remaining_cost * left;
    let scale = 1.0 + value.abs();
    assert!((value - plan.value).abs() < 1e-9 * scale, "worth {value}, not {}", plan.value);
    assert!(plan.bound >= plan.value - 1e-9 * scale, "{} exceeds its bound {}", plan.value, plan.bound);
}

#[test]
fn gpu_rounds_that_add_up_need_not_fit() {
    let items = || vec![item(4, &[3.0, 0.0], 0.0), item(2, &[2.0, 2.0], 0.0)];
    let plan = plan_window(&window(2, 4, items()), 0).unwrap();
    assert_eq!(plan.counts, [1, 1]);
    assert!((plan.value - 5.0).abs() < 1e-12 && plan.gap() < 1e-12);
    // With the longest remaining time at stake the small one runs twice, and the large one not at all.
    let mut urgent = window(2, 4, items());
    urgent.items[1].remaining = 2.0;
    urgent.remaining_cost = 10.0;
    assert_eq!(plan_window(&urgent, 0).unwrap().counts, [0, 2]);
}

/// Nothing that exhaustive search finds is better, and nothing is above the bound.
fn assert_best(window: &Window, at: u64) {
    let plan = plan_window(window, at).unwrap();
    assert_plan(window, &plan);
    let best = exhaustive::best(window);
    let missed = (best - plan.value) / (best - plan.empty).max(1e-12);
    assert!(missed <= 1e-9, "window {at}: {} of {best}: {window:?}", plan.value);
    let bound = plan.bound;
    assert!(bound >= best - 1e-9 * (1.0 + best.abs()), "window {at}: bound {bound} of {best}");
}

#[test]
fn tiny_windows_are_planned_as_well_as_can_be() {
    let mut random = Random::new(17);
    for at in 0..500 {
        let window = tiny(&mut random);
        assert_best(&window, at);
    }
}

#[test]
fn large_windows_are_within_a_thousandth_of_what_any_plan_could_be() {
    let mut random = Random::new(3);
    let (even, odd): (&[u32], &[u32]) = (&[1, 2, 4, 8], &[1, 2, 3, 5, 6, 7]);
    for (items, rounds, gpus) in [
        (100, 20, 32),
        (100, 30, 64),
        (300, 20, 67),
        (300, 30, 128),
        (900, 20, 128),
        (900, 25, 131),
        (900, 30, 256),
    ] {
        for gangs in [even, odd] {
            let gangs: Vec<u32> = gangs.iter().copied().filter(|gang| gang * 8 <= gpus).collect();
            for turn in 0..4 {
                let window = instances::window(items, rounds, gpus, &gangs, &mut random);
                let plan = plan_window(&window, turn).unwrap();
                assert_plan(&window, &plan);
                assert!(
                    plan.gap() <= 1e-3,
                    "{items} items, {gpus} GPUs, gangs {gangs:?}: {:.1e}",
                    plan.gap()
                );
            }
        }
    }
}

#[test]
fn tiny_windows_on_two_models_are_planned_as_well_as_can_be() {
    let mut random = Random::new(29);
    for at in 0..200 {
        let mut window = tiny(&mut random);
        window.rounds = window.rounds.min(3);
        window.items.truncate(4);
        window.capacity.push(1 + random.below(4) as u32);
        for item in &mut window.items {
            let slow = random.between(0.1, 1.0);
            item.rates = [vec![1.0, slow], vec![slow, 1.0], vec![1.0, 0.0]][random.below(3) as usize].clone();
        }
        assert_best(&window, at);
    }
}

#[test]
fn an_integer_program_agrees_on_tiny_windows() {
    let mut random = Random::new(41);
    for at in 0..40 {
        let mut window = tiny(&mut random);
        window.items.iter_mut().for_each(|item| item.progress.fill(1.0));
        let (program, whole) = crate::generic::window_program(&window);
        let best = program.solve_whole(&whole).unwrap().value;
        let value = plan_window(&window, at).unwrap().value;
        assert!((best - value).abs() <= 1e-6 * (1.0 + best.abs()), "window {at}: {value} is not {best}");
    }
}

#[test]
fn the_same_tie_gives_the_same_plan_and_others_permute_equals() {
    let window = window(4, 4, (0..8).map(|_| item(2, &[1.0, 1.0], 0.0)).collect());
    let plan = plan_window(&window, 7).unwrap();
    assert_eq!(plan, plan_window(&window, 7).unwrap());
    let first = |tie: u64| plan_window(&window, tie).unwrap().rounds[0].clone();
    assert!((0..20).any(|tie| first(tie) != first(7)));
}

#[test]
fn urgent_items_come_first_and_runs_are_not_broken_for_nothing() {
    let mut items: Vec<WindowItem> = (0..4).map(|_| item(2, &[1.0, 1.0, 1.0], 0.0)).collect();
    items[2].urgency = 5.0;
    items[3].urgency = 3.0;
    let plan = plan_window(&window(6, 4, items), 1).unwrap();
    assert_eq!(plan.counts, [3, 3, 3, 3]);
    assert_eq!(plan.rounds[..3], [[2, 3], [2, 3], [2, 3]]);
    assert_eq!(plan.rounds_of(0).collect::<Vec<_>>(), [3, 4, 5]);
}

#[test]
fn nonsense_is_refused_and_nothing_is_planned_for_nobody() {
    let bad = window(2, 4, vec![item(1, &[1.0, 2.0], 0.0)]);
    assert!(plan_window(&bad, 0).unwrap_err().to_string().contains("no more than that of the round before"));
    let plan = plan_window(&window(2, 4, vec![item(9, &[1.0], 3.0)]), 0).unwrap();
    assert_eq!((plan.counts, plan.rounds), (vec![0], vec![vec![], vec![]]));
    assert_eq!(plan_window(&window(3, 4, vec![]), 0).unwrap().rounds.len(), 3);
}

#[test]
fn several_models_have_a_bound_and_a_plan_close_to_it() {
    let mut random = Random::new(31);
    for (items, rounds) in [(100, 20), (300, 20), (900, 20)] {
        for turn in 0..4 {
            let mut window = instances::window(items, rounds, items as u32 / 8, &[1, 2], &mut random);
            window.capacity.extend([items as u32 / 6, items as u32 / 10]);
            for item in &mut window.items {
                item.rates = vec![1.0, random.between(0.4, 0.9), random.between(0.2, 0.8)];
            }
            let plan = plan_window(&window, turn).unwrap();
            assert_plan(&window, &plan);
            assert!(plan.gap() <= 2e-2, "{items} items: {:.1e}", plan.gap());
        }
    }
}

#[test]
fn large_gangs_have_a_stated_gap() {
    let mut random = Random::new(5);
    for gangs in [&[1, 4, 16, 32][..], &[7, 13, 30], &[17, 20, 23]] {
        let window = instances::window(60, 20, 32, gangs, &mut random);
        let plan = plan_window(&window, 1).unwrap();
        assert_plan(&window, &plan);
    }
}

#[test]
fn a_window_of_a_thousand_rounds_is_packed_a_few_times_only() {
    // Gangs that fill no round: the gap stays, and every remaining time would be tried.
    let mut random = Random::new(12);
    let window = instances::window(60, 1000, 32, &[17, 20, 23], &mut random);
    let plan = plan_window(&window, 1).unwrap();
    assert_plan(&window, &plan);
    assert!(plan.gap() > POOR, "{:e}", plan.gap());
}

mod exhaustive {
    //! Everything, tried: the rounds and models of every item, one item after the other.

    use super::*;

    pub fn best(window: &Window) -> f64 {
        let tables = Tables::of(window, 0);
        let mut free: Vec<Vec<u32>> = vec![window.capacity.clone(); window.rounds];
        let mut best = f64::NEG_INFINITY;
        item(&tables, 0, &mut free, (0.0, 0.0), &mut best);
        best
    }

    /// `so_far` is the gain and the longest remaining time of those before.
    fn item(tables: &Tables, at: usize, free: &mut Vec<Vec<u32>>, so_far: (f64, f64), best: &mut f64) {
        if at == tables.items() {
            *best = best.max(so_far.0 - tables.cost * so_far.1);
        } else {
            turn(tables, at, 0, 0.0, free, so_far, best);
        }
    }

    fn turn(
        tables: &Tables,
        at: usize,
        round: usize,
        work: f64,
        free: &mut Vec<Vec<u32>>,
        so_far: (f64, f64),
        best: &mut f64,
    ) {
        if round == tables.rounds {
            let so_far = (so_far.0 + tables.gain(at, work), so_far.1.max(tables.left(at, work)));
            return item(tables, at + 1, free, so_far, best);
        }
        turn(tables, at, round + 1, work, free, so_far, best);
        for model in 0..tables.models() {
            let gang = tables.gangs[at];
            // The first item may take the first rounds: they are all alike to it.
            let skipped = at == 0 && tables.models() == 1 && work < round as f64;
            if tables.rate(at, model) > 0.0 && free[round][model] >= gang && !skipped {
                free[round][model] -= gang;
                turn(tables, at, round + 1, work + tables.rate(at, model), free, so_far, best);
                free[round][model] += gang;
            }
        }
    }
}

#[test]
fn a_gpu_has_a_price_only_where_more_are_wanted_than_there_are() {
    let items = || vec![item(1, &[3.0, 1.0], 0.0), item(1, &[2.0, 0.5], 0.0)];
    let price = |gpus: u32| plan_window(&window(2, gpus, items()), 0).unwrap().prices[0];
    // One GPU does the two best rounds; a third would bring 1, and without the second 2 would be lost.
    assert!((1.0..=2.0).contains(&price(1)), "{}", price(1));
    assert!(price(2).abs() < 1e-12, "{}", price(2));
    // Of the second model, on which only one of them runs, nobody wants more than there is.
    let mut mixed = window(2, 1, items());
    mixed.capacity.push(4);
    mixed.items[0].rates = vec![1.0, 0.0];
    mixed.items[1].rates = vec![1.0, 1.0];
    let prices = plan_window(&mixed, 0).unwrap().prices;
    assert!(prices.len() == 2 && prices[1].abs() < 1e-12, "{prices:?}");
}

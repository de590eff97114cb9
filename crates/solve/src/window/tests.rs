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

#[test]
fn tiny_windows_are_planned_as_well_as_can_be() {
    let mut random = Random::new(17);
    for at in 0..500 {
        let window = tiny(&mut random);
        let plan = plan_window(&window, at).unwrap();
        assert_plan(&window, &plan);
        let best = exhaustive::best(&window);
        let missed = (best - plan.value) / (best - plan.empty).max(1e-12);
        assert!(missed <= 1e-9, "window {at}: {} of {best}: {window:?}", plan.value);
        assert!(
            plan.bound >= best - 1e-9 * (1.0 + best.abs()),
            "window {at}: bound {} of {best}",
            plan.bound
        );
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
                println!("{items} {rounds} {gpus} {gangs:?} {:.1e}", plan.gap());
                assert!(
                    plan.gap() <= 1e-3,
                    "{items} items, {gpus} GPUs, gangs {gangs:?}: {:.1e}",
                    plan.gap()
                );
            }
        }
    }
}

mod exhaustive {
    //! Everything, tried: the subsets of rounds of every item, one after the other.

    use super::*;

    pub fn best(window: &Window) -> f64 {
        let tables = Tables::of(window, 0);
        let mut free = vec![window.capacity[0]; window.rounds];
        let mut best = f64::NEG_INFINITY;
        visit(window, &tables, 0, &mut free, 0.0, 0.0, &mut best);
        best
    }

    fn visit(
        window: &Window,
        tables: &Tables,
        at: usize,
        free: &mut Vec<u32>,
        gain: f64,
        left: f64,
        best: &mut f64,
    ) {
        if at == window.items.len() {
            *best = best.max(gain - window.remaining_cost * left);
            return;
        }
        let gang = window.items[at].gang;
        for subset in 0..1_u32 << window.rounds {
            let taken = |round: usize| subset >> round & 1 == 1;
            // Rounds that are alike are taken from the first on.
            let ordered = (1..window.rounds)
                .all(|round| free[round] != free[round - 1] || taken(round - 1) || !taken(round));
            if !ordered || (0..window.rounds).any(|round| taken(round) && free[round] < gang) {
                continue;
            }
            for round in (0..window.rounds).filter(|round| taken(*round)) {
                free[round] -= gang;
            }
            let work = f64::from(subset.count_ones());
            let most = f64::max(left, tables.left(at, work));
            visit(window, tables, at + 1, free, gain + tables.gain(at, work), most, best);
            for round in (0..window.rounds).filter(|round| taken(*round)) {
                free[round] += gang;
            }
        }
    }
}

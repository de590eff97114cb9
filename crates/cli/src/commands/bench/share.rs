//! How fast clusters are divided: our methods against a generic solver, in the same run.

use super::totals;
use crate::bench_args::BenchShare;
use crate::clock::thread_cpu_s;
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::Random;
use evenhand_solve::generic::{cooperative_program, max_min_by_interior_point, nash_by_cones};
use evenhand_solve::instances::{FAMILIES, benchmark, small};
use evenhand_solve::{
    CooperativeOptions, Division, Effort, Market, Matrix, cooperative, equal_throughput, max_min, nash,
};
use serde::Serialize;
use serde_json::json;
use std::hint::black_box;

/// Short things are done until they have taken this long, and divided.
const ENOUGH_S: f64 = 0.2;

/// One problem, solved by us and perhaps by the generic solver.
#[derive(Serialize)]
struct Line {
    problem: &'static str,
    parties: usize,
    models: usize,
    ours_ms: f64,
    gap: f64,
    generic_ms: Option<f64>,
    ratio: Option<f64>,
    /// How far the two values are apart, relatively.
    apart: Option<f64>,
}

/// How far our values and those of the generic solver are apart at most, over many small markets.
#[derive(Serialize)]
struct Agreement {
    problem: &'static str,
    markets: usize,
    apart_max: f64,
}

/// Measures and prints.
pub fn run(args: &BenchShare) -> Result<()> {
    let mut lines = large(args)?;
    lines.extend(beyond(args)?);
    let agreements = agree(args)?;
    let sums = totals::measure(args)?;
    if args.json {
        let found = json!({ "seed": args.seed, "divide": lines, "agree": agreements, "totals": sums });
        return output::say_json(&found);
    }
    output::say(&format!("{}\n\n{}", table(&lines, &agreements), totals::table(&sums)))
}

/// Sizes at which the generic solver can still be waited for.
fn large(args: &BenchShare) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let effort = Effort { gap: 1e-9, ..Effort::default() };
    let rough = Effort { gap: 1e-7, ..Effort::default() };
    for models in [3, 10] {
        let market = benchmark(args.parties, models, &mut Random::stream(args.seed, "bench share"));
        output::note(&format!("dividing among {} parties, {models} models ...", args.parties));
        let ours = |market: &Market| Ok(equal_throughput(market, &effort)?);
        let generic = |market: &Market| Ok(max_min_by_interior_point(market)?.value);
        lines.push(compare("equal throughput", &market, ours, Some(&generic))?);
        let gavel = with_gangs(&market, args.seed);
        let ours = |market: &Market| Ok(max_min(market, &rough)?);
        lines.push(compare("max-min with gangs", &gavel, ours, Some(&generic))?);
        let ours = |market: &Market| Ok(nash(market, &Effort { gap: 1e-6, ..Effort::default() })?);
        let generic = |market: &Market| Ok(nash_by_cones(market)?);
        lines.push(compare("Nash welfare", &market, ours, Some(&generic))?);
    }
    Ok(lines)
}

/// Sizes at which it cannot.
fn beyond(args: &BenchShare) -> Result<Vec<Line>> {
    let mut random = Random::stream(args.seed, "bench share, beyond");
    let mut lines = Vec::new();
    let huge = benchmark(10 * args.parties, 10, &mut random);
    output::note(&format!("dividing among {} parties ...", huge.parties()));
    let equal = |market: &Market| Ok(equal_throughput(market, &Effort { gap: 1e-9, ..Effort::default() })?);
    lines.push(compare("equal throughput", &huge, equal, None)?);
    let market = |market: &Market| Ok(nash(market, &Effort { gap: 1e-6, ..Effort::default() })?);
    lines.push(compare("Nash welfare", &huge, market, None)?);
    let envy_free = |market: &Market| Ok(cooperative(market, &CooperativeOptions::default())?);
    for models in [3, 6, 10] {
        let classes = benchmark(50, models, &mut random);
        let market = repeated(&classes, args.parties);
        lines.push(compare("cooperative, 50 classes", &market, envy_free, None)?);
    }
    output::note("dividing without envy ...");
    for (parties, models) in [(100, 3), (300, 3)] {
        let market = benchmark(parties, models, &mut random);
        lines.push(compare("cooperative, all distinct", &market, envy_free, None)?);
    }
    let market = benchmark(2_000, 3, &mut random);
    lines.push(compare("cooperative, from a menu", &market, envy_free, None)?);
    Ok(lines)
}

/// As Gavel has it: a job takes a gang of 1, 2, 4 or 8 GPUs at most, and its level is relative to an equal share.
fn with_gangs(market: &Market, seed: u64) -> Market {
    let mut random = Random::stream(seed, "gangs");
    let total: f64 = market.capacity.iter().sum();
    let mut scaled = market.clone();
    for party in 0..market.parties() {
        let proportional = market.throughput(party, &market.capacity) / total;
        scaled.speedups.row_mut(party).iter_mut().for_each(|speedup| *speedup /= proportional);
        scaled.demands[party] = [1.0, 2.0, 4.0, 8.0][random.below(4) as usize];
    }
    scaled
}

/// So many parties with the rows of a few.
fn repeated(classes: &Market, parties: usize) -> Market {
    let rows: Vec<&[f64]> = (0..parties).map(|at| classes.speedups.row(at % classes.parties())).collect();
    Market::new(Matrix::from_rows(&rows), classes.capacity.clone())
}

type Generic<'a> = &'a dyn Fn(&Market) -> Result<f64>;

fn compare(
    problem: &'static str,
    market: &Market,
    ours: impl Fn(&Market) -> Result<Division>,
    generic: Option<Generic<'_>>,
) -> Result<Line> {
    let division = ours(market)?;
    let (before, mut times) = (thread_cpu_s(), 0);
    while times == 0 || thread_cpu_s() - before < ENOUGH_S {
        black_box(ours(black_box(market))?);
        times += 1;
    }
    let ours_ms = (thread_cpu_s() - before) / f64::from(times) * 1e3;
    let mut line = Line {
        problem,
        parties: market.parties(),
        models: market.models(),
        ours_ms,
        gap: division.gap(),
        generic_ms: None,
        ratio: None,
        apart: None,
    };
    if let Some(generic) = generic {
        let before = thread_cpu_s();
        let value = generic(market)?;
        let generic_ms = (thread_cpu_s() - before) * 1e3;
        line.generic_ms = Some(generic_ms);
        line.ratio = Some(generic_ms / ours_ms);
        line.apart = Some(apart(value, division.value));
    }
    Ok(line)
}

fn apart(a: f64, b: f64) -> f64 {
    (a - b).abs() / a.abs().max(f64::MIN_POSITIVE)
}

/// Small markets of all families, with weights, and with demands where the problem knows them.
fn agree(args: &BenchShare) -> Result<Vec<Agreement>> {
    output::note(&format!("comparing on {} small markets ...", args.markets));
    let mut random = Random::stream(args.seed, "bench share, agree");
    let mut agreements = ["equal throughput", "max-min with demands", "Nash welfare", "cooperative"]
        .map(|problem| Agreement { problem, markets: args.markets, apart_max: 0.0 });
    for at in 0..args.markets {
        let mut market = small(FAMILIES[at % 3], &mut random);
        market.weights = (0..market.parties()).map(|_| random.between(0.5, 4.0)).collect();
        let effort = Effort::default();
        let mut limited = market.clone();
        limited.demands.iter_mut().for_each(|demand| *demand = random.between(0.5, 6.0));
        let apart = [
            apart(max_min_by_interior_point(&market)?.value, equal_throughput(&market, &effort)?.value),
            apart(max_min_by_interior_point(&limited)?.value, max_min(&limited, &effort)?.value),
            apart(nash_by_cones(&market)?, nash(&market, &effort)?.value),
            apart(
                cooperative_program(&market).solve_interior()?.value,
                cooperative(&market, &CooperativeOptions::default())?.value,
            ),
        ];
        for (agreement, apart) in agreements.iter_mut().zip(apart) {
            agreement.apart_max = agreement.apart_max.max(apart);
        }
    }
    Ok(agreements.into())
}

fn table(lines: &[Line], agreements: &[Agreement]) -> String {
    let titles = ["parties", "models", "ours, CPU ms", "gap", "clarabel, CPU ms", "times faster", "apart"];
    let numbers = titles.map(|title| (title, Side::Right));
    let mut table = Table::new([("problem", Side::Left)].into_iter().chain(numbers));
    for line in lines {
        let optional = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        table.row([
            line.problem.to_owned(),
            line.parties.to_string(),
            line.models.to_string(),
            format!("{:.2}", line.ours_ms),
            format!("{:.0e}", line.gap),
            optional(line.generic_ms, 0),
            optional(line.ratio, 0),
            line.apart.map_or_else(|| "-".to_owned(), |apart| format!("{apart:.0e}")),
        ]);
    }
    let columns = [("problem", Side::Left), ("small markets", Side::Right), ("furthest apart", Side::Right)];
    let mut small = Table::new(columns);
    for agreement in agreements {
        let row = [
            agreement.problem.to_owned(),
            agreement.markets.to_string(),
            format!("{:.0e}", agreement.apart_max),
        ];
        small.row(row);
    }
    format!("{}\n\n{}", table.render(), small.render())
}

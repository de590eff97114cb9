//! `evenhand compare`: the same work under several policies, side by side.

use crate::args::{Compare, Seeds};
use crate::comparison::Comparison;
use crate::works::Work;
use crate::{failure, inputs, output};
use anyhow::{Context, Result};
use evenhand_core::Choice;
use evenhand_sim::{Scenario, Setup};
use std::path::Path;
use std::sync::Arc;

/// Runs them all and says what came of it.
pub fn run(args: &Compare) -> Result<()> {
    let comparison = args.scenario.as_deref().map_or_else(|| typed(args), |path| read(args, path))?;
    let ledgers = args.ledgers.then(|| args.out.join("ledgers"));
    output::make_folder(ledgers.as_deref().unwrap_or(&args.out))?;
    let compared = comparison.run(inputs::threads(args.threads), ledgers.as_deref())?;
    let what = args.scenario.as_ref().or(args.trace.as_ref()).map(|path| path.display().to_string());
    let page = args.out.join("report.html");
    compared.write_page(&page, &format!("Policies compared on {}", what.unwrap_or_default()))?;
    if args.json {
        compared.say_json()?;
        return compared.check();
    }
    compared.say_table()?;
    output::say(&format!("\nreport   {}", page.display()))?;
    if let Some(folder) = ledgers {
        output::say(&format!("ledgers  {}", folder.display()))?;
    }
    compared.check()
}

/// What the flags describe.
fn typed(args: &Compare) -> Result<Comparison> {
    let trace = args.trace.as_deref().context("clap lets no comparison pass without a trace")?;
    let cluster = args.work.cluster()?;
    let base = args.work.setup()?;
    let setups = inputs::choices(&args.policy, &args.set)?;
    let setups = setups.into_iter().map(|policy| Setup { policy, ..base.clone() }).collect();
    let setups = adjusted(args, setups, None)?;
    let work = Work::Same(args.work.workload(trace, &cluster)?);
    Ok(Comparison { cluster, work, setups })
}

/// What a scenario describes; flags for policies, seeds, placer and predictor take precedence.
fn read(args: &Compare, path: &Path) -> Result<Comparison> {
    let scenario = Scenario::read(path)?;
    let cluster = scenario.cluster()?;
    let mut setups = scenario.setups()?;
    if args.policy.is_empty() && !args.set.is_empty() {
        let hint =
            format!("{} sets the parameters of its policies; give --policy to set others", path.display());
        return Err(failure::wrong("--set", hint));
    }
    if setups.is_empty() && args.policy.is_empty() {
        let what = "it has no [[policy]] table, and no --policy is given: there is nothing to compare";
        return Err(failure::wrong(path.display(), what));
    }
    if !args.policy.is_empty() {
        let (base, seeds) = (scenario.base()?, scenario.seeds());
        let with = |policy: Choice| {
            let base = &base;
            seeds.iter().map(move |seed| Setup { policy: policy.clone(), seed: *seed, ..base.clone() })
        };
        setups = inputs::choices(&args.policy, &args.set)?.into_iter().flat_map(with).collect();
    }
    let setups = adjusted(args, setups, Some(path))?;
    let work = if scenario.varies() {
        Work::BySeed(Box::new(scenario))
    } else {
        Work::Same(Arc::new(scenario.workload(&cluster, 1)?))
    };
    Ok(Comparison { cluster, work, setups })
}

/// With the seeds, the placer and the predictor of the flags; each run once; checked.
fn adjusted(args: &Compare, setups: Vec<Setup>, scenario: Option<&Path>) -> Result<Vec<Setup>> {
    let mut adjusted: Vec<Setup> = Vec::new();
    for setup in setups {
        let given = args.seeds.iter().flat_map(Seeds::all);
        let seeds: Vec<u64> = if args.seeds.is_empty() { vec![setup.seed] } else { given.collect() };
        for seed in seeds {
            let mut setup = Setup { seed, ..setup.clone() };
            setup.placer = args.placer.as_deref().map_or(setup.placer, Choice::named);
            setup.predictor = args.predictor.as_deref().map(Choice::named).or(setup.predictor);
            setup.sharing = args.sharing.clone().or(setup.sharing);
            setup.use_published_variant();
            if adjusted.iter().all(|known| (known.seed, &known.policy) != (seed, &setup.policy)) {
                adjusted.push(setup);
            }
        }
    }
    let flags = !args.policy.is_empty()
        || args.placer.is_some()
        || args.predictor.is_some()
        || args.sharing.is_some();
    for setup in &adjusted {
        inputs::check(setup, scenario.filter(|_| !flags))?;
    }
    Ok(adjusted)
}

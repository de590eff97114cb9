//! `evenhand demo`: every policy on a built-in workload; needs no files.

use crate::args::Demo;
use crate::comparison::Comparison;
use crate::works::Work;
use crate::{inputs, output};
use anyhow::Result;
use evenhand_core::{Choice, Parameters};
use evenhand_policies::{DEFAULT_POLICY, Entry, POLICIES};
use evenhand_sim::{Setup, traces::synthetic};
use std::sync::Arc;

/// Runs them all and says what to look at.
pub fn run(args: &Demo) -> Result<()> {
    let (cluster, workload) = synthetic::demo(args.seed);
    let setups = policies().into_iter().map(|policy| Setup { policy, seed: args.seed, ..Setup::default() });
    let workload = Arc::new(workload);
    let comparison = Comparison { cluster, work: Work::Same(workload.clone()), setups: setups.collect() };
    output::make_folder(&args.out)?;
    let compared = comparison.run(inputs::threads(args.threads), None)?;
    let page = args.out.join("report.html");
    compared.write_page(&page, "Evenhand demo: every policy on the same work")?;
    if args.json {
        return compared.say_json();
    }
    let (jobs, gpus) = (workload.jobs.len(), comparison.cluster.gpus());
    let models: Vec<_> = comparison.cluster.models.iter().map(|model| model.name.as_str()).collect();
    let tenants: Vec<_> = workload.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    output::say(&format!(
        "{jobs} jobs of {} tenants ({}) on {gpus} GPUs of {} models ({}), simulated under every policy ({DEFAULT_POLICY} is the default):\n",
        tenants.len(),
        tenants.join(", "),
        models.len(),
        models.join(", ")
    ))?;
    compared.say_table()?;
    output::say(&format!(
        "\nOpen {} to see who ran when.\n\nNext:\n  \
         evenhand policies                                     what each policy does\n  \
         evenhand traces                                       how to describe your own jobs\n  \
         evenhand simulate --trace jobs.csv --cluster v100=32  simulate them",
        page.display()
    ))
}

/// Every policy there is, the default before all; first come, first served in both its ways.
fn policies() -> Vec<Choice> {
    let mut policies = Vec::new();
    let is_usual = |entry: &&Entry| entry.name == DEFAULT_POLICY;
    let (usual, others) =
        (POLICIES.iter().filter(is_usual), POLICIES.iter().filter(|entry| !is_usual(entry)));
    for entry in usual.chain(others) {
        policies.push(Choice::named(entry.name));
        if entry.name == "fifo" {
            let parameters = Parameters([("backfill".to_owned(), "true".to_owned())].into());
            policies.push(Choice { name: entry.name.to_owned(), parameters });
        }
    }
    policies
}

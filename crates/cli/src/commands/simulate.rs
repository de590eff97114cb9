//! `evenhand simulate`: one trace, one policy, one ledger.

use crate::args::Simulate;
use crate::progress::Progress;
use crate::{inputs, ledger_file, output, promises, run_table};
use anyhow::{Context, Result};
use evenhand_core::Choice;
use evenhand_report::Document;
use evenhand_sim::{Run, Setup, simulate};

/// Runs it and says what came of it.
pub fn run(args: &Simulate) -> Result<()> {
    let cluster = args.work.cluster()?;
    let setup = setup(args)?;
    let workload = args.work.workload(&args.trace, &cluster)?;
    output::make_folder(&args.out)?;
    let path = args.out.join("ledger.jsonl");
    let ledger = (!args.no_ledger).then(|| ledger_file::create(&path)).transpose();
    let ledger = ledger.with_context(|| format!("{} cannot be written", path.display()))?;
    let progress = Progress::new(1, workload.jobs.len());
    let how = Run {
        ledger_path: ledger.is_some().then(|| path.display().to_string()),
        ledger,
        progress: &|ended| progress.tell(0, ended),
    };
    let finished = simulate(&cluster, &workload, &setup, how)?;
    drop(progress);
    let summary = promises::told(finished.report.summary(&finished.costs));
    let page = args.out.join("report.html");
    let title = format!("{} on {}", run_table::name(&summary), args.trace.display());
    output::write_file(&page, &evenhand_report::html(&title, &[(&finished.report, &summary)]))?;
    inputs::warn_about_unended(&summary);
    if args.json {
        return output::say_json(&Document::new(&finished.report, &summary));
    }
    output::say(&run_table::single(&finished.report, &summary))?;
    output::say(&format!("\nreport  {}", page.display()))?;
    summary.ledger.map_or(Ok(()), |ledger| output::say(&format!("ledger  {ledger}")))
}

fn setup(args: &Simulate) -> Result<Setup> {
    let mut setup = args.work.setup()?;
    setup.policy = inputs::only(&args.policy, &args.set)?;
    setup.placer = args.placer.as_deref().map_or(setup.placer, Choice::named);
    setup.predictor = args.predictor.as_deref().map(Choice::named).or(setup.predictor);
    setup.sharing.clone_from(&args.sharing);
    setup.seed = args.seed;
    setup.use_published_variant();
    inputs::check(&setup, None)?;
    Ok(setup)
}

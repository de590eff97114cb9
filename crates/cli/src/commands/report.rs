//! `evenhand report`: what a ledger comes to.

use crate::args;
use crate::failure::{survive, wrong};
use crate::{ledger_file, output, promises, run_table};
use anyhow::Result;
use evenhand_report::{Costs, Document, Report};
use std::path::Path;

/// Folds a ledger and says what it comes to.
pub fn run(args: &args::Report) -> Result<()> {
    let path = &match &args.ledger {
        Some(ledger) => ledger.clone(),
        None => ledger_file::of_service(&args.server)?,
    };
    let page = match &args.out {
        None if args.json => None,
        out => Some(out.clone().unwrap_or_else(|| path.with_extension("html"))),
    };
    if page.as_ref() == Some(path) {
        return Err(wrong("--out", format!("{} is the ledger itself", path.display())));
    }
    let report = fold(path)?;
    let ledger = Some(path.display().to_string());
    let summary = promises::told(report.summary(&Costs { ledger, ..Costs::default() }));
    crate::inputs::warn_about_unended(&summary);
    if let Some(page) = &page {
        let title = format!("{} ({})", run_table::name(&summary), path.display());
        output::write_file(page, &evenhand_report::html(&title, &[(&report, &summary)]))?;
    }
    if args.json {
        return output::say_json(&Document::new(&report, &summary));
    }
    output::say(&run_table::single(&report, &summary))?;
    page.map_or(Ok(()), |page| output::say(&format!("\nreport  {}", page.display())))
}

/// Takes a ledger in record by record: it may be larger than memory.
pub fn fold(path: &Path) -> Result<Report> {
    let mut ledger = ledger_file::open(path)?;
    let mut report = Report::new(ledger.header());
    let folded = survive(|| {
        while let Some(record) = ledger.read()? {
            report.take(&record);
        }
        Ok(())
    });
    match folded {
        Ok(read) => read.map_err(|error| ledger_file::refuse(path, &error))?,
        Err(law) => {
            let what =
                format!("line {}: the record does not follow from those before it: {law}", ledger.line());
            return Err(wrong(path.display(), what));
        }
    }
    ledger_file::warn_if_torn(path, &ledger);
    Ok(report)
}

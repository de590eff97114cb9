//! `evenhand audit`: which fairness properties a division has.

use crate::args::Audit;
use crate::division_files::NamedMarket;
use crate::table::{Side, Table};
use crate::{numbers, output};
use anyhow::Result;
use evenhand_fairness::division::{Finding, Names, PROPERTIES, Property, throughputs};
use evenhand_solve::Matrix;
use serde_json::{Map, Value, json};

/// Checks every property and says what was found.
pub fn run(args: &Audit) -> Result<()> {
    let named = args.market.market()?;
    let shares = named.shares(&args.shares)?;
    let mut findings = Vec::with_capacity(PROPERTIES.len());
    for property in PROPERTIES {
        findings.push((property, (property.check)(&named.market, &shares)?));
    }
    if args.json {
        return output::say_json(&as_json(&named, &shares, &findings));
    }
    output::say(&as_text(&named, &shares, &findings))
}

/// The worst violation in a sentence, if there is one.
fn sentence(named: &NamedMarket, shares: &Matrix, property: &Property, finding: &Finding) -> Option<String> {
    let names = Names { parties: &named.tenants, models: &named.models };
    (!finding.holds).then(|| (property.explain)(&named.market, shares, finding, names))
}

fn as_json(named: &NamedMarket, shares: &Matrix, findings: &[(&Property, Finding)]) -> Value {
    let own = throughputs(&named.market, shares);
    let mut document = Map::new();
    document.insert("models".into(), json!(named.models));
    document.insert("tenants".into(), json!(named.tenants));
    document.insert("total".into(), json!(own.iter().sum::<f64>()));
    document.insert("throughput".into(), json!(own));
    for (property, finding) in findings {
        let found = json!({
            "holds": finding.holds,
            property.measure: finding.worst,
            "who": finding.who,
            "why": sentence(named, shares, property, finding),
        });
        document.insert(property.name.into(), found);
    }
    Value::Object(document)
}

fn as_text(named: &NamedMarket, shares: &Matrix, findings: &[(&Property, Finding)]) -> String {
    let mut parts = vec![named.table(shares).render()];
    let mut table = Table::new([("property", Side::Left), ("holds", Side::Left), ("violation", Side::Right)]);
    for (property, finding) in findings {
        let violation = if finding.holds { "0 %".into() } else { numbers::percent(finding.worst) };
        table.row([property.title.into(), if finding.holds { "yes" } else { "no" }.into(), violation]);
    }
    parts.push(table.render());
    let sentences = findings.iter().filter_map(|(property, finding)| {
        let sentence = sentence(named, shares, property, finding)?;
        Some(format!("{}: {}\n  {sentence}", property.title, property.summary))
    });
    parts.extend(sentences);
    parts.join("\n\n")
}

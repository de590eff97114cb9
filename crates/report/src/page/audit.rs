//! What a policy guarantees, what was really received, and what that cost: of one run.

use super::bars::{Bar, bars};
use super::parts::{Field, figure, table};
use super::tenant_colours::TenantColours;
use super::text::{amount, count, duration, escape, percent};
use crate::{Audit, Audited, AuditedTenant, HELD_WITHIN};

/// Tenants with a bar: those that lose most by sharing.
const BARS_MAX: usize = 12;

/// What is written where there is no audit.
pub const NOTHING: &str =
    r#"<p class="soft">There is nothing to audit: nobody had work that the cluster could do.</p>"#;

/// How a promise and what is found here differ.
pub fn difference() -> String {
    format!(
        "A promise is about the shares that a policy owes, round by round. What was found is about what tenants really \
         received over the whole run, in whole GPUs and whole gangs, while jobs came and went: a promise can be kept and leave \
         a violation here, and something can hold that nobody promised. Violations up to {} count as held.",
        percent(HELD_WITHIN),
    )
}

/// Promises, findings and costs of one run.
pub fn audit(audit: Option<&Audit>, colours: &TenantColours) -> String {
    let Some(audit) = audit else { return NOTHING.to_owned() };
    let rows: Vec<Vec<Field>> = audit.properties.iter().map(row).collect();
    let head = ["property", "promised", "in this run", "worst violation", "what was found"];
    format!(
        r#"<p class="soft">{}</p><div class="gap">{}</div>{}<div class="plots gap">{}{}</div>"#,
        escape(&difference()),
        table("audit", &head, &rows),
        others(audit),
        tenants(audit, colours),
        cost(audit),
    )
}

fn row(property: &Audited) -> Vec<Field> {
    let promised = match property.promised {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    let (found, violation) = match property.held {
        Some(held) => (if held { "held" } else { "not held" }, percent(property.violation)),
        None => ("not checked", percent(f64::NAN)),
    };
    let why = property.why.clone().unwrap_or_else(|| "No violation.".into());
    vec![
        Field::new(property.title.into()).remarking(property.summary),
        Field::new(promised.into()),
        mark(Field::new(found.into()), property),
        Field::new(violation),
        Field::saying(why),
    ]
}

/// A promise that was kept or broken stands out.
pub fn mark(field: Field, property: &Audited) -> Field {
    match (property.promised, property.held) {
        (Some(true), Some(true)) => field.marked("best"),
        (Some(true), Some(false)) => field.marked("bad"),
        _ => field,
    }
}

/// What the table leaves out.
fn others(audit: &Audit) -> String {
    let mut sentences = Vec::new();
    match audit.other_promises.as_deref() {
        Some([]) => {}
        Some(names) => sentences.push(format!(
            "The policy also promises what this table cannot show: {}.",
            names.iter().map(|name| name.replace('-', " ")).collect::<Vec<_>>().join(", "),
        )),
        None => sentences.push("What the policy promises is not known here.".into()),
    }
    if audit.tenants_left_out > 0 {
        let left_out = count(audit.tenants_left_out);
        sentences.push(format!("Tenants left out because none of their jobs could run: {left_out}."));
    }
    sentences.push(format!("Averages over the {} in which somebody had work.", duration(audit.active_s)));
    format!(r#"<p class="soft gap">{}</p>"#, escape(&sentences.join(" ")))
}

/// What each tenant received against its own part of every model, those first that lose most by sharing.
fn tenants(audit: &Audit, colours: &TenantColours) -> String {
    let gain = |tenant: &AuditedTenant| tenant.throughput / tenant.alone.max(f64::MIN_POSITIVE);
    let mut worst_first: Vec<&AuditedTenant> = audit.tenants.iter().collect();
    worst_first.sort_by(|a, b| gain(a).total_cmp(&gain(b)).then(a.place.cmp(&b.place)));
    let hidden = worst_first.len().saturating_sub(BARS_MAX);
    worst_first.truncate(BARS_MAX);
    let bar = |tenant: &&AuditedTenant| {
        let (received, alone) = (amount(tenant.throughput), amount(tenant.alone));
        Bar {
            name: shortened(&tenant.name),
            remark: format!("{received} against {alone}"),
            value: tenant.throughput,
            mark: Some(tenant.alone),
            class: colours.class(tenant.place),
            title: format!("{}: received {received}, its own part would give {alone}", tenant.name),
        }
    };
    let drawn: Vec<Bar> = worst_first.iter().map(bar).collect();
    let better = if hidden > 0 {
        format!(" The {} who fared better are not drawn.", count(hidden as u64))
    } else {
        String::new()
    };
    let reading = "Bar: the throughput a tenant received. Stroke: what its own part of every GPU model would have given, \
                       while it had work and as far as its jobs could use it. Below the stroke it loses by sharing."
        .to_owned()
        + &better;
    let title = "Received against the own part";
    figure(title, &reading, &bars(&label(audit), title, &drawn))
}

/// The total against what it could have been.
fn cost(audit: &Audit) -> String {
    let total = audit.total;
    let bar = |name: &str, value: f64, class: &str, remark: String| {
        let title = format!("{name}: {}", amount(value));
        Bar { name: name.into(), remark, value, mark: None, class: class.into(), title }
    };
    let gain = total.gain_over_equal_split;
    let versus =
        format!("{} {} than the split", percent(gain.abs()), if gain < 0.0 { "less" } else { "more" });
    let mut drawn = vec![
        bar("equal split of every model", total.equal_split, "c7", amount(total.equal_split)),
        bar(
            "received in this run",
            total.received,
            "c0",
            if gain.is_finite() {
                format!("{}, {versus}", amount(total.received))
            } else {
                amount(total.received)
            },
        ),
    ];
    if total.most.is_finite() {
        drawn.push(bar("the most that was possible", total.most, "c7", amount(total.most)));
    }
    let reading = format!(
        "Total throughput. {} of the most was not reached: the price of fairness, together with what whole GPUs and gangs \
         cost. The most is what the same demands at the same times allow if nobody is cared for. The split is sharing without \
         trading: everybody uses its own part and no more.",
        percent(total.price_of_fairness),
    );
    let title = "What it cost";
    figure(title, &reading, &bars(&label(audit), title, &drawn))
}

fn label(audit: &Audit) -> String {
    format!("throughput, in GPUs of model {}", audit.reference)
}

/// A name that leaves room for what stands beside it.
fn shortened(name: &str) -> String {
    const LETTERS: usize = 28;
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    name.chars().take(LETTERS - 1).chain(std::iter::once('…')).collect()
}

//! Who would rather have had whose GPUs.

use super::parts::{Field, figure, table};
use super::text::percent;
use crate::{Audit, HELD_WITHIN};

/// More tenants than this do not fit on a page.
const TENANTS_MAX: usize = 12;

/// A row for each tenant: how much less it has than it would have made of the GPUs of the one in the column.
pub fn matrix(audit: Option<&Audit>) -> String {
    let Some(audit) = audit.filter(|audit| audit.tenants.len() > 1) else { return String::new() };
    let count = audit.tenants.len().min(TENANTS_MAX);
    let names: Vec<&str> = audit.tenants.iter().take(count).map(|tenant| tenant.name.as_str()).collect();
    let row = |envious: usize| -> Vec<Field> {
        let field = |envied: usize| {
            let lacks = audit.envy.get(envious).and_then(|row| row.get(envied)).copied().unwrap_or(f64::NAN);
            if envious == envied || lacks <= 0.0 {
                Field::new("–".to_owned())
            } else {
                Field::warning(percent(lacks), lacks > HELD_WITHIN)
            }
        };
        std::iter::once(Field::new(names[envious].to_owned())).chain((0..count).map(field)).collect()
    };
    let rows: Vec<Vec<Field>> = (0..count).map(row).collect();
    let head: Vec<&str> = std::iter::once("envies").chain(names.iter().copied()).collect();
    let title = "Who envies whom";
    let reading = "How much less a tenant made of its GPUs, over the whole run, than it would have made of those of the tenant in the \
                   column, scaled to its own weight and as far as its jobs could use them. A dash: no envy.";
    figure(title, reading, &table("envy", &head, &rows))
}

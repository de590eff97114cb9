//! What was received, held against every property of a division.
//!
//! A property of a division knows one demand for each party. Over a run demands come and go, so each property is asked
//! about the market in which its comparison is the right one:
//!
//! - *Sharing incentive* compares with `alone`. In a market without demands where i weighs alone_i / w_i.m, its part of
//!   every model is worth just that.
//! - *Envy* compares with what i would have made of another's GPUs, up to what it could have used of what others had, as
//!   [`callable`](super::callable) has it.
//! - All others take the market as it is.

use super::Audited;
use super::received::Received;
use evenhand_fairness::division::{Names, PROPERTIES, Property};
use evenhand_solve::{Market, dot};

/// A violation up to this size counts as held: what whole GPUs, gangs and restarts leave over. The same as for jobs.
pub const HELD_WITHIN: f64 = evenhand_fairness::UNFAIR_ABOVE - 1.0;

/// Efficiency is a linear program over the tenants. With more of them than this, and it could take seconds.
pub const EFFICIENCY_TENANTS_MAX: usize = 400;

/// Checks every registered property.
pub fn check(received: &Received) -> Vec<Audited> {
    PROPERTIES.iter().map(|property| audited(property, received)).collect()
}

fn audited(property: &'static Property, received: &Received) -> Audited {
    let market = match property.name {
        "sharing_incentive" => worth_as_much_alone(received),
        "envy_free" => calling_for_as_much(received),
        _ => received.market.clone(),
    };
    let mut audited = Audited {
        name: property.name,
        title: property.title,
        summary: property.summary,
        promised: None,
        held: None,
        violation: f64::NAN,
        who: Vec::new(),
        why: None,
    };
    if property.name == "pareto" && market.parties() > EFFICIENCY_TENANTS_MAX {
        audited.why = Some(format!("Not checked for more than {EFFICIENCY_TENANTS_MAX} tenants."));
        return audited;
    }
    let finding = match (property.check)(&market, &received.shares) {
        Ok(finding) => finding,
        Err(error) => {
            audited.why = Some(format!("Not checked: {error}."));
            return audited;
        }
    };
    let names = Names { parties: &received.names, models: &received.models };
    audited.held = Some(finding.worst <= HELD_WITHIN);
    audited.violation = finding.worst;
    audited.why = (!finding.holds).then(|| (property.explain)(&market, &received.shares, &finding, names));
    audited.who = named(property, received, &finding.who);
    audited
}

/// Those whom a finding concerns, by name; of nothing wasted the second is a GPU model.
fn named(property: &Property, received: &Received, who: &[usize]) -> Vec<String> {
    let name = |(place, at): (usize, &usize)| match (property.name, place) {
        ("all_used", 1) => received.models[*at].clone(),
        _ => received.names[*at].clone(),
    };
    who.iter().enumerate().map(name).collect()
}

/// The market in which each party's part of every model is worth what its own part would have given over the run.
fn worth_as_much_alone(received: &Received) -> Market {
    let Market { speedups, capacity, .. } = &received.market;
    let worth = |(alone, row): (&f64, &[f64])| alone / dot(row, capacity);
    let weights: Vec<f64> = received.alone.iter().zip(speedups.rows()).map(worth).collect();
    let all: f64 = weights.iter().sum();
    let capacity = capacity.iter().map(|gpus| gpus * all).collect();
    Market::new(speedups.clone(), capacity).weighing(weights)
}

/// The market in which each party can use as much as others had, if it ever asked for it; or what it had, if that is more.
fn calling_for_as_much(received: &Received) -> Market {
    let had = received.shares.rows().map(|row| row.iter().sum::<f64>());
    let calls =
        received.callable.iter().zip(had).zip(&received.market.demands).map(|((callable, had), asked)| {
            let calls = callable.max(had);
            // Where nobody had anything there is nothing to envy, but a market has no party without demand.
            if calls > 0.0 { calls } else { *asked }
        });
    let demands = calls.collect();
    received.market.clone().demanding(demands)
}

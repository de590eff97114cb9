//! What was received, held against every property of a division.
//!
//! A property of a division knows parties with one row of speedups and one demand. A tenant has many kinds of jobs, and over
//! a run they come and go, so each property is asked about the market in which its comparison is the right one:
//!
//! - *Sharing incentive* compares u_i with alone_i. Both are throughputs, so the market is one of throughput: i has u_i of
//!   it and weighs alone_i, and all of it is the sum of alone_i.
//! - *Equal throughput* compares u_i / pi_i. In the same way, i has u_i and weighs pi_i; if it always had all that it asked
//!   for, it can use no more.
//! - *Envy* compares u_i with what i's jobs, on average, would have made of another's GPUs, up to as many as
//!   [`callable`](super::curves::Curves::callable) says.
//! - *Efficiency* is about kinds of jobs, in every [stretch of the run](super::reach).
//! - *Nothing wasted* is about GPUs that should [not be idle](super::capacity).

use super::received::Received;
use super::{Audited, rounded};
use evenhand_fairness::division::{
    Finding, Names, PROPERTIES, Property, TOLERANCE, envy, envy_in_words, envy_matrix,
};
use evenhand_solve::{Market, Matrix};

/// A violation up to this size counts as held: what whole GPUs, gangs and restarts leave over. The same as for jobs.
pub const HELD_WITHIN: f64 = evenhand_fairness::UNFAIR_ABOVE - 1.0;

/// Checks every registered property.
pub fn check(received: &Received) -> Vec<Audited> {
    PROPERTIES.iter().map(|property| audited(property, received)).collect()
}

fn audited(property: &'static Property, received: &Received) -> Audited {
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
    match find(property, received) {
        Ok((finding, who, why)) => {
            audited.held = Some(finding.worst <= HELD_WITHIN);
            audited.violation = rounded(finding.worst);
            (audited.who, audited.why) = (who, why);
        }
        Err(error) => audited.why = Some(format!("Not checked: {error}.")),
    }
    audited
}

/// A finding, whom it concerns, and the violation in a sentence.
type Found = (Finding, Vec<String>, Option<String>);

fn find(property: &Property, received: &Received) -> Result<Found, String> {
    let names = Names { parties: &received.names, models: &received.models };
    let (market, shares) = match property.name {
        "envy_free" => return Ok(envious(received, names)),
        "pareto" => return efficient(received),
        "sharing_incentive" => throughput_market(received, &received.alone),
        "equal_throughput" => {
            let (market, shares) = throughput_market(received, &received.market.weights);
            (market.demanding(no_more_than_all(received)), shares)
        }
        _ => {
            let capacity = received.wanted.clone();
            (Market { capacity, ..received.market.clone() }, received.shares.clone())
        }
    };
    let finding = (property.check)(&market, &shares).map_err(|error| error.to_string())?;
    let why = (!finding.holds).then(|| (property.explain)(&market, &shares, &finding, names));
    // Of nothing wasted the second whom it concerns is a GPU model.
    let name = |(place, at): (usize, &usize)| match (property.name, place) {
        ("all_used", 1) => names.models[*at].clone(),
        _ => names.parties[*at].clone(),
    };
    let who = finding.who.iter().enumerate().map(name).collect();
    Ok((finding, who, why))
}

fn envious(received: &Received, names: Names<'_>) -> Found {
    let (market, own) = (calling_for_as_much(received), &received.throughputs);
    let finding = envy(&market, &received.shares, own);
    let why = (!finding.holds).then(|| envy_in_words(&market, &received.shares, own, &finding, names));
    let who = finding.who.iter().map(|at| names.parties[*at].clone()).collect();
    (finding, who, why)
}

/// How much less each tenant has than it would have made of the share of each other.
pub fn envy_of_all(received: &Received) -> Vec<Vec<f64>> {
    envy_matrix(&calling_for_as_much(received), &received.shares, &received.throughputs)
}

fn efficient(received: &Received) -> Result<Found, String> {
    let reach = &received.reach;
    let winner = reach.winner.map(|kind| received.owners[kind]);
    let finding = Finding::of(reach.gain()?, winner.into_iter().collect());
    if finding.holds {
        return Ok((finding, Vec::new(), None));
    }
    let who: Vec<String> = winner.map(|tenant| received.names[tenant].clone()).into_iter().collect();
    let better = reach.unopposed.clone()?;
    let why = format!(
        "The total could have been {better:.4} in place of {:.4}, with nobody worse off at any time; most was to be gained by jobs of `{}`.",
        reach.total,
        who.first().map_or("nobody", String::as_str),
    );
    Ok((finding, who, Some(why)))
}

/// The market in which throughput itself is what is divided, and who has how much of it.
fn throughput_market(received: &Received, weights: &[f64]) -> (Market, Matrix) {
    let (one, all) = (Matrix::from_rows(&vec![[1.0]; weights.len()]), vec![weights.iter().sum()]);
    let shares: Vec<[f64; 1]> = received.throughputs.iter().map(|own| [*own]).collect();
    (Market::new(one, all).weighing(weights.to_vec()), Matrix::from_rows(&shares))
}

/// Throughput that each tenant can use: no more than it had if it always had as many GPUs as it asked for.
fn no_more_than_all(received: &Received) -> Vec<f64> {
    let had = received.shares.rows().map(|row| row.iter().sum::<f64>());
    let sated = had.zip(&received.market.demands).map(|(had, asked)| had >= asked * (1.0 - TOLERANCE));
    let demand = |(sated, own): (bool, &f64)| if sated { *own } else { f64::INFINITY };
    sated.zip(&received.throughputs).map(demand).collect()
}

/// The market in which each tenant can use as many GPUs as others had, as far as it asked for them.
fn calling_for_as_much(received: &Received) -> Market {
    let demand = |(callable, asked): (&f64, &f64)| {
        // Where nobody had anything there is nothing to envy, but a market has no party without demand.
        if *callable > 0.0 { *callable } else { *asked }
    };
    let demands = received.callable.iter().zip(&received.market.demands).map(demand).collect();
    received.market.clone().demanding(demands)
}

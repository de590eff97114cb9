//! The key figures of one run, each with a sentence on what it means.

use super::parts::card;
use super::text::{amount, count, duration, percent};
use crate::Summary;

/// Key figures as cards.
pub fn cards(summary: &Summary) -> String {
    let all = [speed(summary), fairness(summary), machine(summary)].concat();
    format!(r#"<div class="cards">{}</div>"#, all.concat())
}

fn speed(summary: &Summary) -> Vec<String> {
    let done = format!("{} of {}", count(summary.finished), count(summary.jobs));
    let spread = format!(
        "From submission to end, on average. Half of the jobs took at most {}, one in twenty more than {}.",
        duration(summary.jct_p50_s),
        duration(summary.jct_p95_s),
    );
    let waited = format!(
        "From submission to the first GPUs, on average. Half of the jobs waited at most {}.",
        duration(summary.wait_p50_s),
    );
    vec![
        card("Jobs finished", &done, "Jobs that did all their work, of those submitted."),
        card("Mean completion time", &duration(summary.jct_mean_s), &spread),
        card("Mean wait", &duration(summary.wait_mean_s), &waited),
        card(
            "Makespan",
            &duration(summary.makespan_s),
            "From the first submission to the end of the last job.",
        ),
    ]
}

fn fairness(summary: &Summary) -> Vec<String> {
    let worst = format!(
        "The job treated worst took {} times as long as if the cluster had been divided evenly at every instant. Below 1.05 \
         is fair.",
        amount(summary.ftf_fluid_worst),
    );
    let unfair = format!(
        "Jobs that took over 5 % longer than under fluid fair sharing. By the two older measures: {} (static) and {} (dynamic).",
        percent(summary.unfair_fraction),
        percent(summary.unfair_dynamic_fraction),
    );
    vec![
        card("Worst fairness ratio, fluid", &amount(summary.ftf_fluid_worst), &worst),
        card("Jobs treated unfairly", &percent(summary.unfair_fluid_fraction), &unfair),
        card(
            "Evenness",
            &amount(summary.jain),
            "Jain's index of what jobs gained or lost against fair sharing: 1 if all alike.",
        ),
    ]
}

fn machine(summary: &Summary) -> Vec<String> {
    let used = format!(
        "Share of the time of {} GPUs that was leased: {} GPU-hours. Whole gangs could have used {}.",
        count(summary.gpus),
        amount(summary.gpu_hours),
        percent(summary.packable),
    );
    let lost = format!(
        "Leases cut short for other jobs or to move. {} GPU-hours of work were lost with leases that ended early.",
        amount(summary.lost_gpu_hours),
    );
    let kept =
        format!("Leases up for renewal that stayed as they were, over {} decisions.", count(summary.rounds));
    let mut cards = vec![
        card("Utilisation", &percent(summary.utilisation), &used),
        card("Preemptions", &count(summary.preemptions), &lost),
        card("Leases kept", &percent(summary.lease_kept_fraction), &kept),
    ];
    if summary.decide_ms_p50.is_finite() {
        let slowest = format!(
            "Median time to decide. One decision in a hundred took more than {} ms.",
            amount(summary.decide_ms_p99)
        );
        cards.push(card("Time to decide", &format!("{} ms", amount(summary.decide_ms_p50)), &slowest));
    }
    cards
}

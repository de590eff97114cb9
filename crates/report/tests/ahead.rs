//! Windows planned ahead on ledgers whose answers are known.

#[expect(dead_code, reason = "the long made-up runs are for other tests")]
mod story;

use evenhand_core::{Ahead, Foreseen, JobId, PerModel, Quality, Record, Round, Span, Time, Turns};
use evenhand_report::{Costs, Explanation, html};
use std::sync::Arc;
use story::{decided, report, two_tenants};

/// A window of four rounds of ten seconds in which jobs run at these rounds and are done by then.
fn planned(mut record: Record, jobs: &[(u64, u64, &[u32])]) -> Record {
    let foreseen = |(job, second, rounds): &(u64, u64, &[u32])| Foreseen {
        job: JobId(*job),
        finish: Time(second * 1000),
        turns: Turns::stretches(rounds.iter().copied()),
    };
    let mut prices = PerModel::all(0.0);
    prices.0[0] = 0.5;
    let (rounds, round) = (4, Span::from_secs(10));
    let jobs = jobs.iter().map(foreseen).collect();
    // Sixteen GPU-rounds that add one each on average: one more is worth half of that.
    let ahead = Arc::new(Ahead { rounds, round, gain: 16.0, prices, jobs });
    if let Some(decision) = &mut record.decision {
        (decision.ahead, decision.quality) = (Some(ahead), Quality::Feasible { gap: 0.02 });
    }
    record
}

/// Two tenants; jobs 1 (10 s to 225 s) and 2 (20 s to 155 s) are planned for after 50 s, job 1 again after 200 s.
fn planned_twice() -> Vec<Record> {
    let mut records = two_tenants();
    let plans: [&[(u64, u64, &[u32])]; 2] = [&[(1, 268, &[2, 3]), (2, 155, &[0, 1])], &[(1, 225, &[0])]];
    let decisions: Vec<usize> = (0..records.len()).filter(|at| records[*at].decision.is_some()).collect();
    for (at, jobs) in decisions.into_iter().zip(plans) {
        records[at] = planned(decided(records[at].clone(), 0, 1), jobs);
    }
    records
}

#[test]
fn foreseen_finishes_are_held_against_those_that_came() {
    let run = report(&planned_twice());
    let page = html("ahead", &[(&run, &run.summary(&Costs::default()))]);
    assert!(page.contains("The plan ahead"), "there is a section");
    // Job 1 was thought to take 258 s and took 215 s: off by 20 % of its life; job 2 was foreseen to the second.
    assert!(page.contains("<h3>Off by, on average</h3><b>10.0 %</b>"), "{page}");
    assert!(page.contains("<h3>Off by, 9 of 10 jobs</h3><b>18.0 %</b>"));
    assert!(page.contains("<h3>Windows planned</h3><b>2</b>"));
    assert!(page.contains("<h3>Largest proven gap</h3><b>2.0 %</b>"));
    assert!(page.contains("foreseen 4.3 min, took 3.6 min"));
    assert!(page.contains("job 1, 4 GPUs: rounds 3 to 4; done in 3.6 min"));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn a_run_that_plans_nothing_has_no_such_section() {
    let run = report(&two_tenants());
    assert!(!html("plain", &[(&run, &run.summary(&Costs::default()))]).contains("The plan ahead"));
}

#[test]
fn a_window_of_many_jobs_is_drawn_in_part() {
    let mut records = two_tenants();
    let at = records.iter().position(|record| record.decision.is_some()).unwrap();
    let jobs: Vec<(u64, u64, &[u32])> = (0..100).map(|job| (job, 300, &[0_u32, 2][..])).collect();
    records[at] = planned(records[at].clone(), &jobs);
    let run = report(&records);
    let page = html("many", &[(&run, &run.summary(&Costs::default()))]);
    assert!(page.contains("for 100 jobs") && page.contains("60 more jobs are not drawn"));
    assert!(page.contains("job 39, ") && !page.contains("job 40, "));
}

#[test]
fn a_job_that_waits_is_told_its_turn() {
    let mut why = Explanation::new(JobId(2));
    let mut records = two_tenants();
    let at = records.iter().position(|record| record.decision.is_some()).unwrap();
    records[at] = planned(records[at].clone(), &[(2, 155, &[3])]);
    for record in &records {
        why.take(record);
    }
    let said = why.lines.iter().find(|line| line.text.contains("the plan ahead"));
    let said = said.map(|line| line.text.as_str());
    assert_eq!(said, Some("round 1: the plan ahead has it run 3 rounds from now, and done in 105 s"));
    assert_eq!(records[at].decision.as_ref().map(|decision| decision.round), Some(Round(1)));
}

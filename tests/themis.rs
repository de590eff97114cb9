//! Themis in a five-line world: who is asked, who wins, what it pays, and where it sits.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_core::{
    Auction, Command, Goal, GpuCount, JobId, Parameters, Party, Policy, Ratio, Reason, Record, Span,
};
use evenhand_policies::{POLICIES, find};
use evenhand_tests::Stage;
use std::sync::Arc;

fn themis(set: &[(&str, &str)]) -> Box<dyn Policy> {
    let parameters = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    find(POLICIES, "policy", "themis").unwrap().make(&Parameters(parameters)).unwrap()
}

fn auctions(records: &[Record]) -> Vec<Arc<Auction>> {
    let decisions = records.iter().filter_map(|record| record.decision.as_ref());
    decisions.filter_map(|decision| decision.auction.clone()).collect()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// Two apps and two GPUs. One has a job of 100 s on each of two GPUs, the other one job of 400 s on one; leases of 100 s.
///
/// ```text
/// M = 2, N = 2: a part is one GPU
/// app 0: T_id = 2 jobs x 100 s / 1 GPU = 200      app 1: T_id = 400
/// rho_0(0) = (100 + 200) / 200 = 1.5              rho_1(0) = (100 + 400) / 400 = 1.25
/// rho_0(1) = (100 + 100) / 200 = 1                rho_1(1) = (100 + 300) / 400 = 1
/// rho_0(2) = 100 / 200 = 0.5
/// ```
///
/// Products of 1/rho: (2, 0) gives 2 x 0.8 = 1.6, (1, 1) gives 1 x 1, so app 0 wins both GPUs. Without app 0, app 1 has one GPU
/// and 1/rho = 1 instead of 0.8: app 0 keeps 0.8 of two gangs, one or both by lot.
#[test]
fn an_auction_of_two_is_as_worked_out_by_hand() {
    let stage =
        Stage::new("v100=2", 2).tenant("ann").app().job(0, 1, 100).job(0, 1, 100).app().job(0, 1, 400);
    let (_, records) = stage.play(themis(&[("f", "0"), ("lease", "100s"), ("ends", "apart")]));
    let auction = &auctions(&records)[0];
    let of = |app: u64| {
        let party = Party::App(evenhand_core::AppId(app));
        *auction.bidders.iter().find(|bidder| bidder.party == party).unwrap()
    };
    let (first, second) = (of(0), of(1));
    close(first.before.get(), 1.5);
    close(second.before.get(), 1.25);
    close(first.best.get(), 0.5);
    close(second.best.get(), 1.0);
    assert_eq!((first.won, second.won), (GpuCount(2), GpuCount(0)));
    close(first.kept_fraction, 0.8);
    close(second.kept_fraction, 1.0);
}

#[test]
fn the_worst_off_are_asked_and_what_they_leave_goes_to_others() {
    // Four apps of one job; with f = 0.75 only the worst off is asked, and the other three GPUs are left over.
    let mut stage = Stage::new("v100=4", 4).tenant("ann");
    for _ in 0..4 {
        stage = stage.app().job(60, 1, 1000);
    }
    let (ends, records) = stage.play(themis(&[("f", "0.75")]));
    assert!(ends.values().all(|end| (end - 1060.0).abs() < 1e-9), "{ends:?}");
    let largest = auctions(&records).into_iter().max_by_key(|auction| auction.apps).unwrap();
    assert_eq!(largest.bidders.len(), 1);
    let reasons = records.iter().flat_map(|record| &record.commands).filter_map(|command| match command {
        Command::Start(lease) => Some(lease.reason),
        _ => None,
    });
    let (won, left): (Vec<_>, Vec<_>) = reasons.partition(|reason| *reason == Reason::Won);
    assert!(!won.is_empty() && won.len() + left.len() == 4, "{won:?} {left:?}");
}

/// The paper's example: two apps of a gang of four each on two nodes of four are packed one to a node, not striped.
#[test]
fn gangs_that_suffer_from_distance_are_won_close_together() {
    let sensitive = |spec: &mut evenhand_core::JobSpec| {
        spec.scaling.by_span = Some([1.0, 1.0, 1.3, 1.4].map(|slowdown| Ratio::new(slowdown).unwrap()));
    };
    let stage = Stage::new("p100=8", 4)
        .tenant("ann")
        .job(0, 2, 60)
        .job(0, 2, 60)
        .app()
        .job_with(30, 4, 1000, sensitive)
        .app()
        .job_with(30, 4, 1000, sensitive);
    let (_, records) = stage.play(themis(&[("f", "0")]));
    let nodes = |job: u64| {
        let starts =
            records.iter().flat_map(|record| &record.commands).filter_map(move |command| match command {
                Command::Start(lease) if lease.job == JobId(job) => Some(lease.gpus.seats().len()),
                _ => None,
            });
        starts.collect::<Vec<_>>().pop().unwrap()
    };
    assert_eq!((nodes(2), nodes(3)), (1, 1));
}

#[test]
fn a_lease_is_kept_to_its_end_and_won_again_without_a_restart() {
    // One GPU, two apps: whoever waits becomes worse off, and wins when the lease is over.
    let stage = Stage::new("v100=1", 1).tenant("ann").app().job(0, 1, 1800).app().job(0, 1, 1800);
    let (ends, records) = stage.play(themis(&[("f", "0.5"), ("lease", "10m")]));
    assert_eq!(ends.len(), 2);
    let starts: Vec<_> = records
        .iter()
        .flat_map(|record| &record.commands)
        .filter_map(|command| match command {
            Command::Start(lease) => Some((lease.job.0, lease.starts.seconds())),
            _ => None,
        })
        .collect();
    assert!(starts.len() >= 4, "they take turns: {starts:?}");
    let on_grid = |(_, at): &&(u64, f64)| (at / 600.0).fract().abs() < 1e-9;
    assert!(starts.iter().filter(on_grid).count() >= starts.len() - 1, "nobody is interrupted: {starts:?}");
    // Alone, the last one goes on without a restart.
    let stage = Stage::new("v100=1", 1).tenant("ann").app().job(0, 1, 7200);
    let (_, records) = stage.play(themis(&[]));
    let count = |wanted: fn(&Command) -> bool| {
        records.iter().flat_map(|record| &record.commands).filter(|command| wanted(command)).count()
    };
    assert_eq!(count(|command| matches!(command, Command::Start(_))), 1);
    assert!(count(|command| matches!(command, Command::Renew { .. })) >= 5);
}

#[test]
fn an_app_that_waits_is_told_why() {
    let stage = Stage::new("v100=1", 1).tenant("ann").app().job(0, 1, 600).app().job(0, 1, 600);
    let (_, records) = stage.play(themis(&[("f", "0")]));
    let mut explanation = evenhand_report::Explanation::new(JobId(1));
    for record in &records {
        explanation.take(record);
    }
    let text: Vec<&str> = explanation.lines.iter().map(|line| line.text.as_str()).collect();
    assert!(text.iter().any(|line| line.contains("waits: ")), "{text:?}");
    assert!(text.iter().any(|line| line.contains("its app was offered 1 GPU, bid rho")), "{text:?}");
    assert!(text.iter().any(|line| line.contains("lost to app 0 at rho")), "{text:?}");
    assert!(text.last().unwrap().starts_with("finished"), "{text:?}");
}

/// Whatever is left of its goal, an app that is asked and could run makes a bid, so nothing idles even where nothing is lent.
#[test]
fn an_app_alone_gets_on_even_where_nothing_is_lent() {
    for goal in [Goal::AllJobs, Goal::FirstToTarget] {
        let mut stage = Stage::new("v100=4", 4).tenant("ann").app_with(|app| app.app.goal = goal);
        for length in [600, 900, 1200, 3000, 5000, 8000] {
            stage = stage.job(0, 1, length);
        }
        let (ends, records) = stage.play(themis(&[("spare", "idle")]));
        assert_eq!(ends.len(), 6, "{goal:?}");
        let in_vain =
            |auction: &Arc<Auction>| auction.bidders.iter().any(|bidder| bidder.wanted == GpuCount(0));
        assert!(!auctions(&records).iter().any(in_vain), "{goal:?}: an app was asked in vain");
    }
}

/// What the ended jobs of an app had done counts in full, however rarely decisions are taken.
#[test]
fn the_ratio_of_an_app_does_not_depend_on_the_length_of_rounds() {
    let worst = |round: Span| {
        let mut stage = Stage::new("v100=1", 1).tenant("ann").app();
        for _ in 0..6 {
            stage = stage.job(0, 1, 900);
        }
        stage = stage.app().job(0, 1, 5400);
        stage.engine.round = round;
        let (_, records) = stage.play(themis(&[("f", "0.5"), ("lease", "15m")]));
        let befores = auctions(&records).into_iter().flat_map(|auction| auction.bidders.clone());
        befores.map(|bidder| bidder.before.get()).fold(0.0, f64::max)
    };
    let (often, rarely) = (worst(Span::from_secs(30)), worst(Span::from_minutes(60)));
    assert!((often - rarely).abs() < 0.02, "{often} is not {rarely}");
}

#[test]
fn an_app_whose_tenant_is_at_its_limit_is_not_asked() {
    let limit = evenhand_core::PerModel::all(GpuCount(1));
    let stage = Stage::new("v100=4", 4)
        .tenant("small")
        .limit(limit)
        .app()
        .job(0, 1, 3000)
        .job(0, 1, 3000)
        .tenant("large")
        .app()
        .job(600, 1, 3000)
        .job(600, 1, 3000);
    let (_, records) = stage.play(themis(&[("f", "0.5")]));
    let later = records.iter().filter(|record| record.now.seconds() > 0.0 && record.now.seconds() < 1200.0);
    let asked: Vec<Party> = later
        .filter_map(|record| record.decision.as_ref()?.auction.clone())
        .flat_map(|auction| auction.bidders.iter().map(|bidder| bidder.party).collect::<Vec<_>>())
        .collect();
    assert!(
        !asked.is_empty() && asked.iter().all(|party| *party == Party::App(evenhand_core::AppId(1))),
        "{asked:?}"
    );
}

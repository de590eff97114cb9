//! How often a lie pays in the auction of whole GPUs, and how much; and what winners keep. Figures in
//! `docs/policies/themis.md` come from here: `cargo test -p evenhand-policies lies -- --nocapture`.

use super::rho::{Outlook, Yardstick};
use evenhand_core::{Goal, Random};
use evenhand_fairness::{AppJob, Ideal, ideal_seconds};
use evenhand_solve::{Auction, AuctionEffort, AuctionOutcome, AuctionRow, auction};

/// A bidder: an app of equal jobs of one GPU each, and what it is measured by.
#[derive(Clone)]
struct Bidder {
    yardstick: Yardstick,
    jobs: Vec<AppJob>,
}

impl Bidder {
    /// An app that has been there for a while and has some work left, in a cluster shared by so many.
    fn random(random: &mut Random, gpus: f64, apps: f64, outlook: Outlook) -> Self {
        let demand = 1 + random.below(24) as usize;
        let whole_s = random.log_normal(3600.0_f64.ln(), 0.8);
        let done = random.unit();
        let jobs = vec![AppJob { alone_s: whole_s * (1.0 - done), gang: 1.0 }; demand];
        let whole = vec![AppJob { alone_s: whole_s, gang: 1.0 }; demand];
        let ideal_s = ideal_seconds(Ideal::Share, Goal::AllJobs, &whole, gpus, apps);
        let elapsed_s = random.between(0.2, 3.0) * done * ideal_s;
        let yardstick = Yardstick {
            goal: Goal::AllJobs,
            outlook,
            elapsed_s,
            ideal_s,
            lease_s: 1200.0,
            part: gpus / apps,
        };
        Self { yardstick, jobs }
    }

    /// V with this many GPUs, if its jobs were as it says.
    fn value(&self, gpus: usize, stretch: f64) -> f64 {
        let jobs: Vec<_> =
            self.jobs.iter().map(|job| AppJob { alone_s: job.alone_s * stretch, ..*job }).collect();
        let paces: Vec<f64> = (0..jobs.len()).map(|at| if at < gpus { 1.0 } else { 0.0 }).collect();
        1.0 / self.yardstick.rho(&jobs, &paces).get()
    }

    /// Its table: rows that are better than nothing.
    fn rows(&self, gpus: usize, stretch: f64) -> Vec<(usize, f64)> {
        let nothing = self.value(0, stretch);
        let more = (1..=gpus.min(self.jobs.len())).map(|count| (count, self.value(count, stretch)));
        std::iter::once((0, nothing)).chain(more.filter(|(_, value)| *value > nothing)).collect()
    }
}

struct Held {
    rows: Vec<Vec<(usize, f64)>>,
    outcome: AuctionOutcome,
}

/// One auction, in which bidder 0 says that its jobs are longer or shorter by a factor.
fn hold(bidders: &[Bidder], gpus: u32, stretch: f64) -> Held {
    let says = |at: usize| if at == 0 { stretch } else { 1.0 };
    let rows: Vec<_> =
        bidders.iter().enumerate().map(|(at, bidder)| bidder.rows(gpus as usize, says(at))).collect();
    let table = |rows: &Vec<(usize, f64)>| {
        let row = |(count, value): &(usize, f64)| AuctionRow {
            uses: vec![(0, *count as u32)],
            log_value: value.ln(),
        };
        rows.iter().map(row).collect()
    };
    let bids = Auction { capacity: vec![gpus], bidders: rows.iter().map(table).collect() };
    Held { outcome: auction(&bids, &AuctionEffort::default()).unwrap(), rows }
}

impl Held {
    /// What bidder 0 really gets, on average over the lot that rounds what it keeps.
    fn worth(&self, bidder: &Bidder) -> f64 {
        let won = self.rows[0][self.outcome.chosen[0]].0;
        let kept = self.outcome.kept[0] * won as f64;
        let (least, extra) = (kept.floor(), kept.fract());
        (1.0 - extra) * bidder.value(least as usize, 1.0) + extra * bidder.value(least as usize + 1, 1.0)
    }

    fn kept(&self) -> impl Iterator<Item = f64> + '_ {
        let winners = self.outcome.chosen.iter().zip(&self.outcome.kept).filter(|(chosen, _)| **chosen > 0);
        winners.map(|(_, kept)| *kept)
    }
}

/// The part of lies that pay, the largest gain, and the mean and least fraction kept by winners.
fn measure(outlook: Outlook, tries: u64) -> (f64, f64, f64, f64) {
    let mut random = Random::new(11);
    let (mut paying, mut largest) = (0, 0.0_f64);
    let (mut kept_sum, mut kept_count, mut kept_least) = (0.0, 0.0, 1.0_f64);
    for _ in 0..tries {
        let (count, gpus) = (2 + random.below(11), 4 + random.below(61) as u32);
        let apps = count as f64 * random.between(1.0, 5.0);
        let cluster = f64::from(gpus) * random.between(1.0, 4.0);
        let bidders: Vec<_> =
            (0..count).map(|_| Bidder::random(&mut random, cluster, apps, outlook)).collect();
        let honest = hold(&bidders, gpus, 1.0);
        for kept in honest.kept() {
            kept_sum += kept;
            kept_count += 1.0;
            kept_least = kept_least.min(kept);
        }
        let stretch = random.between(-1.2, 1.2).exp();
        let gain = hold(&bidders, gpus, stretch).worth(&bidders[0]) / honest.worth(&bidders[0]) - 1.0;
        if gain > 1e-9 {
            paying += 1;
            largest = largest.max(gain);
        }
    }
    (f64::from(paying) / tries as f64, largest, kept_sum / kept_count, kept_least)
}

#[test]
#[expect(clippy::print_stdout, reason = "these figures are to be read")]
fn lies_pay_now_and_then_and_winners_keep_most_of_what_they_win() {
    for (outlook, pays_max, kept_min) in [(Outlook::Lease, 0.35, 0.5), (Outlook::Held, 0.35, 0.3)] {
        let (pays, gain, kept, least) = measure(outlook, 4_000);
        println!(
            "{outlook:?}: {:.1} % of lies pay, at most {:.1} %; winners keep {:.1} % on average, {:.1} % at least",
            pays * 100.0,
            gain * 100.0,
            kept * 100.0,
            least * 100.0
        );
        assert!(pays < pays_max && pays > 0.0, "{outlook:?}: {pays} of lies pay");
        assert!(
            kept > kept_min && least > 0.01,
            "{outlook:?}: winners keep {kept} on average, {least} at least"
        );
    }
}

//! Auctions of a run: how many, what became of the GPUs, and the largest of them in full.

use crate::book::Book;
use crate::fact::Fact;
use evenhand_core::{Auction, Decision, GpuCount, Quality, Round, Time};
use std::sync::Arc;

/// Auctions that are kept in full.
const LARGEST: usize = 8;

/// One auction, and when it was held.
#[derive(Clone, Debug)]
pub struct Held {
    /// The decision that it belongs to.
    pub round: Round,
    /// When.
    pub at: Time,
    /// How good the choice of winners is known to be.
    pub quality: Quality,
    /// Who was offered what, bid, won and paid.
    pub auction: Arc<Auction>,
}

/// The auctions of a run.
#[derive(Clone, Debug, Default)]
pub struct Auctions {
    /// How many there were.
    pub count: u64,
    /// Of those, how many had winners that are not known to be the best.
    pub bounded: u64,
    /// The largest proven gap.
    pub gap_worst: f64,
    /// GPUs offered, summed over auctions.
    pub offered: u64,
    /// GPUs won by bidders.
    pub won: u64,
    /// GPUs that they kept.
    pub kept: u64,
    /// GPUs given away afterwards.
    pub given: u64,
    /// Invitations to bid.
    pub asked: u64,
    /// Of those, how many could not use anything that was offered.
    pub without_bid: u64,
    /// Bidders that won something.
    pub winners: u64,
    /// The sum of the fractions that they might keep.
    kept_fractions: f64,
    largest: Vec<Held>,
}

impl Auctions {
    /// Takes a fact in.
    pub fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        if let Fact::Decided(decision) = fact
            && let Some(auction) = &decision.auction
        {
            self.add(book.now, decision, auction);
        }
    }

    fn add(&mut self, at: Time, decision: &Decision, auction: &Arc<Auction>) {
        let gpus = |count: GpuCount| u64::from(count.0);
        self.count += 1;
        self.offered += gpus(auction.offered);
        self.given += auction.gifts.iter().map(|(_, count)| gpus(*count)).sum::<u64>();
        self.asked += auction.bidders.len() as u64;
        let idle = auction.bidders.iter().filter(|bidder| bidder.wanted == GpuCount::ZERO);
        self.without_bid += idle.count() as u64;
        for bidder in auction.bidders.iter().filter(|bidder| bidder.won > GpuCount::ZERO) {
            self.won += gpus(bidder.won);
            self.kept += gpus(bidder.kept);
            self.winners += 1;
            self.kept_fractions += bidder.kept_fraction;
        }
        if let Quality::Feasible { gap } = decision.quality {
            self.bounded += 1;
            self.gap_worst = self.gap_worst.max(gap);
        }
        let (round, quality, auction) = (decision.round, decision.quality, auction.clone());
        self.largest.push(Held { round, at, quality, auction });
        if self.largest.len() > 2 * LARGEST {
            self.cut();
        }
    }

    /// Forgets all but the auctions with the most bidders and GPUs; of equals, the first.
    fn cut(&mut self) {
        let size = |held: &Held| held.auction.bidders.len() as u64 * u64::from(held.auction.offered.0);
        self.largest.sort_by_key(|held| (std::cmp::Reverse(size(held)), held.round));
        self.largest.truncate(LARGEST);
    }

    /// The fraction that winners might keep of what they won, on average.
    pub fn kept_fraction_mean(&self) -> f64 {
        self.kept_fractions / self.winners as f64
    }

    /// The auctions with the most bidders and GPUs, in the order of time.
    pub fn largest(&self) -> Vec<Held> {
        let mut copy = self.clone();
        copy.cut();
        copy.largest.sort_by_key(|held| held.round);
        copy.largest
    }
}

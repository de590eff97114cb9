//! A decision in two halves: GPUs are offered to apps, their bids come in, and the policy decides again.
//!
//! Nobody outside can hold a decision up or break it: a bid that cannot be read, that asks for what was not offered or
//! that does not come in time is refused with its reason, and counts as "nothing new".

use crate::{Engine, Step};
use evenhand_core::{Answer, AppId, BidError, BidTable, Command, Invitation, Note, Offer, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// An auction that is open.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Bidding {
    /// When it closes.
    pub until: Time,
    offer: Offer,
    awaited: BTreeSet<AppId>,
}

impl Bidding {
    /// Takes an answer in; the last one closes the auction.
    fn take<'a>(&mut self, app: AppId, answer: &'a Answer, now: Time) -> Result<&'a BidTable, BidError> {
        if !self.awaited.remove(&app) {
            return Err(BidError::NotAsked);
        }
        if self.awaited.is_empty() {
            self.until = now;
        }
        match answer {
            Answer::Refused(reason) => Err(*reason),
            Answer::Table(table) => self.offer.check(table).map(|()| table),
        }
    }
}

impl Engine {
    /// The offer that is open, and the apps that have not answered it yet.
    pub fn open_offer(&self) -> Option<(&Offer, &BTreeSet<AppId>)> {
        self.state.bidding.as_ref().map(|bidding| (&bidding.offer, &bidding.awaited))
    }

    /// What would be said of an answer that came now. One that nobody waits for changes nothing.
    pub fn judge_bid(&self, app: AppId, answer: &Answer) -> Result<(), BidError> {
        let mut bidding = self.state.bidding.clone().ok_or(BidError::NotAsked)?;
        bidding.take(app, answer, self.state.now).map(|_| ())
    }

    pub(crate) fn ask_for_bids(&mut self, mut invitation: Invitation, step: &mut Step) {
        let until = self.state.now + self.parts.config.bid_time;
        let offer = &mut invitation.offer;
        (offer.round, offer.reply_by) = (self.state.round, until);
        let awaited = invitation.to.iter().copied().collect();
        self.state.bids = Arc::default();
        self.state.bidding = Some(Bidding { until, offer: offer.clone(), awaited });
        step.commands.push(Command::AskForBids(invitation));
        self.bridge(until, step);
    }

    /// Leases that would end meanwhile go on in the world, but stay up for decision.
    fn bridge(&self, until: Time, step: &mut Step) {
        let leases = self.state.leases.iter().filter(|lease| lease.is_lasting() && lease.is_seated());
        for lease in leases.filter(|lease| lease.expires <= until) {
            step.commands.push(Command::Renew { lease: lease.id, expires: until });
        }
    }

    pub(crate) fn bid(&mut self, app: AppId, answer: &Answer, step: &mut Step) {
        let now = self.state.now;
        let answered = self.state.bidding.as_mut().ok_or(BidError::NotAsked);
        let answered = answered.and_then(|bidding| bidding.take(app, answer, now));
        match answered {
            Ok(table) => {
                Arc::make_mut(&mut self.state.bids).insert(app, table.clone());
            }
            Err(reason) => step.notes.push(Note::BidRefused { app, reason }),
        }
    }

    /// Closes the auction, if it is time; says who never answered.
    pub(crate) fn close_bidding(&mut self, step: &mut Step) -> bool {
        let now = self.state.now;
        let Some(bidding) = self.state.bidding.take_if(|bidding| bidding.until <= now) else { return false };
        let silent = bidding.awaited.into_iter();
        step.notes.extend(silent.map(|app| Note::BidRefused { app, reason: BidError::Silent }));
        true
    }
}

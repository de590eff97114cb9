//! A decision in two halves: GPUs are offered to apps, their bids come in, and the policy decides again.
//!
//! A silent app cannot hold anybody up: when the time is over, a missing bid is an empty one.

use crate::{Engine, Step};
use evenhand_core::{AppId, BidError, BidTable, Command, Note, Offer};
use std::sync::Arc;

impl Engine {
    pub(crate) fn ask_for_bids(&mut self, offers: Vec<Offer>, step: &mut Step) {
        let until = self.state.now + self.parts.config.bid_time;
        let asked = offers.iter().map(|offer| offer.app).collect();
        self.state.bids = Arc::default();
        self.state.bidding = Some((until, asked));
        step.commands.push(Command::AskForBids { offers, until });
    }

    pub(crate) fn bid(&mut self, app: AppId, table: &BidTable, step: &mut Step) {
        let Some((until, awaited)) = &mut self.state.bidding else {
            step.notes.push(Note::BidRefused { app, reason: BidError::NotAsked });
            return;
        };
        if !awaited.remove(&app) {
            step.notes.push(Note::BidRefused { app, reason: BidError::NotAsked });
            return;
        }
        Arc::make_mut(&mut self.state.bids).insert(app, table.clone());
        if awaited.is_empty() {
            *until = self.state.now;
        }
    }
}

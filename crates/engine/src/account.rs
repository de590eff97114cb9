//! Keeps the books: what was owed since the last decision, what was received.

use crate::Engine;
use evenhand_core::{LeaseId, ModelIndex, Party, Plan};
use std::sync::Arc;

impl Engine {
    /// Adds what the shares in force amount to since they were last booked, and takes off what was leased.
    ///
    /// Costs nothing under a policy that gives no shares.
    pub(crate) fn settle(&mut self) {
        let Some(plan) = self.state.previous.clone() else { return };
        let Some(shares) = &plan.shares else { return };
        let span = self.state.now.since(self.state.shares_since);
        let balances = Arc::make_mut(&mut self.state.balances);
        for (party, row) in &shares.rows {
            for model in self.state.cluster.model_indices() {
                if row[model] > 0.0 {
                    balances.add(*party, model, row[model] * span.0 as f64);
                }
            }
        }
        self.state.shares_since = self.state.now;
        let seated: Vec<LeaseId> = self.state.leases.iter().map(|lease| lease.id).collect();
        for lease in seated {
            self.book_received(lease);
        }
    }

    /// Takes off what a lease amounts to since it was last booked.
    pub(crate) fn book_received(&mut self, id: LeaseId) {
        let now = self.state.now;
        let Some(lease) = Arc::make_mut(&mut self.state.leases).get_mut(id).filter(|lease| lease.is_seated())
        else {
            return;
        };
        let span = now.since(std::mem::replace(&mut lease.booked, now));
        // What a guest gets is nobody's: it was left over.
        if self.state.guests.contains(&id) {
            return;
        }
        let Some(kind) = kind_of(self.state.previous.as_deref()) else { return };
        let Some(job) = self.state.jobs.by_id(lease.job) else { return };
        let Some(party) = kind.same_kind(job) else { return };
        let seats: Vec<(ModelIndex, u32)> = lease
            .gpus
            .seats()
            .iter()
            .map(|seat| (self.state.cluster.nodes[seat.node.index()].model, seat.gpus.count()))
            .collect();
        let balances = Arc::make_mut(&mut self.state.balances);
        for (model, gpus) in seats {
            balances.add(party, model, -(span.0 as f64 * f64::from(gpus)));
        }
    }

    /// From now on these shares are in force; parties that have none any more are forgotten with their balance.
    pub(crate) fn adopt_shares(&mut self, plan: &Plan) {
        self.state.shares_since = self.state.now;
        let Some(shares) = &plan.shares else {
            if !self.state.balances.is_empty() {
                Arc::make_mut(&mut self.state.balances).retain(|_| false);
            }
            return;
        };
        let mut parties: Vec<Party> = shares.rows.iter().map(|(party, _)| *party).collect();
        parties.sort_unstable();
        Arc::make_mut(&mut self.state.balances).retain(|party| parties.binary_search(&party).is_ok());
    }
}

/// Which kind of party the shares of a plan belong to.
fn kind_of(plan: Option<&Plan>) -> Option<Party> {
    plan?.shares.as_ref()?.rows.first().map(|(party, _)| *party)
}

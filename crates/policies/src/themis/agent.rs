//! The agent of an app that has none of its own: it bids by forecasts and progress, as everybody can see them.

use super::rho::Yardstick;
use super::standing::{Member, Stance, Standing};
use evenhand_core::{
    Agent, BID_ROWS_MAX, BidRow, BidTable, GpuCount, Locality, ModelIndex, Offer, Part, Ratio, RhoQuery,
    RhoReport, Snapshot,
};
use evenhand_fairness::AppJob;
use std::collections::BTreeMap;

/// Speaks for one app from inside the scheduler.
pub(super) struct InsideAgent<'a> {
    pub snapshot: &'a Snapshot,
    pub standing: &'a Standing<'a>,
    pub yardstick: Yardstick,
}

/// How far the gangs of a row may be spread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spread {
    /// Gangs that suffer from distance each in one node.
    Tight,
    /// Wherever there is room.
    Wide,
}

impl Agent for InsideAgent<'_> {
    fn report(&self, query: &RhoQuery) -> RhoReport {
        let (app, held, demand) = (self.standing.party, self.standing.held(), self.standing.demand());
        RhoReport {
            app,
            round: query.round,
            rho: self.rho(&self.standing.paces(self.snapshot)),
            held,
            demand,
        }
    }

    fn bid(&self, offer: &Offer) -> BidTable {
        let kept = self.standing.paces(self.snapshot);
        let nothing = self.rho(&kept);
        let mut rows = vec![BidRow { parts: Vec::new(), rho: nothing }];
        let models = models(offer);
        let each_max = (BID_ROWS_MAX - 1) / models.len().max(1);
        for model in models {
            rows.extend(self.rows(offer, model, &kept, each_max).into_iter().filter(|row| row.rho < nothing));
        }
        BidTable { round: offer.round, rows }
    }
}

impl InsideAgent<'_> {
    fn rho(&self, paces: &[f64]) -> Ratio {
        let left: Vec<AppJob> = self.standing.members.iter().map(|member| member.left).collect();
        self.yardstick.rho(&left, paces)
    }

    /// Rows of one model: the first jobs in line, more and more of them, close together or not.
    fn rows(&self, offer: &Offer, model: ModelIndex, kept: &[f64], rows_max: usize) -> Vec<BidRow> {
        let takers: Vec<usize> = (0..self.standing.members.len())
            .filter(|at| self.standing.members[*at].takes(self.snapshot, model))
            .collect();
        let sensitive = takers.iter().any(|at| self.standing.members[*at].is_sensitive(self.snapshot));
        let spreads: &[Spread] = if sensitive { &[Spread::Tight, Spread::Wide] } else { &[Spread::Wide] };
        let mut rows = Vec::new();
        for spread in spreads {
            for count in counts(takers.len(), rows_max / spreads.len()) {
                let parts = self.parts(model, &takers[..count], *spread);
                if !fits(offer, &parts) {
                    break;
                }
                let mut paces = kept.to_vec();
                for at in &takers[..count] {
                    paces[*at] = self.pace(&self.standing.members[*at], model, *spread);
                }
                rows.push(BidRow { parts, rho: self.rho(&paces) });
            }
        }
        rows
    }

    fn pace(&self, member: &Member<'_>, model: ModelIndex, spread: Spread) -> f64 {
        match member.stance {
            Stance::IsUp(lease) => member.pace_on(self.snapshot, lease),
            _ => member.pace(self.snapshot, model, member.gang(), self.span(member, spread)),
        }
    }

    /// How far a job's gang is spread in a row.
    fn span(&self, member: &Member<'_>, spread: Spread) -> Locality {
        match member.stance {
            Stance::IsUp(lease) => self.snapshot.cluster.span_of(&lease.gpus).max(Locality::Node),
            _ if member.gang() == GpuCount(1) => Locality::Node,
            _ if spread == Spread::Tight && member.is_sensitive(self.snapshot) => Locality::Node,
            _ => Locality::Cluster,
        }
    }

    fn parts(&self, model: ModelIndex, takers: &[usize], spread: Spread) -> Vec<Part> {
        let mut gangs: BTreeMap<(GpuCount, Locality), u32> = BTreeMap::new();
        for at in takers {
            let member = &self.standing.members[*at];
            *gangs.entry((member.gang(), self.span(member, spread))).or_default() += 1;
        }
        gangs.into_iter().map(|((gang, span), gangs)| Part { model, gang, gangs, span }).collect()
    }
}

/// The GPU models of an offer.
fn models(offer: &Offer) -> Vec<ModelIndex> {
    let mut models: Vec<ModelIndex> = offer.nodes.iter().map(|node| node.model).collect();
    models.sort_unstable();
    models.dedup();
    models
}

/// How many jobs the rows are about: every number if there is room for it, else ever larger steps up to all of them.
fn counts(takers: usize, rows_max: usize) -> Vec<usize> {
    if takers <= rows_max {
        return (1..=takers).collect();
    }
    let last = (rows_max - 1).max(1) as f64;
    let step = |row: usize| (takers as f64).powf(row as f64 / last).round() as usize;
    let mut counts: Vec<usize> = (0..rows_max).map(step).collect();
    counts.dedup();
    counts
}

/// Whether a bid may be about this: see [`Offer::check`].
fn fits(offer: &Offer, parts: &[Part]) -> bool {
    let rho = Ratio::ONE;
    let rows = vec![BidRow { parts: Vec::new(), rho }, BidRow { parts: parts.to_vec(), rho }];
    offer.check(&BidTable { round: offer.round, rows }).is_ok()
}

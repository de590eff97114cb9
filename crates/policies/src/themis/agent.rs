//! The agent of an app that has none of its own: it bids by forecasts and progress, as everybody can see them.

use super::rho::Yardstick;
use super::shelf::{Shelf, Taken};
use super::standing::{Member, Stance, Standing};
use evenhand_core::{
    Agent, BID_ROWS_MAX, BidRow, BidTable, GpuCount, Locality, ModelIndex, Offer, Part, PerModel, Ratio,
    RhoQuery, RhoReport, Snapshot,
};
use evenhand_fairness::AppJob;
use std::collections::BTreeMap;

/// What a row is worth at most that does work and brings the app no nearer to its goal: all of its work done is worth this
/// part of its ratio. Nobody who gains anything is outbid by it, and nobody waits while GPUs idle.
const TRIFLE: f64 = 1e-6;

/// Speaks for one app from inside the scheduler.
pub(super) struct InsideAgent<'a> {
    pub snapshot: &'a Snapshot,
    pub standing: &'a Standing<'a>,
    pub yardstick: Yardstick,
    /// The most GPUs of each model that its tenant may still take.
    pub headroom: PerModel<GpuCount>,
}

/// How far the gangs of a row may be spread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spread {
    /// Gangs that suffer from distance each in one node, if one is large enough.
    Tight,
    /// Wherever there is room.
    Wide,
}

/// A job and the gang that it would get in a row.
#[derive(Clone, Copy)]
struct Taker {
    /// Its place among the members.
    at: usize,
    part: Part,
    pace: f64,
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
        let shelf = Shelf::new(offer, self.standing.members.iter().map(Member::gang));
        let models = shelf.models();
        let each_max = (BID_ROWS_MAX - 1) / models.len().max(1);
        for model in models {
            rows.extend(self.rows(&shelf, model, (&kept, nothing), each_max));
        }
        rows.retain({
            let mut first = true;
            move |row| std::mem::take(&mut first) || row.rho < nothing
        });
        BidTable { round: offer.round, rows }
    }
}

impl InsideAgent<'_> {
    fn rho(&self, paces: &[f64]) -> Ratio {
        let left: Vec<AppJob> = self.standing.members.iter().map(|member| member.left).collect();
        self.yardstick.rho(&left, paces)
    }

    /// Rows of one model: leases to be won again wherever they are, then the first jobs in line on this model, more and
    /// more of them, close together or not.
    fn rows(
        &self,
        shelf: &Shelf,
        model: ModelIndex,
        (kept, nothing): (&[f64], Ratio),
        rows_max: usize,
    ) -> Vec<BidRow> {
        let sensitive = self.standing.members.iter().any(|member| member.is_sensitive(self.snapshot));
        let spreads: &[Spread] = if sensitive { &[Spread::Tight, Spread::Wide] } else { &[Spread::Wide] };
        let mut rows = Vec::new();
        for spread in spreads {
            let takers = self.takers(shelf, model, *spread);
            for count in counts(takers.len(), rows_max / spreads.len()) {
                let mut paces = kept.to_vec();
                for taker in &takers[..count] {
                    paces[taker.at] = taker.pace;
                }
                let rho = self.at_least_a_trifle(self.rho(&paces), nothing, &paces);
                rows.push(BidRow { parts: parts(&takers[..count]), rho });
            }
        }
        rows
    }

    /// The jobs in line that fit together, with the gangs that they would get; whoever does not fit is passed over.
    fn takers(&self, shelf: &Shelf, model: ModelIndex, spread: Spread) -> Vec<Taker> {
        let mut taken = Taken::default();
        let mut left = self.headroom;
        let mut takers = Vec::new();
        for (at, member) in self.standing.members.iter().enumerate() {
            let Some(taker) = self.taker(shelf, at, member, (model, spread)) else { continue };
            let part = taker.part;
            if part.gang <= left[part.model] && shelf.take(&mut taken, &part) {
                left[part.model] = left[part.model].less(part.gang);
                takers.push(taker);
            }
        }
        takers
    }

    fn taker(
        &self,
        shelf: &Shelf,
        at: usize,
        member: &Member<'_>,
        (model, spread): (ModelIndex, Spread),
    ) -> Option<Taker> {
        let snapshot = self.snapshot;
        let gang = member.gang();
        let (model, span, pace) = match member.stance {
            Stance::IsUp(lease) => {
                let span = snapshot.cluster.span_of(&lease.gpus).max(Locality::Node);
                (snapshot.model_of(lease)?, span, member.pace_on(snapshot, lease))
            }
            _ if !member.takes(snapshot, model) => return None,
            _ => {
                let tight =
                    spread == Spread::Tight && member.is_sensitive(snapshot) && shelf.seats(model, gang);
                let span = if tight || gang == GpuCount(1) { Locality::Node } else { Locality::Cluster };
                (model, span, member.pace(snapshot, model, gang, span))
            }
        };
        Some(Taker { at, part: Part { model, gang, gangs: 1, span }, pace })
    }

    /// Work that does not bring the goal nearer is worth a trifle still.
    fn at_least_a_trifle(&self, rho: Ratio, nothing: Ratio, paces: &[f64]) -> Ratio {
        let members = self.standing.members.iter().map(|member| member.left);
        let (mut whole, mut done) = (0.0, 0.0);
        for (left, pace) in members.zip(paces) {
            whole += left.alone_s * left.gang;
            done += left.alone_s.min(pace * self.yardstick.lease_s) * left.gang;
        }
        let part = if whole > 0.0 { done / whole } else { 0.0 };
        let trifle = nothing.get() * (1.0 - TRIFLE * part);
        Ratio::new(rho.get().min(trifle)).unwrap_or(rho)
    }
}

/// Gangs of the same kind together.
fn parts(takers: &[Taker]) -> Vec<Part> {
    let mut gangs: BTreeMap<Part, u32> = BTreeMap::new();
    for taker in takers {
        *gangs.entry(taker.part).or_default() += 1;
    }
    gangs.into_iter().map(|(part, gangs)| Part { gangs, ..part }).collect()
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

//! One auction: offer, bids, winners, payments, left-overs.

use super::agent::InsideAgent;
use super::lots::auction_of;
use super::rho::bounded;
use super::standing::{Member, Stance};
use super::{Hearing, Seating};
use evenhand_core::{
    AGENT_VERSION, Agent, AgentSeat, AppId, Auction, BidRow, BidTable, Bidder, GpuCount, Grant, Invitation,
    JobId, Locality, ModelIndex, Occasion, Offer, OfferedNode, Party, PerModel, Plan, PolicyError, Quality,
    Random, Ratio, Reason,
};
use evenhand_solve::{AuctionEffort, AuctionOutcome, auction};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One auction, among the apps that are asked.
pub(super) struct Market<'h, 'a> {
    pub hearing: &'h Hearing<'a>,
    /// The worst off, the worst first.
    pub asked: &'h [usize],
    /// The others that could use GPUs.
    pub others: &'h [usize],
    pub lend: bool,
}

/// A gang that was won.
#[derive(Clone, Copy)]
struct Gang {
    model: ModelIndex,
    gpus: GpuCount,
    span: Locality,
}

impl<'a> Market<'_, 'a> {
    /// Holds it, if there is anything to be had and anybody to want it.
    pub fn hold(&self, mut seating: Seating<'a>) -> Result<Plan, PolicyError> {
        let offer = self.offer(&seating);
        if offer.nodes.is_empty() || self.asked.is_empty() {
            return Ok(self.hearing.close(seating, |_| None));
        }
        let bids: Vec<BidTable> = self.asked.iter().map(|at| self.bid(*at, &offer, &seating)).collect();
        let broken = |_| PolicyError::Numerical { step: "the auction".into() };
        let outcome = auction(&auction_of(&offer, &bids), &AuctionEffort::default()).map_err(broken)?;
        let kept = self.settle(&bids, &outcome);
        self.seat(&mut seating, &kept);
        let gifts = self.give_away(&mut seating);
        let place: BTreeMap<usize, usize> =
            self.asked.iter().enumerate().map(|(place, at)| (*at, place)).collect();
        let mut plan = self.hearing.close(seating, |at| {
            Some(match place.get(&at) {
                None => Reason::NotAsked,
                Some(place) if outcome.chosen[*place] > 0 => Reason::OthersFirst,
                Some(place) if bids[*place].rows.len() < 2 => Reason::NoBid,
                Some(_) => Reason::Outbid,
            })
        });
        plan.auction = Some(Arc::new(self.record(&offer, &bids, &outcome, &plan, gifts)));
        plan.quality =
            if outcome.is_exact() { Quality::Optimal } else { Quality::Feasible { gap: outcome.gap() } };
        plan.invitation = self.invitation(offer);
        Ok(plan)
    }

    fn offer(&self, seating: &Seating<'_>) -> Offer {
        let snapshot = self.hearing.snapshot;
        let open = |node: &evenhand_core::Node| OfferedNode {
            node: node.id,
            rack: node.rack,
            model: node.model,
            gpus: GpuCount(seating.free().on(node.id).count()),
        };
        let nodes =
            snapshot.cluster.nodes.iter().map(open).filter(|node| node.gpus > GpuCount::ZERO).collect();
        let lease = self.hearing.term;
        Offer { version: AGENT_VERSION, round: snapshot.round, lease, reply_by: snapshot.now, nodes }
    }

    /// Asks those whose agents live outside, unless they have been asked.
    fn invitation(&self, offer: Offer) -> Option<Invitation> {
        let to: Vec<AppId> = self.asked.iter().filter_map(|at| self.outside(*at)).collect();
        (self.hearing.snapshot.occasion != Occasion::Bids && !to.is_empty())
            .then_some(Invitation { to, offer })
    }

    fn outside(&self, at: usize) -> Option<AppId> {
        let standing = &self.hearing.standings[at];
        match standing.party {
            Party::App(app) if standing.agent == AgentSeat::Outside => Some(app),
            _ => None,
        }
    }

    fn agent(&self, at: usize, seating: &Seating<'_>) -> InsideAgent<'_> {
        let (snapshot, standing) = (self.hearing.snapshot, &self.hearing.standings[at]);
        let mut headroom = PerModel::all(GpuCount::ZERO);
        if let Some(member) = standing.members.first() {
            for model in snapshot.cluster.model_indices() {
                headroom[model] = seating.headroom(member.job, model);
            }
        }
        InsideAgent { snapshot, standing, yardstick: self.hearing.yardsticks[at], headroom }
    }

    /// The bid of an app: its own, if its agent lives outside and was asked, else that of the agent in here.
    fn bid(&self, at: usize, offer: &Offer, seating: &Seating<'_>) -> BidTable {
        let own = self.agent(at, seating).bid(offer);
        let snapshot = self.hearing.snapshot;
        match self.outside(at) {
            Some(app) if snapshot.occasion == Occasion::Bids => {
                let nothing = own.rows[0].clone();
                let told = snapshot.bids.get(&app).cloned();
                told.map_or_else(
                    || BidTable { round: offer.round, rows: vec![nothing.clone()] },
                    |told| rescaled(told, nothing.rho),
                )
            }
            _ => own,
        }
    }

    /// The gangs that each winner keeps: each with the probability kappa, and as evenly as may be, so that of k gangs the
    /// whole part of kappa k are kept for sure.
    fn settle(&self, bids: &[BidTable], outcome: &AuctionOutcome) -> Vec<Vec<Gang>> {
        let mut lots = self.lots("payments");
        let rows = bids.iter().zip(&outcome.chosen).map(|(table, row)| &table.rows[*row]);
        rows.zip(&outcome.kept)
            .map(|(row, kept)| {
                let offset = lots.unit();
                let passed = |count: usize| (kept * count as f64 + offset + 1e-12).floor();
                let keeps = |(at, gang)| (passed(at + 1) > passed(at)).then_some(gang);
                gangs(row).into_iter().enumerate().filter_map(keeps).collect()
            })
            .collect()
    }

    /// Chance for one purpose at one decision.
    fn lots(&self, purpose: &str) -> Random {
        let snapshot = self.hearing.snapshot;
        Random::stream(snapshot.seed, &format!("themis {purpose} {}", snapshot.round.0))
    }

    /// Seats what was won: leases that go on first, then the largest gangs, then the worst off.
    fn seat(&self, seating: &mut Seating<'a>, kept: &[Vec<Gang>]) {
        let mut seats: Vec<(usize, Gang, Member<'a>)> = Vec::new();
        for (place, gangs) in kept.iter().enumerate() {
            let members = &self.hearing.standings[self.asked[place]].members;
            let mut open: Vec<_> =
                members.iter().filter(|member| !matches!(member.stance, Stance::Runs(_))).collect();
            for gang in gangs {
                let fits = |member: &&&Member<'a>| {
                    member.gang() == gang.gpus && member.takes(self.hearing.snapshot, gang.model)
                };
                if let Some(at) = open.iter().position(|member| fits(&member)) {
                    seats.push((place, *gang, *open.remove(at)));
                }
            }
        }
        seats.sort_by_key(|(place, gang, member)| {
            let continues = matches!(member.stance, Stance::IsUp(_));
            (std::cmp::Reverse((continues, gang.gpus)), *place)
        });
        for (_, gang, member) in seats {
            // What was won close together and does not fit so after all is better had than not.
            let spans = [gang.span, Locality::Cluster];
            let _given = spans.into_iter().any(|span| seating.give(&member, gang.model, span, Reason::Won));
        }
    }

    /// Gives what is left to apps that were not asked, a gang at a time in random order, then lends the rest to bidders.
    fn give_away(&self, seating: &mut Seating<'a>) -> Vec<(Party, GpuCount)> {
        let mut order = self.others.to_vec();
        self.lots("left-overs").shuffle(&mut order);
        let mut gifts = self.deal(seating, &order);
        if self.lend {
            gifts.extend(self.deal(seating, self.asked));
        }
        gifts
    }

    /// A gang each, again and again, as long as somebody can use what there is.
    fn deal(&self, seating: &mut Seating<'a>, order: &[usize]) -> Vec<(Party, GpuCount)> {
        let mut gifts = vec![GpuCount::ZERO; order.len()];
        let mut lines: Vec<Vec<Member<'a>>> = order
            .iter()
            .map(|at| {
                let named = |member: &&Member<'a>| !seating.granted.contains(&member.job.spec.id);
                self.hearing.standings[*at].members.iter().filter(named).rev().copied().collect()
            })
            .collect();
        while lines.iter().any(|line| !line.is_empty()) {
            for (line, gift) in lines.iter_mut().zip(&mut gifts) {
                while let Some(member) = line.pop() {
                    if seating.give_best(&member) {
                        *gift += member.gang();
                        break;
                    }
                }
            }
        }
        let parties = order.iter().map(|at| self.hearing.standings[*at].party);
        parties.zip(gifts).filter(|(_, gpus)| *gpus > GpuCount::ZERO).collect()
    }

    fn record(
        &self,
        offer: &Offer,
        bids: &[BidTable],
        outcome: &AuctionOutcome,
        plan: &Plan,
        gifts: Vec<(Party, GpuCount)>,
    ) -> Auction {
        let granted: BTreeMap<JobId, &Grant> = plan.grants.iter().map(|grant| (grant.job, grant)).collect();
        let bidders = (0..bids.len()).map(|place| {
            let at = self.asked[place];
            let (rows, chosen) = (&bids[place].rows, outcome.chosen[place]);
            let members = self.hearing.standings[at].members.iter();
            let grants = members.filter_map(|member| granted.get(&member.job.spec.id));
            Bidder {
                party: self.hearing.standings[at].party,
                before: rows[0].rho,
                best: rows.iter().map(|row| row.rho).fold(rows[0].rho, |a, b| if b < a { b } else { a }),
                wanted: rows.iter().map(BidRow::gpus).max().unwrap_or_default(),
                won: rows[chosen].gpus(),
                kept_fraction: outcome.kept[place],
                kept: grants.filter(|grant| grant.reason == Reason::Won).map(|grant| grant.gpus).sum(),
                after: self.after(at, &granted),
            }
        });
        let apps = (self.asked.len() + self.others.len()) as u32;
        Auction { offered: offer.gpus(), apps, bidders: bidders.collect(), gifts }
    }

    /// The ratio of an app with all that the plan gives it, gifts included.
    fn after(&self, at: usize, granted: &BTreeMap<JobId, &Grant>) -> Ratio {
        let snapshot = self.hearing.snapshot;
        let standing = &self.hearing.standings[at];
        let mut paces = standing.paces(snapshot);
        for (pace, member) in paces.iter_mut().zip(&standing.members) {
            let grant = granted.get(&member.job.spec.id).copied();
            *pace = match (member.stance, grant.map(|grant| &grant.site)) {
                (Stance::IsUp(lease), Some(_)) => member.pace_on(snapshot, lease),
                (Stance::Waits, Some(evenhand_core::Site::Exactly(gpus))) => {
                    let span = snapshot.cluster.span_of(gpus);
                    let model = snapshot.cluster.models_of(gpus).first().copied();
                    model.map_or(0.0, |model| member.pace(snapshot, model, gpus.count(), span))
                }
                _ => *pace,
            };
        }
        let left: Vec<_> = standing.members.iter().map(|member| member.left).collect();
        self.hearing.yardsticks[at].rho(&left, &paces)
    }
}

/// A table from outside, on the scale of the ratio that is known here: what an app says of its own standing is not believed.
/// Ratios of a size that no arithmetic survives are cut to the largest and the least that anybody may have.
fn rescaled(mut table: BidTable, nothing: Ratio) -> BidTable {
    let told = table.rows.first().map_or(1.0, |row| row.rho.get());
    for row in &mut table.rows {
        row.rho = bounded(row.rho.get() / told * nothing.get());
    }
    table
}

/// The gangs of a row, those that sit in one node first, the largest of them before the others.
fn gangs(row: &BidRow) -> Vec<Gang> {
    let mut parts = row.parts.clone();
    parts.sort_by_key(|part| (part.span, std::cmp::Reverse(part.gang)));
    let each = |part: evenhand_core::Part| {
        std::iter::repeat_n(Gang { model: part.model, gpus: part.gang, span: part.span }, part.gangs as usize)
    };
    parts.into_iter().flat_map(each).collect()
}

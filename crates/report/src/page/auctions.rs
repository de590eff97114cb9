//! Auctions: who was offered what, who bid, won and paid, and what it did for them.

use super::parts::{Field, card, table};
use super::text::{amount, count, duration, escape, percent};
use crate::auctions::Held;
use crate::{Report, party_name};
use evenhand_core::{Bidder, GpuCount, Quality};

/// Bidders that have a row; the rest are counted.
const ROWS_MAX: usize = 12;

/// The auctions of a run; nothing if there were none.
pub fn auctions(report: &Report) -> String {
    let auctions = &report.auctions;
    if auctions.count == 0 {
        return String::new();
    }
    let proof = if auctions.bounded == 0 {
        "In all of them nobody could have chosen better winners.".to_owned()
    } else {
        let (bounded, gap) = (count(auctions.bounded), percent(auctions.gap_worst));
        format!("In {bounded} of them better winners may exist: by the mean valuation, {gap} better at most.")
    };
    let cards = [
        card("Auctions", &count(auctions.count), &proof),
        card(
            "GPUs won",
            &percent(auctions.won as f64 / auctions.offered as f64),
            "Of the GPUs offered, those that bidders won. The others nobody who was asked gained by.",
        ),
        card(
            "Kept of what was won",
            &percent(auctions.kept_fraction_mean()),
            "What a winner may keep on average. The rest is its payment: what its presence costs the other bidders. Whole gangs are kept \
             or not by lot.",
        ),
        card(
            "Left over",
            &percent(auctions.given as f64 / auctions.offered as f64),
            "Of the GPUs offered, those that went to apps that were not asked, or were lent to bidders.",
        ),
        card(
            "Asked in vain",
            &percent(auctions.without_bid as f64 / auctions.asked as f64),
            "Of the invitations, those to apps that could not use what was offered, such as a gang that did not fit.",
        ),
    ];
    let largest = auctions.largest();
    let contested = largest.iter().map(|held| held.auction.bidders.len()).max();
    let first = largest.iter().position(|held| Some(held.auction.bidders.len()) == contested);
    let largest: String = largest.iter().enumerate().map(|(at, held)| one(held, Some(at) == first)).collect();
    format!(
        r#"<h2>The auctions</h2><div class="cards">{}</div><p class="soft">The largest of them. The ratio is finish-time fairness as each app foresees it: 1 is as good as a private part of the cluster, more is worse.</p>{largest}"#,
        cards.concat(),
    )
}

fn one(held: &Held, open: bool) -> String {
    let open = if open { " open" } else { "" };
    let auction = &held.auction;
    let shown = auction.bidders.iter().take(ROWS_MAX);
    let rows: Vec<Vec<Field>> = shown.map(row).collect();
    let head = ["bidder", "ratio before", "best bid", "GPUs wanted", "won", "paid", "kept", "ratio after"];
    let hidden = auction.bidders.len().saturating_sub(ROWS_MAX);
    let more = if hidden > 0 { format!(" {} more bidders.", count(hidden as u64)) } else { String::new() };
    let gifts: Vec<String> = auction
        .gifts
        .iter()
        .take(ROWS_MAX)
        .map(|(party, gpus)| format!("{} ({})", party_name(*party), gpus.0))
        .collect();
    let gifts = if gifts.is_empty() { "nobody".to_owned() } else { gifts.join(", ") };
    let gap = match held.quality {
        Quality::Feasible { gap } => format!(", winners proven to within {}", percent(gap)),
        _ => String::new(),
    };
    format!(
        r#"<details{open}><summary>Round {}, after {}: {} GPUs offered to {} of {} apps{gap}</summary>{}<p class="soft">{}Left over, in GPUs: {}.</p></details>"#,
        held.round.0,
        escape(&duration(held.at.seconds())),
        auction.offered.0,
        auction.bidders.len(),
        auction.apps,
        table("", &head, &rows),
        escape(&more),
        escape(&gifts),
    )
}

fn row(bidder: &Bidder) -> Vec<Field> {
    let won = bidder.won > GpuCount::ZERO;
    let paid = if won { percent(1.0 - bidder.kept_fraction) } else { percent(f64::NAN) };
    let texts = [
        party_name(bidder.party),
        amount(bidder.before.get()),
        amount(bidder.best.get()),
        count(u64::from(bidder.wanted.0)),
        count(u64::from(bidder.won.0)),
        paid,
        count(u64::from(bidder.kept.0)),
        amount(bidder.after.get()),
    ];
    texts.map(Field::new).into()
}

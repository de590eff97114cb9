//! Random bids for auctions: finish-time fairness of apps that have run for a while, and gain less from every further GPU.

use evenhand_core::Random;
use evenhand_solve::{Auction, AuctionRow, nested_capacities, nested_units};

/// GPUs on a node.
const NODE: u32 = 8;
/// Gang sizes; each divides the next.
const SIZES: [u32; 4] = [1, 2, 4, 8];
/// Rows that an app bids at most, besides the one for nothing.
const ROWS: u32 = 63;

/// What gangs may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Gangs {
    /// They may be split over nodes, so that only the GPUs count.
    Split,
    /// They sit inside one node, and every app has gangs of one size.
    OneSize,
    /// They sit inside one node, and an app has gangs of any size.
    Mixed,
}

/// An auction of so many GPUs for so many apps. Nodes are partly taken, else every gang would fit wherever its GPUs do.
pub fn bids(gpus: u32, apps: usize, gangs: Gangs, random: &mut Random) -> Auction {
    let sizes: &[u32] = if gangs == Gangs::Split { &SIZES[..1] } else { &SIZES };
    let (mut free, mut missing) = (Vec::new(), gpus);
    while missing > 0 {
        free.push(missing.min(1 + random.below(NODE.into()) as u32));
        missing -= free[free.len() - 1];
    }
    let bidders = (0..apps).map(|_| bid(gpus, gangs, sizes, random)).collect();
    Auction { capacity: nested_capacities(&free, sizes), bidders }
}

/// One gang more in every row. rho = (elapsed + left) / alone, where what is left takes 1 / S(GPUs) of the time on one GPU with
/// S(g) = g^alpha; the row for nothing pretends a quarter of a GPU, since never finishing has no logarithm.
fn bid(gpus: u32, gangs: Gangs, sizes: &[u32], random: &mut Random) -> Vec<AuctionRow> {
    let (elapsed, work) = (random.between(0.0, 2.0), random.between(0.5, 20.0));
    let alpha = random.between(0.5, 0.95);
    let log_value = |held: f64| -(elapsed + work / held.powf(alpha)).ln();
    let own = SIZES[random.below(SIZES.len() as u64) as usize];
    let mut rows = vec![AuctionRow::nothing(log_value(0.25))];
    let (mut held, mut uses) = (0, vec![0; sizes.len()]);
    for _ in 0..ROWS {
        let any = SIZES[random.below(SIZES.len() as u64) as usize];
        let gang = if gangs == Gangs::Mixed { any } else { own };
        held += gang;
        if held > gpus {
            break;
        }
        uses.iter_mut().zip(nested_units(gang, sizes)).for_each(|(uses, units)| *uses += units);
        let row = uses.iter().copied().enumerate().collect();
        rows.push(AuctionRow { uses: row, log_value: log_value(f64::from(held)) });
    }
    rows
}

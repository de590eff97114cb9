//! What is auctioned, who bids what, and what comes of it.

/// Differences of larger logarithms would leave no digits to compare with.
const LOG_VALUE_MAX: f64 = 1e6;

/// Whole units of a few capacities, and what every bidder would make of some of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Auction {
    /// Units of each capacity.
    pub capacity: Vec<u32>,
    /// The rows of each bidder; the first is for nothing.
    pub bidders: Vec<Vec<AuctionRow>>,
}

/// One row of a bid: units, and what they are worth together.
#[derive(Clone, Debug, PartialEq)]
pub struct AuctionRow {
    /// The place of a capacity and the units of it; what is not named is not used, what is named twice is summed.
    pub uses: Vec<(usize, u32)>,
    /// The logarithm of the valuation, such as ln(1 / rho). A constant added to all rows of a bidder changes nothing.
    pub log_value: f64,
}

impl AuctionRow {
    /// A row for nothing.
    pub fn nothing(log_value: f64) -> Self {
        Self { uses: Vec::new(), log_value }
    }
}

/// Why an auction cannot be held.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AuctionError {
    /// A bid without rows: not even nothing has a value.
    #[error("bidder {} has no rows, but its first row must say what nothing is worth to it", bidder + 1)]
    NoRows {
        /// Its place.
        bidder: usize,
    },
    /// A first row that is not for nothing.
    #[error("the first row of bidder {} uses something, but it must say what nothing is worth to it", bidder + 1)]
    NotNothing {
        /// Its place.
        bidder: usize,
    },
    /// A value that is no number, or no logarithm that could be meant.
    #[error("row {} of bidder {} has the logarithmic value {value}, but -1e6 to 1e6 is allowed", row + 1, bidder + 1)]
    Value {
        /// Its place.
        bidder: usize,
        /// Which of its rows.
        row: usize,
        /// As given.
        value: f64,
    },
    /// A capacity that there is not.
    #[error("row {} of bidder {} uses capacity {}, but there are {count}", row + 1, bidder + 1, capacity + 1)]
    Capacity {
        /// Its place.
        bidder: usize,
        /// Which of its rows.
        row: usize,
        /// As given.
        capacity: usize,
        /// How many there are.
        count: usize,
    },
}

impl Auction {
    /// Whether this is an auction at all.
    pub(super) fn check(&self) -> Result<(), AuctionError> {
        let count = self.capacity.len();
        for (bidder, rows) in self.bidders.iter().enumerate() {
            let first = rows.first().ok_or(AuctionError::NoRows { bidder })?;
            if first.uses.iter().any(|(_, units)| *units > 0) {
                return Err(AuctionError::NotNothing { bidder });
            }
            for (row, bid) in rows.iter().enumerate() {
                if bid.log_value.is_nan() || bid.log_value.abs() > LOG_VALUE_MAX {
                    return Err(AuctionError::Value { bidder, row, value: bid.log_value });
                }
                if let Some((capacity, _)) = bid.uses.iter().find(|(capacity, _)| *capacity >= count) {
                    return Err(AuctionError::Capacity { bidder, row, capacity: *capacity, count });
                }
            }
        }
        Ok(())
    }
}

/// Who wins what, and what it may keep of that.
#[derive(Clone, Debug, PartialEq)]
pub struct AuctionOutcome {
    /// The row that each bidder wins.
    pub chosen: Vec<usize>,
    /// The sum of the logarithmic values of these rows.
    pub value: f64,
    /// No choice of rows is worth more than this.
    pub bound: f64,
    /// kappa: the fraction of its row that each bidder may keep; 1 for those that won nothing.
    pub kept: Vec<f64>,
    /// What `kept` would be at least if every problem without a bidder were solved to its bound; the same as `kept` where
    /// they were.
    pub kept_least: Vec<f64>,
}

impl AuctionOutcome {
    /// The relative gap on the geometric mean of the valuations: no choice of rows has one larger by more than this.
    pub fn gap(&self) -> f64 {
        let bidders = self.chosen.len().max(1) as f64;
        ((self.bound - self.value).max(0.0) / bidders).exp_m1()
    }

    /// Whether no choice of rows is better.
    pub fn is_exact(&self) -> bool {
        self.bound - self.value <= super::EXACT
    }
}

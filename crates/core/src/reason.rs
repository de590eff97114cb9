//! Why a job was granted GPUs, or was not.

use serde::{Deserialize, Serialize};

/// Why a job was granted GPUs, or was not. Codes are stable; sentences may improve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It came first.
    FirstCome,
    /// It fits beside a larger job that waits.
    Backfilled,
    /// Its remaining time is the shortest.
    ShortestRemaining,
    /// Its remaining GPU-time is the smallest.
    SmallestRemaining,
    /// It has received the least GPU-time.
    LeastAttained,
    /// Its party is owed the most.
    MostOwed,
    /// Its queue comes before those of the others.
    EarlierQueue,
    /// It is the likeliest to finish soon, by the jobs that finished before.
    HighestIndex,
    /// The dominant share of its tenant is the smallest.
    SmallestShare,
    /// It comes first on its GPUs in the best assignment of waiting jobs to GPUs.
    Matched,
    /// It is its turn on the GPUs.
    Turn,
    /// It runs well beside the job that is on the GPU.
    Packed,
    /// It is believed to ask least of a GPU.
    LeastUse,
    /// GPUs do it the most good.
    LargestGain,
    /// It is to be found out how fast it is on such GPUs.
    Probe,
    /// The plan ahead has it run now.
    Planned,
    /// Its app won them in the auction.
    Won,
    /// Its app holds a lease that is not over.
    LeaseRuns,
    /// Nobody with a better claim can use the GPUs.
    LeftOver,
    /// Its promise leaves it no time to wait.
    LeastSlack,
    /// The last of the work would be done later if it waited.
    BeforeHorizon,
    /// It was started again only just now, and to stop it would waste that.
    Settling,
    /// Another engine decided so.
    Outside,
    /// Its promise is due before those of the others.
    EarliestPromise,
    /// The last valid plan stands.
    CarriedOver,
    /// The best assignment of waiting jobs to GPUs starts it later.
    MatchedLater,
    /// Its app bid in the auction, and others won.
    Outbid,
    /// Its app could not use what was offered.
    NoBid,
    /// Its app won GPUs, and other jobs of it have them.
    OthersFirst,
    /// Apps that are worse off were asked first.
    NotAsked,
    /// Its party has received all that it is owed, and the policy lends nothing.
    NoClaim,
    /// Jobs that are shorter or closer to being late have the GPUs, and its promise can wait.
    HasTime,
    /// Jobs that would be later still have the GPUs; its promise is in danger.
    AtRisk,
    /// Not enough free GPUs.
    NoRoom,
    /// Enough free GPUs, but not within the spread allowed.
    Fragmented,
    /// An earlier job does not fit, and nobody may overtake it.
    BehindLarger,
    /// Its tenant has reached a limit.
    OverLimit,
    /// No GPU model in the cluster will do.
    NoModel,
    /// It would break the contract of a job on the same GPU, or its memory does not fit.
    Crowded,
}

impl Reason {
    /// The sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::FirstCome => "it came first",
            Self::Backfilled => "it fits beside a larger job that waits",
            Self::ShortestRemaining => "its remaining time is the shortest",
            Self::SmallestRemaining => "its remaining GPU-time is the smallest",
            Self::LeastAttained => "it has received the least GPU-time",
            Self::MostOwed => "it is owed the most",
            Self::EarlierQueue => "its queue comes first",
            Self::HighestIndex => "it is the likeliest to finish soon",
            Self::SmallestShare => "its tenant's dominant share is the smallest",
            Self::Matched => "it comes first on its GPUs in the best assignment",
            Self::Turn => "it is its turn",
            Self::Packed => "it runs well beside the job already on the GPU",
            Self::LeastUse => "it is believed to ask least of a GPU",
            Self::LargestGain => "GPUs do it the most good",
            Self::Probe => "it is to be found out how fast it is there",
            Self::Planned => "the plan ahead has it run now",
            Self::Won => "its app won them in the auction",
            Self::LeaseRuns => "its lease is not over yet",
            Self::LeftOver => "nobody with a better claim can use the GPUs",
            Self::MatchedLater => "the best assignment of GPUs starts it later",
            Self::LeastSlack => "its promise leaves it no time to wait",
            Self::BeforeHorizon => "the last of the work would be done later if it waited",
            Self::Settling => "it was started again only just now, and to stop it would waste that",
            Self::EarliestPromise => "its promise is due before those of the others",
            Self::Outside => "another engine decided so",
            Self::CarriedOver => "the last valid plan stands",
            Self::Outbid => "its app bid in the auction, and others won",
            Self::NoBid => "its app could not use what was offered",
            Self::OthersFirst => "other jobs of its app come first",
            Self::NotAsked => "apps that are worse off were asked first",
            Self::NoClaim => "its party has received all that it is owed",
            Self::HasTime => {
                "others are shorter or have less time to lose, and its promise can still be kept"
            }
            Self::AtRisk => "others would be later still; its promise is in danger",
            Self::NoRoom => "not enough GPUs are free",
            Self::Fragmented => "enough GPUs are free, but not close enough together",
            Self::BehindLarger => "an earlier job does not fit yet, and nobody may overtake it",
            Self::OverLimit => "its tenant has reached a limit",
            Self::NoModel => "no GPU model in the cluster will do",
            Self::Crowded => "it would not fit beside the job already on the GPU",
        }
    }
}

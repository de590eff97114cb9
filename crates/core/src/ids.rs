//! Names from outside: stable for ever, used in events, commands and the ledger.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $word:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, " {}"), self.0)
            }
        }
    };
}

id!(/// One training run, from submission to end.
    JobId(u64), "job");
id!(/// Several jobs with one goal.
    AppId(u64), "app");
id!(/// Whom fairness is between. Dense from 0: also the tenant's place in its table.
    TenantId(u32), "tenant");
id!(/// One machine. Dense from 0, and kept for ever: a node that left is down, not gone.
    NodeId(u32), "node");
id!(/// Nodes close together. Dense from 0.
    RackId(u32), "rack");
id!(/// One right to run. Never reused.
    LeaseId(u64), "lease");

impl NodeId {
    /// The place of this node in dense tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl TenantId {
    /// The place of this tenant in dense tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One GPU of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GpuId {
    /// The machine it is in.
    pub node: NodeId,
    /// Which of the machine's GPUs, from 0.
    pub ordinal: u8,
}

impl fmt::Display for GpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU {}.{}", self.node.0, self.ordinal)
    }
}

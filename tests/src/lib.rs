//! What the tests of the whole have in common: small worlds, and a witness that believes only the ledger.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

pub mod fuzzing;
mod witness;

pub use witness::{Broken, Witness};

use evenhand_core::{Abilities, Choice, EngineConfig, Limits, Policy};
use evenhand_engine::{Engine, Parts};

/// An engine around a policy that is not registered.
pub fn engine_with(policy: Box<dyn Policy>, config: EngineConfig, abilities: Abilities) -> Engine {
    Engine::new(parts_with(policy, config, abilities))
}

/// What that engine is made of, for a test that puts something else in.
pub fn parts_with(policy: Box<dyn Policy>, config: EngineConfig, abilities: Abilities) -> Parts {
    Parts {
        policy,
        placer: (evenhand_policies::placement::PLACERS[0].build)(),
        predictor: (evenhand_predict::PREDICTORS[0].build)(),
        make_policy: Box::new(evenhand_policies::make),
        config,
        limits: Limits::default(),
        seed: 1,
        abilities,
    }
}

/// A registered policy at its defaults.
pub fn policy(name: &str) -> Box<dyn Policy> {
    evenhand_policies::make(&Choice::named(name)).unwrap()
}

mod stage;

pub use stage::{Ends, Stage};

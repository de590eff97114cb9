//! What the tests of the whole have in common: small worlds, and a witness that believes only the ledger.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

pub mod fuzzing;
mod witness;

pub use witness::{Broken, Witness};

use evenhand_core::{Abilities, Choice, EngineConfig, LedgerReader, Limits, Policy, Random};
use evenhand_engine::{Engine, Parts, repeat};
use evenhand_sim::engine_for;

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

/// Every record of a ledger must come out as it was, though the engine is saved and made anew from what was saved now and then.
pub fn replay_interrupted(ledger: &[u8], seed: u64) {
    let mut reader = LedgerReader::new(ledger).unwrap();
    let header = reader.header().clone();
    let make = || engine_for(&header).unwrap();
    let mut engine = make();
    let mut random = Random::stream(seed, "interruptions");
    while let Some(recorded) = reader.read().unwrap() {
        let repeated = repeat(&mut engine, &recorded);
        assert!(repeated.is_ok(), "line {}: {recorded:?} became {repeated:?}", reader.line());
        if random.chance(0.01) {
            engine = make().resume(&engine.save().unwrap()).unwrap();
        }
    }
}

mod stage;

pub use stage::{Ends, Stage};

//! An engine as bytes, and back: whoever starts again takes it from there instead of from the first event.

use crate::{Engine, Parts};
use evenhand_core::{SaveError, Saved};
use serde::{Deserialize, Serialize};

/// All that an engine knows between two events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedEngine {
    state: Saved,
    /// What the predictor has learned.
    beliefs: Saved,
}

impl Engine {
    /// All that it knows, for [`Engine::resume`].
    pub fn save(&self) -> Result<SavedEngine, SaveError> {
        Ok(SavedEngine { state: Saved::of(&self.state)?, beliefs: self.parts.predictor.save()? })
    }

    /// Knows from now on what was saved of an engine made of the same parts. Both do the same from then on.
    pub fn resume(mut self, saved: &SavedEngine) -> Result<Self, SaveError> {
        self.state = saved.state.read()?;
        let Parts { predictor, policy, make_policy, .. } = &mut self.parts;
        predictor.load(&saved.beliefs)?;
        self.state.interference = predictor.interference();
        if let Some(choice) = &self.state.policy {
            let unknown = || SaveError::Unreadable(format!("there is no policy `{}` like that", choice.name));
            *policy = make_policy(choice).ok_or_else(unknown)?;
        }
        Ok(self)
    }
}

//! What a policy wants to remember from one decision to the next.
//!
//! A policy object holds parameters only, so whatever it learns travels in the plan and comes back in the next
//! snapshot. Each policy keeps a type of its own; nobody else can look inside, but anybody can save it.

use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

trait Keep: Any + Send + Sync {
    fn save(&self) -> Option<String>;
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Serialize + Any + Send + Sync> Keep for T {
    fn save(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// A value of a type that only its policy knows.
#[derive(Clone, Default)]
pub enum Memory {
    /// Nothing.
    #[default]
    Empty,
    /// A value made in this process.
    #[doc(hidden)]
    Live(LiveMemory),
    /// A value read back from a file.
    Saved(Arc<str>),
}

/// The inside of [`Memory::Live`].
#[derive(Clone)]
pub struct LiveMemory(Arc<dyn Keep>);

impl Memory {
    /// Remembers a value.
    pub fn new<T: Serialize + Any + Send + Sync>(value: T) -> Self {
        Self::Live(LiveMemory(Arc::new(value)))
    }

    /// The value, if it is one of this type.
    pub fn recall<T: DeserializeOwned + Any + Send + Sync>(&self) -> Option<Arc<T>> {
        match self {
            Self::Empty => None,
            Self::Live(live) => live.0.clone().as_any().downcast().ok(),
            Self::Saved(text) => serde_json::from_str(text).ok().map(Arc::new),
        }
    }

    /// The value as text, to be read back by [`Memory::Saved`].
    pub fn save(&self) -> Option<String> {
        match self {
            Self::Empty => None,
            Self::Live(live) => live.0.save(),
            Self::Saved(text) => Some(text.to_string()),
        }
    }
}

impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self, self.save()) {
            (Self::Live(_), None) => Err(S::Error::custom("a policy's memory cannot be saved")),
            (_, text) => text.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.map_or(Self::Empty, |text| Self::Saved(text.into())))
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({})", self.save().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_comes_back_live_and_saved() {
        let memory = Memory::new(vec![1_u32, 2]);
        assert_eq!(*memory.recall::<Vec<u32>>().unwrap(), [1, 2]);
        assert!(memory.recall::<String>().is_none());
        let saved = Memory::Saved(memory.save().unwrap().into());
        assert_eq!(*saved.recall::<Vec<u32>>().unwrap(), [1, 2]);
    }
}

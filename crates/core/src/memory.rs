//! What a policy wants to remember from one decision to the next.
//!
//! A policy object holds parameters only, so whatever it learns travels in the plan and comes back in the next
//! snapshot. Each policy keeps a type of its own; nobody else can look inside, but anybody can save it.

use crate::{SaveError, Saved};
use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

trait Keep: Any + Send + Sync {
    fn save(&self) -> Result<Saved, SaveError>;
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Serialize + Any + Send + Sync> Keep for T {
    fn save(&self) -> Result<Saved, SaveError> {
        Saved::of(self)
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
    Saved(Arc<Saved>),
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
            Self::Saved(saved) => saved.read().ok().map(Arc::new),
        }
    }

    /// The value as bytes, to be read back by [`Memory::Saved`]; `None` if there is none.
    pub fn save(&self) -> Result<Option<Saved>, SaveError> {
        match self {
            Self::Empty => Ok(None),
            Self::Live(live) => live.0.save().map(Some),
            Self::Saved(saved) => Ok(Some(Saved::clone(saved))),
        }
    }
}

impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.save().map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Option::<Saved>::deserialize(deserializer)?;
        Ok(saved.map_or(Self::Empty, |saved| Self::Saved(Arc::new(saved))))
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({:?})", self.save())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_comes_back_live_and_saved() {
        let memory = Memory::new(vec![1.5, f64::INFINITY]);
        assert_eq!(*memory.recall::<Vec<f64>>().unwrap(), [1.5, f64::INFINITY]);
        assert!(memory.recall::<String>().is_none());
        let saved = Memory::Saved(Arc::new(memory.save().unwrap().unwrap()));
        assert_eq!(*saved.recall::<Vec<f64>>().unwrap(), [1.5, f64::INFINITY]);
    }
}

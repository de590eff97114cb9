//! What was learned and is kept between events, as bytes: a program that starts again need not live through everything again.
//!
//! The bytes are for the program that wrote them, or one much like it. They are never the truth: whoever cannot read them goes back to the ledger.

use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use thiserror::Error;

/// A value as bytes (CBOR: unlike JSON it has keys of every kind and numbers that are not finite).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved(pub Vec<u8>);

/// Why something cannot be saved, or not be read back.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SaveError {
    /// It cannot be written down.
    #[error("it cannot be saved: {0}")]
    Unwritable(String),
    /// It is not what was expected: another version wrote it, or it is damaged.
    #[error("what was saved cannot be read: {0}")]
    Unreadable(String),
}

impl Saved {
    /// Writes a value down.
    pub fn of<T: Serialize>(value: &T) -> Result<Self, SaveError> {
        let bytes = cbor4ii::serde::to_vec(Vec::new(), value);
        bytes.map(Self).map_err(|error| SaveError::Unwritable(error.to_string()))
    }

    /// Reads it back.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, SaveError> {
        cbor4ii::serde::from_slice(&self.0).map_err(|error| SaveError::Unreadable(error.to_string()))
    }
}

impl Serialize for Saved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Saved {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Saved;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Saved, E> {
                Ok(Saved(bytes.to_vec()))
            }
            fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Saved, E> {
                Ok(Saved(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn keys_of_every_kind_and_numbers_without_end_come_back() {
        let table = BTreeMap::from([((1_u32, true), f64::INFINITY), ((2, false), 0.1 + 0.2)]);
        let inner = Saved::of(&table).unwrap();
        let outer = Saved::of(&(7, &inner)).unwrap();
        let (seven, back): (u32, Saved) = outer.read().unwrap();
        assert_eq!((seven, back.read::<BTreeMap<(u32, bool), f64>>().unwrap()), (7, table));
        assert!(matches!(inner.read::<String>(), Err(SaveError::Unreadable(_))));
        assert!(matches!(Saved::default().read::<u32>(), Err(SaveError::Unreadable(_))));
    }
}

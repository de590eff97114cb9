//! Places in the snapshot's tables: dense, cheap, meaningless elsewhere.
//!
//! A row keeps its place while it lives, and the place is reused afterwards: never store one, never order by
//! one.

use crate::MODELS_MAX;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A place in a [`Table`].
pub trait Place: Copy {
    /// The place with this number.
    fn at(number: usize) -> Self;
    /// The number of this place.
    fn number(self) -> usize;
}

macro_rules! place {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);
        impl Place for $name {
            fn at(number: usize) -> Self { Self(number as $inner) }
            fn number(self) -> usize { self.0 as usize }
        }
    )*};
}

place! {
    /// A place among the active jobs.
    JobIndex(u32);
    /// A place among the cluster's GPU models. Stable for the whole run, so it may appear in the ledger.
    ModelIndex(u16);
    /// A place among the classes.
    ClassIndex(u32);
}

/// Rows that can only be reached with their own index type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table<I, T> {
    rows: Vec<Option<T>>,
    vacant: Vec<u32>,
    #[serde(skip)]
    index: PhantomData<I>,
}

impl<I: Place, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { rows: Vec::new(), vacant: Vec::new(), index: PhantomData }
    }
}

impl<I: Place, T> Table<I, T> {
    /// Adds a row in the first vacant place.
    pub fn insert(&mut self, row: T) -> I {
        if let Some(number) = self.vacant.pop() {
            self.rows[number as usize] = Some(row);
            return I::at(number as usize);
        }
        self.rows.push(Some(row));
        I::at(self.rows.len() - 1)
    }

    /// Takes a row out; its place will be used again.
    pub fn remove(&mut self, place: I) -> Option<T> {
        let row = self.rows.get_mut(place.number())?.take();
        if row.is_some() {
            self.vacant.push(place.number() as u32);
        }
        row
    }

    /// The row at a place, if there is one.
    pub fn get(&self, place: I) -> Option<&T> {
        self.rows.get(place.number())?.as_ref()
    }

    /// The rows with their places, in the order of places.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.rows.iter().enumerate().filter_map(|(n, row)| Some((I::at(n), row.as_ref()?)))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len() - self.vacant.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the largest place in use: the length of a dense array beside this table.
    pub fn places(&self) -> usize {
        self.rows.len()
    }
}

impl<I: Place, T> Index<I> for Table<I, T> {
    type Output = T;
    fn index(&self, place: I) -> &T {
        self.rows[place.number()].as_ref().expect("a place is used only while its row lives")
    }
}

impl<I: Place, T> IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, place: I) -> &mut T {
        self.rows[place.number()].as_mut().expect("a place is used only while its row lives")
    }
}

/// One value per GPU model, inline: a cluster has at most [`MODELS_MAX`] of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerModel<T>(pub [T; MODELS_MAX]);

impl<T: Copy + Default> Default for PerModel<T> {
    fn default() -> Self {
        Self([T::default(); MODELS_MAX])
    }
}

impl<T: Copy> PerModel<T> {
    /// The same value for every GPU model.
    pub fn all(value: T) -> Self {
        Self([value; MODELS_MAX])
    }
    /// The values, in the order of GPU models; the unused tail included.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().copied()
    }
}

impl<T> Index<ModelIndex> for PerModel<T> {
    type Output = T;
    fn index(&self, model: ModelIndex) -> &T {
        &self.0[model.number()]
    }
}

impl<T> IndexMut<ModelIndex> for PerModel<T> {
    fn index_mut(&mut self, model: ModelIndex) -> &mut T {
        &mut self.0[model.number()]
    }
}

/// Written as a list without its tail of equal values, so that a cluster of two GPU models does not write
/// sixteen numbers.
impl<T: Serialize + PartialEq> Serialize for PerModel<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let last = &self.0[MODELS_MAX - 1];
        let used = self.0.iter().rposition(|value| value != last).map_or(1, |at| at + 2).min(MODELS_MAX);
        self.0[..used].serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de> + Copy + Default> Deserialize<'de> for PerModel<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<T>::deserialize(deserializer)?;
        let last = list.last().copied().unwrap_or_default();
        let mut values = [last; MODELS_MAX];
        for (value, given) in values.iter_mut().zip(list) {
            *value = given;
        }
        Ok(Self(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_its_place_and_the_place_is_reused() {
        let mut table = Table::<JobIndex, &str>::default();
        let (a, b) = (table.insert("a"), table.insert("b"));
        assert_eq!(table.remove(a), Some("a"));
        assert_eq!(table.remove(a), None);
        assert_eq!(table[b], "b");
        assert_eq!(table.insert("c"), a);
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn values_per_model_come_back_from_their_short_form() {
        let mut values = PerModel::all(0_u32);
        values[ModelIndex(1)] = 7;
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, "[0,7,0]");
        assert_eq!(serde_json::from_str::<PerModel<u32>>(&text).unwrap(), values);
        let last = PerModel([3_u32; MODELS_MAX]);
        assert_eq!(serde_json::to_string(&last).unwrap(), "[3]");
    }
}

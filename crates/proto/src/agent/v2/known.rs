//! Values by session and id, in the order in which they were learned.
//!
//! In: values under their keys. Out: the same. Owns: them, and their order. Never: forgets one by itself, because each kind has a bound of
//! its own.

use std::collections::{BTreeMap, VecDeque};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A session, and an id in it.
pub(super) type Key<I> = (String, I);

/// Values by session and id. As JSON, it is a list of sessions with their ids and values, oldest first; a session whose turn comes
/// several times is in it several times.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known<I, V> {
    values: BTreeMap<Key<I>, V>,
    /// The keys, oldest first.
    order: VecDeque<Key<I>>,
}

impl<I, V> Default for Known<I, V> {
    fn default() -> Self {
        Self {
            values: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<I: Ord + Clone, V> Known<I, V> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn contains(&self, key: &Key<I>) -> bool {
        self.values.contains_key(key)
    }

    pub fn get(&self, key: &Key<I>) -> Option<&V> {
        self.values.get(key)
    }

    pub fn get_mut(&mut self, key: &Key<I>) -> Option<&mut V> {
        self.values.get_mut(key)
    }

    /// Returns the value of a key, which is added as the newest one if it is not known.
    pub fn entry(&mut self, key: Key<I>) -> &mut V
    where
        V: Default,
    {
        if !self.values.contains_key(&key) {
            self.order.push_back(key.clone());
        }
        self.values.entry(key).or_default()
    }

    /// Removes the oldest value that `is_it` accepts, or else the oldest of all.
    pub fn remove_oldest(&mut self, is_it: impl Fn(&V) -> bool) -> Option<V> {
        let accepted = |key: &Key<I>| self.values.get(key).is_some_and(&is_it);
        let at = self.order.iter().position(accepted).unwrap_or(0);
        let key = self.order.remove(at)?;
        self.values.remove(&key)
    }

    /// Removes the oldest values that `is_it` accepts, until so many values are left.
    pub fn shrink(&mut self, most: usize, is_it: impl Fn(&V) -> bool) {
        let mut excess = self.order.len().saturating_sub(most);
        let values = &mut self.values;
        self.order.retain(|key| {
            let goes = excess > 0 && values.get(key).is_none_or(&is_it);
            if goes {
                excess -= 1;
                values.remove(key);
            }
            !goes
        });
    }

    /// Returns all values in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&Key<I>, &V)> {
        self.values.iter()
    }

    /// Passes the values to `visit`, oldest first, until it returns `false`.
    pub fn visit(&mut self, mut visit: impl FnMut(&Key<I>, &mut V) -> bool) {
        for key in &self.order {
            if let Some(value) = self.values.get_mut(key)
                && !visit(key, value)
            {
                return;
            }
        }
    }
}

impl<I: Ord + Serialize, V: Serialize> Serialize for Known<I, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sessions: Vec<(&str, Vec<(&I, &V)>)> = Vec::new();
        for key in &self.order {
            let Some(value) = self.values.get(key) else {
                continue;
            };
            let (session, id) = key;
            match sessions.last_mut() {
                Some((last, values)) if *last == session => values.push((id, value)),
                _ => sessions.push((session, vec![(id, value)])),
            }
        }
        sessions.serialize(serializer)
    }
}

impl<'de, I, V> Deserialize<'de> for Known<I, V>
where
    I: Ord + Clone + DeserializeOwned,
    V: Default + DeserializeOwned,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sessions: Vec<(String, Vec<(I, V)>)> = Vec::deserialize(deserializer)?;
        let mut known = Self::default();
        for (session, values) in sessions {
            for (id, value) in values {
                *known.entry((session.clone(), id)) = value;
            }
        }
        Ok(known)
    }
}

/// Returns whether a value is that of a new object, and left out of its JSON.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_stored_and_sessions_are_written_once() {
        let mut known: Known<String, u8> = Known::default();
        for (session, id, value) in [("b", "z", 1), ("b", "a", 2), ("a", "m", 3), ("b", "c", 4)] {
            *known.entry((session.to_owned(), id.to_owned())) = value;
        }
        let json = serde_json::to_string(&known).unwrap();
        assert_eq!(
            json,
            r#"[["b",[["z",1],["a",2]]],["a",[["m",3]]],["b",[["c",4]]]]"#
        );
        let mut restored: Known<String, u8> = serde_json::from_str(&json).unwrap();
        assert_eq!(restored, known);
        assert_eq!(restored.remove_oldest(|value| *value == 3), Some(3));
        assert_eq!(restored.remove_oldest(|value| *value == 9), Some(1));
        assert_eq!(restored.len(), 2);
        restored.shrink(0, |value| *value == 4);
        assert_eq!(restored.len(), 1);
        assert!(restored.contains(&("b".to_owned(), "a".to_owned())));
    }
}

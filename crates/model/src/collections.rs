//! What the standard collections lack.

use std::collections::BTreeMap;

/// Frees the last node of a map that is empty. A map keeps it, with space for 11 entries, and the daemon holds a few such
/// maps for each thread and each connection.
pub fn free_if_empty<K, V>(map: &mut BTreeMap<K, V>) {
    if map.is_empty() {
        *map = BTreeMap::new();
    }
}

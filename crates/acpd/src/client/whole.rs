//! Objects of the daemon for commands that also print them.

use std::ops::Deref;

use acpd_client::protocol::{TextFound, TextsFound, ThreadSummary, ThreadsListed};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An object as this program reads it, and all that the daemon sent, for `--json`: a newer daemon's objects have members that this
/// program does not know.
#[derive(Debug, Clone)]
pub struct Whole<T> {
    /// What this program reads.
    pub known: T,
    /// The object.
    pub json: Value,
}

impl<T> Deref for Whole<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.known
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Value::deserialize(deserializer)?;
        let known = T::deserialize(&json).map_err(D::Error::custom)?;
        Ok(Self { known, json })
    }
}

impl<T> Serialize for Whole<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

/// A page of a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The entries.
    pub data: Vec<T>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

impl From<ThreadsListed> for Page<ThreadSummary> {
    fn from(page: ThreadsListed) -> Self {
        Self {
            data: page.data,
            next_cursor: page.next_cursor,
        }
    }
}

impl From<TextsFound> for Page<TextFound> {
    fn from(page: TextsFound) -> Self {
        Self {
            data: page.data,
            next_cursor: page.next_cursor,
        }
    }
}

#[cfg(test)]
mod tests {
    use acpd_client::protocol::SnippetPiece;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_keeps_what_is_newer_than_this_program() {
        let json = json!({ "text": "x", "hit": true, "newer": { "b": 1, "a": [] } });
        let page = json!({ "data": [json], "total": 1 });
        let page: Page<Whole<SnippetPiece>> = serde_json::from_value(page).expect("it is a page");
        assert_eq!((page.data[0].text.as_str(), &page.data[0].json), ("x", &json));
        assert_eq!(page.next_cursor, None);
        assert_eq!(
            serde_json::to_value(&page.data).expect("it is JSON"),
            serde_json::json!([json])
        );
    }
}

//! Detects keys that occur twice in an object. JSON parsers disagree about such an object: some use the first value,
//! some the last.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use acpd_model::RawJson;
use acpd_model::json::readable;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Returns a key that occurs twice in one object of `json`, at any depth; escapes in keys are decoded. It is searched as it is
/// read elsewhere: objects that are nested too deeply are texts.
pub fn repeated_key(json: &RawJson) -> Option<String> {
    let found = RefCell::new(None);
    let search =
        |json: &str| Search { found: &found }.deserialize(&mut serde_json::Deserializer::from_str(json));
    // The search ends with an error where it finds a key, or where the text cannot be read as it is.
    if search(json.get()).is_err()
        && found.borrow().is_none()
        && let Some(json) = readable(json.get())
    {
        let _ = search(&json);
    }
    found.into_inner()
}

#[derive(Clone, Copy)]
struct Search<'a> {
    found: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                *self.found.borrow_mut() = Some(key);
                return Err(A::Error::custom("a key appears twice"));
            }
            seen.insert(key);
            map.next_value_seed(self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_at_any_depth_and_in_any_spelling() {
        let found = |text: &str| repeated_key(&RawJson::parse(text).unwrap());
        for (text, key) in [
            (r#"{"a":1,"a":1}"#, "a"),
            (r#"{"rawInput":{},"raw\u0049nput":{}}"#, "rawInput"),
            (r#"[1,{"x":[{"b":null,"c":"x","b":-1.5}]}]"#, "b"),
            (r#"{"":{},"":{}}"#, ""),
            (r#"{"x":"\ud83d","n":1e999,"a":1,"a":1}"#, "a"),
            (r#"{"\ud83d":1,"\ud83e":1}"#, "\u{fffd}"),
        ] {
            assert_eq!(found(text).as_deref(), Some(key), "{text}");
        }
        for text in [
            "1",
            "null",
            "\"a\"",
            "{}",
            "1e999",
            r#"{"a":{"a":{"a":[]}},"A":1,"b":18446744073709551616}"#,
        ] {
            assert_eq!(found(text), None, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(found(&deep), None);
    }
}

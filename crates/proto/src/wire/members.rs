//! The members of a JSON object whose text is known to be valid.

use acpd_model::RawJson;

/// Calls `take` with each member's key and value as written, in order. A value that is not an object has no members.
/// The text was validated on arrival, so that this only searches for the ends of values. That is several times faster
/// than parsing again. Keys have no quotes; escapes in keys are not decoded.
pub fn members<'a>(json: &'a RawJson, mut take: impl FnMut(&'a str, &'a str)) {
    let text = json.get();
    let Some(mut at) = skip(text, 0, b'{') else { return };
    while let Some(key_start) = skip(text, at, b'"') {
        let Some(key_end) = string_end(text.as_bytes(), key_start) else {
            return;
        };
        let Some(value_start) = skip(text, key_end + 1, b':').map(|at| blank(text.as_bytes(), at)) else {
            return;
        };
        let Some(value_end) = value_end(text.as_bytes(), value_start) else {
            return;
        };
        let (Some(key), Some(value)) = (text.get(key_start..key_end), text.get(value_start..value_end))
        else {
            return;
        };
        take(key, value);
        let Some(next) = skip(text, value_end, b',') else {
            return;
        };
        at = next;
    }
}

/// Returns the position after `expected`, if that is the next character.
fn skip(text: &str, at: usize, expected: u8) -> Option<usize> {
    let at = blank(text.as_bytes(), at);
    (text.as_bytes().get(at) == Some(&expected)).then_some(at + 1)
}

/// Returns the position after white space.
fn blank(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Returns the position of the closing quote of a string whose content starts at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Returns the end of the value that starts at `at`.
fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at + 1).map(|end| end + 1),
        b'{' | b'[' => {
            let mut depth = 0_usize;
            let mut at = at;
            loop {
                match bytes.get(at)? {
                    b'"' => at = string_end(bytes, at + 1)?,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => {
            let rest = &bytes[at..];
            let length = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b'}' | b' ' | b'\t' | b'\n' | b'\r'));
            Some(at + length.unwrap_or(rest.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    fn split(text: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        members(&RawJson::parse(text).unwrap(), |key, value| {
            found.push((key.to_owned(), value.to_owned()))
        });
        found
    }

    #[test]
    fn members_are_as_they_were_written() {
        let text = " {\"a\" : 1.10 ,\"b\\\"\":\"x\\\\\",\"c\":[{\"]\":\"}\"},[]] , \"d\":null,\"a\":{}\n} ";
        let expected = [
            ("a", "1.10"),
            ("b\\\"", "\"x\\\\\""),
            ("c", "[{\"]\":\"}\"},[]]"),
            ("d", "null"),
            ("a", "{}"),
        ];
        assert_eq!(split(text), expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }

    #[test]
    fn values_other_than_objects_have_no_members() {
        for text in ["1", "[]", "{}", "\"{\"", "null", "[{\"a\":1}]"] {
            assert_eq!(split(text), [], "{text}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~é\"\\\\{}\\[\\],:]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z\\]}{,:]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// The result is the same as that of the parser.
        #[test]
        fn agrees_with_the_parser(value in json(), pretty: bool) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            let expected: BTreeMap<String, String> = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(&text)
                .map(|map| map.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect())
                .unwrap_or_default();
            prop_assert_eq!(split(&text).into_iter().collect::<BTreeMap<_, _>>(), expected);
        }
    }
}

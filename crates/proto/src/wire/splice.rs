//! Adds members to a JSON object from elsewhere. All its other text stays unchanged: order, spaces, big integers,
//! unknown members.

use std::borrow::Cow;

use acpd_model::RawJson;
use memchr::memmem;

use super::{Object, members};

/// Appends `json` with these members. A member replaces one of the same name, or follows the last one. A value that is
/// not an object becomes an object of these members alone. Values are JSON text.
pub(crate) fn splice(out: &mut Vec<u8>, json: &RawJson, put: &[(&str, &str)]) {
    let text = json.get();
    let mut found = vec![false; put.len()];
    let mut copied = 0;
    let mut last_end = None;
    members(json, |key, value| {
        let start = value.as_ptr() as usize - text.as_ptr() as usize;
        if let Some(at) = put.iter().position(|(name, _)| is_key(key, name)) {
            out.extend_from_slice(&text.as_bytes()[copied..start]);
            out.extend_from_slice(put[at].1.as_bytes());
            copied = start + value.len();
            found[at] = true;
        }
        last_end = Some(start + value.len());
    });
    match last_end {
        Some(end) => out.extend_from_slice(&text.as_bytes()[copied..end]),
        None => out.push(b'{'),
    }
    let mut first = last_end.is_none();
    for ((name, value), _) in put.iter().zip(&found).filter(|(_, found)| !**found) {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value.as_bytes());
    }
    match last_end {
        Some(end) => out.extend_from_slice(&text.as_bytes()[end..]),
        None => out.push(b'}'),
    }
}

/// Does the same as [`splice`] and returns a new value.
pub(crate) fn spliced(json: &RawJson, put: &[(&str, &str)]) -> RawJson {
    let mut out = Vec::with_capacity(json.get().len() + 64);
    splice(&mut out, json, put);
    // Valid UTF-8 stays valid if other text is inserted between its members.
    RawJson::trusted(&String::from_utf8_lossy(&out))
}

/// Returns the member `name`, as written. If there are several, returns the last, like most parsers.
pub(crate) fn member<'a>(json: &'a RawJson, name: &str) -> Option<&'a str> {
    let mut found = None;
    members(json, |key, value| {
        if is_key(key, name) {
            found = Some(value);
        }
    });
    found
}

/// Returns an object of the members with other names; `None` if there are none.
pub(crate) fn others(json: &RawJson, names: &[&str]) -> Option<RawJson> {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    let mut found = false;
    members(json, |key, value| {
        if !names.iter().any(|name| is_key(key, name)) {
            found = true;
            object.raw(key, value);
        }
    });
    object.close();
    found.then(|| RawJson::trusted(&String::from_utf8_lossy(&out)))
}

/// Returns whether the object has a member `name` that is a string.
pub(crate) fn has_string(json: &RawJson, name: &str) -> bool {
    member(json, name).is_some_and(|value| value.starts_with('"'))
}

/// Returns the member `name` if it is a string, as text.
pub(crate) fn string_in<'a>(json: &'a RawJson, name: &str) -> Option<Cow<'a, str>> {
    let value = member(json, name)?;
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        acpd_model::json::read::<String>(value).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Returns whether JSON text may have this string, which is in quotes. Letters in it may be written as escapes.
pub(crate) fn may_have(json: &[u8], quoted: &str) -> bool {
    // Those of ASCII letters are `\u0041` to `\u007a`.
    let is_letter = |at: usize| matches!(json.get(at + 4), Some(b'4'..=b'7'));
    memmem::find(json, quoted.as_bytes()).is_some() || memmem::find_iter(json, "\\u00").any(is_letter)
}

/// Returns whether a key, as written, is this name. A key with escapes may also match.
fn is_key(key: &str, name: &str) -> bool {
    key == name || key.contains('\\') && decoded(key) == name
}

/// Returns the name of a key that [`members()`] gives, which may have escapes. Invalid ones, such as half of a surrogate pair,
/// stay as they are written.
pub(crate) fn decoded(key: &str) -> Cow<'_, str> {
    if !key.contains('\\') {
        return key.into();
    }
    let name = serde_json::from_str::<String>(&format!("\"{key}\""));
    name.map_or(Cow::Borrowed(key), Cow::Owned)
}

/// Returns such a key without the escapes that it can do without, so that each name of ACP has one spelling.
pub(crate) fn plain_key(key: &str) -> Cow<'_, str> {
    let name = decoded(key);
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if name.bytes().all(is_plain) {
        name
    } else {
        key.into()
    }
}

/// Returns the member `name` of `part`, which is a slice of `whole`, as a slice of `whole`.
pub(crate) fn inside<'a>(whole: &'a str, part: &str, name: &str) -> Option<&'a str> {
    let at = part.as_ptr() as usize - whole.as_ptr() as usize;
    let json = RawJson::trusted(part);
    let found = member(&json, name)?;
    let start = at + (found.as_ptr() as usize - json.get().as_ptr() as usize);
    whole.get(start..start + found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &str, put: &[(&str, &str)]) -> String {
        let json = RawJson::parse(text).unwrap();
        let mut out = Vec::new();
        splice(&mut out, &json, put);
        serde_json::from_slice::<serde::de::IgnoredAny>(&out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_other_text_stays() {
        assert_eq!(
            put(
                r#"{"n":1.10 , "sessionId" : "a","z":[12345678901234567890123]}"#,
                &[("sessionId", "\"b\"")]
            ),
            r#"{"n":1.10 , "sessionId" : "b","z":[12345678901234567890123]}"#
        );
        assert_eq!(
            put(
                r#"{"a":{"sessionId":1},"sessio\u006eId":"a","sessionId":"a"}"#,
                &[("sessionId", "2")]
            ),
            r#"{"a":{"sessionId":1},"sessio\u006eId":2,"sessionId":2}"#
        );
    }

    #[test]
    fn words_and_keys_are_the_same_in_any_spelling() {
        let json = RawJson::parse(r#"{"typ\u0065":"d\u0069ff","a":"b","n":1,"half":"\ud83d"}"#).unwrap();
        assert_eq!(string_in(&json, "type").as_deref(), Some("diff"));
        assert_eq!(string_in(&json, "a").as_deref(), Some("b"));
        assert_eq!(string_in(&json, "half").as_deref(), Some("\u{fffd}"));
        assert_eq!(string_in(&json, "n"), None);
        assert!(may_have(json.get().as_bytes(), "\"diff\""));
        assert!(may_have(br#"["diff"]"#, "\"diff\""));
        assert!(!may_have(br#"["\u001b[0m", "\u00e4"]"#, "\"diff\""));
        for (written, plain) in [
            ("typ\\u0065", "type"),
            ("a\\u0022", "a\\u0022"),
            ("\\ud83d", "\\ud83d"),
        ] {
            assert_eq!(plain_key(written), plain);
        }
    }

    #[test]
    fn missing_members_are_appended() {
        let two = [("a", "1"), ("b", "2")];
        assert_eq!(put("{}", &two), r#"{"a":1,"b":2}"#);
        assert_eq!(put("null", &two), r#"{"a":1,"b":2}"#);
        assert_eq!(put("[{}]", &two), r#"{"a":1,"b":2}"#);
        assert_eq!(put(r#"{"b":0 }"#, &two), r#"{"b":2,"a":1 }"#);
        assert_eq!(put(r#"{"c":0}"#, &[]), r#"{"c":0}"#);
    }
}

//! W3C trace context in the `_meta` of ACP messages: `traceparent` and `tracestate`.
//!
//! In: `_meta` of a client. Out: the context that it names, and `_meta` with another one. Owns: nothing. Never: believes a
//! malformed value, or changes other members.

use std::fmt;
use std::sync::Arc;

use acpd_model::RawJson;

use crate::wire::{member, others, spliced};

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// Maximum length of a `tracestate`, in bytes. W3C lets a longer one be dropped.
const TRACESTATE_BYTES: usize = 512;

/// The span that something happens in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the trace; never all zeros.
    pub trace: [u8; 16],
    /// Id of the span; never all zeros.
    pub span: [u8; 8],
    /// Whether the trace is recorded.
    pub sampled: bool,
    /// What other systems know about the trace, as a client sent it.
    pub state: Option<Arc<str>>,
}

impl TraceContext {
    /// Reads the context in a client's `_meta`. Returns `None` if there is none, or if it is malformed.
    pub fn in_meta(meta: &RawJson) -> Option<Self> {
        let text = |name| -> Option<String> { serde_json::from_str(member(meta, name)?).ok() };
        let context = Self::parse(&text(TRACEPARENT)?)?;
        let state = text(TRACESTATE).filter(|state| is_tracestate(state));
        Some(Self {
            state: state.map(Arc::from),
            ..context
        })
    }

    /// Reads a `traceparent`: version, trace, span and flags as lowercase hexadecimal digits.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let [version] = hex(parts.next()?)?;
        let (trace, span) = (hex(parts.next()?)?, hex(parts.next()?)?);
        let [flags]: [u8; 1] = hex(parts.next()?)?;
        // Later versions may have more parts; version 255 is invalid.
        let has_more = parts.next().is_some();
        let is_known = version == 0 && !has_more || (1..255).contains(&version);
        (is_known && trace != [0; 16] && span != [0; 8]).then_some(Self {
            trace,
            span,
            sampled: flags & 1 == 1,
            state: None,
        })
    }

    /// Returns `_meta` with this context in place of any other. `_meta` that is not an object stays as it is.
    pub fn put_into(&self, meta: Option<&RawJson>) -> RawJson {
        let traceparent = format!("\"{self}\"");
        let Some(meta) = meta.filter(|meta| meta.get() != "null") else {
            return spliced(&RawJson::trusted("{}"), &[(TRACEPARENT, &traceparent)]);
        };
        if !meta.get().starts_with('{') {
            return meta.clone();
        }
        if self.state.is_some() || member(meta, TRACESTATE).is_none() {
            return spliced(meta, &[(TRACEPARENT, &traceparent)]);
        }
        // This state belongs to a context that was not valid.
        let rest = others(meta, &[TRACESTATE]);
        let rest = rest.unwrap_or_else(|| RawJson::trusted("{}"));
        spliced(&rest, &[(TRACEPARENT, &traceparent)])
    }
}

/// Writes the `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("00-")?;
        self.trace.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
        out.write_str("-")?;
        self.span.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
        out.write_str(if self.sampled { "-01" } else { "-00" })
    }
}

/// Reads exactly `N` bytes of lowercase hexadecimal digits.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn is_tracestate(text: &str) -> bool {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte);
    !text.is_empty() && text.len() <= TRACESTATE_BYTES && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn in_meta(meta: &str) -> Option<TraceContext> {
        TraceContext::in_meta(&RawJson::trusted(meta))
    }

    fn own() -> TraceContext {
        TraceContext {
            trace: [0xab; 16],
            span: [1; 8],
            sampled: true,
            state: None,
        }
    }

    const OWN: &str = "00-abababababababababababababababab-0101010101010101-01";

    #[test]
    fn a_context_is_read_and_written_alike() {
        let read = in_meta(&format!(
            r#"{{"x":1,"traceparent":"{PARENT}","tracestate":"a=b,c=d"}}"#
        ))
        .unwrap();
        assert_eq!(read.to_string(), PARENT);
        assert_eq!(read.state.as_deref(), Some("a=b,c=d"));
        let quiet = in_meta(&format!(r#"{{"traceparent":"{}0"}}"#, &PARENT[..54])).unwrap();
        assert!(!quiet.sampled);
        // A later version may have more.
        assert!(TraceContext::parse(&format!("01{}-more", &PARENT[2..])).is_some());
    }

    #[test]
    fn malformed_contexts_are_ignored() {
        let parents = [
            "",
            "00",
            "x",
            &PARENT[1..],
            &PARENT.to_uppercase(),
            &PARENT.replace("00-", "ff-"),
            &format!("{PARENT}-more"),
            &format!("{PARENT} "),
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b71692033310-01",
            "00-é-b7ad6b7169203331-01",
        ];
        for parent in parents {
            assert_eq!(TraceContext::parse(parent), None, "{parent}");
        }
        for meta in [
            "{}",
            "7",
            "null",
            r#"{"traceparent":7}"#,
            r#"{"traceparent":null}"#,
        ] {
            assert_eq!(in_meta(meta), None, "{meta}");
        }
        // A state that is not valid is dropped alone.
        for state in ["", "ä", "\\n", &"x".repeat(513)] {
            let meta = format!(r#"{{"traceparent":"{PARENT}","tracestate":"{state}"}}"#);
            assert_eq!(in_meta(&meta).unwrap().state, None, "{state}");
        }
    }

    #[test]
    fn a_context_takes_the_place_of_another_and_changes_nothing_else() {
        let put = |meta: Option<&str>| {
            own()
                .put_into(meta.map(RawJson::trusted).as_ref())
                .get()
                .to_owned()
        };
        assert_eq!(put(None), format!(r#"{{"traceparent":"{OWN}"}}"#));
        assert_eq!(put(Some("null")), put(None));
        assert_eq!(put(Some("7")), "7");
        assert_eq!(put(Some("{}")), put(None));
        assert_eq!(
            put(Some(r#"{"n": 1.10, "traceparent": "old" ,"b":{}}"#)),
            format!(r#"{{"n": 1.10, "traceparent": "{OWN}" ,"b":{{}}}}"#)
        );
        // The state of an invalid context goes with it.
        assert_eq!(put(Some(r#"{"tracestate":"a=b"}"#)), put(None));
        let kept = TraceContext {
            state: Some("a=b".into()),
            ..own()
        };
        let meta = RawJson::trusted(r#"{"tracestate":"a=b"}"#);
        let expected = format!(r#"{{"tracestate":"a=b","traceparent":"{OWN}"}}"#);
        assert_eq!(kept.put_into(Some(&meta)).get(), expected);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,80}") {
            let _ = TraceContext::parse(&text);
            let meta = serde_json::json!({ "traceparent": text, "tracestate": text });
            let meta = RawJson::from(meta);
            let _ = TraceContext::in_meta(&meta);
            let written = own().put_into(Some(&meta));
            prop_assert_eq!(TraceContext::in_meta(&written).unwrap().to_string(), OWN);
        }
    }
}

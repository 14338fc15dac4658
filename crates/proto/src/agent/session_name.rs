//! Replaces the session id in an extension's params.

use acpd_model::RawJson;

use crate::wire::{has_string, spliced};

/// Returns `params` with `session` in place of their session id; unchanged if they have no session id.
pub fn with_session(params: &RawJson, session: &str) -> RawJson {
    if !has_string(params, "sessionId") {
        return params.clone();
    }
    let session = serde_json::Value::from(session).to_string();
    spliced(params, &[("sessionId", &session)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_only_mapped_where_one_is_named() {
        let mapped = |text: &str| {
            with_session(&RawJson::parse(text).unwrap(), "x\"y")
                .get()
                .to_owned()
        };
        assert_eq!(
            mapped(r#"{"sessionId":"s","k":1}"#),
            r#"{"sessionId":"x\"y","k":1}"#
        );
        for other in [
            "{}",
            "[1]",
            "null",
            r#"{"sessionId":7}"#,
            r#"{"k":{"sessionId":"s"}}"#,
        ] {
            assert_eq!(mapped(other), other);
        }
    }
}

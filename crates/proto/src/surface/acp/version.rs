//! The version of ACP that an editor and the daemon speak.

use acpd_model::{ErrorCode, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

/// A version of ACP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Version {
    /// Version 1.
    #[default]
    One,
    /// Version 2.
    Two,
}

/// The JSON-RPC code for a version that the agent does not speak.
const UNSUPPORTED_VERSION: i64 = -32022;

/// Returns the version to speak with an editor, by its params of `initialize`. An editor that offers version 2 in the form of version 1
/// speaks version 1: some raise the number without the rest.
pub(super) fn agreed(params: Option<&str>, offers_v2: bool) -> Result<Version, Failure> {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Offered {
        protocol_version: Value,
        info: Value,
    }
    if !offers_v2 {
        return Ok(Version::One);
    }
    let Offered {
        protocol_version,
        info,
    } = params
        .and_then(|params| serde_json::from_str(params).ok())
        .unwrap_or_default();
    match protocol_version.as_u64() {
        Some(0) => Err(unsupported(0)),
        Some(2..) if info.is_object() => Ok(Version::Two),
        _ => Ok(Version::One),
    }
}

fn unsupported(requested: u64) -> Failure {
    let message = format!("protocol version {requested} is not supported: offer 1 or 2");
    let error = json!({
        "code": UNSUPPORTED_VERSION,
        "message": message,
        "data": { "requested": requested, "supported": [1, 2] },
    });
    Failure {
        // The error of ACP, for which the daemon has no code of its own.
        agent_error: Some(error.into()),
        ..Failure::new(ErrorCode::Unsupported, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_is_for_editors_that_speak_it() {
        for (params, expected) in [
            (
                r#"{"protocolVersion":2,"info":{"name":"e","version":"1"}}"#,
                Version::Two,
            ),
            (
                r#"{"protocolVersion":7,"info":{},"capabilities":{}}"#,
                Version::Two,
            ),
            (
                r#"{"protocolVersion":2,"clientInfo":{"name":"e","version":"1"}}"#,
                Version::One,
            ),
            (r#"{"protocolVersion":1,"info":{}}"#, Version::One),
            (r#"{"protocolVersion":"2","info":{}}"#, Version::One),
            ("[]", Version::One),
        ] {
            assert_eq!(agreed(Some(params), true).ok(), Some(expected), "{params}");
            assert_eq!(agreed(Some(params), false).ok(), Some(Version::One), "{params}");
        }
        let zero = r#"{"protocolVersion":0}"#;
        let error = agreed(Some(zero), true).unwrap_err().agent_error.unwrap();
        let error: Value = error.read().unwrap();
        assert_eq!(error["code"], UNSUPPORTED_VERSION);
        assert_eq!(error["data"], json!({ "requested": 0, "supported": [1, 2] }));
        assert_eq!(agreed(Some(zero), false).ok(), Some(Version::One));
    }
}

//! Parsing of params with errors that name the wrong member.

use acpd_model::{Failure, in_plain_words};
use serde::Deserialize;

/// Maximum number of unknown members that an error names.
const NAMED: usize = 8;

/// Maximum length of such a name, in characters.
const NAME_CHARS: usize = 100;

/// Parses params. Ignores members that the type does not have.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| mismatch(&error))
}

/// Parses params, and refuses unknown members: a typing error must not be taken for a default. Members whose names begin
/// with `_`, such as `_meta`, are ignored, and so are those in `others`.
pub(super) fn read_strictly<'a, T: Deserialize<'a>>(text: &'a str, others: &[&str]) -> Result<T, Failure> {
    let mut json = serde_json::Deserializer::from_str(text);
    let mut unknown = Vec::new();
    let mut note = |path: serde_ignored::Path<'_>| {
        let path = path.to_string();
        let name = path.rsplit('.').next().unwrap_or_default();
        if unknown.len() < NAMED && !name.starts_with('_') && !others.contains(&&*path) {
            let path: String = path.chars().take(NAME_CHARS).collect();
            unknown.push(format!("{path:?}"));
        }
    };
    let tracked = serde_ignored::Deserializer::new(&mut json, &mut note);
    let params = serde_path_to_error::deserialize(tracked).map_err(|error| mismatch(&error))?;
    if unknown.is_empty() {
        return Ok(params);
    }
    let members = if unknown.len() == 1 { "member" } else { "members" };
    Err(Failure::invalid_params(format!(
        "invalid params: unknown {members} {}",
        unknown.join(", ")
    )))
}

fn mismatch(error: &serde_path_to_error::Error<serde_json::Error>) -> Failure {
    let path = error.path().to_string();
    let place = if path == "." {
        String::new()
    } else {
        format!("{path}: ")
    };
    let words = in_plain_words(&error.inner().to_string());
    Failure::invalid_params(format!("invalid params: {place}{words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Params {
        text: String,
        mcp_servers: Vec<Server>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Server {
        name: String,
    }

    #[test]
    fn an_unknown_member_is_an_error_that_names_it() {
        let refused = |text: &str| read_strictly::<Params>(text, &["threadId"]).unwrap_err().message;
        assert_eq!(
            refused(r#"{"txt":"hi"}"#),
            "invalid params: unknown member \"txt\""
        );
        assert_eq!(
            refused(r#"{"text":"hi","a":1,"mcpServers":[{"nam":"x"}]}"#),
            "invalid params: unknown members \"a\", \"mcpServers.0.nam\""
        );
    }

    #[test]
    fn an_error_is_short_whatever_the_names_are() {
        let text = format!(r#"{{"{}":1}}"#, "x".repeat(1 << 20));
        let refused = read_strictly::<Params>(&text, &[]).unwrap_err().message;
        assert!(refused.len() < 200, "{}", refused.len());
    }

    #[test]
    fn metadata_and_the_thread_are_known() {
        let text = r#"{"text":"hi","threadId":"x","_meta":{"a":1},"mcpServers":[{"name":"x","_meta":{}}]}"#;
        let params = read_strictly::<Params>(text, &["threadId"]).unwrap();
        assert_eq!(params.text, "hi");
    }

    #[test]
    fn a_wrong_type_is_named_in_plain_words() {
        let refused = read::<Params>(r#"{"mcpServers":[{"name":5}]}"#)
            .unwrap_err()
            .message;
        assert_eq!(
            refused,
            "invalid params: mcpServers[0].name: expected text in quotes, found the number 5"
        );
    }
}

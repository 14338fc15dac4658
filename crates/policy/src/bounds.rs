//! The bounds of a remembered answer, in addition to its rule.
//!
//! In: a part of a call, and the call. Out: the directory, command line and arguments that the answer is limited to,
//! and their description. Never: makes an answer apply to more than the user was asked about.

use acpd_model::BlobId;
use acpd_model::limits::RULE_BYTES;
use acpd_model::text::shorten;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::call_parts::{diffs_of, locations_of};
use super::request::Request;
use super::subject::{Access, Subject};

/// Longest directory name in a description, in characters.
const NAMED_CHARS: usize = 200;

/// The calls that a remembered answer is limited to. Answers from before bounds existed have none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bounds {
    /// The working directory of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Hash of the command line that contains the command. Absent if the command is the whole line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<BlobId>,
    /// Hash of the call's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BlobId>,
    /// Hash of the rest of the call: its kind, tool, locations and diffs. Set whenever `arguments` is, except in
    /// answers of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<BlobId>,
}

impl Bounds {
    /// Returns the bounds of an answer about `subject`, a part of `request`. Returns `None` if they are unknown.
    pub(super) fn of(subject: &Subject, request: &Request) -> Option<Self> {
        // A move has two paths, and only the rest of the call shows which one is the destination.
        let is_move = matches!(
            subject,
            Subject::File {
                access: Access::Move,
                ..
            }
        );
        let takes_arguments = is_move || matches!(subject, Subject::Mcp { .. } | Subject::Tool(_));
        let mut bounds = Self::default();
        if takes_arguments || request.has_unknown_members() {
            bounds.arguments = Some(request.arguments());
            bounds.call = Some(request.call());
        }
        if let Subject::Command(command) = subject {
            let cwd = command.cwd.as_ref().filter(|cwd| cwd.len() <= RULE_BYTES)?;
            bounds.cwd = Some(cwd.clone());
            bounds.line = command.line;
        }
        Some(bounds)
    }

    /// Returns whether an answer with these bounds applies to `subject`. An allow applies only to exactly the same
    /// call. A denial without bounds applies everywhere. A denial ignores `call`, so that an agent cannot escape it
    /// with another location.
    pub(super) fn hold(&self, allow: bool, subject: &Subject, request: &Request) -> bool {
        if allow {
            return Self::of(subject, request).as_ref() == Some(self);
        }
        let fits_command = match subject {
            Subject::Command(command) => {
                let here = self.cwd.is_none() || command.cwd.is_none() || self.cwd == command.cwd;
                here && (self.line.is_none() || self.line == command.line)
            }
            _ => true,
        };
        fits_command && self.arguments.is_none_or(|bound| bound == request.arguments())
    }

    /// Describes the bounds, as a suffix to the description of the rule.
    pub fn in_words(&self) -> String {
        let mut words = String::new();
        if let Some(cwd) = &self.cwd {
            words.push_str(&format!(" in {}", shorten(cwd, NAMED_CHARS)));
        }
        if self.arguments.is_some() {
            words.push_str(" with these arguments");
        }
        words
    }
}

/// Hashes the rest of a call besides its input: all that determines the effect of the call, without text for users.
pub(super) fn call_id(call: &Map<String, Value>, tool_name: Option<&str>) -> BlobId {
    let locations: Vec<_> = locations_of(call).collect();
    let diffs: Vec<_> = diffs_of(call).collect();
    // A diff contains a whole file, so none is copied. These values come from JSON, so serializing them cannot fail.
    let call = serde_json::to_vec(&(call.get("kind"), tool_name, locations, diffs));
    BlobId::of(&call.unwrap_or_default())
}

/// Describes what a remembered answer to `request` would apply to.
pub(super) fn in_words(request: &Request) -> String {
    /// Number of parts that are named.
    const PARTS: usize = 3;
    let mut parts: Vec<String> = Vec::new();
    for subject in &request.subjects {
        let what = match subject {
            Subject::Command(command) if command.line.is_some() => "this command line".to_owned(),
            Subject::Command(_) => "this command".to_owned(),
            Subject::Mcp { name, .. } => format!("calling {}", shorten(name, NAMED_CHARS)),
            Subject::Tool(_) => match &request.tool_name {
                Some(name) => format!("the tool {}", shorten(name, NAMED_CHARS)),
                None => subject.to_string(),
            },
            other => other.to_string(),
        };
        let bounds = Bounds::of(subject, request).unwrap_or_default();
        let part = format!("{what}{}", bounds.in_words());
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let more = parts.len().saturating_sub(PARTS);
    parts.truncate(PARTS);
    match more {
        0 => {}
        1 => parts.push("one more part of this call".to_owned()),
        more => parts.push(format!("{more} more parts of this call")),
    }
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((only, _)) => only.clone(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash is stored with answers, so it must not change.
    #[test]
    fn a_call_is_identified_by_its_kind_tool_locations_and_diffs() {
        let call = serde_json::from_str(
            r#"{"title":"t","kind":"edit","rawInput":{"x":1},"locations":[{"path":"/w/a","line":3},{}],
            "content":[{"type":"diff","path":"/w/é","newText":"x\n","n":1.50},{"type":"content"}]}"#,
        );
        let written =
            r#"["edit","Edit",["/w/a",null],[{"n":1.5,"newText":"x\n","path":"/w/é","type":"diff"}]]"#;
        assert_eq!(
            call_id(&call.unwrap(), Some("Edit")),
            BlobId::of(written.as_bytes())
        );
        assert_eq!(call_id(&Map::new(), None), BlobId::of(b"[null,null,[],[]]"));
    }
}

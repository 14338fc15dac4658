//! The texts that a call writes to files.
//!
//! In: the input of a call and the changes that it shows. Out: the texts that an answer covers, and whether the input
//! is shown in addition to the changes. Never: a text that the question does not show.

use std::collections::BTreeSet;
use std::ops::Range;

use acpd_model::BlobId;
use serde_json::{Map, Value};

use super::member_names::{INSTRUCTIONS, REPLACED, TEXTS};

/// Some agents omit the end of the last line.
const LINE_ENDS: [char; 2] = ['\r', '\n'];

/// A text that a question showed for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Absolute path, without `..`.
    pub path: String,
    /// Hash of the whole text.
    pub content: BlobId,
    /// Hash of the content that the file must have, since the question showed only the difference. `None` if it showed
    /// every line.
    pub replaces: Option<BlobId>,
}

/// The texts of files in a call's input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InputTexts {
    /// The files that the input names: absolute paths, without `..`.
    paths: BTreeSet<String>,
    texts: Vec<InputText>,
    replaced: Vec<InputText>,
    has_instructions: bool,
}

/// A text of an input, in the forms that changes are compared with. They are computed once: there may be many changes,
/// and a text may be long.
#[derive(Debug, Clone, PartialEq, Eq)]
struct InputText {
    /// Hash of the whole text.
    content: BlobId,
    /// The text without the end of its last line.
    text: String,
    /// Range in `text` without surrounding white space.
    trimmed: Range<usize>,
}

impl InputText {
    fn new(given: &str) -> Self {
        let text = given.trim_end_matches(LINE_ENDS);
        let start = text.len() - text.trim_start().len();
        Self {
            content: BlobId::of(given.as_bytes()),
            text: text.to_owned(),
            trimmed: start..start + text.trim().len(),
        }
    }

    fn trimmed(&self) -> &str {
        &self.text[self.trimmed.clone()]
    }
}

/// A change of a file that a call shows.
#[derive(Debug)]
pub struct ShownChange<'a> {
    /// Path of the file, as the call names it.
    pub path: &'a str,
    /// The previous content, according to the agent. The diff shows only what differs from it.
    pub old: Option<&'a str>,
    /// The new content.
    pub new: &'a str,
    /// Unified diff from the old to the new content; empty if they are equal.
    pub diff: String,
    /// Whether the diff shows the whole difference.
    pub is_complete: bool,
}

/// How the texts of an input compare with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Agreement {
    /// The change shows all of them.
    Same,
    /// They may be parts of it.
    Part,
    /// One of them is not in it.
    Different,
}

impl InputTexts {
    /// Returns the texts that the input writes to the files `paths`.
    pub(super) fn new(input: &Map<String, Value>, paths: BTreeSet<String>) -> Self {
        let given = |key: &&str| input.get(*key).filter(|value| !value.is_null());
        let text = |key: &&str| given(key).and_then(Value::as_str).map(InputText::new);
        let is_odd = |key: &&str| given(key).is_some_and(|value| !value.is_string());
        Self {
            paths,
            has_instructions: INSTRUCTIONS.iter().any(|key| given(key).is_some()) || TEXTS.iter().any(is_odd),
            texts: TEXTS.iter().filter_map(text).collect(),
            replaced: REPLACED.iter().filter_map(text).collect(),
        }
    }

    /// Returns each text for each file.
    pub(super) fn of_files(&self) -> impl Iterator<Item = FileText> {
        self.texts.iter().flat_map(|text| {
            self.paths.iter().map(|path| FileText {
                path: path.clone(),
                content: text.content,
                replaces: None,
            })
        })
    }

    /// Returns whether a file may be one that the input names.
    pub(super) fn may_name(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.contains(path)
    }

    /// Returns how the texts compare with a change.
    pub(super) fn compare(&self, change: &ShownChange<'_>) -> Agreement {
        if (self.texts.iter()).any(|text| !change.new.contains(text.trimmed())) {
            return Agreement::Different;
        }
        let all_of = change.new.trim_end_matches(LINE_ENDS);
        let is_shown = (self.texts.iter()).all(|text| text.text == all_of)
            && (self.replaced.iter()).all(|text| change.old.unwrap_or_default().contains(text.trimmed()));
        if is_shown && !self.has_instructions {
            Agreement::Same
        } else {
            Agreement::Part
        }
    }
}

//! The texts that a call writes to files.
//!
//! In: the input of a call and the changes that it shows. Out: the texts that an answer covers, and whether the input
//! is shown in addition to the changes. Never: a text that the question does not show.

use std::collections::BTreeSet;
use std::ops::Range;

use acpd_model::BlobId;
use acpd_model::limits::REQUEST_PATHS;
use acpd_model::subject::CallSubject;
use serde_json::{Map, Value};

use super::member_names::{INSTRUCTIONS, REPLACED, TEXTS};
use super::request::Request;

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
enum Agreement {
    /// The change shows all of them.
    Same,
    /// They may be parts of it.
    Part,
    /// One of them is not in it.
    Different,
}

impl InputTexts {
    fn compare(&self, change: &ShownChange<'_>) -> Agreement {
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

impl Request {
    /// Records the texts that the input writes to the files `paths`. The question shows the input.
    pub(super) fn note_input<'a>(
        &mut self,
        input: &Map<String, Value>,
        paths: impl Iterator<Item = &'a str>,
    ) {
        let given = |key: &&str| input.get(*key).filter(|value| !value.is_null());
        let text = |key: &&str| given(key).and_then(Value::as_str).map(InputText::new);
        let is_odd = |key: &&str| given(key).is_some_and(|value| !value.is_string());
        self.input_texts = InputTexts {
            paths: paths.filter_map(|path| self.tidy(path)).collect(),
            has_instructions: INSTRUCTIONS.iter().any(|key| given(key).is_some()) || TEXTS.iter().any(is_odd),
            texts: TEXTS.iter().filter_map(text).collect(),
            replaced: REPLACED.iter().filter_map(text).collect(),
        };
        let InputTexts { paths, texts, .. } = &self.input_texts;
        let noted = texts.iter().flat_map(|text| {
            paths.iter().map(|path| FileText {
                path: path.clone(),
                content: text.content,
                replaces: None,
            })
        });
        self.texts = noted.take(REQUEST_PATHS).collect();
    }

    /// Adds the changes that the call shows. The input is shown too, unless the changes show all of it. If the input
    /// has another text for the same file, a note is added, and no text is recorded.
    pub fn show_changes(&mut self, changes: &[ShownChange<'_>]) {
        let input = std::mem::take(&mut self.input_texts);
        let paths: Vec<_> = changes.iter().map(|change| self.tidy(change.path)).collect();
        let is_named = |path: &String| input.paths.is_empty() || input.paths.contains(path);
        let agreement = changes
            .iter()
            .zip(&paths)
            .filter(|(_, path)| path.as_ref().is_some_and(is_named))
            .map(|(change, _)| input.compare(change))
            .max();
        let changed: BTreeSet<&String> = paths.iter().flatten().collect();
        self.texts.retain(|text| !changed.contains(&text.path));
        let all_differ = changes.iter().all(|change| !change.diff.is_empty());
        if agreement == Some(Agreement::Same) && all_differ && !self.has_unknown_members() {
            self.hide_arguments();
        }
        for (change, path) in changes.iter().zip(paths) {
            if let Some(path) = path.filter(|_| !change.diff.is_empty())
                && self.show_diff(&path, &change.diff)
                && change.is_complete
                && self.texts.len() < REQUEST_PATHS
            {
                self.texts.push(FileText {
                    path,
                    content: BlobId::of(change.new.as_bytes()),
                    replaces: change.old.map(|old| BlobId::of(old.as_bytes())),
                });
            }
        }
        if agreement == Some(Agreement::Different) {
            self.texts.clear();
            self.show(CallSubject::Unknown {
                what: "the input of the call and the change that it shows have different texts".to_owned(),
            });
        }
    }

    /// Records that the question does not show all of the texts.
    pub fn forget_texts(&mut self) {
        self.texts.clear();
    }

    /// Returns the texts that the question shows for files.
    pub fn texts(&self) -> &[FileText] {
        &self.texts
    }
}

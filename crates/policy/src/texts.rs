//! The texts that a call gives to files.
//!
//! In: the input of a call and the changes that it shows. Out: the texts that an answer is about, and whether the input is shown
//! beside the changes. Never: a text that the question does not show.

use std::collections::BTreeSet;
use std::ops::Range;

use acpd_model::BlobId;
use acpd_model::limits::REQUEST_PATHS;
use acpd_model::subject::CallSubject;
use serde_json::{Map, Value};

use super::member_names::{INSTRUCTIONS, REPLACED, TEXTS};
use super::request::Request;

/// Some agents leave out the end of the last line.
const LINE_ENDS: [char; 2] = ['\r', '\n'];

/// A text that a question showed for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Absolute, without `..`.
    pub path: String,
    /// All of the text.
    pub content: BlobId,
    /// What the file must hold for the question to have shown all of the text; `None` if it showed every line.
    pub replaces: Option<BlobId>,
}

/// What the input of a call says about the texts of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InputTexts {
    /// The files that it names: absolute, without `..`.
    paths: BTreeSet<String>,
    texts: Vec<InputText>,
    replaced: Vec<InputText>,
    has_instructions: bool,
}

/// A text of an input, in the forms that changes are compared with. There may be many changes, and a text may be long.
#[derive(Debug, Clone, PartialEq, Eq)]
struct InputText {
    /// All of it.
    content: BlobId,
    /// Without the end of its last line.
    text: String,
    /// In `text`, without blanks around it.
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
    /// As the call names the file.
    pub path: &'a str,
    /// What the agent says was there. The diff shows only what differs from it.
    pub old: Option<&'a str>,
    /// What will be there.
    pub new: &'a str,
    /// From one to the other, as a unified diff; empty if they are equal.
    pub diff: String,
    /// Whether the diff shows all that differs.
    pub is_complete: bool,
}

/// How the texts of an input compare with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Agreement {
    /// The change shows all of them.
    Same,
    /// They may be pieces of it.
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
    /// Notes the texts that the input gives to the files `paths`. The question shows the input.
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

    /// Shows the changes that the call shows. The input stands beside them unless they show all of it. If the input has
    /// another text for the same file, that is said, and no text is noted.
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

    /// Notes that the question does not show all of the texts.
    pub fn forget_texts(&mut self) {
        self.texts.clear();
    }

    /// The texts that the question shows for files.
    pub fn texts(&self) -> &[FileText] {
        &self.texts
    }
}

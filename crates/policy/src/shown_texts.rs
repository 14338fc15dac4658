//! The texts that a question shows for the files that a call writes.

use std::collections::BTreeSet;

use acpd_model::BlobId;
use acpd_model::limits::REQUEST_PATHS;
use acpd_model::subject::CallSubject;
use serde_json::{Map, Value};

use super::request::Request;
use super::texts::{Agreement, FileText, InputTexts, ShownChange};

impl Request {
    /// Records the texts that the input writes to the files `paths`. The question shows the input.
    pub(super) fn note_input<'a>(
        &mut self,
        input: &Map<String, Value>,
        paths: impl Iterator<Item = &'a str>,
    ) {
        let paths = paths.filter_map(|path| self.tidy(path)).collect();
        self.input_texts = InputTexts::new(input, paths);
        self.texts = self.input_texts.of_files().take(REQUEST_PATHS).collect();
    }

    /// Adds the changes that the call shows. The input is shown too, unless the changes show all of it. If the input
    /// has another text for the same file, a note is added, and no text is recorded.
    pub fn show_changes(&mut self, changes: &[ShownChange<'_>]) {
        let input = std::mem::take(&mut self.input_texts);
        let paths: Vec<_> = changes.iter().map(|change| self.tidy(change.path)).collect();
        let agreement = changes
            .iter()
            .zip(&paths)
            .filter(|(_, path)| path.as_ref().is_some_and(|path| input.may_name(path)))
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

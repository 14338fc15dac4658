//! The file changes of the running turn, from its events: a process that takes over a running turn has not seen them.
//!
//! In: the events of the turn. Out: the diff of the turn so far. Owns: the turn's tool calls meanwhile. Never: reads a file.

use std::collections::BTreeMap;

use acpd_model::{Event, EventKind, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart};

use super::turn_files::{FileChange, TurnFiles};
use crate::projection::{FileDiff, ItemView, unified_diff};

/// The file changes in the events of a turn.
#[derive(Debug, Default)]
pub(in crate::thread) struct RecalledFiles {
    /// The tool calls that have not ended.
    tools: BTreeMap<ItemId, ItemView>,
    /// The tool calls of file changes.
    parents: BTreeMap<ItemId, ItemId>,
    pub(super) files: TurnFiles,
}

impl RecalledFiles {
    /// Applies the next event of the turn.
    pub fn fold(&mut self, event: &Event) {
        let EventKind::Item(kind) = &event.kind else {
            return;
        };
        match kind {
            ItemEvent::Started { item, parent, start } => match (start, parent) {
                (ItemStart::ToolCall { .. }, _) => {
                    self.tools.insert(*item, ItemView::new(start, event.raw.as_ref()));
                }
                (ItemStart::FileChange { .. }, Some(parent)) => {
                    self.parents.insert(*item, *parent);
                }
                _ => {}
            },
            ItemEvent::Updated { item, .. } => {
                if let Some(tool) = self.tools.get_mut(item) {
                    tool.apply(&event.kind, event.raw.as_ref());
                }
            }
            ItemEvent::Completed {
                item,
                outcome,
                end: ItemEnd::FileChange { path, diff, .. },
            } => {
                let parent = self.parents.remove(item);
                if *outcome == ItemOutcome::Completed {
                    self.change(path, diff, parent);
                }
            }
            ItemEvent::Completed { item, .. } => drop(self.tools.remove(item)),
            _ => {}
        }
    }

    /// Adds a change. The edits of a tool call have the contents. Of other writes, the log has the diff alone.
    fn change(&mut self, path: &str, diff: &str, parent: Option<ItemId>) {
        let edits: Vec<FileDiff> = match parent.and_then(|parent| self.tools.get(&parent)) {
            Some(ItemView::Tool(tool)) => tool.diffs(),
            _ => Vec::new(),
        };
        let mut edits = edits.iter().filter(|edit| edit.path == path);
        let Some(first) = edits.next() else {
            return self.files.note_diff(path, diff);
        };
        let (old, last) = (first.before(), edits.next_back());
        let of_all = last.map(|last| unified_diff(path, &old, &last.new_text));
        self.files.note(&FileChange {
            path,
            old: &old,
            new: &last.unwrap_or(first).new_text,
            diff: of_all.as_deref().unwrap_or(diff),
        });
    }
}

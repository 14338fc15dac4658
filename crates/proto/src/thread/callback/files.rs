//! Files written for the agent. Each write is a file-change item.

use acpd_model::{
    EventKind, HostEvent, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart, Origin, PreviousContent, TurnId,
};

use crate::projection::{ItemView, is_computed, unified_diff};
use crate::thread::journal::{FileChange, Journal};

/// A write in progress.
#[derive(Debug)]
pub(super) struct FileWrite {
    pub path: String,
    pub content: String,
    /// The write's file change; `None` if a tool call already shows the file.
    pub item: Option<ItemId>,
    /// The turn in which the write started.
    pub turn: Option<TurnId>,
}

impl FileWrite {
    /// Records the write of a file that contained `old` before. It counts as a change of the current turn only if it
    /// started in that turn.
    pub fn complete(self, journal: &mut Journal, old: &PreviousContent, by: Origin) {
        let Self {
            path,
            content,
            item,
            turn,
        } = self;
        let replaced = Some(old.replaced());
        let is_recorded = match item {
            Some(_) => *old == PreviousContent::Nothing && is_computed(old, &content),
            None => is_shown(journal, &path, &content),
        };
        let kind = EventKind::Host(HostEvent::FileWritten {
            path: path.clone(),
            bytes: content.len() as u64,
            replaced,
            content: (!is_recorded).then(|| journal.content(&content)),
        });
        journal.emit(by.clone(), kind, None);
        let Some(item) = item else { return };
        let diff = unified_diff(&path, old, &content);
        if turn == journal.current_turn() {
            journal.note_file_change(&FileChange {
                path: &path,
                old,
                new: &content,
                diff: &diff,
            });
        }
        let kind = EventKind::Item(ItemEvent::Completed {
            item,
            outcome: ItemOutcome::Completed,
            end: ItemEnd::FileChange { path, diff, replaced },
        });
        journal.emit(by, kind, None);
    }
}

/// Returns whether an open tool call shows exactly this content of the file. Large tool calls are not searched, so that
/// many writes for one tool call cost no more than their contents.
fn is_shown(journal: &Journal, path: &str, content: &str) -> bool {
    let items = &journal.live().items;
    let of_path = items
        .values()
        .filter(|open| matches!(&open.view, ItemView::File { path: known } if known == path));
    let mut tools = of_path.filter_map(|open| items.get(&open.parent?));
    tools.any(|tool| match &tool.view {
        ItemView::Tool(tool) if tool.bytes() / 4 <= content.len() => {
            let mut diffs = tool.diffs().into_iter();
            diffs.any(|diff| diff.path == path && diff.new_text == content)
        }
        _ => false,
    })
}

/// Starts a file change, unless a tool call already shows the file: then the change is part of that tool call.
pub(super) fn begin_change(journal: &mut Journal, path: &str, by: Origin) -> Option<ItemId> {
    let shown = journal.live().items.values().any(|open| {
        open.parent.is_some() && matches!(&open.view, ItemView::File { path: known } if known == path)
    });
    if shown {
        return None;
    }
    let item = journal.next_item();
    let start = ItemStart::FileChange {
        path: path.to_owned(),
    };
    let kind = EventKind::Item(ItemEvent::Started {
        item,
        parent: None,
        start,
    });
    journal.emit(by, kind, None);
    Some(item)
}

/// Ends a file change that did not happen.
pub(super) fn fail_change(journal: &mut Journal, item: Option<ItemId>, path: &str, by: Origin) {
    let Some(item) = item else { return };
    let end = ItemEnd::FileChange {
        path: path.to_owned(),
        diff: String::new(),
        replaced: None,
    };
    let kind = EventKind::Item(ItemEvent::Completed {
        item,
        outcome: ItemOutcome::Failed,
        end,
    });
    journal.emit(by, kind, None);
}

//! The items that are not finished, with what is asked about them again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use acpd_model::{EventKind, ItemId, RawJson};

use super::item::ItemView;

/// An item that is not finished.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenItem {
    /// The tool call that it belongs to.
    pub parent: Option<ItemId>,
    /// Its content so far.
    pub view: ItemView,
}

/// Unfinished items, in the order in which they began. There may be thousands, and each may end at any time: nothing here that is
/// done for each of them looks at the others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpenItems {
    items: BTreeMap<ItemId, OpenItem>,
    tools: BTreeSet<ItemId>,
    /// Bytes of all of these.
    tool_bytes: usize,
    /// File changes of tool calls: the call, then the change.
    files: BTreeSet<(ItemId, ItemId)>,
}

fn tool_bytes(view: &ItemView) -> usize {
    match view {
        ItemView::Tool(tool) => tool.bytes(),
        _ => 0,
    }
}

impl Deref for OpenItems {
    type Target = BTreeMap<ItemId, OpenItem>;

    fn deref(&self) -> &Self::Target {
        &self.items
    }
}

impl OpenItems {
    /// One begins.
    pub fn insert(&mut self, id: ItemId, item: OpenItem) {
        match (&item.view, item.parent) {
            (ItemView::Tool(_), _) => {
                self.tools.insert(id);
                self.tool_bytes += tool_bytes(&item.view);
            }
            (ItemView::File { .. }, Some(tool)) => {
                self.files.insert((tool, id));
            }
            _ => {}
        }
        self.items.insert(id, item);
    }

    /// One has ended.
    pub fn remove(&mut self, id: ItemId) -> Option<OpenItem> {
        let item = self.items.remove(&id)?;
        self.tools.remove(&id);
        self.tool_bytes -= tool_bytes(&item.view);
        if let Some(tool) = item.parent {
            self.files.remove(&(tool, id));
        }
        Some(item)
    }

    /// One goes on with an event about it.
    pub fn apply(&mut self, id: ItemId, kind: &EventKind, raw: Option<&RawJson>) {
        let Some(open) = self.items.get_mut(&id) else {
            return;
        };
        let before = tool_bytes(&open.view);
        open.view.apply(kind, raw);
        self.tool_bytes = self.tool_bytes - before + tool_bytes(&open.view);
    }

    /// The tool calls, the oldest first.
    pub fn tools(&self) -> &BTreeSet<ItemId> {
        &self.tools
    }

    /// Bytes that the tool calls hold.
    pub fn tool_bytes(&self) -> usize {
        self.tool_bytes
    }

    /// How many file changes belong to tool calls.
    pub fn count_files(&self) -> usize {
        self.files.len()
    }

    /// The file changes of a tool call, with their paths.
    pub fn files_of(&self, tool: ItemId) -> impl Iterator<Item = (ItemId, &str)> {
        let of = self.files.range((tool, ItemId(0))..=(tool, ItemId(u32::MAX)));
        of.filter_map(|(_, id)| match &self.items.get(id)?.view {
            ItemView::File { path } => Some((*id, path.as_str())),
            _ => None,
        })
    }
}

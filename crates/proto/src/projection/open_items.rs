//! The items that are not finished, with what is asked about them again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use acpd_model::ItemId;

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
    /// File changes of tool calls: the call, then the change.
    files: BTreeSet<(ItemId, ItemId)>,
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
        if let Some(tool) = item.parent {
            self.files.remove(&(tool, id));
        }
        Some(item)
    }

    /// One goes on.
    pub fn get_mut(&mut self, id: ItemId) -> Option<&mut OpenItem> {
        self.items.get_mut(&id)
    }

    /// The tool calls, the oldest first.
    pub fn tools(&self) -> &BTreeSet<ItemId> {
        &self.tools
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

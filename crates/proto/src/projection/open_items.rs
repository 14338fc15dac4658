//! The unfinished items, with indexes for frequent queries.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use acpd_model::collections::free_if_empty;
use acpd_model::{EventKind, ItemId, ItemStart, LaneId, Millis, RawJson, Seq, TurnId};
use serde::{Deserialize, Serialize, Serializer};

use super::item::ItemView;

/// An item that is not finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenItem {
    /// The turn that contains the item; `None` before the first turn.
    pub turn: Option<TurnId>,
    /// The event that started the item.
    pub seq: Seq,
    /// When the item started.
    pub started_at: Millis,
    /// Weight of that event, in bytes.
    pub bytes: u64,
    /// The item as it started.
    pub start: ItemStart,
    /// The tool call that the item belongs to.
    pub parent: Option<ItemId>,
    /// Whether the agent gave it the id of an earlier message or tool call.
    pub repeats_id: bool,
    /// The subagent that the item belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneId>,
    /// The item's content so far.
    pub view: ItemView,
}

/// Unfinished items, in the order of their start. There may be thousands, and each may end at any time. No operation on
/// one item iterates over the others.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(from = "BTreeMap<ItemId, OpenItem>")]
pub struct OpenItems {
    items: BTreeMap<ItemId, OpenItem>,
    tools: BTreeSet<ItemId>,
    /// Total bytes of the open tool calls.
    tool_bytes: usize,
    /// File changes of tool calls, as pairs of the call and the change.
    files: BTreeSet<(ItemId, ItemId)>,
}

fn tool_bytes(view: &ItemView) -> usize {
    match view {
        ItemView::Tool(tool) => tool.bytes(),
        ItemView::Message(_) | ItemView::File { .. } | ItemView::Terminal { .. } => 0,
    }
}

impl Deref for OpenItems {
    type Target = BTreeMap<ItemId, OpenItem>;

    fn deref(&self) -> &Self::Target {
        &self.items
    }
}

impl Serialize for OpenItems {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl From<BTreeMap<ItemId, OpenItem>> for OpenItems {
    fn from(items: BTreeMap<ItemId, OpenItem>) -> Self {
        let mut open = Self::default();
        for (id, item) in items {
            open.insert(id, item);
        }
        open
    }
}

impl OpenItems {
    /// Returns about how many bytes the contents of all items have.
    pub fn bytes(&self) -> usize {
        let others = self
            .items
            .values()
            .filter(|item| !matches!(item.view, ItemView::Tool(_)));
        self.tool_bytes + others.map(|item| item.view.bytes()).sum::<usize>()
    }

    /// Adds an item that has started.
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

    /// Removes an item that has ended.
    pub fn remove(&mut self, id: ItemId) -> Option<OpenItem> {
        let item = self.items.remove(&id)?;
        free_if_empty(&mut self.items);
        self.tools.remove(&id);
        self.tool_bytes -= tool_bytes(&item.view);
        if let Some(tool) = item.parent {
            self.files.remove(&(tool, id));
        }
        Some(item)
    }

    /// Applies an event to one item.
    pub fn apply(&mut self, id: ItemId, kind: &EventKind, raw: Option<&RawJson>) {
        let Some(open) = self.items.get_mut(&id) else {
            return;
        };
        let before = tool_bytes(&open.view);
        open.view.apply(kind, raw);
        self.tool_bytes = self.tool_bytes - before + tool_bytes(&open.view);
    }

    /// Returns the tool calls, oldest first.
    pub fn tools(&self) -> &BTreeSet<ItemId> {
        &self.tools
    }

    /// Returns the total bytes of the tool calls.
    pub fn tool_bytes(&self) -> usize {
        self.tool_bytes
    }

    /// Returns the number of file changes that belong to tool calls.
    pub fn count_files(&self) -> usize {
        self.files.len()
    }

    /// Returns the file changes of a tool call, with their paths.
    pub fn files_of(&self, tool: ItemId) -> impl Iterator<Item = (ItemId, &str)> {
        let of = self.files.range((tool, ItemId(0))..=(tool, ItemId(u32::MAX)));
        of.filter_map(|(_, id)| match &self.items.get(id)?.view {
            ItemView::File { path } => Some((*id, path.as_str())),
            ItemView::Message(_) | ItemView::Tool(_) | ItemView::Terminal { .. } => None,
        })
    }
}

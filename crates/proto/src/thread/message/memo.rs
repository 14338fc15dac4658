//! What the log does not say of messages that the agent is in the middle of.
//!
//! In: the state of messages. Out: its memo, and the state again. Owns: nothing. Never: contains text of the agent, which is in the
//! log.

use acpd_model::{ItemId, Millis, RawJson};
use serde::{Deserialize, Serialize};

use super::echo::{Echo, EchoMemo};
use super::ended::{EndedMemo, EndedMessages};
use super::said::{Said, is_unsaid, unsaid};
use super::{Messages, OpenMessage};
use crate::projection::ItemView;
use crate::thread::journal::Journal;
use crate::thread::kept::is_default;

/// What the log does not say of messages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::thread) struct MessagesMemo {
    /// Open messages that are not as they began.
    #[serde(skip_serializing_if = "is_default")]
    open: Vec<OpenMemo>,
    /// The rest of a message of an ended turn, and when it ends.
    #[serde(skip_serializing_if = "is_default")]
    late: Option<(ItemId, Millis)>,
    #[serde(skip_serializing_if = "is_default")]
    ended: EndedMemo,
    #[serde(skip_serializing_if = "is_default")]
    echo: EchoMemo,
}

/// What the log does not say of an open message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenMemo {
    item: ItemId,
    /// Whether its events belong to no turn. Its item belongs to the turn before.
    #[serde(default, skip_serializing_if = "is_default")]
    between_turns: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    broken: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    interrupted: bool,
    #[serde(default = "unsaid", skip_serializing_if = "is_unsaid")]
    said: Option<Said>,
}

impl OpenMemo {
    fn of(open: &OpenMessage) -> Option<Self> {
        let OpenMessage {
            item,
            turn,
            broken,
            interrupted,
            ref said,
            ..
        } = *open;
        let between_turns = turn.is_none();
        (between_turns || broken || interrupted || !is_unsaid(said)).then(|| Self {
            item,
            between_turns,
            broken,
            interrupted,
            said: said.clone(),
        })
    }
}

impl Messages {
    /// Returns what the log does not say of messages.
    pub fn memo(&self, journal: &Journal) -> MessagesMemo {
        let late = self.late.as_ref();
        let all = self.open.values().chain(late.map(|(late, _)| late));
        MessagesMemo {
            open: all.filter_map(OpenMemo::of).collect(),
            late: late.map(|(late, until)| (late.item, journal.anchor().wall(*until))),
            ended: self.ended.memo(),
            echo: self.echo.memo(),
        }
    }

    /// Continues with the open messages. `inputs` is what was sent to the agent in the running turn, in order.
    pub fn resume<'i>(
        journal: &Journal,
        memo: MessagesMemo,
        inputs: impl Iterator<Item = &'i [RawJson]>,
    ) -> Self {
        let mut messages = Self {
            ended: EndedMessages::resume(memo.ended),
            echo: Echo::resume(memo.echo, inputs),
            ..Self::default()
        };
        for (item, open) in journal.live().items.iter() {
            let ItemView::Message(view) = &open.view else {
                continue;
            };
            let of_item = memo.open.iter().find(|known| known.item == *item);
            let message = OpenMessage {
                item: *item,
                turn: open
                    .turn
                    .filter(|_| !of_item.is_some_and(|memo| memo.between_turns)),
                bytes: open.view.bytes(),
                role: view.role,
                message_id: view.message_id.clone(),
                broken: of_item.is_some_and(|memo| memo.broken),
                interrupted: of_item.is_some_and(|memo| memo.interrupted),
                said: of_item.map_or_else(unsaid, |memo| memo.said.clone()),
            };
            match memo.late {
                Some((late, until)) if late == *item => {
                    messages.late = Some((message, journal.deadline_of(until)));
                }
                _ => drop(messages.open.insert(open.lane, message)),
            }
        }
        messages
    }
}

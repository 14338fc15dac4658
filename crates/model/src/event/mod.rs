//! Events: what happened in a thread, in the past tense. The log holds nothing else, and every surface computes what it
//! shows from events.
//!
//! # Format
//!
//! An event is stored as one JSON object. Readers ignore unknown members. An unknown kind becomes
//! [`EventKind::Unknown`], so that a log written by a newer daemon still opens.
//!
//! | Version | Change |
//! |---|---|
//! | 1 | first; later also `itemDelta.messageId`, `turnStarted.imported`, `turnSettled.changes`, `turnSettled.plan`, `turnSettled.plans`, `planReplaced.planId`, `planReplaced.markdown`, `planRemoved`, `turnSettled.waitedMs`, `threadCreated.sessionId`, `threadCreated.meta` and `turnQueued.meta`, `threadCreated.members`, `threadCreated.systemPrompt`, `threadCreated.realDirectories`, `sessionParamsSet`, `sessionParamsSet.systemPrompt`, `directoriesSet`, `pinSet`, `pinSet.place`, `terminalWaiting`, `terminalInput`, `permissionRequested.subjects`, `permissionRequested.always`, `permissionRequested.whole` and `permissionRequested.keepsContent`, `configOptionsReplaced.chosen`, `inputRequested.call`, `cursorUpdated`, `turnsRolledBack.sessionId`, `subagentUpdated`, `agentBound.protocol`, and `repeats_id`, `translated` and `lane` of every event, which older readers ignore |

mod created;
mod host;
mod item;
mod kind;
mod lane;
mod metric_group;
mod request;
mod row;
mod session;
mod thread;
mod turn;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

pub use created::{Directories, Fidelity, Inherited, SessionParams, ThreadCreated, ThreadForked};
pub use host::HostEvent;
pub use item::ItemEvent;
pub use kind::EventKind;
pub use lane::{LaneState, Patch, SubagentPatch};
pub use metric_group::MetricGroup;
pub use request::RequestEvent;
pub use session::SessionEvent;
pub use thread::ThreadEvent;
pub use turn::TurnEvent;
pub use words::{
    Binding, ChosenOption, Content, CursorPlace, CursorSide, DiffSize, LeaseHolder, LeaseMove, Level,
    MarkdownPlan, PlanEntry, PlanEvents, SessionDeleted,
};

pub use crate::numbers::{Millis, Seq};
pub use crate::origin::{ClientOrigin, Origin, Ruling};
pub use crate::permission::{Always, OptionKind, Outcome, PermissionOption, QuestionTopic};
pub use crate::status::TurnStatus;

use crate::ids::{LaneId, ThreadId, TurnId};
use crate::item::ItemEnd;
use crate::json::{RawJson, from_bytes};

/// Version of the stored format; see the module's table of changes.
pub const FORMAT: u8 = 1;

/// One fact about a thread.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(remote = "Self")]
pub struct Event {
    /// Number of the event in its thread.
    pub seq: Seq,
    /// When the event happened, by the daemon's clock.
    pub at: Millis,
    /// The turn in which the event happened.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// Who caused the event. For files and terminals, the client that acted for the agent, or else the agent.
    #[serde(default)]
    pub by: Origin,
    /// What happened.
    #[serde(deserialize_with = "kind::read")]
    pub kind: EventKind,
    /// What the agent sent, unchanged: the `update` object, or the params of another message. Absent if the kind alone
    /// rebuilds it byte for byte.
    #[serde(default, deserialize_with = "present")]
    pub raw: Option<RawJson>,
    /// The whole params, if `{"sessionId":…,"update":raw}` would not rebuild them: `_meta` beside the update, unknown
    /// members, or another order.
    #[serde(default, deserialize_with = "present")]
    pub raw_params: Option<RawJson>,
    /// Whether the event is about a message or a tool call to which the agent gave the id of an earlier one. Clients that know
    /// both by the agent's ids then need another id.
    #[serde(default)]
    pub repeats_id: bool,
    /// Whether `raw` is a message of version 2 of ACP in the words of version 1. Its `_meta.acpd` then has what version 1 cannot
    /// express. The same member of any other message is the agent's own.
    #[serde(default)]
    pub translated: bool,
    /// The subagent that the event is about: its item, its question, its plan or itself. Absent for the main agent, and in logs from
    /// before subagents had lanes.
    #[serde(default)]
    pub lane: Option<LaneId>,
}

/// Reads an event within another value by [`Event::decode`]: the reader that serde derives has 350 kB of code, which each
/// crate that uses it would have again.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        Self::decode(json.get().as_bytes()).map_err(serde::de::Error::custom)
    }
}

/// Distinguishes a `null` that an agent sent from a missing member.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

impl Event {
    /// Decodes one stored event. An unknown kind becomes [`EventKind::Unknown`].
    pub fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        Self::decode_known(json).or_else(|error| {
            let Ok(newer) = from_bytes::<Envelope>(json) else {
                return Err(error);
            };
            // A failure to read a known kind means damage, not a newer version.
            let tag = newer.kind.keys().next();
            if tag.is_none_or(|tag| EventKind::is_known(tag)) {
                return Err(error);
            }
            let Envelope {
                seq,
                at,
                turn,
                by,
                lane,
                kind: _,
            } = newer;
            Ok(Self {
                seq,
                at,
                turn,
                by,
                kind: EventKind::Unknown,
                raw: None,
                raw_params: None,
                repeats_id: false,
                translated: false,
                lane,
            })
        })
    }

    fn decode_known(json: &[u8]) -> Result<Self, serde_json::Error> {
        struct Known(Event);
        impl<'de> Deserialize<'de> for Known {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Event::deserialize(deserializer).map(Self)
            }
        }
        from_bytes(json).map(|Known(event)| event)
    }

    /// Returns about how many bytes of memory the event takes, without the parts that are always small.
    pub fn weight(&self) -> usize {
        let raw = |raw: &Option<RawJson>| raw.as_ref().map_or(0, |raw| raw.get().len());
        let all = |blocks: &[RawJson]| blocks.iter().map(|block| block.get().len()).sum();
        let text = match &self.kind {
            EventKind::Item(ItemEvent::Delta { text, .. })
            | EventKind::Host(HostEvent::TerminalOutput { text, .. })
            | EventKind::Turn(TurnEvent::DiffUpdated { diff: text }) => text.len(),
            EventKind::Item(ItemEvent::Content { block, .. }) => block.get().len(),
            EventKind::Item(ItemEvent::UserMessageAdded { content, .. }) => all(content),
            EventKind::Turn(TurnEvent::Queued { input, .. }) => all(input),
            EventKind::Turn(TurnEvent::PlanReplaced {
                entries, markdown, ..
            }) => {
                let steps: usize = entries.iter().map(|entry| entry.content.len()).sum();
                steps + markdown.as_ref().map_or(0, |plan| plan.content.len())
            }
            EventKind::Host(HostEvent::FileWritten {
                content: Some(content),
                ..
            }) => content.text.len(),
            EventKind::Item(ItemEvent::Completed { end, .. }) => match end {
                ItemEnd::Message { content, .. } => all(content),
                ItemEnd::ToolCall { call, .. } => call.get().len(),
                ItemEnd::FileChange { diff, .. } => diff.len(),
                ItemEnd::TerminalCommand { output, .. } => output.len(),
            },
            EventKind::Session(SessionEvent::SubagentUpdated(patch)) => patch.bytes(),
            _ => 0,
        };
        size_of::<Self>() + raw(&self.raw) + raw(&self.raw_params) + text
    }

    /// Makes the event one of another thread. The ids of requests contain their thread.
    pub fn readdress(&mut self, thread: ThreadId) {
        if let EventKind::Request(
            RequestEvent::PermissionRequested { request, .. }
            | RequestEvent::InputRequested { request, .. }
            | RequestEvent::Settled { request, .. }
            | RequestEvent::Voided { request, .. },
        ) = &mut self.kind
        {
            request.thread = thread;
        }
    }

    /// Appends the event to `out` as one JSON object. Written by hand for speed: every event passes here, and the
    /// agent's JSON is only copied.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        out.extend_from_slice(b"{\"seq\":");
        serde_json::to_writer(&mut *out, &self.seq)?;
        out.extend_from_slice(b",\"at\":");
        serde_json::to_writer(&mut *out, &self.at)?;
        if let Some(turn) = &self.turn {
            out.extend_from_slice(b",\"turn\":\"");
            turn.with_text(|text| out.extend_from_slice(text.as_bytes()));
            out.push(b'"');
        }
        if self.by != Origin::Agent {
            out.extend_from_slice(b",\"by\":");
            serde_json::to_writer(&mut *out, &self.by)?;
        }
        out.extend_from_slice(b",\"kind\":");
        match &self.kind {
            // The most frequent kind, and the one with the least to escape.
            EventKind::Item(ItemEvent::Updated { item, status }) => {
                out.extend_from_slice(b"{\"itemUpdated\":{\"item\":\"");
                item.with_text(|text| out.extend_from_slice(text.as_bytes()));
                out.extend_from_slice(b"\",\"status\":\"");
                out.extend_from_slice(status.as_acp().as_bytes());
                out.extend_from_slice(b"\"}}");
            }
            kind => serde_json::to_writer(&mut *out, kind)?,
        }
        if let Some(raw) = &self.raw {
            out.extend_from_slice(b",\"raw\":");
            out.extend_from_slice(raw.get().as_bytes());
        }
        if let Some(raw) = &self.raw_params {
            out.extend_from_slice(b",\"raw_params\":");
            out.extend_from_slice(raw.get().as_bytes());
        }
        if self.repeats_id {
            out.extend_from_slice(b",\"repeats_id\":true");
        }
        if self.translated {
            out.extend_from_slice(b",\"translated\":true");
        }
        if let Some(lane) = &self.lane {
            out.extend_from_slice(b",\"lane\":\"");
            lane.with_text(|text| out.extend_from_slice(text.as_bytes()));
            out.push(b'"');
        }
        out.push(b'}');
        Ok(())
    }
}

/// Serializes the event as [`Event::encode`] writes it.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = Vec::new();
        self.encode(&mut json).map_err(serde::ser::Error::custom)?;
        let raw: &RawValue = from_bytes(&json).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// The members that events of every version have.
#[derive(Deserialize)]
struct Envelope {
    seq: Seq,
    at: Millis,
    #[serde(default)]
    turn: Option<TurnId>,
    #[serde(default)]
    by: Origin,
    #[serde(default)]
    lane: Option<LaneId>,
    kind: BTreeMap<String, RawJson>,
}

/// An event is moved several times on its way from the agent's line to the log, so it stays small. [`EventKind`] takes no
/// room for its group if only one of the groups has an event of this size.
const _: () = assert!(size_of::<Event>() <= 200, "an event must not grow");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ItemId, MessageType, item::ToolStatus};

    fn event(kind: EventKind) -> Event {
        Event {
            seq: 7,
            at: 1_700_000_000_000,
            turn: Some(TurnId(2)),
            by: Origin::Daemon,
            kind,
            raw: None,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        }
    }

    #[test]
    fn an_event_reads_back() {
        let mut written = event(EventKind::Item(ItemEvent::Delta {
            item: ItemId(3),
            role: MessageType::AgentMessage,
            text: "ha\u{1f600}\n".into(),
            message_id: Some("m-1".into()),
        }));
        written.raw = Some(RawJson::parse(r#"{"n":1.10,"big":18446744073709551616}"#).unwrap());
        written.repeats_id = true;
        written.translated = true;
        written.lane = LaneId::new(7);
        let mut bytes = Vec::new();
        written.encode(&mut bytes).unwrap();
        assert_eq!(Event::decode(&bytes).unwrap(), written);
    }

    #[test]
    fn a_null_of_an_agent_reads_back_as_a_null() {
        let mut written = event(EventKind::Thread(ThreadEvent::Unarchived {}));
        written.raw = Some(RawJson::trusted("null"));
        written.raw_params = Some(RawJson::trusted("null"));
        let mut bytes = Vec::new();
        written.encode(&mut bytes).unwrap();
        assert_eq!(Event::decode(&bytes).unwrap(), written);
    }

    #[test]
    fn handwritten_encoding_equals_serdes() {
        for status in [ToolStatus::Pending, ToolStatus::InProgress, ToolStatus::Failed] {
            let written = event(EventKind::Item(ItemEvent::Updated {
                item: ItemId(30),
                status,
            }));
            let mut bytes = Vec::new();
            written.encode(&mut bytes).unwrap();
            let kind = serde_json::to_string(&written.kind).unwrap();
            assert!(
                String::from_utf8(bytes)
                    .unwrap()
                    .contains(&format!(",\"kind\":{kind}}}"))
            );
        }
    }

    #[test]
    fn a_newer_kind_is_unknown_and_a_damaged_one_is_an_error() {
        let newer = br#"{"seq":1,"at":2,"by":"daemon","kind":{"moonLanded":{"by":"eagle"}},"new":1}"#;
        assert_eq!(Event::decode(newer).unwrap().kind, EventKind::Unknown);
        let damaged = br#"{"seq":1,"at":2,"kind":{"itemDelta":{"item":"item_1"}}}"#;
        assert!(Event::decode(damaged).is_err());
        assert!(Event::decode(b"{").is_err());
    }

    /// The first format, as it was written. It must remain readable.
    #[test]
    fn version_1_opens() {
        for line in include_str!("../../fixtures/events-v1.jsonl").lines() {
            let event = Event::decode(line.as_bytes()).unwrap();
            assert_ne!(event.kind, EventKind::Unknown, "{line}");
            let mut again = Vec::new();
            event.encode(&mut again).unwrap();
            assert_eq!(String::from_utf8(again).unwrap(), line);
        }
    }
}

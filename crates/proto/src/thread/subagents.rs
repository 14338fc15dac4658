//! Subagents: which sessions of the agent have a lane in the thread.
//!
//! In: what the agent reports of subagents, sessions that it has not announced, and messages between sessions. Out: events, and
//! whether a session has a lane. Owns: what was refused in this turn, and the sides of messages between sessions. Never: gives a
//! subagent a directory or a permission.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::event::{Level, Patch, SubagentPatch};
use acpd_model::{EventKind, LaneId, MessageType, Origin, RawJson, SessionEvent};

use super::journal::Journal;
use crate::agent::{SessionMessage, SubagentUpdate};
use crate::projection::Subagent;

/// Subagents of one thread, in its whole life.
const LANES: usize = 1024;
/// Subagents of one thread that are there at the same time: those that work, or of which no state is known in this turn.
const LIVE_LANES: usize = 64;
/// How deep subagents of subagents may be. Those of the main agent are at 1.
const DEPTH: u32 = 8;

/// The code of the notice about a session that gets no lane.
const REFUSED: &str = "subagentRefused";
/// The code of the notice about a session that the agent has not announced.
const ASSUMED: &str = "subagentAssumed";

/// The subagents of a thread.
#[derive(Debug, Default)]
pub(super) struct Subagents {
    /// Why sessions were refused in this turn.
    refused: BTreeSet<&'static str>,
    /// The last message between sessions in each lane, and who said it there.
    messages: BTreeMap<LaneId, (String, MessageType)>,
}

impl Subagents {
    /// Clears what was refused in the last turn.
    pub fn begin_turn(&mut self) {
        self.refused.clear();
    }

    /// Records a report of the present agent on a subagent. Returns the lane, unless the session is refused.
    pub fn report(
        &mut self,
        journal: &mut Journal,
        report: SubagentUpdate,
        raw: Option<RawJson>,
        raw_params: Option<RawJson>,
    ) -> Option<LaneId> {
        let SubagentUpdate { session, mut patch } = report;
        if journal.live().summary.session_id.as_ref() == Some(&session) {
            journal.emit_unshown(raw, raw_params);
            self.refuse(journal, "it has the session of the thread itself");
            return None;
        }
        let lane = match journal.live().lanes.of_session(&session) {
            Some(lane) => {
                patch.parent = journal.live().lanes.get(lane).and_then(|lane| lane.parent);
                lane
            }
            None => match next_lane(journal, journal.lane()) {
                Ok(lane) => {
                    patch.session_id = Some(session);
                    patch.parent = journal.lane();
                    lane
                }
                Err(reason) => {
                    journal.emit_unshown(raw, raw_params);
                    self.refuse(journal, reason);
                    return None;
                }
            },
        };
        emit(journal, lane, Origin::Agent, patch, raw, raw_params);
        Some(lane)
    }

    /// Gives a lane to a session that the agent has not announced. Returns `None` if it is refused.
    pub fn assume(&mut self, journal: &mut Journal, session: &str) -> Option<LaneId> {
        let lane = match next_lane(journal, None) {
            Ok(lane) => lane,
            Err(reason) => {
                self.refuse(journal, reason);
                return None;
            }
        };
        let patch = SubagentPatch {
            session_id: Some(session.to_owned()),
            assumed: true,
            ..SubagentPatch::default()
        };
        emit(journal, lane, Origin::Daemon, patch, None, None);
        let name = journal.live().lanes.get(lane).map(Subagent::name);
        let message = format!(
            "{} works for the agent, which has not announced it.",
            name.unwrap_or_default()
        );
        let before = journal.set_lane(Some(lane));
        journal.notice(Level::Info, ASSUMED, &message);
        journal.set_lane(before);
        Some(lane)
    }

    /// Says why a session has no lane, once in a turn.
    fn refuse(&mut self, journal: &mut Journal, reason: &'static str) {
        if self.refused.insert(reason) {
            let message = format!("A subagent is not followed: {reason}.");
            journal.notice(Level::Warning, REFUSED, &message);
        }
    }

    /// Records that the subagents that work have ended with their process.
    pub fn stop_all(journal: &mut Journal) {
        let working: Vec<LaneId> = journal.live().lanes.at_work().collect();
        for lane in working {
            let patch = SubagentPatch {
                parent: journal.live().lanes.get(lane).and_then(|lane| lane.parent),
                state: Patch::Cleared,
                ..SubagentPatch::default()
            };
            emit(journal, lane, Origin::Daemon, patch, None, None);
        }
    }

    /// Takes note of a message between sessions, as a subagent reports it. Returns whose message it is in the subagent's lane: its
    /// own, or one that it receives.
    pub fn note_message(&mut self, journal: &Journal, lane: LaneId, message: &SessionMessage) -> MessageType {
        let role = match message.sender.set() {
            Some(sender) if journal.live().lanes.of_session(sender) == Some(lane) => {
                MessageType::AgentMessage
            }
            Some(_) => MessageType::UserMessage,
            None => self.role_of(lane, &message.id),
        };
        self.messages.insert(lane, (message.id.clone(), role));
        role
    }

    /// Returns whose message this is in the lane. A message of an unknown sender is one that the subagent receives.
    pub fn role_of(&self, lane: LaneId, id: &str) -> MessageType {
        let known = self.messages.get(&lane).filter(|(known, _)| known == id);
        known.map_or(MessageType::UserMessage, |(_, role)| *role)
    }
}

/// Returns the id of the next lane below `parent`, or why there is none.
fn next_lane(journal: &Journal, parent: Option<LaneId>) -> Result<LaneId, &'static str> {
    let lanes = &journal.live().lanes;
    if lanes.depth_below(parent) > DEPTH {
        return Err("the agent has subagents of subagents deeper than 8");
    }
    if lanes.count_live() >= LIVE_LANES {
        return Err("64 subagents are at work already");
    }
    let number = u32::try_from(lanes.count()).unwrap_or(u32::MAX);
    LaneId::new(number.saturating_add(1))
        .filter(|_| lanes.count() < LANES)
        .ok_or("the thread has had 1024 subagents already; start a new thread")
}

fn emit(
    journal: &mut Journal,
    lane: LaneId,
    by: Origin,
    patch: SubagentPatch,
    raw: Option<RawJson>,
    raw_params: Option<RawJson>,
) {
    let before = journal.set_lane(Some(lane));
    let kind = EventKind::Session(SessionEvent::SubagentUpdated(Box::new(patch)));
    journal.emit_with_params(by, kind, raw, raw_params);
    journal.set_lane(before);
}

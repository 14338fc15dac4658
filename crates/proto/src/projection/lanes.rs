//! The subagents of a thread.
//!
//! In: what the agent reports of them. Out: their names, their places and whether they work. Owns: what was last reported. Never:
//! takes what an agent says of directories for a permission.

use std::collections::{BTreeMap, btree_map};

use acpd_model::event::{LaneState, SubagentPatch};
use acpd_model::text::{plain_line, shorten};
use acpd_model::{LaneId, Millis};
use serde::{Deserialize, Serialize};

/// Longest name of a subagent in a sentence, in characters.
const NAMED_CHARS: usize = 80;

/// Bytes that are kept of the directories of a thread's subagents. Those that are there at the same time have less, as their reports are
/// bounded; a thread has more than a thousand in its life.
const DIRECTORIES_BYTES: usize = 1 << 20;

/// A subagent, as its agent last reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subagent {
    /// The subagent that created this one; `None` if the main agent did.
    pub parent: Option<LaneId>,
    /// How many subagents lead to this one, itself included.
    pub depth: u32,
    /// The agent's id for its session.
    pub session_id: String,
    /// Whether the agent did not announce it.
    pub assumed: bool,
    /// When it was first reported.
    pub started_at: Millis,
    /// When it was last reported.
    pub updated_at: Millis,
    /// The name that users see.
    pub title: Option<String>,
    /// Its role or purpose.
    pub description: Option<String>,
    /// What it is doing, if that is known.
    pub state: Option<LaneState>,
    /// The working directory, by the agent's words; `None` also if it was forgotten.
    pub cwd: Option<String>,
    /// Further directories, by the agent's words; `None` also if they were forgotten.
    pub directories: Option<Vec<String>>,
    /// Whether clients may cancel its work.
    pub may_cancel: bool,
    /// Whether it counts as one that is there: until it is idle, or the turn ends and nothing is known of its state.
    pub is_live: bool,
}

impl Subagent {
    /// Returns whether it works, or waits for a user.
    pub fn is_at_work(&self) -> bool {
        self.state.as_ref().is_some_and(LaneState::is_at_work)
    }

    /// Returns the size of its directories, in bytes.
    fn directories_bytes(&self) -> usize {
        let further = self.directories.iter().flatten();
        let further = further.map(|path| size_of::<String>() + path.len());
        self.cwd.as_ref().map_or(0, String::len) + further.sum::<usize>()
    }

    /// Returns the name for sentences: `Subagent "review"`. Some agents describe a subagent and give it no title.
    pub fn name(&self) -> String {
        let names = [&self.title, &self.description].into_iter().flatten();
        let name = names.map(String::as_str).find(|name| !name.trim().is_empty());
        named_subagent(name.unwrap_or(&self.session_id))
    }
}

/// Returns a subagent's name for sentences. Quotes in it would let the agent's words end it, and continue as those of acpd.
pub(crate) fn named_subagent(name: &str) -> String {
    match plain_line(name).replace('"', "'").trim() {
        "" => "Subagent".to_owned(),
        name => format!("Subagent \"{}\"", shorten(name, NAMED_CHARS)),
    }
}

/// The subagents of a thread, by their lanes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<LaneId, Subagent>", into = "BTreeMap<LaneId, Subagent>")]
pub struct Lanes {
    lanes: BTreeMap<LaneId, Subagent>,
    /// The lanes of the present session, by the agent's ids.
    sessions: BTreeMap<String, LaneId>,
}

impl From<BTreeMap<LaneId, Subagent>> for Lanes {
    fn from(lanes: BTreeMap<LaneId, Subagent>) -> Self {
        let named = lanes.iter().filter(|(_, lane)| !lane.session_id.is_empty());
        let sessions = named.map(|(id, lane)| (lane.session_id.clone(), *id)).collect();
        Self { lanes, sessions }
    }
}

impl From<Lanes> for BTreeMap<LaneId, Subagent> {
    fn from(lanes: Lanes) -> Self {
        lanes.lanes
    }
}

impl Lanes {
    /// Returns a subagent.
    pub fn get(&self, lane: LaneId) -> Option<&Subagent> {
        self.lanes.get(&lane)
    }

    /// Returns the lane of a session of the agent.
    pub fn of_session(&self, session: &str) -> Option<LaneId> {
        self.sessions.get(session).copied()
    }

    /// Returns all subagents, in the order in which they were first reported.
    pub fn all(&self) -> btree_map::Iter<'_, LaneId, Subagent> {
        self.lanes.iter()
    }

    /// Returns the number of subagents so far.
    pub fn count(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the number of subagents that are there.
    pub fn count_live(&self) -> usize {
        self.lanes.values().filter(|lane| lane.is_live).count()
    }

    /// Returns the lanes of the subagents that work.
    pub fn at_work(&self) -> impl Iterator<Item = LaneId> {
        let working = self.lanes.iter().filter(|(_, lane)| lane.is_at_work());
        working.map(|(id, _)| *id)
    }

    /// Returns whether the subagent of a lane works. The main agent does not count.
    pub fn is_at_work(&self, lane: Option<LaneId>) -> bool {
        lane.and_then(|lane| self.get(lane))
            .is_some_and(Subagent::is_at_work)
    }

    /// Returns the depth of the subagents that the agent of a lane creates.
    pub fn depth_below(&self, parent: Option<LaneId>) -> u32 {
        1 + parent
            .and_then(|lane| self.get(lane))
            .map_or(0, |lane| lane.depth)
    }

    /// Applies what was reported of a lane.
    pub(super) fn fold(&mut self, lane: LaneId, patch: &SubagentPatch, at: Millis) {
        if !self.lanes.contains_key(&lane) {
            let session_id = patch.session_id.clone().unwrap_or_default();
            if !session_id.is_empty() {
                self.sessions.insert(session_id.clone(), lane);
            }
            let new = Subagent {
                parent: patch.parent,
                depth: self.depth_below(patch.parent),
                session_id,
                assumed: patch.assumed,
                started_at: at,
                updated_at: at,
                title: None,
                description: None,
                state: None,
                cwd: None,
                directories: None,
                may_cancel: false,
                is_live: true,
            };
            self.lanes.insert(lane, new);
        }
        let Some(known) = self.lanes.get_mut(&lane) else {
            return;
        };
        known.updated_at = at;
        patch.title.apply(&mut known.title);
        patch.description.apply(&mut known.description);
        patch.state.apply(&mut known.state);
        patch.cwd.apply(&mut known.cwd);
        patch.directories.apply(&mut known.directories);
        known.may_cancel = patch.may_cancel.unwrap_or(known.may_cancel);
        if !patch.state.is_unchanged() {
            known.is_live = known.is_at_work();
        }
        if !patch.cwd.is_unchanged() || !patch.directories.is_unchanged() {
            self.bound_directories();
        }
    }

    /// Forgets directories until the rest is small enough: first those of subagents that have ended, the oldest reports first.
    fn bound_directories(&mut self) {
        let mut bytes: usize = self.lanes.values().map(Subagent::directories_bytes).sum();
        while bytes > DIRECTORIES_BYTES {
            let kept = self
                .lanes
                .values_mut()
                .filter(|lane| lane.directories_bytes() > 0);
            let Some(oldest) = kept.min_by_key(|lane| (lane.is_live, lane.updated_at)) else {
                return;
            };
            bytes -= oldest.directories_bytes();
            (oldest.cwd, oldest.directories) = (None, None);
        }
    }

    /// Notes the end of a turn: subagents of which no state is known have ended with it.
    pub(super) fn turn_settled(&mut self) {
        for lane in self.lanes.values_mut() {
            lane.is_live &= lane.is_at_work();
        }
    }

    /// Forgets the agent's ids, because the session has changed: another session may use them for other subagents.
    pub(super) fn end_session(&mut self) {
        self.sessions.clear();
        for lane in self.lanes.values_mut() {
            lane.session_id.clear();
            lane.state = None;
            lane.is_live = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use acpd_model::event::Patch;

    use super::*;

    #[test]
    fn directories_of_subagents_that_have_ended_are_forgotten_first() {
        let mut lanes = Lanes::default();
        let report = |lanes: &mut Lanes, number: u32, state: &str| {
            let patch = SubagentPatch {
                session_id: Some(format!("s-{number}")),
                state: Patch::Set(LaneState {
                    state: state.to_owned(),
                    stop_reason: None,
                }),
                cwd: Patch::Set("x".repeat(DIRECTORIES_BYTES / 4)),
                ..SubagentPatch::default()
            };
            let lane = LaneId::new(number).unwrap();
            lanes.fold(lane, &patch, Millis::from(number));
        };
        report(&mut lanes, 1, "running");
        for number in 2..=8 {
            report(&mut lanes, number, "idle");
        }
        let kept: Vec<u32> = lanes
            .all()
            .zip(1..)
            .filter_map(|((_, lane), number)| lane.cwd.is_some().then_some(number))
            .collect();
        assert_eq!(kept, [1, 6, 7, 8]);
        let all = |number: u32| lanes.get(LaneId::new(number).unwrap()).unwrap();
        assert_eq!(all(2).name(), "Subagent \"s-2\"", "all else is kept");
        let bytes = lanes.all().map(|(_, lane)| lane.directories_bytes());
        assert!(bytes.sum::<usize>() <= DIRECTORIES_BYTES);
    }
}

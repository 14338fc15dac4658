//! Subagents, as results and notifications contain them.

use acpd_model::event::{self, Patch, SubagentPatch};
use acpd_model::{LaneId, Millis};

use super::{At, OrNull};
use crate::projection::Subagent;

wire! {
    /// A subagent of a thread.
    struct Lane<'a> {
        /// Id of the subagent's lane: its items and questions have it.
        lane: LaneId,
        /// The subagent that created this one; absent if the main agent did.
        parent: Option<LaneId>,
        /// The agent's id for the subagent's session. Absent once the agent's session has ended.
        session_id: Option<&'a str>,
        /// The name that users see.
        title: Option<&'a str>,
        /// The role or purpose of the subagent.
        description: Option<&'a str>,
        /// What the subagent is doing; absent if that is unknown.
        state: Option<LaneState<'a>>,
        /// The working directory, by the agent's words.
        cwd: Option<&'a str>,
        /// Further directories, by the agent's words.
        directories: Option<&'a [String]>,
        /// Whether clients may cancel the subagent's work. `turn/interrupt` does.
        may_cancel: bool,
        /// Whether the agent did not announce the session, so that acpd assumes a subagent.
        assumed: bool,
        /// When the subagent was first reported, in milliseconds since the epoch.
        started_at: Millis as u64,
        /// When the subagent was last reported, in milliseconds since the epoch.
        updated_at: Millis as u64,
    }

    /// What a subagent is doing.
    struct LaneState<'a> {
        /// `running`, `idle`, `requires_action` or `unknown`; other values are the agent's own.
        state: &'a str,
        /// Why the work of an idle subagent ended.
        stop_reason: Option<&'a String>,
    }

    /// The subagents of a thread.
    struct LanesListed<'a> { data: &'a [(LaneId, Subagent)] }

    /// A change of a subagent, which is `lane`. Contains only what has changed; `null` clears it.
    struct LaneUpdated<'a> {
        [flatten] at: At<'a>,
        /// The agent's id for the subagent's session. Only in the first notification about the subagent.
        session_id: Option<&'a String>,
        /// The subagent that created this one; absent if the main agent did.
        parent: Option<LaneId>,
        /// Whether the agent did not announce the session. Only in the first notification.
        assumed: Option<bool>,
        /// The name that users see; `null` if it was removed.
        title: Option<OrNull<&'a String>>,
        /// The role or purpose of the subagent; `null` if it was removed.
        description: Option<OrNull<&'a String>>,
        /// What the subagent is doing; `null` if it was removed: that is unknown from now on.
        state: Option<OrNull<LaneState<'a>>>,
        /// The working directory, by the agent's words; `null` if it was removed.
        cwd: Option<OrNull<&'a String>>,
        /// The list of further directories, by the agent's words; `null` if it was removed.
        directories: Option<OrNull<&'a [String]>>,
        /// Whether clients may cancel the subagent's work.
        may_cancel: Option<bool>,
    }
}

impl<'a> LaneState<'a> {
    fn of(state: &'a event::LaneState) -> Self {
        Self::new(&state.state, state.stop_reason.as_ref())
    }
}

/// Returns a change as a member; `None` if there is none.
fn changed<T>(patch: &Patch<T>) -> Option<OrNull<&T>> {
    (!patch.is_unchanged()).then(|| OrNull(patch.set()))
}

impl<'a> LaneUpdated<'a> {
    pub fn of(at: At<'a>, patch: &'a SubagentPatch) -> Self {
        Self {
            at,
            session_id: patch.session_id.as_ref(),
            parent: patch.parent,
            assumed: patch.assumed.then_some(true),
            title: changed(&patch.title),
            description: changed(&patch.description),
            state: changed(&patch.state).map(|OrNull(state)| OrNull(state.map(LaneState::of))),
            cwd: changed(&patch.cwd),
            directories: changed(&patch.directories).map(|OrNull(list)| OrNull(list.map(Vec::as_slice))),
            may_cancel: patch.may_cancel,
        }
    }
}

impl<'a> Lane<'a> {
    fn of((lane, subagent): &'a (LaneId, Subagent)) -> Self {
        Self {
            lane: *lane,
            parent: subagent.parent,
            session_id: Some(subagent.session_id.as_str()).filter(|id| !id.is_empty()),
            title: subagent.title.as_deref(),
            description: subagent.description.as_deref(),
            state: subagent.state.as_ref().map(LaneState::of),
            cwd: subagent.cwd.as_deref(),
            directories: subagent.directories.as_deref(),
            may_cancel: subagent.may_cancel,
            assumed: subagent.assumed,
            started_at: subagent.started_at,
            updated_at: subagent.updated_at,
        }
    }
}

shown! { (LaneId, Subagent) as Lane, |subagent| Lane::of(subagent) }

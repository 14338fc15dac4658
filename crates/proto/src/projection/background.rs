//! The work of an agent beside its turn. Only version 2 of ACP reports it, in a list with the state of the session.

use acpd_model::limits::AGENT_STATE_BYTES;
use acpd_model::{Event, RawJson, json};

use crate::wire::{has_string, member};

/// A report about work beside the turn.
#[derive(Debug)]
pub(crate) struct BackgroundReport {
    /// The list, without work that names a session: no client has the agent's own ids of sessions.
    pub list: RawJson,
    /// The state that the agent reports with it, as JSON text.
    pub state: Option<String>,
}

/// Returns the report in an event of the agent's own session.
pub(crate) fn background_report(event: &Event) -> Option<BackgroundReport> {
    let raw = event
        .raw
        .as_ref()
        .filter(|_| event.translated && event.lane.is_none())?;
    let mut update = raw.clone();
    for name in ["_meta", "acpd", "update"] {
        update = RawJson::trusted(member(&update, name).filter(|value| value.starts_with('{'))?);
    }
    if member(&update, "sessionUpdate") != Some(r#""state_update""#) {
        return None;
    }
    let list = member(&update, "background").filter(|list| list.len() <= AGENT_STATE_BYTES)?;
    let work: Vec<RawJson> = json::read(list).ok()?;
    let is_shown = |work: &&RawJson| has_string(work, "type") && member(work, "sessionId").is_none();
    let shown: Vec<&RawJson> = work.iter().filter(is_shown).collect();
    Some(BackgroundReport {
        list: RawJson::of(&shown).ok()?,
        state: member(&update, "state").map(str::to_owned),
    })
}

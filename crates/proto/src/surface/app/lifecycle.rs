//! Notifications about a thread as a whole: name, data, archive, deletion, rollback, fork.

use acpd_model::{Event, EventKind};

use super::encode::by_json;
use crate::projection::server_name;
use crate::wire::Object;

/// Writes the specific members of an event's notification, and its originator.
pub(super) fn fill_lifecycle(params: &mut Object<'_>, event: &Event) {
    match &event.kind {
        EventKind::ThreadRenamed { shown, .. } => {
            params.put("name", shown);
        }
        EventKind::MetadataSet { metadata } => {
            params.put("metadata", metadata);
        }
        EventKind::ThreadDeleted { session } => {
            params.put("session", session);
        }
        EventKind::TurnsRolledBack { last_kept, fidelity } => {
            params.put("lastKeptTurnId", last_kept).put("fidelity", fidelity);
        }
        EventKind::ThreadForked(forked) => {
            params
                .put("fromThreadId", &forked.from)
                .maybe("lastTurnId", forked.last.as_ref())
                .maybe("sessionId", forked.session_id.as_ref())
                .put("fidelity", &forked.fidelity);
        }
        EventKind::SessionParamsSet(given) => {
            let servers: Vec<_> = given.mcp_servers.iter().map(server_name).collect();
            params.object("session", |session| {
                session.put("cwd", &given.cwd).put("mcpServers", &servers);
            });
        }
        EventKind::LeaseMoved { holder, why } => {
            params.maybe("holder", holder.as_ref()).put("why", why);
        }
        _ => {}
    }
    params.put("by", &by_json(&event.by));
}

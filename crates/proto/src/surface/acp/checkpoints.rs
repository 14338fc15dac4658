//! Checkpoints for a connection that may continue elsewhere: extension notifications about its position. Other
//! connections do not receive them.

use acpd_model::{RawJson, RequestId, Seq, ThreadId};

use super::params::{self, Params};
use super::peer::Peer;
use crate::projection::Live;
use crate::surface::idempotency::is_of_editors;
use crate::wire;

/// The notification that names a prompt, in both directions.
pub(super) const PROMPT_NAME: &str = "_acpd/prompt";

impl Peer {
    /// Takes the name that a client which may continue elsewhere gives to its next prompt. It knows the name then even if this connection
    /// is lost before anything is sent on it, and can send the prompt again without the risk that it is done twice.
    pub(super) fn name_prompt(&mut self, method: &str, params: Params<'_>) {
        // A notification has no response: a prompt without a name gets one of the daemon.
        let named = params::read::<params::PromptName>(method, params).ok();
        let name = named.map(|named| named.name);
        self.next_name = name.filter(|name| self.start.checkpoints && is_of_editors(name));
    }

    /// Sends the `name` that identifies the prompt of request `id`.
    pub(super) fn mark_prompt(&mut self, id: &RawJson, name: &str) {
        if self.start.checkpoints {
            self.notify(PROMPT_NAME, |params| {
                params.raw("id", id.get()).put("name", name);
            });
        }
    }

    /// Sends that a session is open: it receives the events after `seq`, and these questions are open.
    pub(super) fn mark_opened(&mut self, live: &Live, seq: Seq) {
        if self.start.checkpoints {
            let thread = live.thread;
            let open = live.requests.keys().map(|&number| RequestId { thread, number });
            let open: Vec<_> = open.collect();
            self.notify("_acpd/mark", |params| {
                params
                    .put("sessionId", &thread)
                    .put("seq", &seq)
                    .put("open", &open);
            });
        }
    }

    /// Sends that the editor has received all events of a session up to `seq`. They may include all those from before
    /// it was opened. Of a session that was opened early, the next connection must know that.
    pub(super) fn mark_reached(&mut self, thread: ThreadId, seq: Seq) {
        let session = self.sessions.get(&thread).filter(|_| self.start.checkpoints);
        if let Some(session) = session {
            let is_live = seq >= session.since;
            let is_early = session.is_early();
            self.notify("_acpd/mark", |params| {
                params
                    .put("sessionId", &thread)
                    .put("seq", &seq)
                    .put("live", &is_live);
                if is_early {
                    params.put("early", &true);
                }
            });
        }
    }

    fn notify(&mut self, method: &str, fill: impl FnOnce(&mut wire::Object<'_>)) {
        let mut out = Vec::new();
        wire::notification(&mut out, method, fill);
        self.send(out);
    }
}

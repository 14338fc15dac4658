//! Checkpoints for a connection that may continue elsewhere: extension notifications about its position. Other
//! connections do not receive them.

use acpd_model::{RawJson, RequestId, Seq, ThreadId};

use super::peer::Peer;
use crate::projection::Live;
use crate::wire;

impl Peer {
    /// Sends the `name` that identifies the prompt of request `id`.
    pub(super) fn mark_prompt(&mut self, id: &RawJson, name: &str) {
        if self.start.checkpoints {
            self.notify("_acpd/prompt", |params| {
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

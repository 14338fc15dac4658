//! What a connection that wants to go on elsewhere is told beside the messages: where it stands. Extension
//! notifications, which no other connection sees.

use acpd_model::{RawJson, RequestId, Seq, ThreadId};

use super::peer::Peer;
use crate::projection::Live;
use crate::wire;

impl Peer {
    /// The prompt of request `id` will be known as `name`.
    pub(super) fn mark_prompt(&mut self, id: &RawJson, name: &str) {
        if self.start.checkpoints {
            self.notify("_acpd/prompt", |params| {
                params.raw("id", id.get()).put("name", name);
            });
        }
    }

    /// A session is open. It will be told what comes after `seq`, and has these questions open.
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

    /// All of a session up to `seq` was told; perhaps with it all that was there when it was opened.
    pub(super) fn mark_reached(&mut self, thread: ThreadId, seq: Seq) {
        let session = self.sessions.get(&thread).filter(|_| self.start.checkpoints);
        if let Some(session) = session {
            let is_live = seq >= session.since;
            self.notify("_acpd/mark", |params| {
                params
                    .put("sessionId", &thread)
                    .put("seq", &seq)
                    .put("live", &is_live);
            });
        }
    }

    fn notify(&mut self, method: &str, fill: impl FnOnce(&mut wire::Object<'_>)) {
        let mut out = Vec::new();
        wire::notification(&mut out, method, fill);
        self.send(out);
    }
}

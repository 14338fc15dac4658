//! Writes threads as Codex's `Thread`, and what a client receives when it opens one.

use acpd_model::{Summary, ThreadId, ThreadStatus};

use super::settings::Settings;
use super::turn::{ItemsView, is_shown, write_history};
use crate::projection::{Live, Turn};
use crate::wire::Object;

/// The version in Codex's `cliVersion`.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns Codex's `ThreadStatus`, as JSON, for what a thread does.
pub(super) fn status_word(status: ThreadStatus) -> &'static str {
    match status {
        ThreadStatus::Idle | ThreadStatus::Deleting => r#"{"type":"idle"}"#,
        ThreadStatus::Running => r#"{"type":"active","activeFlags":[]}"#,
        ThreadStatus::Waiting => r#"{"type":"active","activeFlags":["waitingOnApproval"]}"#,
        ThreadStatus::Failed => r#"{"type":"systemError"}"#,
    }
}

/// Returns Codex's `ThreadStatus`, as JSON, for a thread in the list.
pub(super) fn status_of(summary: &Summary) -> &'static str {
    status_word(summary.status)
}

/// Writes a thread of the list.
pub(super) fn write_listed(out: &mut Vec<u8>, thread: ThreadId, summary: &Summary) {
    let mut object = Object::open(out);
    put_summary(&mut object, thread, summary);
    object.raw("turns", "[]");
    object.close();
}

fn put_summary(object: &mut Object<'_>, thread: ThreadId, summary: &Summary) {
    object.put("id", &thread).put("sessionId", &thread);
    object.put("preview", summary.name.as_deref().unwrap_or_default());
    object.put("ephemeral", &false).raw("projectId", "null");
    object.plain("historyMode", "paginated");
    object.put("modelProvider", &summary.agent);
    object.put("createdAt", &(summary.created_at / 1000));
    object.put("updatedAt", &(summary.updated_at / 1000));
    object.raw("status", status_of(summary));
    object.put("cwd", &summary.cwd);
    object.plain("cliVersion", VERSION).plain("source", "cli");
    object.maybe("name", summary.name.as_ref());
}

/// What is written of a thread besides its list entry.
pub(super) struct ThreadParts<'a> {
    pub live: &'a Live,
    /// The thread that this one was forked from.
    pub forked_from: Option<ThreadId>,
    /// Its turns, if the client requested them.
    pub turns: &'a [Turn],
}

impl<'a> ThreadParts<'a> {
    /// Describes a thread without its turns.
    pub fn of(live: &'a Live) -> Self {
        Self {
            live,
            forked_from: None,
            turns: &[],
        }
    }

    /// Writes the thread.
    pub fn write(&self, out: &mut Vec<u8>, settings: &Settings) {
        let Live { thread, summary, .. } = self.live;
        let mut object = Object::open(out);
        put_summary(&mut object, *thread, summary);
        object.put("model", &settings.model());
        object.maybe("reasoningEffort", settings.effort().as_ref());
        object.maybe("forkedFromId", self.forked_from.as_ref());
        object.with("turns", |out| {
            out.push(b'[');
            for (at, turn) in self.turns.iter().filter(|turn| is_shown(turn)).enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_history(out, *thread, turn, &summary.cwd, ItemsView::Full);
            }
            out.push(b']');
        });
        object.close();
    }

    /// Writes the result of a request that opens the thread; `more` adds members.
    pub fn write_open(&self, out: &mut Vec<u8>, more: impl FnOnce(&mut Object<'_>)) {
        let settings = Settings::of(self.live);
        let mut object = Object::open(out);
        object.with("thread", |out| self.write(out, &settings));
        settings.put_open(&mut object);
        more(&mut object);
        object.close();
    }
}

//! Responses to an editor, made from the daemon's replies.

use acpd_model::{ErrorCode, Failure, RawJson};
use serde_json::json;

use super::handshake;
use super::peer::{Peer, Phase, ReplyTo};
use super::session::Opened;
use crate::surface::export::rfc3339;
use crate::surface::reply::{ListedThread, Reply};
use crate::wire::Object;

impl Peer {
    /// Handles the reply to a [`PeerOutput::Call`](super::peer::PeerOutput::Call).
    pub fn reply(&mut self, token: u64, result: Result<Reply, Failure>) {
        let Some(reply_to) = self.waiting.remove(&token) else {
            return;
        };
        match (reply_to, result) {
            (ReplyTo::Initialize(id), Ok(Reply::Initialized(agent))) => {
                self.phase = Phase::Ready;
                self.answer(&id, &handshake::welcome(&agent));
                self.read_on();
            }
            (ReplyTo::Initialize(id), Err(failure)) => {
                self.phase = Phase::New;
                self.refuse(&id, &failure);
                self.read_on();
            }
            (ReplyTo::Open(id, mode), Ok(Reply::Opened(opened))) => {
                let live = &*opened.live;
                self.opened(id, mode, Opened::from(live));
                self.take_over(live.thread, opened.claimed);
                self.mark_opened(live, opened.cursor);
            }
            (ReplyTo::Result(id), Ok(Reply::Agent(result))) if result.get() != "null" => {
                self.answer(&id, &result)
            }
            (ReplyTo::Result(id), Ok(Reply::Lease(holder))) => {
                self.answer(&id, &json!({ "lease": holder }).into());
            }
            (ReplyTo::Result(id), Ok(_)) => self.answer(&id, &RawJson::trusted("{}")),
            (ReplyTo::Sessions(id), Ok(Reply::Threads { page, next })) => {
                self.answer(&id, &session_list(&page, next.as_deref()));
            }
            (ReplyTo::Deleted(id, thread), Ok(_)) => {
                self.leave(thread);
                self.answer(&id, &RawJson::trusted("{}"));
            }
            (ReplyTo::Prompt(name), Ok(Reply::Turn(turn))) => self.turn_known(&name, turn.id),
            (ReplyTo::Prompt(name), result) => {
                let at = self.prompts.iter().position(|prompt| prompt.name == name);
                let id = at.and_then(|at| self.prompts.remove(at).id);
                if let Some(id) = id {
                    self.refuse(&id, &result.err().unwrap_or_else(misplaced));
                }
            }
            (
                ReplyTo::Open(id, _) | ReplyTo::Result(id) | ReplyTo::Sessions(id) | ReplyTo::Deleted(id, _),
                Err(failure),
            ) => self.refuse(&id, &failure),
            (ReplyTo::Initialize(id) | ReplyTo::Open(id, _) | ReplyTo::Sessions(id), Ok(_)) => {
                self.refuse(&id, &misplaced());
            }
        }
    }
}

fn session_list(page: &[ListedThread], next_cursor: Option<&str>) -> RawJson {
    let sessions: Vec<_> = page
        .iter()
        .map(|ListedThread { thread, summary }| {
            let at = rfc3339(summary.updated_at);
            json!({ "sessionId": thread, "cwd": summary.cwd, "title": summary.name, "updatedAt": at })
        })
        .collect();
    let mut out = Vec::new();
    let mut result = Object::open(&mut out);
    result
        .put("sessions", &sessions)
        .maybe("nextCursor", next_cursor.as_ref());
    result.close();
    RawJson::trusted(&String::from_utf8_lossy(&out))
}

/// Returns the failure for a reply of an unexpected type.
fn misplaced() -> Failure {
    Failure::new(ErrorCode::Internal, "internal error: unexpected reply type")
}

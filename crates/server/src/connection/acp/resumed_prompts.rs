//! Prompts of a connection that was lost, taken over by the one that comes after it: what the thread says of them.

use std::collections::BTreeMap;

use acpd_model::{ErrorCode, Failure, Seq, ThreadId, TurnId};
use acpd_proto::surface::acp::{Frame, FrameKind, Peer, frames};

use crate::connection::acp::header::PendingPrompt;
use acpd_runtime::service::Service;
use acpd_runtime::thread::directory::log_failure;

/// What became of such prompts.
#[derive(Debug, Default)]
pub struct ResumedPrompts {
    /// Those that the thread knows.
    taken: Vec<PendingPrompt>,
    /// Those that it has never heard of.
    lost: Vec<PendingPrompt>,
    /// What happened to them up to where the thread is resumed.
    past: Vec<Frame>,
    /// Up to there.
    until: Seq,
}

/// Looks for the prompts of `thread` in its log. What is behind `cursor` comes when the thread is followed.
pub async fn claim(
    service: &Service,
    thread: ThreadId,
    prompts: &[PendingPrompt],
    cursor: Seq,
) -> Result<ResumedPrompts, Failure> {
    let prompts: Vec<_> = prompts
        .iter()
        .filter(|prompt| prompt.thread == thread)
        .cloned()
        .collect();
    let mut claimed = ResumedPrompts {
        until: cursor,
        ..ResumedPrompts::default()
    };
    if prompts.is_empty() {
        return Ok(claimed);
    }
    let name = thread.to_string();
    let mut turns: BTreeMap<String, Option<TurnId>> = BTreeMap::new();
    let mut after = 0;
    loop {
        let page = service.context.log.read(thread, after).await;
        let page = page.map_err(|error| log_failure(&error))?;
        for frame in frames(&name, &page.events) {
            let wanted = match &frame.kind {
                FrameKind::PromptAccepted(Some(name))
                    if prompts.iter().any(|prompt| *prompt.name == **name) =>
                {
                    turns.insert(name.to_string(), frame.turn);
                    true
                }
                FrameKind::Ended(_) => frame.turn.is_some() && turns.values().any(|turn| *turn == frame.turn),
                _ => false,
            };
            if wanted && frame.seq <= cursor {
                claimed.past.push(frame);
            }
        }
        after = page.events.last().map_or(after, |event| event.seq);
        if page.at_end {
            break;
        }
    }
    (claimed.taken, claimed.lost) = prompts
        .into_iter()
        .partition(|prompt| turns.contains_key(&prompt.name));
    Ok(claimed)
}

impl ResumedPrompts {
    /// Tells the connection of them, which has opened the thread.
    pub fn deliver(self, peer: &mut Peer, thread: ThreadId) {
        let Self {
            taken,
            lost,
            past,
            until,
        } = self;
        for PendingPrompt { id, name, .. } in taken {
            peer.take_over(id, thread, name);
        }
        if !past.is_empty() {
            peer.deliver(thread, &past, until, |_, _| false);
        }
        for PendingPrompt { id, .. } in lost {
            let message = "the prompt did not reach its thread before the daemon stopped: send it again";
            peer.decline(&id, &Failure::new(ErrorCode::Overloaded, message));
        }
    }
}

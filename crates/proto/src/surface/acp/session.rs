//! One session that a connection has open.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::event::LeaseHolder;
use acpd_model::{RawJson, RequestId, Seq, ThreadId};
use bytes::Bytes;
use serde_json::{Value, json};

use super::delegated::QueuedRequest;
use super::frame::Question;
use super::handshake::with_acpd;
use super::terminals::Terminals;
use crate::projection::Live;
use crate::wire::{member, spliced};

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// It is made: answered as its agent answered. What the agent said before that comes after it.
    New,
    /// All of it is told, then the request is answered.
    Load,
    /// It goes on from where it is.
    Resume,
}

/// A thread as it was when the connection opened it.
#[derive(Debug)]
pub(super) struct Opened {
    pub thread: ThreadId,
    /// The last event that was there by then.
    pub until: Seq,
    /// Its modes, models and options.
    pub state: RawJson,
    /// The highest number of a terminal so far.
    pub last_terminal: u64,
    pub lease: Option<LeaseHolder>,
    /// What an editor is told once the session is open and it was not replayed: `update` objects, such as the commands.
    pub updates: Vec<RawJson>,
}

impl From<&Live> for Opened {
    fn from(live: &Live) -> Self {
        Self {
            thread: live.thread,
            until: live.last_seq,
            state: session_state(live),
            last_terminal: live.last_terminal,
            lease: live.lease.clone(),
            updates: live.commands.iter().cloned().collect(),
        }
    }
}

/// A request to open a session that waits for its answer.
#[derive(Debug)]
pub(super) struct Opening {
    /// The editor's id for it.
    pub id: RawJson,
    pub mode: OpenMode,
    pub opened: Opened,
    /// What is sent after the answer; questions with their ids.
    pub queued: Vec<(Option<RequestId>, Bytes)>,
}

/// One session.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub opening: Option<Opening>,
    /// Questions that were asked on this connection and not answered on it.
    pub asked: BTreeMap<RequestId, Question>,
    /// Whether the agent does nothing until somebody signs in.
    pub wants_sign_in: bool,
    /// The last event that was there when it was opened.
    pub since: Seq,
    /// The last event of which the editor was told.
    pub told: Seq,
    /// What the agent asks of its client, and what must be told before.
    pub queued: VecDeque<QueuedRequest>,
    /// Terminals that the editor has not made.
    pub shown: Terminals,
    /// Terminals that the editor has made: our names and its own.
    pub terminals: VecDeque<(String, String)>,
}

impl Session {
    /// Whether what is told is of the past.
    pub fn replays(&self, seq: Seq) -> bool {
        let loads = |opening: &&Opening| opening.mode == OpenMode::Load;
        self.opening
            .as_ref()
            .filter(loads)
            .is_some_and(|opening| seq <= opening.opened.until)
    }
}

impl Opening {
    /// The answer. A new session's is its agent's own, `bound`.
    pub fn result(&self, bound: Option<&RawJson>, connection: &str) -> RawJson {
        let result = bound.unwrap_or(&self.opened.state);
        let Opened { thread, lease, .. } = &self.opened;
        let acpd = json!({ "threadId": thread, "connection": connection, "lease": lease });
        let meta = with_acpd(member(result, "_meta"), &acpd);
        let session = format!("\"{thread}\"");
        let mut put = vec![("_meta", meta.get())];
        if self.mode == OpenMode::New {
            put.push(("sessionId", &session));
        }
        spliced(result, &put)
    }
}

/// The modes, models and options of a session as they are now: ACP's answer to `session/load`. What the agent said of them
/// stays as it said it, but for what is chosen.
fn session_state(live: &Live) -> RawJson {
    let with_current = |raw: &Option<RawJson>, name, current: &Option<String>| {
        let raw = raw.as_ref().filter(|raw| raw.get().starts_with('{'))?;
        Some(match current {
            Some(current) => spliced(raw, &[(name, &Value::from(current.as_str()).to_string())]),
            None => raw.clone(),
        })
    };
    let modes = with_current(&live.modes, "currentModeId", &live.mode);
    let models = with_current(&live.models, "currentModelId", &live.model);
    let options = live
        .config_options
        .as_ref()
        .filter(|raw| raw.get().starts_with('['));
    let members = [
        ("modes", modes.as_ref()),
        ("models", models.as_ref()),
        ("configOptions", options),
    ];
    let put: Vec<(&str, &str)> = members
        .iter()
        .filter_map(|(name, raw)| Some((*name, (*raw)?.get())))
        .collect();
    spliced(&RawJson::trusted("{}"), &put)
}

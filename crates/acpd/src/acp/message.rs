//! The parts of a message that the pipe reads, and the extension messages between the pipe and the daemon.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use acpd_proto::surface::acp::thread_and_lane;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The update by which an agent of version 2 reports the state of a session.
const STATE_UPDATE: &str = "state_update";

/// One JSON-RPC message; its params and result stay unparsed.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// The id, exactly as written.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    /// The method; a response has none.
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The member of an error that the pipe reads.
#[derive(Deserialize)]
struct Failure {
    message: String,
}

/// The member of the result of `initialize` that the pipe reads.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: u64,
}

/// The params of an update of the state.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StateParams {
    session_id: String,
    update: StateUpdate,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StateUpdate {
    session_update: String,
    state: String,
}

/// The members of params and results that the pipe reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Names {
    /// The session id.
    pub session_id: Option<String>,
    /// The id of another request, in `$/cancel_request`.
    pub request_id: Option<Box<RawValue>>,
}

impl<'a> Message<'a> {
    /// Parses a message; returns `None` if the text is not one.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the id as a map key.
    pub fn key(&self) -> Option<&'a str> {
        self.id.map(RawValue::get)
    }

    /// Returns the ids in the params.
    pub fn named(&self) -> Names {
        names(self.params)
    }

    /// Returns the session of the editor that the params name. What a subagent does belongs to that of its thread.
    pub fn session(&self) -> Option<String> {
        let session = self.named().session_id?;
        match thread_and_lane(&session) {
            (thread, Some(_)) => Some(thread.to_owned()),
            (_, None) => Some(session),
        }
    }

    /// Returns the ids in the result; `None` for an error.
    pub fn answered(&self) -> Option<Names> {
        self.result.map(|result| names(Some(result)))
    }

    /// Returns the turn of a prompt that this is the response of version 2 to.
    pub fn turn(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Inserted {
            #[serde(rename = "_meta")]
            meta: Meta,
        }
        #[derive(Deserialize)]
        struct Meta {
            acpd: Prompted,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Prompted {
            turn_id: String,
        }
        let inserted: Inserted = serde_json::from_str(self.result?.get()).ok()?;
        Some(inserted.meta.acpd.turn_id)
    }

    /// Returns the version of ACP in the result of `initialize`.
    pub fn version(&self) -> Option<u64> {
        let Initialized { protocol_version } = serde_json::from_str(self.result?.get()).ok()?;
        Some(protocol_version)
    }

    /// Returns the state of this session that an update of version 2 reports, if this is one. `text` is the whole message.
    pub fn state(&self, session: &str, text: &str) -> Option<String> {
        // Most updates are others.
        if self.method.as_deref() != Some("session/update") || !text.contains(STATE_UPDATE) {
            return None;
        }
        let StateParams { session_id, update } = self.params()?;
        let is_it = session_id == session && update.session_update == STATE_UPDATE;
        is_it.then_some(update.state)
    }

    /// Returns the reason for an error response, if it has one.
    pub fn reason(&self) -> Option<String> {
        let failure: Option<Failure> = serde_json::from_str(self.error?.get()).ok();
        failure.map(|failure| failure.message)
    }

    /// Parses the params.
    pub fn params<T: Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_str(self.params?.get()).ok()
    }
}

/// `_acpd/mark`: the position up to which the editor has seen a session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    pub session_id: String,
    pub seq: u64,
    /// Present when the session was just opened: the ids of its open agent requests.
    #[serde(default)]
    pub open: Option<BTreeSet<String>>,
    /// Whether the daemon has sent the whole backlog that existed when the session was opened.
    #[serde(default)]
    pub live: bool,
    /// Whether the editor's session was opened before that of the agent.
    #[serde(default)]
    pub early: bool,
}

/// `_acpd/prompt`: the daemon's name for a prompt.
#[derive(Debug, Deserialize)]
pub struct Named {
    pub id: Box<RawValue>,
    pub name: String,
}

/// The first message to the daemon, under `acpd`.
#[derive(Debug, Serialize)]
pub struct ConnectionHeader<'a> {
    pub agent: Option<&'a str>,
    pub cwd: Option<&'a Path>,
    pub thread: Option<&'a str>,
    pub opened: bool,
    pub marks: bool,
    pub after: BTreeMap<&'a str, u64>,
    /// Left out if empty: an older daemon does not know it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub early: Vec<&'a str>,
    /// The turn of the last prompt in each session that was answered before it ended. Left out if empty as well.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<&'a str, &'a str>,
    pub prompts: Vec<PendingPrompt<'a>>,
}

/// A prompt without a response.
#[derive(Debug, Serialize)]
pub struct PendingPrompt<'a> {
    pub id: &'a RawValue,
    pub thread: &'a str,
    pub name: &'a str,
}

fn names(from: Option<&RawValue>) -> Names {
    from.and_then(|from| serde_json::from_str(from.get()).ok())
        .unwrap_or_default()
}

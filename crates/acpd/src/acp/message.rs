//! As much of a message as the pipe must know, and what it and the daemon tell each other beside them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One JSON-RPC message; what stands in it is not read.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// Its id, as it was written.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    /// What it is about; a response has none.
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// The members of params and results that the pipe looks at.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Names {
    /// A session.
    pub session_id: Option<String>,
    /// Another request.
    pub request_id: Option<Box<RawValue>>,
}

impl<'a> Message<'a> {
    /// Reads one; `None` if it is none.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Its id, as a key.
    pub fn key(&self) -> Option<&'a str> {
        self.id.map(RawValue::get)
    }

    /// What its params name.
    pub fn named(&self) -> Names {
        names(self.params)
    }

    /// What its result names; `None` if it is an error.
    pub fn answered(&self) -> Option<Names> {
        self.result.map(|result| names(Some(result)))
    }

    /// Its params, read.
    pub fn params<T: Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_str(self.params?.get()).ok()
    }
}

/// `_acpd/mark`: up to where the editor has seen a session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    pub session_id: String,
    pub seq: u64,
    /// When the session was opened: the questions that were open in it.
    #[serde(default)]
    pub open: Option<BTreeSet<String>>,
    /// Whether all is told that there was when it was opened.
    #[serde(default)]
    pub live: bool,
}

/// `_acpd/prompt`: what the daemon calls a prompt.
#[derive(Debug, Deserialize)]
pub struct Named {
    pub id: Box<RawValue>,
    pub name: String,
}

/// What the daemon is told first, under `acpd`.
#[derive(Debug, Serialize)]
pub struct ConnectionHeader<'a> {
    pub agent: Option<&'a str>,
    pub cwd: Option<&'a Path>,
    pub thread: Option<&'a str>,
    pub opened: bool,
    pub marks: bool,
    pub after: BTreeMap<&'a str, u64>,
    pub prompts: Vec<PendingPrompt<'a>>,
}

/// A prompt without an answer.
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

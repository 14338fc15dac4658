//! `initialize`: the versions, both shapes, and params that are wrong.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::link::{Link, Outcome};
use crate::report::Rows;
use crate::rule::Rule;
use crate::version::Version;
use crate::wire::{INVALID_PARAMS, UNSUPPORTED_VERSION};

/// What an agent answered to `initialize`.
#[derive(Debug)]
pub enum Greeting {
    /// It speaks the version. Its result.
    Speaks(Value),
    /// It speaks other versions only.
    Declines,
    /// It answered something else, which is among the verdicts.
    Wrong,
}

/// Returns the params of `initialize`, with the members of both versions if a version above 1 is requested.
pub fn params(version: u64) -> Value {
    let info =
        json!({ "name": "acp-check", "title": "acpd acp-check", "version": env!("CARGO_PKG_VERSION") });
    let mut params = json!({
        "protocolVersion": version,
        "clientInfo": info,
        "clientCapabilities": {
            "fs": { "readTextFile": true, "writeTextFile": true },
            "terminal": true,
            "session": {
                "compaction": {}, "configOptions": { "boolean": {} }, "notices": {}, "promptSuggestions": {},
                "cursors": {},
            },
            "subagents": {}, "plan": {},
            "elicitation": { "form": {}, "url": {} },
        },
    });
    if version > 1 {
        params["info"] = info;
        params["capabilities"] = json!({
            "elicitation": { "form": {}, "url": {} },
            "session": { "promptSuggestions": {}, "commands": { "skill": {} } },
        });
    }
    params
}

/// Sends `initialize` for a version. The agent has this time to start.
pub async fn greet(link: &mut Link, version: Version, limit: Duration) -> Greeting {
    let result = match link.initialize(params(version.number()), limit).await {
        Outcome::Result(result) => result,
        // It may have no version up to this one, or say so instead of answering with an earlier one.
        Outcome::Error { code, .. } if code == UNSUPPORTED_VERSION => {
            link.watch.rows = Rows::default();
            return Greeting::Declines;
        }
        Outcome::Error { text, .. } => {
            link.watch.rows.violated_by("initialize", Rule::Version, &text);
            return Greeting::Wrong;
        }
        Outcome::Silent | Outcome::Gone => return Greeting::Wrong,
    };
    let answered = result.get("protocolVersion").and_then(Value::as_u64);
    if version == Version::Two && answered == Some(1) {
        // Its result has the shape of version 1.
        link.watch.rows = Rows::default();
        return Greeting::Declines;
    }
    if answered != Some(version.number()) {
        let reason = format!("answered {answered:?} to version {}", version.number());
        link.watch.rows.violated_by("initialize", Rule::Version, &reason);
        return Greeting::Wrong;
    }
    if version == Version::Two && (result.get("agentCapabilities").is_some() || result.get("info").is_none())
    {
        link.watch.rows = Rows::default();
        let reason = "answered version 2 with the members of version 1";
        link.watch.rows.violated_by("initialize", Rule::Version, reason);
        return Greeting::Wrong;
    }
    link.watch.rows.ok("initialize", Rule::Version);
    Greeting::Speaks(result)
}

/// Params of `initialize` that need a process each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    /// A version that no agent has yet.
    Newest,
    /// A version that never was.
    Zero,
    /// No version.
    Missing,
}

impl Odd {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Newest, Self::Zero, Self::Missing];

    /// Returns the name of its row.
    pub fn row(self) -> &'static str {
        match self {
            Self::Newest => "initialize (version 65535)",
            Self::Zero => "initialize (version 0)",
            Self::Missing => "initialize (no version)",
        }
    }

    /// Returns the rule that its answer must keep.
    pub fn rule(self) -> Rule {
        match self {
            Self::Newest | Self::Zero => Rule::Version,
            Self::Missing => Rule::Params,
        }
    }
}

/// Sends odd params, and returns why the answer is wrong.
pub async fn greet_oddly(link: &mut Link, odd: Odd, limit: Duration) -> Result<(), String> {
    let params = match odd {
        Odd::Newest => params(65_535),
        Odd::Zero => params(0),
        Odd::Missing => Value::Object(Map::new()),
    };
    let outcome = link.initialize(params, limit).await;
    let version = |result: &Value| result.get("protocolVersion").and_then(Value::as_u64);
    match (odd, outcome) {
        (_, Outcome::Silent) => Err("no answer".to_owned()),
        (_, Outcome::Gone) => Err(link.gone.clone().unwrap_or_default()),
        (Odd::Missing, Outcome::Error { code, .. }) if code == INVALID_PARAMS => Ok(()),
        (Odd::Missing | Odd::Newest, Outcome::Error { text, .. }) => Err(text),
        (Odd::Missing, Outcome::Result(result)) => Err(format!("no error, but the result {result}")),
        (Odd::Zero, Outcome::Error { .. }) => Ok(()),
        (Odd::Zero | Odd::Newest, Outcome::Result(result)) => match version(&result) {
            Some(1 | 2) => Ok(()),
            other => Err(format!("answered the version {other:?}")),
        },
    }
}

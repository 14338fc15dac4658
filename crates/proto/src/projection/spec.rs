//! The params of a thread's session: those set when the thread was created, and those of the client that opened it
//! last.

use std::path::Path;

use acpd_model::RawJson;
use acpd_model::event::{Directories, SessionParams, ThreadCreated};
use serde::{Deserialize, Serialize};

use crate::wire::{Object, decoded, member, members, others};

/// The member of the request that opens a session with ACP's `SystemPrompt`.
const SYSTEM_PROMPT: &str = "systemPrompt";

/// The settings that a thread was created with, and the params of its session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Spec {
    /// Name of the agent in the configuration.
    pub agent: String,
    /// Working directory; together with `additional_directories` it is the workspace.
    pub cwd: String,
    /// Further directories of the workspace.
    pub additional_directories: Vec<String>,
    /// The paths of `cwd` and of `additional_directories` with symbolic links resolved, in this order, from when the
    /// thread was created. Empty if unknown.
    pub real_directories: Vec<String>,
    /// ACP `McpServer` objects.
    pub mcp_servers: Vec<RawJson>,
    /// `_meta` for the agent, passed on unchanged.
    pub meta: Option<RawJson>,
    /// An object of the members of `session/new` that acpd does not know, passed on unchanged.
    pub members: Option<RawJson>,
    /// ACP's `SystemPrompt`.
    #[serde(default)]
    pub system_prompt: Option<RawJson>,
    /// The agent session to continue, which was created outside of acpd.
    pub session_id: Option<String>,
    /// The params that differ from the original ones and apply to the session from now on.
    pub params: SessionParams,
    /// How to record the agent's text, if a client set it with `{"acpd":{"chunks":"single"}}` in `_meta`.
    pub chunks: Option<Chunks>,
}

/// How an agent's text is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chunks {
    /// Consecutive chunks become one event if only some milliseconds separate them.
    Merged,
    /// Each chunk becomes an event.
    Single,
}

impl From<&ThreadCreated> for Spec {
    fn from(made: &ThreadCreated) -> Self {
        let mut spec = Self {
            agent: made.agent.clone(),
            cwd: made.cwd.clone(),
            additional_directories: made.additional_directories.clone(),
            real_directories: made.real_directories.clone(),
            mcp_servers: made.mcp_servers.clone(),
            meta: made.meta.clone(),
            members: made.members.clone(),
            system_prompt: made.system_prompt.clone(),
            session_id: made.session_id.clone(),
            params: SessionParams::default(),
            chunks: None,
        };
        spec.chunks = spec.read_chunks();
        spec
    }
}

impl Spec {
    /// Returns the directories of the workspace, as the client named them.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.cwd)
            .chain(&self.additional_directories)
            .map(String::as_str)
    }

    /// Returns the directories of the workspace, each with its resolved path from when the thread was created.
    pub fn real_names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.directories()
            .zip(self.real_directories.iter().map(String::as_str))
    }

    /// Returns the working directory of the agent's session: the thread's own, or one inside the workspace.
    pub fn session_cwd(&self) -> &str {
        self.params.cwd.as_deref().unwrap_or(&self.cwd)
    }

    /// Returns the MCP servers of the session: the thread's own, and those of the client that opened it last. If two
    /// have the same name, the client's takes precedence.
    pub fn session_mcp_servers(&self) -> Vec<RawJson> {
        let theirs = &self.params.mcp_servers;
        let replaced = |own: &&RawJson| {
            let name = server_name(own);
            name.is_some() && theirs.iter().any(|server| server_name(server) == name)
        };
        let own = self.mcp_servers.iter().filter(|own| !replaced(own));
        own.chain(theirs).cloned().collect()
    }

    /// Returns `_meta` for the request that opens the session.
    pub fn session_meta(&self) -> Option<&RawJson> {
        self.params.meta.as_ref().or(self.meta.as_ref())
    }

    /// Returns the members, unknown to acpd, for the request that opens the session.
    pub fn session_members(&self) -> Option<RawJson> {
        let all = match (&self.members, &self.params.members) {
            (Some(made), Some(given)) => Some(merged(made, given)),
            (made, given) => given.clone().or_else(|| made.clone()),
        };
        // Earlier versions of acpd kept these among the members.
        let known: &[&str] = match self.session_system_prompt() {
            Some(_) => &["cursorId", "configOptions", SYSTEM_PROMPT],
            None => &["cursorId", "configOptions"],
        };
        all.and_then(|all| others(&all, known))
    }

    /// Returns whether the request that opens the session has a system prompt, in any form.
    pub fn has_system_prompt(&self) -> bool {
        let members = self.session_members();
        let kept = members.is_some_and(|members| member(&members, SYSTEM_PROMPT).is_some());
        kept || self.session_system_prompt().is_some()
    }

    /// Returns ACP's `SystemPrompt` for the request that opens the session.
    pub fn session_system_prompt(&self) -> Option<&RawJson> {
        self.params.system_prompt.as_ref().or(self.system_prompt.as_ref())
    }

    /// Returns the directories of the workspace with their resolved paths.
    pub fn place(&self) -> Directories {
        Directories {
            cwd: self.cwd.clone(),
            additional_directories: self.additional_directories.clone(),
            real_directories: self.real_directories.clone(),
        }
    }

    /// Sets the directories of the workspace. A session that works inside the earlier working directory works at the same
    /// place in the new one.
    pub fn set_directories(&mut self, directories: Directories) {
        let rest = |cwd: String| {
            let rest = Path::new(&cwd).strip_prefix(&self.cwd).ok()?;
            Some(
                Path::new(&directories.cwd)
                    .join(rest)
                    .to_string_lossy()
                    .into_owned(),
            )
        };
        let session_cwd = self.params.cwd.take().and_then(rest);
        self.params.cwd = session_cwd.filter(|cwd| Path::new(cwd) != Path::new(&directories.cwd));
        self.cwd = directories.cwd;
        self.additional_directories = directories.additional_directories;
        self.real_directories = directories.real_directories;
    }

    /// Sets the params that apply to the session from now on.
    pub fn set_params(&mut self, params: SessionParams) {
        self.params = params;
        self.chunks = self.read_chunks();
    }

    fn read_chunks(&self) -> Option<Chunks> {
        #[derive(Deserialize)]
        struct Meta {
            acpd: Own,
        }
        #[derive(Deserialize)]
        struct Own {
            chunks: Chunks,
        }
        let meta: Meta = self.session_meta()?.read().ok()?;
        Some(meta.acpd.chunks)
    }

    /// Returns whether this and `other` open an agent's session the same way, except for `_meta`.
    pub fn opens_like(&self, other: &Self) -> bool {
        self.session_cwd() == other.session_cwd()
            && self.session_mcp_servers() == other.session_mcp_servers()
            && self.session_members() == other.session_members()
            && self.session_system_prompt() == other.session_system_prompt()
    }

    /// Returns the session params after a client's change `given`. Absent members do not change.
    pub fn with(&self, given: SessionChange) -> SessionParams {
        let SessionChange {
            cwd,
            mcp_servers,
            members,
            system_prompt,
            meta,
        } = given;
        let now = &self.params;
        SessionParams {
            cwd: cwd.map_or_else(|| now.cwd.clone(), |cwd| Some(cwd).filter(|cwd| *cwd != self.cwd)),
            mcp_servers: mcp_servers.map_or_else(
                || now.mcp_servers.clone(),
                |mut servers| {
                    servers.retain(|server| !self.mcp_servers.contains(server));
                    servers
                },
            ),
            members: members
                .or_else(|| now.members.clone())
                .filter(|members| Some(members) != self.members.as_ref()),
            system_prompt: system_prompt
                .or_else(|| now.system_prompt.clone())
                .filter(|prompt| Some(prompt) != self.system_prompt.as_ref()),
            meta: meta
                .or_else(|| now.meta.clone())
                .filter(|meta| Some(meta) != self.meta.as_ref()),
        }
    }
}

/// The session params that a client sets when it opens a thread. Absent members do not change.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionChange {
    /// Working directory of the session, absolute.
    pub cwd: Option<String>,
    /// The client's MCP servers, which replace those of an earlier client.
    pub mcp_servers: Option<Vec<RawJson>>,
    /// An object of the members that acpd does not know.
    pub members: Option<RawJson>,
    /// ACP's `SystemPrompt`.
    pub system_prompt: Option<RawJson>,
    /// `_meta` for the agent.
    pub meta: Option<RawJson>,
}

/// Returns the name of an MCP server. Only the name may be shown, because environment and headers contain credentials.
pub fn server_name(server: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    server.read::<Named>().ok().map(|named| named.name)
}

/// Merges the members of two objects; those of the second take precedence.
fn merged(first: &RawJson, second: &RawJson) -> RawJson {
    let mut later = Vec::new();
    members(second, |key, _| later.push(decoded(key).into_owned()));
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    members(first, |key, value| {
        if later.iter().all(|known| *known != decoded(key)) {
            object.raw(key, value);
        }
    });
    object.others(Some(second));
    object.close();
    RawJson::trusted(&String::from_utf8_lossy(&out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    fn spec() -> Spec {
        Spec {
            cwd: "/w".into(),
            mcp_servers: vec![
                json(r#"{"name":"own","command":"a"}"#),
                json(r#"{"name":"x","command":"b"}"#),
            ],
            members: Some(json(r#"{"systemPrompt":"be kind","n":1.10}"#)),
            meta: Some(json(r#"{"acpd":{"chunks":"single"}}"#)),
            ..Spec::default()
        }
    }

    #[test]
    fn requested_settings_take_precedence_over_the_threads() {
        let mut spec = spec();
        let change = SessionChange {
            cwd: Some("/w/sub".into()),
            mcp_servers: Some(vec![json(r#"{"name":"x","command":"c"}"#)]),
            members: Some(json(r#"{"systemPrompt":"be brief"}"#)),
            system_prompt: None,
            meta: None,
        };
        spec.set_params(spec.with(change));
        let servers: Vec<_> = spec
            .session_mcp_servers()
            .iter()
            .map(|s| s.get().to_owned())
            .collect();
        assert_eq!(
            servers,
            [r#"{"name":"own","command":"a"}"#, r#"{"name":"x","command":"c"}"#]
        );
        assert_eq!(spec.session_cwd(), "/w/sub");
        assert_eq!(
            spec.session_members().unwrap().get(),
            r#"{"n":1.10,"systemPrompt":"be brief"}"#
        );
        assert_eq!(spec.chunks, Some(Chunks::Single));
        let prompt = json(r#"{"mode":"append","content":[]}"#);
        let change = SessionChange {
            system_prompt: Some(prompt.clone()),
            ..SessionChange::default()
        };
        let mut prompted = spec.clone();
        prompted.set_params(prompted.with(change));
        assert_eq!(prompted.session_system_prompt(), Some(&prompt));
        assert!(!prompted.opens_like(&spec));
        assert_eq!(
            prompted.session_members().unwrap().get(),
            r#"{"n":1.10}"#,
            "one of both reaches the agent"
        );
        let other = SessionChange {
            mcp_servers: Some(Vec::new()),
            ..SessionChange::default()
        };
        spec.params = spec.with(other);
        assert_eq!(
            spec.session_mcp_servers(),
            spec.mcp_servers,
            "the thread's own stay"
        );
        assert_eq!(spec.session_cwd(), "/w/sub", "what is not mentioned stays");
    }

    /// Earlier versions passed on what they did not know.
    #[test]
    fn members_that_have_become_known_reach_the_agent_once() {
        let mut spec = spec();
        let old = r#"{"cursorId":"c","n":1,"configOptions":[],"systemPrompt":"be kind"}"#;
        spec.members = Some(json(old));
        assert_eq!(
            spec.session_members().unwrap().get(),
            r#"{"n":1,"systemPrompt":"be kind"}"#
        );
        assert!(spec.has_system_prompt());
        spec.system_prompt = Some(json(r#"{"mode":"append","content":[]}"#));
        assert_eq!(spec.session_members().unwrap().get(), r#"{"n":1}"#);
        assert!(spec.has_system_prompt());
        spec.system_prompt = None;
        spec.members = Some(json(r#"{"configOptions":[]}"#));
        assert_eq!(spec.session_members(), None);
        assert!(!spec.has_system_prompt());
    }

    #[test]
    fn a_session_moves_along_with_the_directory_it_is_in() {
        for (session, moved) in [("/w/sub", Some("/new/sub")), ("/wide", None), ("/w", None)] {
            let mut spec = spec();
            spec.params.cwd = Some(session.into());
            spec.set_directories(Directories {
                cwd: "/new".into(),
                ..Directories::default()
            });
            assert_eq!(spec.params.cwd.as_deref(), moved, "{session}");
            assert_eq!(spec.place().cwd, "/new");
        }
    }

    #[test]
    fn equal_settings_are_not_changes() {
        let spec = spec();
        let same = SessionChange {
            cwd: Some("/w".into()),
            mcp_servers: Some(spec.mcp_servers.clone()),
            members: spec.members.clone(),
            system_prompt: spec.system_prompt.clone(),
            meta: spec.meta.clone(),
        };
        assert_eq!(spec.with(same), SessionParams::default());
        assert_eq!(spec.with(SessionChange::default()), SessionParams::default());
    }
}

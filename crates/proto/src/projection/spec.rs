//! What a thread's session is opened with: what the thread was made with, and what the client that opened it last wants.

use acpd_model::RawJson;
use acpd_model::event::{SessionParams, ThreadCreated};
use serde::Deserialize;

use crate::wire::{Object, members};

/// How a thread was made, and how its session is opened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spec {
    /// Name of the agent in the configuration.
    pub agent: String,
    /// Working directory; with `additional_directories` the workspace.
    pub cwd: String,
    /// Further directories of the workspace.
    pub additional_directories: Vec<String>,
    /// Names without links of `cwd` and of `additional_directories`, in this order, when the thread was made; empty if they
    /// are not known.
    pub real_directories: Vec<String>,
    /// ACP `McpServer` objects.
    pub mcp_servers: Vec<RawJson>,
    /// `_meta` for the agent, beside all that; passed on as it came.
    pub meta: Option<RawJson>,
    /// Members of `session/new` that acpd does not know, an object; passed on as they came.
    pub members: Option<RawJson>,
    /// The session of the agent to begin with, which was made outside of acpd.
    pub session_id: Option<String>,
    /// What differs for the session as it is opened from now on.
    pub params: SessionParams,
    /// How the agent's text is to be recorded, if a client said so: `{"acpd":{"chunks":"single"}}` in `_meta`.
    pub chunks: Option<Chunks>,
}

/// How an agent's text is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chunks {
    /// Chunks that follow each other within some milliseconds become one event.
    Merged,
    /// Each chunk is an event.
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
            session_id: made.session_id.clone(),
            params: SessionParams::default(),
            chunks: None,
        };
        spec.chunks = spec.read_chunks();
        spec
    }
}

impl Spec {
    /// The directories of the workspace, as they were named.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.cwd)
            .chain(&self.additional_directories)
            .map(String::as_str)
    }

    /// The directories of the workspace, each with its name without links when the thread was made.
    pub fn real_names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.directories()
            .zip(self.real_directories.iter().map(String::as_str))
    }

    /// The directory that the agent's session is in: that of the thread, or one within its directories.
    pub fn session_cwd(&self) -> &str {
        self.params.cwd.as_deref().unwrap_or(&self.cwd)
    }

    /// The MCP servers of the session: the thread's own, and those of the client that opened it last. Of two with one name
    /// the client's is taken.
    pub fn session_mcp_servers(&self) -> Vec<RawJson> {
        let theirs = &self.params.mcp_servers;
        let replaced = |own: &&RawJson| {
            let name = server_name(own);
            name.is_some() && theirs.iter().any(|server| server_name(server) == name)
        };
        let own = self.mcp_servers.iter().filter(|own| !replaced(own));
        own.chain(theirs).cloned().collect()
    }

    /// `_meta` of whatever opens the session.
    pub fn session_meta(&self) -> Option<&RawJson> {
        self.params.meta.as_ref().or(self.meta.as_ref())
    }

    /// Members of whatever opens the session that acpd does not know.
    pub fn session_members(&self) -> Option<RawJson> {
        match (&self.members, &self.params.members) {
            (Some(made), Some(given)) => Some(merged(made, given)),
            (made, given) => given.clone().or_else(|| made.clone()),
        }
    }

    /// Opens the session with these from now on.
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

    /// Whether an agent's session is opened alike by this and by `other`, but for `_meta`.
    pub fn opens_like(&self, other: &Self) -> bool {
        self.session_cwd() == other.session_cwd()
            && self.session_mcp_servers() == other.session_mcp_servers()
            && self.session_members() == other.session_members()
    }

    /// What differs from how the thread was made, once a client wants `given`. What it does not mention stays as it is.
    pub fn with(&self, given: SessionChange) -> SessionParams {
        let SessionChange {
            cwd,
            mcp_servers,
            members,
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
            meta: meta
                .or_else(|| now.meta.clone())
                .filter(|meta| Some(meta) != self.meta.as_ref()),
        }
    }
}

/// What a client that opens a thread wants of its session. What is absent is to stay as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionChange {
    /// Its directory, absolute.
    pub cwd: Option<String>,
    /// The client's MCP servers, in the place of those that a client gave before.
    pub mcp_servers: Option<Vec<RawJson>>,
    /// Members that acpd does not know, an object.
    pub members: Option<RawJson>,
    /// `_meta`.
    pub meta: Option<RawJson>,
}

/// The name of an MCP server: what it is shown by, since its environment and headers hold credentials.
pub fn server_name(server: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    server.read::<Named>().ok().map(|named| named.name)
}

/// The members of two objects; of one that both have, that of the second.
fn merged(first: &RawJson, second: &RawJson) -> RawJson {
    let mut later = Vec::new();
    members(second, |key, _| later.push(key.to_owned()));
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    members(first, |key, value| {
        if later.iter().all(|known| known != key) {
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
    fn what_a_client_wants_counts_before_what_the_thread_was_made_with() {
        let mut spec = spec();
        let change = SessionChange {
            cwd: Some("/w/sub".into()),
            mcp_servers: Some(vec![json(r#"{"name":"x","command":"c"}"#)]),
            members: Some(json(r#"{"systemPrompt":"be brief"}"#)),
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

    #[test]
    fn what_does_not_differ_is_no_change() {
        let spec = spec();
        let same = SessionChange {
            cwd: Some("/w".into()),
            mcp_servers: Some(spec.mcp_servers.clone()),
            members: spec.members.clone(),
            meta: spec.meta.clone(),
        };
        assert_eq!(spec.with(same), SessionParams::default());
        assert_eq!(spec.with(SessionChange::default()), SessionParams::default());
    }
}

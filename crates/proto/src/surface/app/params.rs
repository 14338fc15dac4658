//! The params of every method, as clients send them.

use std::collections::BTreeMap;

use acpd_model::{Failure, IdPart, Millis, RawJson, RequestId, Seq, ThreadId, TurnId};
use serde::{Deserialize, de::DeserializeOwned};

use super::strict::{read, read_strictly};
use super::thread_params::{ListShares, RevokeShare};
use crate::agent::{ConfigValue, SystemPromptMode, system_prompt};
use crate::projection::{SessionChange, text_block};
use crate::surface::reply::SeenThread;
use crate::surface::request::{
    self, AgentFilter, Follow, FollowFrom, ListedStatus, OpenThread, Request, Turns, UsageBy, invalid_cursor,
};
use crate::thread::{Answer, InterruptOptions, PickedOption, Verdict};
use acpd_policy::{Preset, Scope};

#[cfg(test)]
use super::describe::{Acp, Json};
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Threads that one request marks as seen.
const SEEN_AT_ONCE: usize = 500;

/// Params of one method.
pub(super) trait Params: Sized {
    /// Parses the params. `current` is the connection's current thread.
    fn read(text: &str, current: Option<ThreadId>) -> Result<Self, Failure>;

    #[cfg(test)]
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

/// Params about a thread, which defaults to the connection's current one.
#[derive(Debug, Clone, PartialEq)]
pub struct On<P> {
    /// The thread.
    pub thread: ThreadId,
    /// The other params.
    pub params: P,
}

/// Params about a thread, with a required `threadId`.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<P> {
    /// The thread.
    pub thread: ThreadId,
    /// The other params.
    pub params: P,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    #[serde(default)]
    thread_id: Option<ThreadId>,
}

/// What a schema requires of params. Only test builds generate schemas; in other builds it requires nothing.
#[cfg(not(test))]
pub(super) trait Shape {}
#[cfg(not(test))]
impl<P> Shape for P {}
#[cfg(test)]
pub(super) trait Shape: JsonSchema {}
#[cfg(test)]
impl<P: JsonSchema> Shape for P {}

impl<P: DeserializeOwned + Shape> Params for On<P> {
    fn read(text: &str, current: Option<ThreadId>) -> Result<Self, Failure> {
        let thread = read::<Thread>(text)?.thread_id.or(current).ok_or_else(|| {
            Failure::invalid_params(
                "threadId is missing, and this connection has not started, resumed or forked a thread",
            )
        })?;
        let params = read_strictly(text, &["threadId"])?;
        Ok(Self { thread, params })
    }

    #[cfg(test)]
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        super::describe::with_thread::<P>(generator, false)
    }
}

impl<P: DeserializeOwned + Shape> Params for Named<P> {
    fn read(text: &str, _: Option<ThreadId>) -> Result<Self, Failure> {
        let thread = read::<Thread>(text)?
            .thread_id
            .ok_or_else(|| missing("threadId"))?;
        let params = read_strictly(text, &["threadId"])?;
        Ok(Self { thread, params })
    }

    #[cfg(test)]
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        super::describe::with_thread::<P>(generator, true)
    }
}

macro_rules! plain {
    ($($params:ty),+) => {$(
        impl Params for $params {
            fn read(text: &str, _: Option<ThreadId>) -> Result<Self, Failure> {
                read_strictly(text, &[])
            }

            #[cfg(test)]
            fn schema(generator: &mut SchemaGenerator) -> Schema {
                generator.subschema_for::<Self>()
            }
        }
    )+};
}

plain!(
    NoParams,
    StartThread,
    ExamineAgent,
    ReadSessionOptions,
    InstallAgent,
    RunRetention,
    ListFolders,
    CreateFolder,
    TestNotifications,
    ReadPolicy,
    SetDefaultAgent,
    SetDefaultPolicy,
    AllowFolder,
    ListThreads,
    SetSeen,
    ReadUsage,
    SearchThreads,
    Approve,
    AnswerInput,
    ListShares,
    RevokeShare,
    ListAgentAnswers,
    RevokeAgentAnswer
);

pub(super) fn missing(name: &str) -> Failure {
    Failure::invalid_params(format!("{name} is missing"))
}

/// No params.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NoParams {}

/// Params of `agent/doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExamineAgent {
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
}

/// Params of `agent/options`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReadSessionOptions {
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
    /// Absolute path of the session's working directory.
    pub cwd: String,
    /// Absolute paths of additional directories of the workspace.
    #[serde(default)]
    pub additional_directories: Vec<String>,
}

/// Params of `agent/install`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct InstallAgent {
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
}

/// Params of `retention/run`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RunRetention {
    /// Whether nothing is removed: the result is what would be.
    pub dry_run: Option<bool>,
    /// Whether the clock of the daemon's host is right. If it was set, the daemon follows it and retention trusts it from then on.
    pub confirm_clock: Option<bool>,
}

/// Params of `usage/read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReadUsage {
    /// Number of days until today, in UTC; 30 by default.
    pub days: Option<u32>,
    /// What the rows are; days by default.
    pub by: Option<UsageBy>,
}

/// Params of `thread/seen/set`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetSeen {
    /// The threads, at most 500.
    pub threads: Vec<SeenMark>,
    /// For a principal that has never called this method: changes until then count as seen, in milliseconds since the epoch.
    /// By default, all changes until now.
    #[serde(default)]
    pub since: Option<u64>,
}

/// How far a user has seen a thread.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SeenMark {
    /// Id of the thread.
    #[cfg_attr(test, schemars(with = "String"))]
    pub thread_id: ThreadId,
    /// The `updatedAt` of the thread, as the user has seen it.
    pub seen_at: u64,
}

impl TryFrom<SetSeen> for request::SeeThreads {
    type Error = Failure;

    fn try_from(params: SetSeen) -> Result<Self, Failure> {
        let SetSeen { threads, since } = params;
        if threads.len() > SEEN_AT_ONCE {
            return Err(Failure::invalid_params(format!(
                "threads has {} entries, and may have {SEEN_AT_ONCE}: send the others in another request",
                threads.len()
            )));
        }
        let millis = |time| Millis::try_from(time).unwrap_or(Millis::MAX);
        let mark = |SeenMark { thread_id, seen_at }| SeenThread {
            thread: thread_id,
            seen_at: millis(seen_at),
        };
        Ok(Self {
            threads: threads.into_iter().map(mark).collect(),
            since: since.map(millis),
        })
    }
}

/// Params of `folder/list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ListFolders {
    /// Absolute path of the folder, or a path that begins with `~/`; by default the home directory of the daemon's user.
    pub path: Option<String>,
}

/// Params of `folder/create`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct CreateFolder {
    /// Absolute path of the new folder, or a path that begins with `~/`. The folder that contains it must exist.
    pub path: String,
}

/// Params of `policy/read`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReadPolicy {
    /// Name of an agent whose own policy is also returned, as in `agent/list`.
    pub agent_type: Option<String>,
}

/// Params of `config/agent/set`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetDefaultAgent {
    /// Name of the agent, as in `agent/list`. If absent or `null`, removes the setting.
    pub agent_type: Option<String>,
}

/// Params of `config/policy/set`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetDefaultPolicy {
    /// Name of the agent whose own policy is set, as in `agent/list`; the policy of all agents if absent.
    pub agent_type: Option<String>,
    /// `permissive`, `standard`, `restricted` or `readonly`. If absent or `null`, removes the policy.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub preset: Option<Preset>,
}

/// Params of `config/folder/add`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AllowFolder {
    /// Name of the agent, as in `agent/list`.
    pub agent_type: String,
    /// The folder, an absolute path on the daemon's host without links, such as `folder` of a notice.
    pub folder: String,
}

/// Params of `notification/test`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TestNotifications {
    /// Name of the target, as in `notification/list`; all targets if absent.
    pub target: Option<String>,
}

/// Params of `thread/start`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct StartThread {
    /// Name of an agent, as in `agent/list`.
    pub agent_type: String,
    /// Absolute path of the working directory.
    pub cwd: String,
    /// Name of the thread, as shown to users.
    #[serde(default)]
    pub name: Option<String>,
    /// Project id that the client chooses to group threads by.
    #[serde(default)]
    pub project_id: Option<String>,
    /// Arbitrary data that the client stores with the thread.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    pub metadata: Option<RawJson>,
    /// Absolute paths of additional directories of the workspace.
    #[serde(default)]
    pub additional_directories: Vec<String>,
    /// ACP `McpServer` objects, passed on to the agent.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<Acp>"))]
    pub mcp_servers: Vec<RawJson>,
    /// Instructions for the agent, in addition to its own or instead of them. Returns `unsupported` if the agent does not declare
    /// that it takes them.
    #[serde(default, deserialize_with = "read_system_prompt")]
    #[cfg_attr(test, schemars(with = "Option<SystemPrompt>"))]
    pub system_prompt: Option<RawJson>,
    /// Id of the initial mode.
    #[serde(default)]
    pub mode: Option<String>,
    /// Initial values of config options, by id.
    #[serde(default)]
    pub config: BTreeMap<String, ConfigValue>,
    /// The thread's own permission policy: a preset's name, or an object. Requires the role owner.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    pub policy: Option<RawJson>,
    /// Id of an agent's session to continue instead of a new one, as in `agent/session/list`. Its history is imported if the
    /// agent replays it. Returns `conflict` if a thread already uses the session.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The first turn as plain text, placed before `input`.
    #[serde(default)]
    pub text: Option<String>,
    /// The first turn as ACP content blocks.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Vec<Acp>>"))]
    pub input: Option<Vec<RawJson>>,
    /// The client's own id for the first turn.
    #[serde(default)]
    pub client_turn_id: Option<String>,
}

/// A system prompt for a thread's agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SystemPrompt {
    /// How the agent combines it with its own instructions; `append` if absent.
    #[serde(default)]
    pub mode: Option<SystemPromptMode>,
    /// The instructions; at most 256 KiB.
    pub content: String,
}

/// Reads a system prompt as ACP's object.
fn read_system_prompt<'de, D: serde::Deserializer<'de>>(given: D) -> Result<Option<RawJson>, D::Error> {
    let given: Option<SystemPrompt> = Deserialize::deserialize(given)?;
    let prompt = given.map(|prompt| system_prompt(prompt.mode.unwrap_or_default(), &prompt.content));
    prompt
        .transpose()
        .map_err(|failure| serde::de::Error::custom(failure.message))
}

/// Params of `thread/resume`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ResumeThread {
    /// Number of the last event that the client has received; 0 for none.
    #[serde(default)]
    pub after: Option<Seq>,
    /// Maximum number of turns in the result, if `after` is absent. A page has at most about 1 MiB; the earlier items of a
    /// turn that is too large for it are on the next page, in a turn with the same id.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Whether to start the agent now; by default, it is started, so that the next turn begins sooner.
    #[serde(default)]
    pub start_agent: Option<bool>,
}

/// Params of `thread/list`.
#[derive(Debug, Clone, PartialEq, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ListThreads {
    /// `nextCursor` of the previous page.
    pub cursor: Option<String>,
    /// Maximum number of threads. A page has at most about 1 MiB: with large metadata, it has fewer.
    pub limit: Option<usize>,
    /// Whether to list archived threads; by default, only threads that are not archived.
    pub archived: Option<bool>,
    /// Lists only pinned threads, or only the others.
    pub pinned: Option<bool>,
    /// Lists only threads in this directory.
    pub cwd: Option<String>,
    /// Lists only threads of this agent.
    pub agent_type: Option<String>,
    /// Lists only threads with this status.
    pub status: Option<ListedStatus>,
    /// Lists only threads whose name contains this text.
    pub search_term: Option<String>,
    /// Lists only threads whose id begins or ends with these 1 to 32 hexadecimal digits; hyphens do not count.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub id_part: Option<IdPart>,
}

/// Params of `thread/search`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SearchThreads {
    /// Words that must all occur in one text. Case and accents are ignored. Words in double quotes must follow each
    /// other. The last word, if it is not in quotes, matches every word that begins with it. At most 1 KiB.
    pub query: String,
    /// `nextCursor` of the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Maximum number of hits, at most 100.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Searches only this thread; by default, all threads.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub thread_id: Option<ThreadId>,
}

/// Params of `thread/read`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReadThread {
    /// Whether the result contains turns and items.
    #[serde(default)]
    pub include_turns: Option<bool>,
    /// `thread.cursor` of the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Maximum number of turns. A page has at most about 1 MiB; the earlier items of a turn that is too large for it are on
    /// the next page, in a turn with the same id.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// Params of `turn/start`, with at least one of `text` and `input`.
#[derive(Debug, Clone, PartialEq, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct StartTurn {
    /// Plain text, placed before `input`.
    pub text: Option<String>,
    /// ACP content blocks.
    #[cfg_attr(test, schemars(with = "Option<Vec<Acp>>"))]
    pub input: Option<Vec<RawJson>>,
    /// The client's own id for the turn.
    pub client_turn_id: Option<String>,
    /// `_meta` of the prompt, which the agent receives unchanged. `traceparent` and `tracestate` in it are W3C trace context.
    #[serde(rename = "_meta")]
    #[cfg_attr(test, schemars(with = "Option<Acp>"))]
    pub meta: Option<RawJson>,
    /// Id of an earlier turn that this prompt replaces. It and all later turns leave the conversation first, as by
    /// `thread/rollback`; if that or the prompt is refused, nothing changes.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub replaces_turn_id: Option<TurnId>,
}

impl From<StartThread> for request::StartThread {
    fn from(params: StartThread) -> Self {
        Self {
            thread: None,
            agent: Some(params.agent_type),
            cwd: params.cwd,
            additional_directories: params.additional_directories,
            session: SessionChange {
                mcp_servers: Some(params.mcp_servers),
                system_prompt: params.system_prompt,
                ..SessionChange::default()
            },
            name: params.name,
            project_id: params.project_id,
            metadata: params.metadata,
            policy: params.policy,
            mode: params.mode,
            config: params.config,
            initial: Vec::new(),
            session_id: params.session_id,
            input: blocks(params.text.as_deref(), params.input),
            client_turn_id: params.client_turn_id,
            follow: Follow::AtOnce,
        }
    }
}

impl ResumeThread {
    /// A client that has seen events has their turns.
    pub fn on(self, thread: ThreadId) -> OpenThread {
        let Self {
            after,
            limit,
            start_agent,
        } = self;
        let turns = after.is_none().then_some(Turns {
            limit,
            ..Turns::default()
        });
        OpenThread {
            thread,
            from: after.map_or(FollowFrom::Latest, |seq| FollowFrom::After { seq, clamp: false }),
            turns,
            session: None,
            claims: Vec::new(),
            starts_agent: start_agent.unwrap_or(true),
        }
    }
}

impl From<ListThreads> for request::ListThreads {
    fn from(params: ListThreads) -> Self {
        Self {
            cursor: params.cursor,
            limit: params.limit,
            archived: params.archived,
            pinned: params.pinned,
            agent: params.agent_type.map_or(AgentFilter::Any, AgentFilter::Named),
            cwd: params.cwd,
            status: params.status,
            search: params.search_term,
            id: params.id_part,
            only: None,
        }
    }
}

impl From<SearchThreads> for request::SearchThreads {
    fn from(params: SearchThreads) -> Self {
        Self {
            query: params.query,
            cursor: params.cursor,
            limit: params.limit,
            thread: params.thread_id,
        }
    }
}

impl ReadThread {
    /// The turns that are wanted.
    pub fn turns(&self) -> Result<Option<Turns>, Failure> {
        let before = self.cursor.as_ref().map(|text| text.parse());
        let before = before.transpose().map_err(|_| invalid_cursor())?;
        let limit = self.limit;
        let wanted = self.include_turns.unwrap_or(false);
        Ok(wanted.then_some(Turns {
            before,
            limit,
            ..Turns::default()
        }))
    }
}

impl StartTurn {
    /// The prompt for `thread`.
    pub fn on(self, thread: ThreadId) -> request::StartTurn {
        request::StartTurn {
            thread,
            input: blocks(self.text.as_deref(), self.input),
            meta: self.meta.filter(|meta| meta.get().starts_with('{')),
            client_turn_id: self.client_turn_id,
            replaces: self.replaces_turn_id,
        }
    }
}

impl From<Answered> for Request {
    fn from(answered: Answered) -> Self {
        let Answered {
            request,
            answer,
            scope,
        } = answered;
        Self::Answer {
            request,
            answer,
            scope,
        }
    }
}

/// Returns `text`, if present, and `input` as one list of ACP content blocks.
fn blocks(text: Option<&str>, input: Option<Vec<RawJson>>) -> Vec<RawJson> {
    let mut blocks = input.unwrap_or_default();
    if let Some(text) = text {
        blocks.insert(0, text_block(text));
    }
    blocks
}

/// Params of `turn/diff/read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReadTurnDiff {
    /// Id of the turn.
    #[cfg_attr(test, schemars(with = "String"))]
    pub turn_id: TurnId,
}

/// Params of `turn/interrupt`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct InterruptTurn {
    /// Id of the turn; by default, the running turn.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub turn_id: Option<TurnId>,
    /// Whether to pause the queue, so that no queued turn starts after the running one.
    #[serde(default)]
    pub pause_queue: bool,
    /// Whether to terminate the agent instead of waiting for it. Also for a turn that was interrupted before.
    #[serde(default)]
    pub at_once: bool,
}

impl InterruptTurn {
    /// The interruption in `thread`.
    pub fn on(self, thread: ThreadId) -> Request {
        let options = InterruptOptions {
            pause_queue: self.pause_queue,
            at_once: self.at_once,
        };
        Request::Interrupt {
            thread,
            turn: self.turn_id,
            options,
        }
    }
}

/// Params of `thread/mode/set`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetMode {
    /// Id of one of the agent's modes.
    pub mode_id: String,
}

/// Params of `thread/config/set`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetConfig {
    /// Id of one of the agent's config options.
    pub config_id: String,
    /// Id of one of a select option's values, or a boolean.
    pub value: ConfigValue,
}

/// Params of `thread/policy/set`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetPolicy {
    /// A preset's name or an object. If absent or `null`, removes the thread's own policy.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    pub policy: Option<RawJson>,
}

/// Params of `policy/explain`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExplainPolicy {
    /// An ACP tool call.
    #[cfg_attr(test, schemars(with = "Acp"))]
    pub tool_call: RawJson,
}

/// Params of `policy/remembered/revoke`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RevokeRemembered {
    /// Id of the answer, as in `policy/remembered/list`.
    pub id: u64,
}

/// Params of `agent/remembered/list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ListAgentAnswers {
    /// Only answers for this agent; by default, for every agent.
    pub agent_type: Option<String>,
}

/// Params of `agent/remembered/revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RevokeAgentAnswer {
    /// Name of the agent, as in `agent/remembered/list`.
    pub agent_type: String,
    /// Id of the answer, as in `agent/remembered/list`.
    pub id: u64,
}

/// Params of `agent/authenticate`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Authenticate {
    /// Id of one of the agent's authentication methods.
    pub method_id: String,
}

/// Selects sessions of the agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ListSessions {
    /// Lists only sessions of this directory.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The agent's cursor for the next page, from the previous result.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Selects sessions of the agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DeleteSession {
    /// The agent's id for the session.
    pub session_id: String,
}

/// A message that ACP does not define.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AgentExtension {
    /// Name of the method, which begins with `_`, and not with `_acpd/`.
    pub method: String,
    /// Params, which the agent receives unchanged.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    pub params: Option<RawJson>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// Id of the question.
    pub request: RequestId,
    /// The answer.
    pub answer: Answer,
    /// Scope of the answer, if it applies to more than this question.
    pub scope: Option<Scope>,
}

/// Params of `item/approve`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "ApproveWire")]
#[cfg_attr(test, derive(JsonSchema), schemars(with = "ApproveWire"))]
pub struct Approve(pub Answered);

/// An answer to a permission request: `approved` or `optionId`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Approve"))]
struct ApproveWire {
    /// Id of the question.
    #[cfg_attr(test, schemars(with = "String"))]
    request_id: RequestId,
    /// Whether the agent may proceed.
    #[serde(default)]
    approved: Option<bool>,
    /// Id of one of the agent's options. The answer is refused if `approved` contradicts it.
    #[serde(default)]
    option_id: Option<String>,
    /// Kind of that option, as shown to the user. The answer is refused if the option is of another kind.
    #[serde(default)]
    option_kind: Option<String>,
    /// Remembers the answer, so that it also applies to later questions in this scope.
    #[serde(default)]
    scope: Option<Scope>,
}

impl TryFrom<ApproveWire> for Approve {
    type Error = &'static str;

    fn try_from(wire: ApproveWire) -> Result<Self, Self::Error> {
        let verdict = wire.approved.map(|allow| Verdict { allow, always: false });
        let answer = match (wire.option_id, wire.approved) {
            (Some(option_id), _) => Answer::Option(PickedOption {
                option_id,
                kind: wire.option_kind,
                verdict,
            }),
            (None, _) if wire.option_kind.is_some() => return Err("optionId is missing"),
            (None, Some(true)) => Answer::Accept { always: false },
            (None, Some(false)) => Answer::Decline { always: false },
            (None, None) => return Err("approved is missing"),
        };
        let (request, scope) = (wire.request_id, wire.scope);
        Ok(Self(Answered {
            request,
            answer,
            scope,
        }))
    }
}

/// Params of `item/answer`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "AnswerWire")]
#[cfg_attr(test, derive(JsonSchema), schemars(with = "AnswerWire"))]
pub struct AnswerInput(pub Answered);

/// An answer to an elicitation: `answers`, or `dismissed: true`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "AnswerInput"))]
struct AnswerWire {
    /// Id of the question.
    #[cfg_attr(test, schemars(with = "String"))]
    request_id: RequestId,
    /// Answers that follow the question's schema. The agent receives them unchanged.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    answers: Option<RawJson>,
    /// Whether the user declines to answer.
    #[serde(default)]
    dismissed: bool,
}

impl TryFrom<AnswerWire> for AnswerInput {
    type Error = &'static str;

    fn try_from(wire: AnswerWire) -> Result<Self, Self::Error> {
        let answer = answer_from(wire.answers, wire.dismissed).ok_or("answers is missing")?;
        let (request, scope) = (wire.request_id, None);
        Ok(Self(Answered {
            request,
            answer,
            scope,
        }))
    }
}

fn answer_from(answers: Option<RawJson>, dismissed: bool) -> Option<Answer> {
    match (answers, dismissed) {
        (_, true) => Some(Answer::Decline { always: false }),
        (Some(answers), false) => Some(Answer::Provide(answers)),
        (None, false) => None,
    }
}

/// A client's response to a question: `decision`, optionally with `optionId` and `scope`,
/// or `answers`, or `dismissed: true`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "QuestionAnswered"))]
pub(super) struct Response {
    /// `accept`, `acceptForSession`, `decline`, `declineForSession` or `cancel`.
    #[serde(default)]
    decision: Option<String>,
    /// Id of one of the agent's options. It is more specific than `decision` and must not contradict it.
    #[serde(default)]
    option_id: Option<String>,
    /// Kind of that option, as shown to the user. The answer is refused if the option is of another kind.
    #[serde(default)]
    option_kind: Option<String>,
    /// Remembers the answer, so that it also applies to later questions in this scope.
    #[serde(default)]
    scope: Option<Scope>,
    /// Answers to an elicitation.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    answers: Option<RawJson>,
    /// Whether the user declines to answer.
    #[serde(default)]
    dismissed: bool,
}

impl Response {
    /// Parses a client's response to `request`.
    pub fn read(request: RequestId, result: Result<&str, ()>) -> Result<Answered, Failure> {
        // An error means that this client will not decide; others may.
        let Ok(text) = result else {
            return Err(Failure::invalid_params(
                "an error decides nothing; the question stays open",
            ));
        };
        let wire: Self = read(text)?;
        let (scope, decision) = (wire.scope, wire.decision.as_deref());
        let verdict = match decision {
            Some("accept") => Some((true, false)),
            Some("acceptForSession") => Some((true, true)),
            Some("decline") => Some((false, false)),
            Some("declineForSession") => Some((false, true)),
            Some("cancel") | None => None,
            Some(other) => return Err(Failure::invalid_params(format!("unknown decision {other:?}"))),
        }
        .map(|(allow, always)| Verdict { allow, always });
        let answer = match (wire.option_id, verdict) {
            (Some(_), None) if decision.is_some() => {
                return Err(Failure::invalid_params(
                    "optionId contradicts the decision \"cancel\"",
                ));
            }
            (Some(option_id), verdict) => Answer::Option(PickedOption {
                option_id,
                kind: wire.option_kind,
                verdict,
            }),
            (None, _) if wire.option_kind.is_some() => {
                return Err(Failure::invalid_params("optionKind without an optionId"));
            }
            (None, Some(Verdict { allow: true, always })) => Answer::Accept { always },
            (None, Some(Verdict { allow: false, always })) => Answer::Decline { always },
            (None, None) if decision.is_some() => Answer::Cancel,
            (None, None) => {
                let answer = answer_from(wire.answers, wire.dismissed).ok_or_else(|| {
                    Failure::invalid_params("the response has neither decision nor answers")
                })?;
                return Ok(Answered {
                    request,
                    answer,
                    scope: None,
                });
            }
        };
        Ok(Answered {
            request,
            answer,
            scope,
        })
    }
}

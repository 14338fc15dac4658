//! The params of every method, as they come.

use std::collections::BTreeMap;

use acpd_model::{Failure, RawJson, RequestId, Seq, ThreadId, TurnId};
use serde::{Deserialize, de::DeserializeOwned};

use crate::agent::ConfigValue;
use crate::projection::{SessionChange, text_block};
use crate::surface::request::{
    self, AgentFilter, Follow, FollowFrom, ListedStatus, OpenThread, Request, Turns, invalid_cursor,
};
use crate::thread::{Answer, PickedOption, Verdict};
use acpd_policy::Scope;

#[cfg(test)]
use super::describe::{Acp, Json};
#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Params of one method.
pub(super) trait Params: Sized {
    /// Reads them; `current` is the connection's current thread.
    fn read(text: &str, current: Option<ThreadId>) -> Result<Self, Failure>;

    #[cfg(test)]
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

/// Params about a thread: the one that is named, else the connection's current one.
#[derive(Debug, Clone, PartialEq)]
pub struct On<P> {
    /// Which.
    pub thread: ThreadId,
    /// The rest.
    pub params: P,
}

/// Params about a thread that must be named.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<P> {
    /// Which.
    pub thread: ThreadId,
    /// The rest.
    pub params: P,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    #[serde(default)]
    thread_id: Option<ThreadId>,
}

/// What a schema needs of params: nothing, but where schemas are made.
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
                "threadId is missing, and this connection has neither started nor resumed a thread",
            )
        })?;
        let params = read(text)?;
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
        let params = read(text)?;
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
                read(text)
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
    ReadPolicy,
    ListThreads,
    SearchThreads,
    Approve,
    AnswerInput
);

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::invalid_params(format!("invalid params: {error}")))
}

pub(super) fn missing(name: &str) -> Failure {
    Failure::invalid_params(format!("{name} is missing"))
}

/// None.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NoParams {}

/// Which agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExamineAgent {
    /// Its name, as in `agent/list`.
    pub agent_type: String,
}

/// Whose policies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReadPolicy {
    /// The agent whose own policy is wanted as well, as in `agent/list`.
    pub agent_type: Option<String>,
}

/// What a new thread is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct StartThread {
    /// Name of an agent, as in `agent/list`.
    pub agent_type: String,
    /// Absolute working directory.
    pub cwd: String,
    /// A name for people.
    #[serde(default)]
    pub name: Option<String>,
    /// The client's own grouping.
    #[serde(default)]
    pub project_id: Option<String>,
    /// The client's own data.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    pub metadata: Option<RawJson>,
    /// Further directories of the workspace, absolute.
    #[serde(default)]
    pub additional_directories: Vec<String>,
    /// ACP `McpServer` objects, passed on to the agent.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<Acp>"))]
    pub mcp_servers: Vec<RawJson>,
    /// The mode to begin in: a mode's id.
    #[serde(default)]
    pub mode: Option<String>,
    /// Config options to begin with, by id.
    #[serde(default)]
    pub config: BTreeMap<String, ConfigValue>,
    /// A permission policy of its own: a preset's name, or an object. Needs the role owner.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    pub policy: Option<RawJson>,
    /// The session of the agent to go on with, as `agent/session/list` has it, in place of a new one: what was said there
    /// is taken over, if the agent tells it. `conflict` if a thread goes on with it already.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The first turn as plain text; it stands before `input`.
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

/// Where to begin to follow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ResumeThread {
    /// The last event that the client has seen; 0 for none.
    #[serde(default)]
    pub after: Option<Seq>,
    /// Turns wanted in the result, if there is no `after`.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// Which threads.
#[derive(Debug, Clone, PartialEq, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ListThreads {
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// Threads wanted.
    pub limit: Option<usize>,
    /// Archived threads, or (the default) threads that are not archived.
    pub archived: Option<bool>,
    /// Those in this directory.
    pub cwd: Option<String>,
    /// Those of this agent.
    pub agent_type: Option<String>,
    /// Those of which this is true.
    pub status: Option<ListedStatus>,
    /// Those with this in their name.
    pub search_term: Option<String>,
}

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SearchThreads {
    /// Words that must all be in one text, whatever their case and accents; those in double quotes one after the
    /// other. The last one, if it is not in quotes, stands for every word that begins so. At most 1 KiB.
    pub query: String,
    /// Where the last page ended.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Hits wanted, at most 100.
    #[serde(default)]
    pub limit: Option<usize>,
    /// In this thread alone; if it is left out, in all of them.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub thread_id: Option<ThreadId>,
}

/// What of a thread.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ReadThread {
    /// With its turns and items.
    #[serde(default)]
    pub include_turns: Option<bool>,
    /// Where the last page ended: `thread.cursor`.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Turns wanted.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// What a turn says: at least one of `text` and `input`.
#[derive(Debug, Clone, PartialEq, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct StartTurn {
    /// Plain text; it stands before `input`.
    pub text: Option<String>,
    /// ACP content blocks.
    #[cfg_attr(test, schemars(with = "Option<Vec<Acp>>"))]
    pub input: Option<Vec<RawJson>>,
    /// The client's own id for the turn.
    pub client_turn_id: Option<String>,
}

impl From<StartThread> for request::StartThread {
    fn from(params: StartThread) -> Self {
        Self {
            agent: Some(params.agent_type),
            cwd: params.cwd,
            additional_directories: params.additional_directories,
            session: SessionChange {
                mcp_servers: Some(params.mcp_servers),
                ..SessionChange::default()
            },
            name: params.name,
            project_id: params.project_id,
            metadata: params.metadata,
            policy: params.policy,
            mode: params.mode,
            config: params.config,
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
        let Self { after, limit } = self;
        let turns = after.is_none().then_some(Turns { before: None, limit });
        OpenThread {
            thread,
            from: after.map_or(FollowFrom::Latest, |seq| FollowFrom::After { seq, clamp: false }),
            turns,
            session: None,
            claims: Vec::new(),
        }
    }
}

impl From<ListThreads> for request::ListThreads {
    fn from(params: ListThreads) -> Self {
        Self {
            cursor: params.cursor,
            limit: params.limit,
            archived: params.archived,
            agent: params.agent_type.map_or(AgentFilter::Any, AgentFilter::Named),
            cwd: params.cwd,
            status: params.status,
            search: params.search_term,
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
        Ok(wanted.then_some(Turns { before, limit }))
    }
}

impl StartTurn {
    /// The prompt for `thread`.
    pub fn on(self, thread: ThreadId) -> request::StartTurn {
        request::StartTurn {
            thread,
            input: blocks(self.text.as_deref(), self.input),
            meta: None,
            client_turn_id: self.client_turn_id,
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

/// `text`, if there is any, and `input` as one list of ACP content blocks.
fn blocks(text: Option<&str>, input: Option<Vec<RawJson>>) -> Vec<RawJson> {
    let mut blocks = input.unwrap_or_default();
    if let Some(text) = text {
        blocks.insert(0, text_block(text));
    }
    blocks
}

/// Which turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct InterruptTurn {
    /// The one that runs, if it is left out.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub turn_id: Option<TurnId>,
}

/// Which mode.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetMode {
    /// One of the agent's modes.
    pub mode_id: String,
}

/// Which option.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetConfig {
    /// One of the agent's options.
    pub config_id: String,
    /// One of a select option's values, or a boolean.
    pub value: ConfigValue,
}

/// Which policy.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SetPolicy {
    /// A preset's name or an object; nothing, or `null`, takes the thread's own policy away.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    pub policy: Option<RawJson>,
}

/// What is to be explained.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ExplainPolicy {
    /// An ACP tool call.
    #[cfg_attr(test, schemars(with = "Acp"))]
    pub tool_call: RawJson,
}

/// Which answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RevokeRemembered {
    /// Its id in `policy/remembered/list`.
    pub id: u64,
}

/// How to sign in.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Authenticate {
    /// One of the agent's authentication methods.
    pub method_id: String,
}

/// Which of the agent's sessions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ListSessions {
    /// Those of this directory.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Where the agent's last page ended.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Which of the agent's sessions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DeleteSession {
    /// The agent's id for it.
    pub session_id: String,
}

/// A message that ACP does not know.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AgentExtension {
    /// Its name, which begins with `_`.
    pub method: String,
    /// Passed on as they came.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    pub params: Option<RawJson>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The question.
    pub request: RequestId,
    /// The answer.
    pub answer: Answer,
    /// How long it holds, if it is to hold for more than this question.
    pub scope: Option<Scope>,
}

/// Params of `item/approve`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "ApproveWire")]
#[cfg_attr(test, derive(JsonSchema), schemars(with = "ApproveWire"))]
pub struct Approve(pub Answered);

/// Yes or no: `approved` or `optionId`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Approve"))]
struct ApproveWire {
    /// The question.
    #[cfg_attr(test, schemars(with = "String"))]
    request_id: RequestId,
    /// Yes or no.
    #[serde(default)]
    approved: Option<bool>,
    /// One of the agent's options. An answer that `approved` contradicts is refused.
    #[serde(default)]
    option_id: Option<String>,
    /// The kind of that option as the person saw it. An answer whose option is of another kind is refused.
    #[serde(default)]
    option_kind: Option<String>,
    /// Makes the answer hold for more than this question.
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

/// What a person says: `answers`, or `dismissed: true`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "AnswerInput"))]
struct AnswerWire {
    /// The question.
    #[cfg_attr(test, schemars(with = "String"))]
    request_id: RequestId,
    /// By the question's schema; they reach the agent as they are.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    answers: Option<RawJson>,
    /// Nothing will be said.
    #[serde(default)]
    dismissed: bool,
}

impl TryFrom<AnswerWire> for AnswerInput {
    type Error = &'static str;

    fn try_from(wire: AnswerWire) -> Result<Self, Self::Error> {
        let answer = told(wire.answers, wire.dismissed).ok_or("answers is missing")?;
        let (request, scope) = (wire.request_id, None);
        Ok(Self(Answered {
            request,
            answer,
            scope,
        }))
    }
}

fn told(answers: Option<RawJson>, dismissed: bool) -> Option<Answer> {
    match (answers, dismissed) {
        (_, true) => Some(Answer::Decline { always: false }),
        (Some(answers), false) => Some(Answer::Provide(answers)),
        (None, false) => None,
    }
}

/// The result of a question, as a client's response has it: `decision`, with `optionId` and `scope` if there is
/// more to say, or `answers`, or `dismissed: true`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "QuestionAnswered"))]
pub(super) struct Response {
    /// `accept`, `acceptForSession`, `decline`, `declineForSession` or `cancel`.
    #[serde(default)]
    decision: Option<String>,
    /// One of the agent's options; it says more than `decision`, and must not contradict it.
    #[serde(default)]
    option_id: Option<String>,
    /// The kind of that option as the person saw it. An answer whose option is of another kind is refused.
    #[serde(default)]
    option_kind: Option<String>,
    /// Makes the answer hold for more than this question.
    #[serde(default)]
    scope: Option<Scope>,
    /// Of a question for information.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Option<Json>"))]
    answers: Option<RawJson>,
    /// Nothing will be said.
    #[serde(default)]
    dismissed: bool,
}

impl Response {
    /// Reads a client's response to `request`.
    pub fn read(request: RequestId, result: Result<&str, ()>) -> Result<Answered, Failure> {
        // A client that answers with an error will not decide; others may.
        let Ok(text) = result else {
            return Err(Failure::invalid_params(
                "an error is no decision; the question stays open",
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
            Some(other) => return Err(Failure::invalid_params(format!("{other:?} is no decision"))),
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
                let answer = told(wire.answers, wire.dismissed).ok_or_else(|| {
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

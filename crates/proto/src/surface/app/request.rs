//! What a client asks for.

use std::collections::BTreeMap;

use acpd_model::{Failure, RawJson, RequestId, Seq, ThreadId, TurnId};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agent::{AgentRequest, ConfigValue};
use crate::policy::Scope;
use crate::projection::text_block;
use crate::thread::Answer;

/// A request that the daemon carries out. A thread that was left out has been filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// `agent/list`.
    AgentList,
    /// `thread/start`.
    ThreadStart(StartThread),
    /// `thread/resume`.
    ThreadResume {
        /// Which.
        thread: ThreadId,
        /// Replay what came after this event.
        after: Option<Seq>,
        /// Turns in the result, if nothing is replayed.
        limit: Option<usize>,
    },
    /// `thread/list`.
    ThreadList {
        /// Where the last page ended.
        cursor: Option<String>,
        /// Threads wanted.
        limit: Option<usize>,
        /// Put away or not.
        archived: Option<bool>,
        /// In this directory.
        cwd: Option<String>,
        /// Of this agent.
        agent_type: Option<String>,
        /// With or without a running turn.
        active: Option<bool>,
        /// With this in their name.
        search_term: Option<String>,
    },
    /// `thread/read`.
    ThreadRead {
        /// Which.
        thread: ThreadId,
        /// With its turns and items.
        include_turns: bool,
        /// Where the last page ended.
        cursor: Option<String>,
        /// Turns wanted.
        limit: Option<usize>,
    },
    /// `thread/unsubscribe`.
    ThreadUnsubscribe {
        /// Which.
        thread: ThreadId,
    },
    /// `turn/start`.
    TurnStart {
        /// In which thread.
        thread: ThreadId,
        /// What.
        turn: StartTurn,
    },
    /// `turn/interrupt`.
    TurnInterrupt {
        /// In which thread.
        thread: ThreadId,
        /// Which; the running one if absent.
        turn: Option<TurnId>,
    },
    /// `thread/mode/set`, `thread/config/set` and the methods that ask the agent for something beside turns.
    Agent {
        /// Whose agent.
        thread: ThreadId,
        /// What it is to do.
        request: AgentRequest,
        /// Whether the caller gets the agent's answer, or only learns that it is done.
        wants_answer: bool,
    },
    /// `agent/notify`.
    AgentNotify {
        /// Whose agent.
        thread: ThreadId,
        /// Method; its name begins with `_`.
        method: String,
        /// Params, passed on as they came.
        params: Option<RawJson>,
    },
    /// `item/approve`, or the response to a server request.
    Answer {
        /// The question.
        request: RequestId,
        /// The answer.
        answer: Answer,
        /// How long it holds, if it is to hold for more than this question.
        scope: Option<Scope>,
    },
    /// `policy/explain` and the methods for a thread's own policy.
    Policy {
        /// Whose.
        thread: ThreadId,
        /// What is to be done.
        what: PolicyRequest,
    },
}

/// What a client wants of a thread's policy.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicyRequest {
    /// `policy/explain`.
    Explain(RawJson),
    /// `thread/policy/set`; `None` takes it away.
    Set(Option<RawJson>),
    /// `policy/remembered/list`.
    Remembered,
    /// `policy/remembered/revoke`.
    Revoke(u64),
}

/// Params of `thread/start`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartThread {
    /// Name of the agent in the configuration.
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
    pub metadata: Option<RawJson>,
    /// Further directories of the workspace.
    #[serde(default)]
    pub additional_directories: Vec<String>,
    /// ACP `McpServer` objects.
    #[serde(default)]
    pub mcp_servers: Vec<RawJson>,
    /// The mode to begin in.
    #[serde(default)]
    pub mode: Option<String>,
    /// Config options to begin with, by id: a value's id or a boolean.
    #[serde(default)]
    pub config: BTreeMap<String, ConfigValue>,
    /// A permission policy of its own.
    #[serde(default)]
    pub policy: Option<RawJson>,
    /// The first turn, if there is `text` or `input`. Its members stand beside the others, but are read on their
    /// own: what is flattened does not keep its text.
    #[serde(skip)]
    pub turn: StartTurn,
}

/// What a turn says: `text`, or `input` in ACP content blocks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StartTurn {
    /// ACP content blocks.
    pub input: Vec<RawJson>,
    /// The client's own id for the turn.
    pub client_turn_id: Option<String>,
}

impl<'de> Deserialize<'de> for StartTurn {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            #[serde(default)]
            text: Option<String>,
            #[serde(default)]
            input: Option<Vec<RawJson>>,
            #[serde(default)]
            client_turn_id: Option<String>,
        }
        let Wire {
            text,
            input,
            client_turn_id,
        } = Wire::deserialize(deserializer)?;
        let mut blocks = input.unwrap_or_default();
        if let Some(text) = text {
            blocks.insert(0, text_block(&text));
        }
        Ok(Self {
            input: blocks,
            client_turn_id,
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Params {
    thread_id: Option<ThreadId>,
    turn_id: Option<TurnId>,
    after: Option<Seq>,
    cursor: Option<String>,
    limit: Option<usize>,
    archived: Option<bool>,
    cwd: Option<String>,
    agent_type: Option<String>,
    status: Option<String>,
    search_term: Option<String>,
    include_turns: Option<bool>,
    request_id: Option<RequestId>,
    approved: Option<bool>,
    option_id: Option<String>,
    scope: Option<Scope>,
    tool_call: Option<RawJson>,
    policy: Option<RawJson>,
    id: Option<u64>,
}

impl Request {
    /// Reads a request; `current` is the connection's current thread. `None` if there is no such method.
    pub fn parse(
        method: &str,
        params: Option<&RawValue>,
        current: Option<ThreadId>,
    ) -> Option<Result<Self, Failure>> {
        let text = params.map_or("{}", RawValue::get);
        let decode: fn(Params, &str, Option<ThreadId>) -> Result<Self, Failure> = match method {
            "agent/list" => |_, _, _| Ok(Self::AgentList),
            "thread/start" => |_, text, _| {
                let turn = read(text)?;
                read(text).map(|start| Self::ThreadStart(StartThread { turn, ..start }))
            },
            "thread/resume" => |p, _, _| {
                let thread = p.thread_id.ok_or_else(|| missing("threadId"))?;
                Ok(Self::ThreadResume {
                    thread,
                    after: p.after,
                    limit: p.limit,
                })
            },
            "thread/list" => |p, _, _| p.list(),
            "thread/read" => |p, _, current| {
                Ok(Self::ThreadRead {
                    thread: p.thread(current)?,
                    include_turns: p.include_turns.unwrap_or(false),
                    cursor: p.cursor,
                    limit: p.limit,
                })
            },
            "thread/unsubscribe" => |p, _, current| {
                Ok(Self::ThreadUnsubscribe {
                    thread: p.thread(current)?,
                })
            },
            "turn/start" => |p, text, current| {
                Ok(Self::TurnStart {
                    thread: p.thread(current)?,
                    turn: read(text)?,
                })
            },
            "turn/interrupt" => |p, _, current| {
                Ok(Self::TurnInterrupt {
                    thread: p.thread(current)?,
                    turn: p.turn_id,
                })
            },
            "item/approve" => |p, _, _| p.approve(),
            "policy/explain" => |mut p, _, current| {
                let tool_call = p.tool_call.take().ok_or_else(|| missing("toolCall"))?;
                p.policy_request(current, PolicyRequest::Explain(tool_call))
            },
            "thread/policy/set" => |mut p, _, current| {
                let policy = p.policy.take().filter(|policy| policy.get() != "null");
                p.policy_request(current, PolicyRequest::Set(policy))
            },
            "policy/remembered/list" => |p, _, current| p.policy_request(current, PolicyRequest::Remembered),
            "policy/remembered/revoke" => |p, _, current| {
                let id = p.id.ok_or_else(|| missing("id"))?;
                p.policy_request(current, PolicyRequest::Revoke(id))
            },
            "item/answer" => |p, text, _| {
                let request = p.request_id.ok_or_else(|| missing("requestId"))?;
                let Told { answers, dismissed } = read(text)?;
                let answer = told(answers, dismissed)?;
                Ok(Self::Answer {
                    request,
                    answer,
                    scope: None,
                })
            },
            _ => return super::agent::parse(method, text, current),
        };
        let params = if params.is_none() {
            Ok(Params::default())
        } else {
            read(text)
        };
        Some(params.and_then(|params| decode(params, text, current)))
    }

    /// Reads a client's response to a server request.
    pub fn parse_answer(request: RequestId, result: Result<&RawValue, ()>) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Response {
            #[serde(default)]
            decision: Option<String>,
            #[serde(default)]
            option_id: Option<String>,
            #[serde(default)]
            scope: Option<Scope>,
            #[serde(default)]
            answers: Option<RawJson>,
            #[serde(default)]
            dismissed: bool,
        }
        // A client that answers with an error will not decide; others may.
        let Ok(raw) = result else {
            return Err(Failure::invalid_params(
                "an error is no decision; the question stays open",
            ));
        };
        let Response {
            decision,
            option_id,
            scope,
            answers,
            dismissed,
        } = read(raw.get())?;
        let Some(decision) = decision else {
            let answer = told(answers, dismissed)
                .map_err(|_| Failure::invalid_params("the response has neither decision nor answers"))?;
            return Ok(Self::Answer {
                request,
                answer,
                scope: None,
            });
        };
        let answer = match (option_id, decision.as_str()) {
            (Some(option), _) => Answer::Option(option),
            (None, "accept") => Answer::Accept { always: false },
            (None, "acceptForSession") => Answer::Accept { always: true },
            (None, "decline") => Answer::Decline { always: false },
            (None, "declineForSession") => Answer::Decline { always: true },
            (None, "cancel") => Answer::Cancel,
            (None, other) => return Err(Failure::invalid_params(format!("{other:?} is no decision"))),
        };
        Ok(Self::Answer {
            request,
            answer,
            scope,
        })
    }
}

/// The thread that was named, else the connection's current one.
pub(super) fn thread_or_current(
    named: Option<ThreadId>,
    current: Option<ThreadId>,
) -> Result<ThreadId, Failure> {
    named.or(current).ok_or_else(|| {
        Failure::invalid_params(
            "threadId is missing, and this connection has neither started nor resumed a thread",
        )
    })
}

/// What a client says to a question for information.
#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    answers: Option<RawJson>,
    #[serde(default)]
    dismissed: bool,
}

fn told(answers: Option<RawJson>, dismissed: bool) -> Result<Answer, Failure> {
    match (answers, dismissed) {
        (_, true) => Ok(Answer::Decline { always: false }),
        (Some(answers), false) => Ok(Answer::Tell(answers)),
        (None, false) => Err(missing("answers")),
    }
}

impl Params {
    fn thread(&self, current: Option<ThreadId>) -> Result<ThreadId, Failure> {
        thread_or_current(self.thread_id, current)
    }

    fn policy_request(&self, current: Option<ThreadId>, what: PolicyRequest) -> Result<Request, Failure> {
        let thread = self.thread(current)?;
        Ok(Request::Policy { thread, what })
    }

    fn list(self) -> Result<Request, Failure> {
        let active = match self.status.as_deref() {
            None => None,
            Some("active" | "running" | "waiting") => Some(true),
            Some("idle") => Some(false),
            Some(other) => {
                return Err(Failure::invalid_params(format!(
                    "{other:?} is no status: use active or idle"
                )));
            }
        };
        Ok(Request::ThreadList {
            cursor: self.cursor,
            limit: self.limit,
            archived: self.archived,
            cwd: self.cwd,
            agent_type: self.agent_type,
            active,
            search_term: self.search_term,
        })
    }

    fn approve(self) -> Result<Request, Failure> {
        let request = self.request_id.ok_or_else(|| missing("requestId"))?;
        let answer = match (self.option_id, self.approved) {
            (Some(option), _) => Answer::Option(option),
            (None, Some(true)) => Answer::Accept { always: false },
            (None, Some(false)) => Answer::Decline { always: false },
            (None, None) => return Err(missing("approved")),
        };
        Ok(Request::Answer {
            request,
            answer,
            scope: self.scope,
        })
    }
}

pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::invalid_params(format!("invalid params: {error}")))
}

pub(super) fn missing(name: &str) -> Failure {
    Failure::invalid_params(format!("{name} is missing"))
}

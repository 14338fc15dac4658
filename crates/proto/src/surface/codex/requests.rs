//! What the client asks: the methods that acpd has, and the request of the daemon that each begins with.

use acpd_model::{ErrorCode, Failure, ThreadId, TurnId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::history::{Page, read_before, read_whole, whole};
use super::params::{self, Cwd};
use super::peer::Peer;
use super::steps::{Purpose, Step};
use super::turn_id::NamedTurn;
use crate::surface::idempotency::idempotency_key;
use crate::surface::request::{
    Follow, FollowFrom, ForkThread, ListThreads, ListedStatus, OpenThread, Request, SearchThreads,
    StartThread, StartTurn,
};
use crate::thread::{Change, InterruptOptions, QueueChange};

/// The methods that acpd has.
const METHODS: [&str; 44] = [
    "initialize",
    "account/read",
    "account/bedrock/checkGovCloudRequirements",
    "collaborationMode/list",
    "config/batchWrite",
    "config/read",
    "config/value/write",
    "configRequirements/read",
    "hooks/list",
    "model/list",
    "permissionProfile/list",
    "plugin/installed",
    "review/start",
    "skills/list",
    "thread/archive",
    "thread/compact/start",
    "thread/delete",
    "thread/fork",
    "thread/items/list",
    "thread/list",
    "thread/loaded/list",
    "thread/name/set",
    "thread/queue/add",
    "thread/queue/delete",
    "thread/queue/list",
    "thread/queue/reorder",
    "thread/queue/start",
    "thread/queue/update",
    "thread/read",
    "thread/resume",
    "thread/revert",
    "thread/search",
    "thread/settings/update",
    "thread/shellCommand",
    "thread/start",
    "thread/turns/list",
    "thread/unarchive",
    "thread/unsubscribe",
    "turn/interrupt",
    "turn/start",
    "turn/steer",
    "experimentalFeature/list",
    "mcpServerStatus/list",
    "app/list",
];

/// Returns the method of this name, if acpd has it.
pub(super) fn find(method: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|known| *known == method)
}

/// How a request begins.
pub(super) enum Begun {
    /// With its result.
    Answer(Value),
    /// With a request of the daemon, whose reply goes to the step.
    Call(Box<Request>, Step),
}

impl From<(Request, Step)> for Begun {
    fn from((request, step): (Request, Step)) -> Self {
        Self::Call(Box::new(request), step)
    }
}

impl Peer {
    /// Reads a request of the client. `known` is its method if acpd has it.
    pub(super) fn begin(
        &mut self,
        known: &str,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Begun, Failure> {
        match known.split_once('/') {
            Some(("thread", rest)) => self.begin_thread(rest, params),
            Some(("turn", rest)) => Self::begin_turn(rest, params),
            _ => self.begin_other(known, method, params),
        }
    }

    fn begin_other(
        &mut self,
        known: &str,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Begun, Failure> {
        Ok(match known {
            // acpd has no accounts: agents sign in by themselves.
            "account/read" => Begun::Answer(json!({ "account": null, "requiresOpenaiAuth": false })),
            "account/bedrock/checkGovCloudRequirements" => {
                Begun::Answer(json!({ "isGovCloud": false, "shouldWarn": false }))
            }
            "collaborationMode/list" => Begun::Answer(json!({ "data": [
                { "name": "Plan", "mode": "plan" }, { "name": "Default", "mode": "default" },
            ] })),
            "config/read" => {
                let params::ReadConfig { cwd } = params::read(params)?;
                let folder = cwd.unwrap_or_else(|| self.host.home.clone());
                // Whether a folder is trusted is a question of Codex's own sandbox.
                let config = json!({ "projects": { folder: { "trust_level": "trusted" } } });
                Begun::Answer(json!({ "config": config, "origins": {}, "layers": null }))
            }
            // Codex writes what it remembers for new threads. acpd's own configuration does not change.
            "config/batchWrite" | "config/value/write" => Begun::Answer(json!({
                "status": "ok", "version": "1", "filePath": format!("{}/config.toml", self.host.home),
                "overriddenMetadata": null,
            })),
            "configRequirements/read" => Begun::Answer(json!({ "requirements": null })),
            "hooks/list" | "skills/list" => Begun::Answer(json!({ "data": [] })),
            "plugin/installed" => Begun::Answer(json!({ "marketplaces": [], "marketplaceLoadErrors": [] })),
            "experimentalFeature/list" | "mcpServerStatus/list" | "app/list" => {
                Begun::Answer(json!({ "data": [], "nextCursor": null }))
            }
            "review/start" => review(params::read(params)?),
            "model/list" => (Request::ListAgents, Step::Agents).into(),
            "permissionProfile/list" => match self.current {
                Some(thread) => (Request::ReadThread { thread, turns: None }, Step::Profiles).into(),
                None => Begun::Answer(json!({ "data": [], "nextCursor": null })),
            },
            _ => {
                let message = format!("acpd does not have the method {method:?} of Codex");
                return Err(Failure::new(ErrorCode::MethodNotFound, message));
            }
        })
    }

    fn begin_thread(&mut self, method: &str, params: Option<&RawValue>) -> Result<Begun, Failure> {
        Ok(match method {
            "start" => return self.start_thread(params),
            "resume" => {
                let params: params::OfThread = params::read(params)?;
                open_thread(&params)
            }
            "fork" => fork(&params::read(params)?)?,
            "read" => {
                let params: params::OfThread = params::read(params)?;
                let thread = params.thread_id;
                if params.include_turns {
                    (read_whole(thread), Step::Turns(Purpose::Read)).into()
                } else {
                    (Request::ReadThread { thread, turns: None }, Step::Thread).into()
                }
            }
            "turns/list" | "items/list" => {
                let (page, request) = Page::read(&params::read(params)?, method == "items/list")?;
                (request, Step::Turns(Purpose::Page(page))).into()
            }
            "list" => list(params::read(params)?),
            "search" => search(params::read(params)?)?,
            "loaded/list" => {
                let list = ListThreads {
                    status: Some(ListedStatus::Active),
                    ..ListThreads::default()
                };
                (Request::ListThreads(list), Step::Loaded).into()
            }
            "archive" | "unarchive" => {
                let params::OfThread {
                    thread_id: thread, ..
                } = params::read(params)?;
                if method == "archive" {
                    let change = Change::Archive;
                    (Request::ChangeThread { thread, change }, Step::Empty).into()
                } else {
                    (Request::UnarchiveThread { thread }, Step::ReadAgain(thread)).into()
                }
            }
            "delete" => {
                let params::OfThread {
                    thread_id: thread, ..
                } = params::read(params)?;
                (Request::DeleteThread { thread }, Step::Empty).into()
            }
            "name/set" => {
                let params::SetName {
                    thread_id: thread,
                    name,
                } = params::read(params)?;
                let change = Change::Rename {
                    name: Some(name).filter(|name| !name.trim().is_empty()),
                };
                (
                    Request::ChangeThread { thread, change },
                    Step::EmptyOrWarning(thread),
                )
                    .into()
            }
            "compact/start" => {
                let params::OfThread {
                    thread_id: thread, ..
                } = params::read(params)?;
                (Request::ReadThread { thread, turns: None }, Step::Compact(thread)).into()
            }
            "shellCommand" => {
                let params::ShellCommand {
                    thread_id: thread,
                    command: line,
                } = params::read(params)?;
                (Request::RunCommand { thread, line }, Step::Command(thread)).into()
            }
            "revert" => {
                let params::Revert {
                    thread_id: thread,
                    before_turn_id: turn,
                } = params::read(params)?;
                (read_before(thread, turn.of(thread)?), Step::RevertBefore(thread)).into()
            }
            "settings/update" => {
                let params::UpdateSettings {
                    thread_id: thread,
                    wanted,
                } = params::read(params)?;
                (
                    Request::ReadThread { thread, turns: None },
                    Step::UpdateSettings(wanted),
                )
                    .into()
            }
            "unsubscribe" => {
                let params::OfThread {
                    thread_id: thread, ..
                } = params::read(params)?;
                self.sessions.remove(&thread);
                let close = Request::CloseThread {
                    thread,
                    release: false,
                };
                (close, Step::Closed).into()
            }
            _ => return Self::begin_queue(method, params),
        })
    }

    fn start_thread(&mut self, params: Option<&RawValue>) -> Result<Begun, Failure> {
        let params: params::StartThread = params::read(params)?;
        if params.ephemeral == Some(true) {
            let message = "acpd keeps every thread: it starts none that is ephemeral";
            return Err(Failure::new(ErrorCode::Unsupported, message));
        }
        let cwd = params.cwd.unwrap_or_else(|| self.host.home.clone());
        Ok((Request::ListAgents, Step::Start(cwd, params.wanted)).into())
    }

    fn begin_queue(method: &str, params: Option<&RawValue>) -> Result<Begun, Failure> {
        if method == "queue/add" {
            let params: params::TurnInput = params::read(params)?;
            let input = params::blocks(&params.input)?;
            let start = start_turn(&params, input)?;
            return Ok((Request::StartTurn(start), Step::Queued(params.thread_id)).into());
        }
        let params: params::Queued = params::read(params)?;
        let thread = params.thread_id;
        let turn = || {
            let missing = || Failure::invalid_params("missing field `queuedSubmissionId`");
            params.turn.ok_or_else(missing)?.of(thread)
        };
        let all = |turns: Vec<NamedTurn>| {
            turns
                .into_iter()
                .map(|turn| turn.of(thread))
                .collect::<Result<_, _>>()
        };
        let change = |change| (Request::ChangeQueue { thread, change }, Step::Empty).into();
        Ok(match method {
            "queue/list" => (Request::ReadThread { thread, turns: None }, Step::Queue).into(),
            "queue/delete" => interrupt(thread, turn()?),
            "queue/reorder" => change(QueueChange::Arrange {
                first: all(params.order)?,
                paused: None,
            }),
            "queue/update" => change(QueueChange::Edit {
                turn: turn()?,
                input: params::blocks(&params.input)?,
            }),
            _ => change(QueueChange::Arrange {
                first: all(params.turn.into_iter().collect())?,
                paused: Some(false),
            }),
        })
    }

    fn begin_turn(method: &str, params: Option<&RawValue>) -> Result<Begun, Failure> {
        if method == "interrupt" {
            let params::OfTurn {
                thread_id: thread,
                turn_id: turn,
            } = params::read(params)?;
            return Ok(interrupt(thread, turn.of(thread)?));
        }
        let params: params::TurnInput = params::read(params)?;
        let input = params::blocks(&params.input)?;
        let thread = params.thread_id;
        if method == "steer" {
            let steer = Request::SteerTurn {
                thread,
                input,
                turn: named(params.expected_turn_id, thread)?,
                client_turn_id: params.client_user_message_id,
            };
            return Ok((steer, Step::Steered(thread)).into());
        }
        let start = start_turn(&params, input)?;
        if params.wanted.is_empty() {
            return Ok((Request::StartTurn(start), Step::Turn(thread)).into());
        }
        let read = Request::ReadThread { thread, turns: None };
        Ok((read, Step::TurnSettings(params.wanted, Box::new(start))).into())
    }
}

/// Returns the turn in which the agent reviews changes. ACP has no review of its own, so that the agent is asked for it.
fn review(params: params::Review) -> Begun {
    let subject = match params.target {
        params::ReviewTarget::UncommittedChanges => {
            "the uncommitted changes, staged, unstaged and untracked".to_owned()
        }
        params::ReviewTarget::BaseBranch { branch } => {
            format!("the changes against the merge base with the branch {branch}")
        }
        params::ReviewTarget::Commit { sha } => format!("the changes of the commit {sha}"),
        params::ReviewTarget::Custom { instructions } => instructions,
    };
    let text = format!(
        "Review {subject}. Report what the author would fix: bugs, risks and missing tests, the worst first, each with \
         its file and line. Change nothing."
    );
    let start = StartTurn {
        thread: params.thread_id,
        input: vec![crate::projection::text_block(&text)],
        meta: None,
        client_turn_id: None,
        replaces: None,
    };
    (Request::StartTurn(start), Step::Review(params.thread_id)).into()
}

/// The client's own id of its message is also a key. It has precedence, because the client finds the message by it.
fn start_turn(params: &params::TurnInput, input: Vec<acpd_model::RawJson>) -> Result<StartTurn, Failure> {
    let key = idempotency_key(params.meta.as_ref())?;
    Ok(StartTurn {
        thread: params.thread_id,
        input,
        meta: None,
        client_turn_id: params.client_user_message_id.clone().or(key),
        replaces: None,
    })
}

fn named(turn: Option<NamedTurn>, thread: ThreadId) -> Result<Option<TurnId>, Failure> {
    turn.map(|turn| turn.of(thread)).transpose()
}

fn interrupt(thread: ThreadId, turn: TurnId) -> Begun {
    let interrupt = Request::Interrupt {
        thread,
        turn: Some(turn),
        options: InterruptOptions::default(),
    };
    (interrupt, Step::Empty).into()
}

fn open_thread(params: &params::OfThread) -> Begun {
    let thread = params.thread_id;
    let step = opening(None, params.exclude_turns);
    let open = OpenThread {
        thread,
        from: FollowFrom::Latest,
        turns: (!params.exclude_turns).then(whole),
        session: None,
        claims: Vec::new(),
        starts_agent: false,
    };
    (Request::OpenThread(Box::new(open)), step).into()
}

/// Returns what follows a request that opens a thread, with its turns or without them.
fn opening(forked_from: Option<ThreadId>, exclude_turns: bool) -> Step {
    if exclude_turns {
        return Step::Open(forked_from);
    }
    Step::Turns(Purpose::Open(forked_from))
}

fn fork(params: &params::Fork) -> Result<Begun, Failure> {
    let thread = params.thread_id;
    if params.ephemeral {
        let message = "acpd keeps every thread: a fork cannot be ephemeral";
        return Err(Failure::new(ErrorCode::Unsupported, message));
    }
    let then = opening(Some(thread), params.exclude_turns);
    Ok(match params.before_turn_id {
        Some(turn) => (
            read_before(thread, turn.of(thread)?),
            Step::ForkBefore(thread, Box::new(then)),
        )
            .into(),
        None => (fork_at(thread, named(params.last_turn_id, thread)?), then).into(),
    })
}

/// Returns the request to fork a thread after `turn`.
pub(super) fn fork_at(thread: ThreadId, turn: Option<TurnId>) -> Request {
    Request::ForkThread(Box::new(ForkThread {
        thread,
        turn,
        name: None,
        session: None,
    }))
}

/// Returns the request for a new thread.
pub(super) fn new_thread(agent: String, cwd: String) -> Request {
    Request::StartThread(Box::new(StartThread {
        thread: None,
        agent: Some(agent),
        cwd,
        additional_directories: Vec::new(),
        session: crate::projection::SessionChange::default(),
        name: None,
        project_id: None,
        metadata: None,
        policy: None,
        mode: None,
        config: std::collections::BTreeMap::new(),
        session_id: None,
        input: Vec::new(),
        client_turn_id: None,
        follow: Follow::WithReply,
    }))
}

fn search(params: params::List) -> Result<Begun, Failure> {
    let query = params.search_term.filter(|term| !term.is_empty());
    let search = SearchThreads {
        query: query.ok_or_else(|| Failure::invalid_params("missing field `searchTerm`"))?,
        cursor: params.cursor,
        limit: params.limit,
        thread: None,
    };
    Ok((Request::SearchThreads(search), Step::Search).into())
}

fn list(params: params::List) -> Begun {
    if params.is_foreign() {
        return Begun::Answer(json!({ "data": [], "nextCursor": null, "backwardsCursor": null }));
    }
    let cwds = match params.cwd {
        None => Vec::new(),
        Some(Cwd::One(cwd)) => vec![cwd],
        Some(Cwd::Many(cwds)) => cwds,
    };
    let list = ListThreads {
        cursor: params.cursor,
        limit: params.limit,
        archived: params.archived,
        cwd: (cwds.len() == 1).then(|| cwds[0].clone()),
        search: params.search_term.filter(|term| !term.is_empty()),
        ..ListThreads::default()
    };
    (Request::ListThreads(list), Step::List(cwds)).into()
}

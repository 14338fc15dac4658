//! What an editor's calls do.

use std::path::PathBuf;

use acpd_log::Filter;
use acpd_model::limits::LIST_PAGE;
use acpd_model::{By, ErrorCode, Failure, RawJson, Role, Seq, ThreadId};
use acpd_proto::agent::AgentRequest;
use acpd_proto::projection::Spec;
use acpd_proto::surface::acp::{Call, Listed, Opened, Reply, session_state, with_session};
use acpd_proto::thread::{Abilities, Command, Reply as Done};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::calls::{Calls, check_directory, heard, parse_cursor, write_cursor};
use crate::directory::{Answer, log_failure};
use crate::doctor::{Hello, examine};
use crate::editors::{Attachment, ToEditor};
use crate::thread::Subscribed;

/// Where an editor works.
#[derive(Debug, Clone)]
pub struct Place {
    /// The agent that it came for.
    pub agent: String,
    /// What its relative paths are relative to.
    pub cwd: PathBuf,
}

/// A thread that an editor has opened.
pub struct ToFollow {
    pub thread: ThreadId,
    pub cursor: Seq,
    pub subscribed: Subscribed,
    pub attached: Option<Attached>,
}

/// An attachment, and what ends it when it is dropped, wherever that happens.
pub struct Attached {
    pub attachment: Attachment,
    pub until: DropGuard,
}

/// The connection, as threads know it.
#[derive(Debug, Clone)]
pub struct Connection {
    pub name: String,
    pub abilities: Abilities,
    pub inbox: mpsc::Sender<ToEditor>,
}

/// An answer, and what is to be followed once the connection knows it.
pub type Answered = Result<(Reply, Option<ToFollow>), Failure>;

/// Who asks, and for what agent.
#[derive(Debug, Clone)]
pub struct Asker {
    pub by: By,
    pub role: Role,
    pub place: Place,
    pub connection: Connection,
    /// The thread whose agent waits for somebody to sign in.
    pub signing_in: Option<ThreadId>,
}

/// Carries a call out, as far as the order of calls matters; the rest is the answer.
pub async fn call(calls: &Calls, asker: Asker, call: Call) -> BoxFuture<'static, Answered> {
    match act(calls, asker, call).await {
        Ok(answer) => answer,
        Err(failure) => Box::pin(std::future::ready(Err(failure))),
    }
}

async fn act(calls: &Calls, asker: Asker, call: Call) -> Result<BoxFuture<'static, Answered>, Failure> {
    let Asker {
        by,
        role,
        place,
        connection,
        ..
    } = asker.clone();
    let after = |answer: Answer| -> BoxFuture<'static, Answered> {
        Box::pin(async move {
            let reply = match heard(answer).await? {
                Done::Done | Done::Fork(_) => Reply::Done,
                Done::Turn(turn) => Reply::Turn(turn.id),
                Done::Json(json) => Reply::Json(json),
            };
            Ok((reply, None))
        })
    };
    let now = |reply| -> BoxFuture<'static, Answered> { Box::pin(std::future::ready(Ok((reply, None)))) };
    let command = |thread, command| calls.directory.command(thread, by.clone(), command);
    Ok(match call {
        Call::Hello => {
            let calls = calls.clone();
            Box::pin(async move { Ok((Reply::Json(hello(&calls, &place).await?), None)) })
        }
        Call::New {
            cwd,
            additional_directories,
            mcp_servers,
        } => {
            let cwd = place.cwd.join(cwd);
            let spec = Spec {
                agent: place.agent,
                cwd: cwd.components().as_path().to_string_lossy().into_owned(),
                additional_directories,
                mcp_servers,
            };
            for directory in std::iter::once(&spec.cwd).chain(&spec.additional_directories) {
                check_directory(directory)?;
            }
            calls.around.agents.find(&spec.agent)?;
            let thread = ThreadId(uuid::Uuid::now_v7());
            let create = Command::Create {
                spec,
                name: None,
                project_id: None,
                metadata: None,
            };
            let created = command(thread, create).await?;
            let (calls, asker) = (calls.clone(), asker.clone());
            Box::pin(async move {
                heard(created).await.map_err(|failure| match failure.code {
                    ErrorCode::SignInRequired => failure.with_detail(thread.to_string()),
                    _ => failure,
                })?;
                let attached = attach(&calls, &asker, thread).await?;
                let subscribed = calls.directory.subscribe(thread).await?;
                Ok(opened(thread, subscribed, Some(0), attached))
            })
        }
        Call::Load(thread) | Call::Resume(thread) => {
            let cursor = matches!(call, Call::Load(_)).then_some(0);
            let attached = attach(calls, &asker, thread).await?;
            let subscribed = calls.directory.subscribe(thread).await?;
            // Started in the background: who only wants to look need not wait for the agent.
            if role.may(Role::Operator) && calls.around.agents.knows(&subscribed.live.spec.agent) {
                drop(command(thread, Command::Wake).await?);
            }
            let opened = opened(thread, subscribed, cursor, attached);
            Box::pin(std::future::ready(Ok(opened)))
        }
        Call::Fork(_) => {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                "acpd cannot fork a session yet",
            ));
        }
        Call::Delete(_) => {
            return Err(Failure::new(
                ErrorCode::Unsupported,
                "acpd cannot delete a session yet",
            ));
        }
        // The connection forgets the one, and carries the other by itself.
        Call::Close(_) | Call::EditorAnswered { .. } => now(Reply::Done),
        Call::List { cwd, cursor } => {
            let calls = calls.clone();
            Box::pin(async move { Ok((list(&calls, place.agent, cwd, cursor).await?, None)) })
        }
        Call::Prompt {
            thread,
            client_turn_id,
            blocks,
        } => {
            let client_turn_id = Some(client_turn_id);
            let input = blocks;
            after(
                command(
                    thread,
                    Command::StartTurn {
                        input,
                        client_turn_id,
                    },
                )
                .await?,
            )
        }
        Call::Lease { thread, take } => {
            let connection = connection.name;
            let order = if take {
                Command::AcquireLease { connection }
            } else {
                Command::ReleaseLease { connection }
            };
            after(command(thread, order).await?)
        }
        Call::Interrupt { thread, turn } => after(command(thread, Command::Interrupt { turn }).await?),
        Call::Answer { request, answer } => {
            let scope = None;
            after(
                command(
                    request.thread,
                    Command::Answer {
                        request,
                        answer,
                        scope,
                    },
                )
                .await?,
            )
        }
        Call::Ask { thread, request } => {
            let nowhere = || {
                Failure::new(
                    ErrorCode::Conflict,
                    "open a session first: no agent runs for this connection",
                )
            };
            let thread = thread.or(asker.signing_in).ok_or_else(nowhere)?;
            let request = match request {
                AgentRequest::Extension { method, params } => {
                    let params = to_agent(calls, thread, params).await?;
                    AgentRequest::Extension { method, params }
                }
                request => request,
            };
            after(command(thread, Command::Ask(request)).await?)
        }
        Call::Notify {
            thread,
            method,
            params,
        } => {
            let params = to_agent(calls, thread, params).await?;
            after(command(thread, Command::Notify { method, params }).await?)
        }
    })
}

/// What the agent says of itself.
async fn hello(calls: &Calls, place: &Place) -> Result<RawJson, Failure> {
    let runnable = calls.around.agents.find(&place.agent)?;
    let report = examine(&runnable.config, place.cwd.clone(), &calls.around.limits).await;
    let Some(Hello {
        protocol_version,
        agent_info,
        agent_capabilities,
        auth_methods,
    }) = report.hello
    else {
        let reason = report.error.unwrap_or_else(|| "it did not say why".to_owned());
        let message = format!("the agent {:?} cannot be started: {reason}", place.agent);
        return Err(Failure::agent(message).with_detail(report.stderr));
    };
    Ok(json!({
        "protocolVersion": protocol_version,
        "agentInfo": agent_info,
        "agentCapabilities": agent_capabilities.unwrap_or_else(|| json!({}).into()),
        "authMethods": auth_methods.unwrap_or_else(|| json!([]).into()),
    })
    .into())
}

/// Lets a thread know that the editor is there: before it is told that the session is open, so that whatever comes after
/// that can be asked of it. Who may only look on is asked nothing.
async fn attach(calls: &Calls, asker: &Asker, thread: ThreadId) -> Result<Option<Attached>, Failure> {
    if !asker.role.may(Role::Operator) {
        return Ok(None);
    }
    let gone = CancellationToken::new();
    let until = gone.clone().drop_guard();
    let Connection {
        name,
        abilities,
        inbox,
    } = asker.connection.clone();
    let attachment = Attachment {
        by: asker.by.clone(),
        connection: name,
        abilities,
        inbox,
        gone,
    };
    calls.directory.attach(thread, attachment.clone()).await?;
    Ok(Some(Attached { attachment, until }))
}

/// From `cursor` on, or from where it is.
fn opened(
    thread: ThreadId,
    subscribed: Subscribed,
    cursor: Option<Seq>,
    attached: Option<Attached>,
) -> (Reply, Option<ToFollow>) {
    let live = &subscribed.live;
    let opened = Opened {
        thread,
        until: live.last_seq,
        state: session_state(live),
        lease: live.lease.clone(),
        updates: live.commands.iter().cloned().collect(),
    };
    let cursor = cursor.unwrap_or(live.last_seq);
    let to_follow = ToFollow {
        thread,
        cursor,
        subscribed,
        attached,
    };
    (Reply::Opened(opened), Some(to_follow))
}

/// Params that name the thread as their session name the agent's own to the agent.
async fn to_agent(
    calls: &Calls,
    thread: ThreadId,
    params: Option<RawJson>,
) -> Result<Option<RawJson>, Failure> {
    let Some(params) = params else { return Ok(None) };
    let live = calls.directory.subscribe(thread).await?.live;
    Ok(Some(match &live.session {
        Some(session) => with_session(&params, session),
        None => params,
    }))
}

async fn list(
    calls: &Calls,
    agent: String,
    cwd: Option<String>,
    cursor: Option<String>,
) -> Result<Reply, Failure> {
    let cursor = cursor.as_deref().map(parse_cursor).transpose()?;
    let filter = Filter {
        archived: Some(false),
        agent: Some(agent),
        cwd,
        ..Filter::default()
    };
    let page = calls.around.log.list(filter, cursor, LIST_PAGE).await;
    let page = page.map_err(|error| log_failure(&error))?;
    let next_cursor = page.last().filter(|_| page.len() == LIST_PAGE).map(write_cursor);
    let sessions = page
        .into_iter()
        .map(|listed| Listed {
            thread: listed.thread,
            cwd: listed.summary.cwd,
            title: listed.summary.name,
            updated_at: listed.summary.updated_at,
        })
        .collect();
    Ok(Reply::Sessions {
        sessions,
        next_cursor,
    })
}

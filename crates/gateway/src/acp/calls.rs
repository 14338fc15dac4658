//! What an editor's calls do.

use std::collections::BTreeMap;
use std::path::PathBuf;

use acpd_log::Filter;
use acpd_model::limits::LIST_PAGE;
use acpd_model::{By, ErrorCode, Failure, RawJson, Role, Seq, ThreadId};
use acpd_proto::agent::AgentRequest;
use acpd_proto::projection::Spec;
use acpd_proto::surface::acp::{Call, Listed, Opened, Reply, session_state, with_session};
use acpd_proto::thread::{Abilities, Command, Reply as Done};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::hellos::Hellos;
use super::preamble::Unanswered;
use super::resumed::{Claimed, claim};
use crate::calls::{Calls, check_directory, heard};
use crate::directory::{Answer, log_failure};
use crate::doctor::anywhere;
use crate::editors::{Attachment, ToEditor};
use crate::look::{parse_cursor, write_cursor};
use crate::thread::Subscribed;

/// What an editor came for.
#[derive(Debug, Clone)]
pub struct Place {
    /// The agent; or why there is none.
    pub agent: Result<String, Failure>,
    /// What its relative paths are relative to; empty if it is nowhere.
    pub cwd: PathBuf,
    /// The thread that its next `session/new` opens instead of making one.
    pub thread: Option<ThreadId>,
    /// Whether it is told where it stands.
    pub marks: bool,
    /// After which event a thread is resumed, where that is not its last one.
    pub after: BTreeMap<ThreadId, Seq>,
    /// Prompts whose answers are to come here.
    pub prompts: Vec<Unanswered>,
}

/// A thread that an editor has opened.
pub struct ToFollow {
    pub thread: ThreadId,
    pub cursor: Seq,
    pub subscribed: Subscribed,
    /// What became of prompts that the editor sent by a connection that was lost.
    pub claimed: Claimed,
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
pub async fn call(calls: &Calls, hellos: &Hellos, asker: Asker, call: Call) -> BoxFuture<'static, Answered> {
    match act(calls, hellos, asker, call).await {
        Ok(answer) => answer,
        Err(failure) => Box::pin(std::future::ready(Err(failure))),
    }
}

async fn act(
    calls: &Calls,
    hellos: &Hellos,
    asker: Asker,
    call: Call,
) -> Result<BoxFuture<'static, Answered>, Failure> {
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
            let (calls, hellos) = (calls.clone(), hellos.clone());
            Box::pin(async move { Ok((Reply::Json(hello(&calls, &hellos, role, place).await?), None)) })
        }
        Call::New { .. } if let Some(thread) = place.thread => {
            let attached = attach(calls, &asker, thread).await?;
            let subscribed = calls.directory.subscribe(thread).await?;
            wake(calls, &asker, &subscribed).await?;
            Box::pin(std::future::ready(Ok(opened(
                thread,
                subscribed,
                Some(0),
                attached,
            ))))
        }
        Call::New {
            cwd,
            additional_directories,
            mcp_servers,
            meta,
        } => {
            let cwd = place.cwd.join(cwd);
            let spec = Spec {
                agent: place.agent?,
                cwd: cwd.components().as_path().to_string_lossy().into_owned(),
                additional_directories,
                mcp_servers,
                meta,
                session_id: None,
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
        Call::Load(thread) => {
            let attached = attach(calls, &asker, thread).await?;
            let subscribed = calls.directory.subscribe(thread).await?;
            wake(calls, &asker, &subscribed).await?;
            let opened = opened(thread, subscribed, Some(0), attached);
            Box::pin(std::future::ready(Ok(opened)))
        }
        Call::Resume(thread) => {
            let attached = attach(calls, &asker, thread).await?;
            let subscribed = calls.directory.subscribe(thread).await?;
            wake(calls, &asker, &subscribed).await?;
            let last = subscribed.live.last_seq;
            let cursor = place.after.get(&thread).map_or(last, |after| last.min(*after));
            let claimed = claim(calls, thread, &place.prompts, cursor).await?;
            let (reply, to_follow) = opened(thread, subscribed, Some(cursor), attached);
            let to_follow = to_follow.map(|to_follow| ToFollow { claimed, ..to_follow });
            Box::pin(std::future::ready(Ok((reply, to_follow))))
        }
        Call::Fork(thread) => {
            let forked = calls.split_off(by.clone(), thread, None, None).await?;
            let (calls, asker) = (calls.clone(), asker.clone());
            Box::pin(async move {
                let (new, _) = forked.await?;
                let attached = attach(&calls, &asker, new).await?;
                let subscribed = calls.directory.subscribe(new).await?;
                wake(&calls, &asker, &subscribed).await?;
                // Who splits it off has what was said so far.
                Ok(opened(new, subscribed, None, attached))
            })
        }
        Call::Delete(thread) => after(command(thread, Command::Delete).await?),
        // The connection forgets the one, and carries the other by itself.
        Call::Close(_) | Call::EditorAnswered { .. } => now(Reply::Done),
        Call::List { cwd, cursor } => {
            let calls = calls.clone();
            Box::pin(async move { Ok((list(&calls, place.agent?, cwd, cursor).await?, None)) })
        }
        Call::Prompt {
            thread,
            client_turn_id,
            blocks,
            meta,
        } => {
            let client_turn_id = Some(client_turn_id);
            let input = blocks;
            after(
                command(
                    thread,
                    Command::StartTurn {
                        input,
                        meta,
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

/// Starts a thread's agent in the background: who only wants to look need not wait for it.
async fn wake(calls: &Calls, asker: &Asker, subscribed: &Subscribed) -> Result<(), Failure> {
    let live = &subscribed.live;
    if asker.role.may(Role::Operator) && calls.around.agents.knows(&live.spec.agent) {
        let woken = calls
            .directory
            .command(live.thread, asker.by.clone(), Command::Wake);
        drop(woken.await?);
    }
    Ok(())
}

/// What the agent says of itself.
async fn hello(calls: &Calls, hellos: &Hellos, role: Role, place: Place) -> Result<RawJson, Failure> {
    let agent = place.agent?;
    let runnable = calls.around.agents.find(&agent)?;
    let cwd = if place.cwd.is_dir() { place.cwd } else { anywhere() };
    // Who may start nothing does not have an agent started by asking for its name.
    let cwd = role.may(Role::Operator).then_some(&*cwd);
    hellos.of(&agent, runnable.config, cwd).await
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
        claimed: Claimed::default(),
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
    Ok(Some(match &live.summary.session_id {
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

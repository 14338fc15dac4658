//! What an editor's calls do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use acpd_log::Filter;
use acpd_model::limits::LIST_PAGE;
use acpd_model::{ErrorCode, Failure, Origin, RawJson, Role, Seq, ThreadId};
use acpd_proto::agent::AgentRequest;
use acpd_proto::projection::{SessionChange, Spec};
use acpd_proto::surface::acp::{
    Call, ListedSession, Opened, Reply, SessionOptions, session_state, with_session,
};
use acpd_proto::thread::{Command, EditorCapabilities, Reply as Told};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::connection::acp::header::PendingPrompt;
use crate::connection::acp::resumed_prompts::{ResumedPrompts, claim};
use acpd_runtime::agent::initialize_cache::{CachedInitialize, InitializeCache};
use acpd_runtime::agent::probe::anywhere;
use acpd_runtime::agent::standby::Standby;
use acpd_runtime::feed::snapshot::ThreadSnapshot;
use acpd_runtime::host::paths;
use acpd_runtime::service::queries::{parse_cursor, write_cursor};
use acpd_runtime::service::threads::check_directory;
use acpd_runtime::service::{Service, await_reply};
use acpd_runtime::thread::delegates::{Attachment, ToEditor};
use acpd_runtime::thread::directory::{Answer, log_failure};

/// What an editor came for.
#[derive(Debug, Clone)]
pub struct ConnectionDefaults {
    /// The agent; or why there is none.
    pub agent: Result<String, Failure>,
    /// What its relative paths are relative to; empty if it is nowhere.
    pub cwd: PathBuf,
    /// The thread that its next `session/new` opens instead of making one.
    pub thread: Option<ThreadId>,
    /// Whether it is told where it stands.
    pub checkpoints: bool,
    /// After which event a thread is resumed, where that is not its last one.
    pub after: BTreeMap<ThreadId, Seq>,
    /// Prompts whose answers are to come here.
    pub prompts: Vec<PendingPrompt>,
}

/// A thread that an editor has opened.
pub struct OpenedSession {
    pub thread: ThreadId,
    pub cursor: Seq,
    pub snapshot: ThreadSnapshot,
    /// What became of prompts that the editor sent by a connection that was lost.
    pub claimed: ResumedPrompts,
    pub attached: Option<AttachmentGuard>,
}

/// An attachment, and what ends it when it is dropped, wherever that happens.
pub struct AttachmentGuard {
    pub attachment: Attachment,
    pub until: DropGuard,
}

/// The connection, as threads know it.
#[derive(Debug, Clone)]
pub struct Connection {
    pub name: String,
    pub abilities: EditorCapabilities,
    pub inbox: mpsc::Sender<ToEditor>,
}

/// An answer, and what comes with it.
pub type CallResult = Result<CallOutcome, Failure>;

/// What was done.
pub struct CallOutcome {
    /// The answer.
    pub reply: Result<Reply, Failure>,
    /// What is to be followed once the connection knows it.
    pub to_follow: Option<OpenedSession>,
    /// A process that was started for the connection.
    pub standby: Option<Standby>,
}

impl From<Reply> for CallOutcome {
    fn from(reply: Reply) -> Self {
        Self {
            reply: Ok(reply),
            to_follow: None,
            standby: None,
        }
    }
}

/// Who asks, and for what agent.
#[derive(Debug, Clone)]
pub struct EditorCaller {
    pub by: Origin,
    pub role: Role,
    pub defaults: ConnectionDefaults,
    pub connection: Connection,
    /// The thread whose agent waits for somebody to sign in.
    pub signing_in: Option<ThreadId>,
    /// The newest thread that the connection has open.
    pub newest: Option<ThreadId>,
}

/// Carries a call out, as far as the order of calls matters; the rest is the answer. `standby` is taken where it is used.
pub async fn call(
    service: &Service,
    initialize_cache: &InitializeCache,
    caller: EditorCaller,
    standby: &mut Option<Standby>,
    call: Call,
) -> BoxFuture<'static, CallResult> {
    match act(service, initialize_cache, caller, standby, call).await {
        Ok(answer) => answer,
        Err(failure) => Box::pin(std::future::ready(Err(failure))),
    }
}

async fn act(
    service: &Service,
    initialize_cache: &InitializeCache,
    caller: EditorCaller,
    standby: &mut Option<Standby>,
    call: Call,
) -> Result<BoxFuture<'static, CallResult>, Failure> {
    let EditorCaller {
        by,
        role,
        defaults,
        connection,
        ..
    } = caller.clone();
    let after = |answer: Answer| -> BoxFuture<'static, CallResult> {
        Box::pin(async move {
            let reply = match await_reply(answer).await? {
                Told::Turn(turn) => Reply::Turn(turn.id),
                Told::Lease(holder) => Reply::Lease(holder),
                Told::Agent(answer) => Reply::Json(answer),
                Told::Done
                | Told::Steered { .. }
                | Told::Fork(_)
                | Told::RolledBack(_)
                | Told::Explained(_)
                | Told::Remembered(_) => Reply::Done,
            };
            Ok(reply.into())
        })
    };
    let now =
        |reply: Reply| -> BoxFuture<'static, CallResult> { Box::pin(std::future::ready(Ok(reply.into()))) };
    let command = |thread, command| service.directory.command(thread, by.clone(), command);
    Ok(match call {
        Call::Initialize => {
            let (service, initialize_cache) = (service.clone(), initialize_cache.clone());
            Box::pin(async move {
                let CachedInitialize { hello, standby } =
                    hello(&service, &initialize_cache, role, defaults).await?;
                Ok(CallOutcome {
                    standby,
                    ..Reply::Json(hello).into()
                })
            })
        }
        Call::New { change, .. } if let Some(thread) = defaults.thread => {
            // The person has named the thread: where it is does not depend on where the editor is.
            let wanted = SessionOptions {
                change,
                additional_directories: Vec::new(),
            };
            let snapshot = open(service, &caller, thread, wanted).await?;
            let attached = attach(service, &caller, thread).await?;
            wake(service, &caller, &snapshot, standby).await?;
            Box::pin(std::future::ready(Ok(opened(
                thread,
                snapshot,
                Some(0),
                attached,
            ))))
        }
        Call::New {
            cwd,
            additional_directories,
            change,
        } => {
            let cwd = defaults.cwd.join(cwd);
            let mut spec = Spec {
                agent: defaults.agent?,
                cwd: cwd.components().as_path().to_string_lossy().into_owned(),
                additional_directories,
                mcp_servers: change.mcp_servers.unwrap_or_default(),
                meta: change.meta,
                members: change.members,
                ..Spec::default()
            };
            for directory in std::iter::once(&spec.cwd).chain(&spec.additional_directories) {
                check_directory(directory)?;
            }
            spec.real_directories = paths::real_directories(&spec);
            service.context.agents.find(&spec.agent)?;
            let thread = ThreadId(uuid::Uuid::now_v7());
            if let Some(fitting) = standby.take_if(|standby| standby.fits(&spec.cwd)) {
                *standby = service.directory.offer(thread, true, fitting).await?;
            }
            let create = Command::Create {
                spec: Box::new(spec),
                name: None,
                project_id: None,
                metadata: None,
            };
            let created = command(thread, create).await?;
            let (service, caller) = (service.clone(), caller.clone());
            Box::pin(async move {
                await_reply(created).await.map_err(|failure| match failure.code {
                    ErrorCode::SignInRequired => failure.with_detail(thread.to_string()),
                    _ => failure,
                })?;
                let attached = attach(&service, &caller, thread).await?;
                let snapshot = service.directory.subscribe(thread).await?;
                Ok(opened(thread, snapshot, Some(0), attached))
            })
        }
        Call::Load(thread, wanted) => {
            let snapshot = open(service, &caller, thread, wanted).await?;
            let attached = attach(service, &caller, thread).await?;
            wake(service, &caller, &snapshot, standby).await?;
            let opened = opened(thread, snapshot, Some(0), attached);
            Box::pin(std::future::ready(Ok(opened)))
        }
        Call::Resume(thread, wanted) => {
            let snapshot = open(service, &caller, thread, wanted).await?;
            let attached = attach(service, &caller, thread).await?;
            wake(service, &caller, &snapshot, standby).await?;
            let last = snapshot.live.last_seq;
            let cursor = defaults.after.get(&thread).map_or(last, |after| last.min(*after));
            let claimed = claim(service, thread, &defaults.prompts, cursor).await?;
            let mut done = opened(thread, snapshot, Some(cursor), attached);
            if let Some(to_follow) = &mut done.to_follow {
                to_follow.claimed = claimed;
            }
            Box::pin(std::future::ready(Ok(done)))
        }
        Call::Fork(thread, wanted) => {
            // Before there is another thread that nobody would know of.
            let change = wanted_of(service, &caller, thread, wanted).await?;
            let forked = service.split_off(by.clone(), thread, None, None).await?;
            let (service, caller) = (service.clone(), caller.clone());
            Box::pin(async move {
                let (new, _) = forked.await?;
                let wanted = Command::SetSessionParams(change);
                await_reply(service.directory.command(new, caller.by.clone(), wanted).await?).await?;
                let attached = attach(&service, &caller, new).await?;
                let snapshot = service.directory.subscribe(new).await?;
                wake(&service, &caller, &snapshot, &mut None).await?;
                // Who splits it off has what was said so far.
                Ok(opened(new, snapshot, None, attached))
            })
        }
        Call::Delete(thread) => after(command(thread, Command::Delete).await?),
        // The connection carries these by itself.
        Call::Close(_) | Call::EditorAnswered { .. } => now(Reply::Done),
        Call::List { cwd, cursor } => {
            let service = service.clone();
            Box::pin(async move { Ok(list(&service, defaults.agent?, cwd, cursor).await?.into()) })
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
            // Signing in is for the agent that waits for it.
            let first = caller
                .signing_in
                .filter(|_| matches!(request, AgentRequest::Authenticate { .. }));
            match thread.or(first).or(caller.newest).or(caller.signing_in) {
                Some(thread) => {
                    let request = match request {
                        AgentRequest::Extension { method, params } => {
                            let params = to_agent(service, thread, params).await?;
                            AgentRequest::Extension { method, params }
                        }
                        request => request,
                    };
                    after(command(thread, Command::AgentRequest(request)).await?)
                }
                None => ask_standby(standby, request).await?,
            }
        }
        Call::Notify {
            thread,
            method,
            params,
        } => {
            let params = to_agent(service, thread, params).await?;
            after(command(thread, Command::Notify { method, params }).await?)
        }
    })
}

/// Asks the agent before it has any session, by the process that waits for one.
async fn ask_standby(
    standby: &mut Option<Standby>,
    request: AgentRequest,
) -> Result<BoxFuture<'static, CallResult>, Failure> {
    let ended = || Failure::agent("the agent's process ended before it answered");
    let answer = standby.as_mut().ok_or_else(ended)?.ask(request).await?;
    Ok(Box::pin(async move {
        Ok(Reply::Json(answer.await.map_err(|_| ended())??).into())
    }))
}

/// A process for what is asked before there is any session.
pub async fn start_standby(service: Service, defaults: ConnectionDefaults) -> Result<Standby, Failure> {
    let name = defaults.agent?;
    let config = service.context.agents.find(&name)?.config;
    let cwd = directory_of(&defaults.cwd);
    let (_, standby) = Standby::start(&service.context, &name, &config, &cwd).await?;
    Ok(standby)
}

/// Where an agent is started for a connection that has named no session yet.
fn directory_of(cwd: &Path) -> PathBuf {
    if cwd.is_dir() { cwd.to_owned() } else { anywhere() }
}

/// Has a thread's session opened as the editor wants it, and looks at the thread as it is then.
async fn open(
    service: &Service,
    caller: &EditorCaller,
    thread: ThreadId,
    wanted: SessionOptions,
) -> Result<ThreadSnapshot, Failure> {
    // Who may only look changes nothing.
    if caller.role.may(Role::Operator) {
        let change = wanted_of(service, caller, thread, wanted).await?;
        let command = Command::SetSessionParams(change);
        await_reply(
            service
                .directory
                .command(thread, caller.by.clone(), command)
                .await?,
        )
        .await?;
    }
    service.directory.subscribe(thread).await
}

/// What an editor wants of a session, with its directory by the thread's name for it.
async fn wanted_of(
    service: &Service,
    caller: &EditorCaller,
    thread: ThreadId,
    wanted: SessionOptions,
) -> Result<SessionChange, Failure> {
    let SessionOptions {
        mut change,
        additional_directories,
    } = wanted;
    let live = service.directory.subscribe(thread).await?.live;
    change.cwd = match change.cwd {
        Some(cwd) => Some(within(&live.spec, &caller.defaults.cwd.join(cwd))?),
        None => None,
    };
    for directory in additional_directories {
        within(&live.spec, &caller.defaults.cwd.join(directory))?;
    }
    Ok(change)
}

/// The directory, if it is one of the thread's or in one of them, wherever links and `..` lead; by the thread's name for it.
fn within(spec: &Spec, directory: &Path) -> Result<String, Failure> {
    let roots = || std::iter::once(&spec.cwd).chain(&spec.additional_directories);
    let named = |path: &Path| path.to_string_lossy().into_owned();
    // One that is not there any more is the agent's to complain about.
    if let Some(root) = roots().find(|root| Path::new(root) == directory.components().as_path()) {
        return Ok(root.clone());
    }
    if let Ok(real) = directory.canonicalize() {
        for root in roots() {
            let below = Path::new(root).canonicalize().ok();
            if let Some(rest) = below.and_then(|root| real.strip_prefix(root).ok().map(Path::to_owned)) {
                return Ok(named(Path::new(root).join(rest).components().as_path()));
            }
        }
    }
    let known: Vec<_> = roots().map(String::as_str).collect();
    Err(Failure::invalid_params(format!(
        "{} is outside of this session's directories: {}. Start a new session there",
        directory.display(),
        known.join(", ")
    )))
}

/// Starts a thread's agent in the background: who only wants to look need not wait for it.
async fn wake(
    service: &Service,
    caller: &EditorCaller,
    snapshot: &ThreadSnapshot,
    standby: &mut Option<Standby>,
) -> Result<(), Failure> {
    let live = &snapshot.live;
    if caller.role.may(Role::Operator) && service.context.agents.knows(&live.spec.agent) {
        let may_fit = |standby: &mut Standby| {
            standby.agent() == live.spec.agent && standby.fits(live.spec.session_cwd())
        };
        if let Some(fitting) = standby.take_if(may_fit) {
            *standby = service.directory.offer(live.thread, false, fitting).await?;
        }
        let woken = service
            .directory
            .command(live.thread, caller.by.clone(), Command::Wake);
        drop(woken.await?);
    }
    Ok(())
}

/// What the agent says of itself.
async fn hello(
    service: &Service,
    initialize_cache: &InitializeCache,
    role: Role,
    defaults: ConnectionDefaults,
) -> Result<CachedInitialize, Failure> {
    let agent = defaults.agent?;
    let runnable = service.context.agents.find(&agent)?;
    let cwd = directory_of(&defaults.cwd);
    // Who may start nothing does not have an agent started by asking for its name.
    let cwd = role.may(Role::Operator).then_some(&*cwd);
    match initialize_cache.of(&agent, runnable.config, cwd).await {
        // There is no room for a process now. What is there already can be listed and looked at all the same.
        Err(failure) if failure.code == ErrorCode::Overloaded => Ok(CachedInitialize::unknown()),
        greeting => greeting,
    }
}

/// Lets a thread know that the editor is there: before it is told that the session is open, so that whatever comes after
/// that can be asked of it. Who may only look on is asked nothing.
async fn attach(
    service: &Service,
    caller: &EditorCaller,
    thread: ThreadId,
) -> Result<Option<AttachmentGuard>, Failure> {
    if !caller.role.may(Role::Operator) {
        return Ok(None);
    }
    let gone = CancellationToken::new();
    let until = gone.clone().drop_guard();
    let Connection {
        name,
        abilities,
        inbox,
    } = caller.connection.clone();
    let attachment = Attachment {
        by: caller.by.clone(),
        connection: name,
        abilities,
        inbox,
        gone,
    };
    service.directory.attach(thread, attachment.clone()).await?;
    Ok(Some(AttachmentGuard { attachment, until }))
}

/// From `cursor` on, or from where it is.
fn opened(
    thread: ThreadId,
    snapshot: ThreadSnapshot,
    cursor: Option<Seq>,
    attached: Option<AttachmentGuard>,
) -> CallOutcome {
    let live = &snapshot.live;
    let opened = Opened {
        thread,
        until: live.last_seq,
        state: session_state(live),
        last_terminal: live.last_terminal,
        lease: live.lease.clone(),
        updates: live.commands.iter().cloned().collect(),
    };
    let cursor = cursor.unwrap_or(live.last_seq);
    let to_follow = OpenedSession {
        thread,
        cursor,
        snapshot,
        claimed: ResumedPrompts::default(),
        attached,
    };
    CallOutcome {
        to_follow: Some(to_follow),
        ..Reply::Opened(opened).into()
    }
}

/// Params that name the thread as their session name the agent's own to the agent.
async fn to_agent(
    service: &Service,
    thread: ThreadId,
    params: Option<RawJson>,
) -> Result<Option<RawJson>, Failure> {
    let Some(params) = params else { return Ok(None) };
    let live = service.directory.subscribe(thread).await?.live;
    Ok(Some(match &live.summary.session_id {
        Some(session) => with_session(&params, session),
        None => params,
    }))
}

async fn list(
    service: &Service,
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
    let page = service.context.log.list(filter, cursor, LIST_PAGE).await;
    let page = page.map_err(|error| log_failure(&error))?;
    let next_cursor = page.last().filter(|_| page.len() == LIST_PAGE).map(write_cursor);
    let sessions = page
        .into_iter()
        .map(|listed| ListedSession {
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

//! Handlers for client requests.
//!
//! In: a [`Request`] and its caller. Out: a [`Reply`], and the thread that the connection follows from now on. Owns:
//! the cache of what agents declare. Never: knows a wire protocol or writes a result.

mod agents;
mod answer_room;
mod caller;
mod config;
mod directories;
mod folders;
mod fork;
mod named_turns;
mod notifications;
mod policies;
mod queries;
mod same_directory;
mod search;
mod seen;
mod sessions;
mod shares;
mod start;
mod started;
#[cfg(test)]
mod tests;
mod threads;
mod turn_notes;
mod turn_pages;
mod turns;
mod usage;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use acpd_model::limits::{SMALL_ANSWER_BYTES, UNSENT_ANSWER_BYTES};
use acpd_model::{ErrorCode, Failure, Origin, ThreadId};
use acpd_proto::surface::reply::Reply;
use acpd_proto::surface::request::{AnswerSize, Order, Request};
use acpd_proto::thread::{self, Command, QueueChange};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

pub use self::caller::{Caller, Defaults, Delegate};
use self::started::StartedThreads;
use crate::context::Context;
use crate::retention::{Retention, RetentionSettings};
use crate::room::Charge;
use crate::standby::initialize_cache::InitializeCache;
use crate::thread::directory::{Answer, Directory};
use crate::thread::subscription::FollowRequest;
use crate::unsent::UnsentCharge;

/// The part of a client's request that has run already, and a future for the rest.
pub struct Dispatched {
    /// The thread that the client follows from now on.
    pub follow: Option<FollowRequest>,
    /// Whether the client receives events of that thread only after the answer, and none at all if the request fails.
    pub answer_first: bool,
    /// Whether the client is notified of changes to the thread list from now on; `None` leaves that as it is.
    pub watch: Option<Watch>,
    /// The rest of the request. It returns the answer.
    pub answer: BoxFuture<'static, Result<Response, Failure>>,
}

/// Which changes of the thread list a client is notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Changes of all threads, or of one.
    On {
        /// The only thread.
        only: Option<ThreadId>,
    },
    /// No changes.
    Off,
}

/// The result of a successful request.
#[derive(Debug)]
pub struct Response {
    /// The result to send to the client.
    pub reply: Reply,
    /// The thread that the client follows from now on, if it was not known earlier.
    pub follow: Option<FollowRequest>,
    /// The room for a large reply, which is held until the client has received it. Boxed, because each request in flight
    /// reserves space for it.
    pub charge: Option<Box<UnsentCharge>>,
}

impl From<Reply> for Response {
    fn from(reply: Reply) -> Self {
        Self {
            reply,
            follow: None,
            charge: None,
        }
    }
}

impl Response {
    /// Creates the response to a request that follows no thread, with the room that it takes.
    fn charged(reply: Reply, charge: Option<Charge>) -> Self {
        Self {
            charge: charge.map(|charge| Box::new(UnsentCharge::new(charge))),
            ..Self::from(reply)
        }
    }
}

impl fmt::Debug for Dispatched {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Dispatched").finish_non_exhaustive()
    }
}

impl Dispatched {
    pub(crate) fn answer(answer: impl Future<Output = Result<Reply, Failure>> + Send + 'static) -> Self {
        Self::respond(async move { answer.await.map(Response::from) })
    }

    pub(crate) fn respond(answer: impl Future<Output = Result<Response, Failure>> + Send + 'static) -> Self {
        Self {
            follow: None,
            answer_first: false,
            watch: None,
            answer: answer.boxed(),
        }
    }

    /// Returns the answer with the room that was taken for it.
    async fn charged(self, charge: Charge) -> Result<Response, Failure> {
        let response = self.answer.await?;
        Ok(Response::charged(response.reply, Some(charge)))
    }

    fn now(reply: Result<Reply, Failure>) -> Self {
        Self::answer(std::future::ready(reply))
    }

    fn respond_now(response: Result<Response, Failure>) -> Self {
        Self::respond(std::future::ready(response))
    }
}

/// Carries out requests for clients; cheap to clone.
#[derive(Debug, Clone)]
pub struct Service {
    /// Gives access to the threads.
    pub directory: Directory,
    /// State that the threads share.
    pub context: Context,
    /// Shared, because each connection has a clone.
    tasks: Arc<Tasks>,
}

/// Tasks of the service.
#[derive(Debug)]
struct Tasks {
    /// The initialize results that agents returned.
    initialize_cache: InitializeCache,
    /// Removes old threads.
    retention: Retention,
    /// Threads that a client may request to start again.
    started: StartedThreads,
}

impl Service {
    /// Creates the service without limits of retention, and starts its tasks.
    pub fn new(directory: Directory, context: Context) -> Self {
        Self::with_retention(
            directory,
            context,
            watch::channel(RetentionSettings::default()).1,
            None,
        )
    }

    /// Creates the service, and starts its tasks. The sender of `retention` replaces the limits of retention, which stores what
    /// it must remember in the file.
    pub fn with_retention(
        directory: Directory,
        context: Context,
        retention: watch::Receiver<RetentionSettings>,
        retention_file: Option<PathBuf>,
    ) -> Self {
        let tasks = Tasks {
            initialize_cache: InitializeCache::open(context.clone()),
            retention: Retention::open(directory.clone(), context.clone(), retention, retention_file),
            started: StartedThreads::default(),
        };
        Self {
            tasks: Arc::new(tasks),
            directory,
            context,
        }
    }

    /// Carries out `request` if the caller's role and scope allow it. The part that must run in the order of the client's
    /// requests has finished when this returns.
    pub async fn call(&self, caller: &Caller, request: Request) -> Dispatched {
        let request = match caller.permissions.limit(request) {
            Ok(request) => request,
            Err(failure) => return Dispatched::now(Err(failure)),
        };
        let (needed, role) = (request.role(), caller.permissions.role);
        if !role.may(needed) {
            let message = format!("this needs the role {needed}; this client has the role {role}");
            return Dispatched::now(Err(Failure::new(ErrorCode::Forbidden, message)));
        }
        let size = request.kind().answer_size();
        match request.order() {
            Order::Free => {
                let (service, caller) = (self.clone(), caller.clone());
                Dispatched::respond(async move {
                    if size == AnswerSize::Large {
                        return service.dispatch_charged(&caller, request).await;
                    }
                    let dispatched = service.dispatch(&caller, request).await?;
                    if size == AnswerSize::Late {
                        return service.charge_late(&caller, dispatched.answer).await;
                    }
                    dispatched.answer.await
                })
            }
            Order::Thread if size == AnswerSize::Large => {
                match self.context.unsent.try_take(caller, UNSENT_ANSWER_BYTES) {
                    Some(charge) => match self.dispatch(caller, request).await {
                        Ok(dispatched) => Dispatched::respond(dispatched.charged(charge)),
                        Err(failure) => Dispatched::now(Err(failure)),
                    },
                    // The client has to read other answers first. Its next requests do not wait for that.
                    None => {
                        let (service, caller) = (self.clone(), caller.clone());
                        Dispatched::respond(async move { service.dispatch_charged(&caller, request).await })
                    }
                }
            }
            Order::Thread => {
                let dispatched = self.dispatch(caller, request).await;
                let dispatched = dispatched.unwrap_or_else(|failure| Dispatched::now(Err(failure)));
                if size == AnswerSize::Late {
                    let (service, caller, answer) = (self.clone(), caller.clone(), dispatched.answer);
                    return Dispatched {
                        answer: async move { service.charge_late(&caller, answer).await }.boxed(),
                        ..dispatched
                    };
                }
                dispatched
            }
        }
    }

    /// Carries out a request that only reads once there is room for its answer.
    async fn dispatch_charged(&self, caller: &Caller, request: Request) -> Result<Response, Failure> {
        let charge = self.context.unsent.take(caller, UNSENT_ANSWER_BYTES).await;
        let dispatched = self.dispatch(caller, request).await?;
        dispatched.charged(charge).await
    }

    /// Waits for an answer, and then for room for it: what it waits for may never come, and others need the room.
    async fn charge_late(
        &self,
        caller: &Caller,
        answer: BoxFuture<'static, Result<Response, Failure>>,
    ) -> Result<Response, Failure> {
        let response = answer.await?;
        let bytes = response.reply.bytes().unwrap_or(UNSENT_ANSWER_BYTES);
        if bytes <= SMALL_ANSWER_BYTES {
            return Ok(response);
        }
        let charge = self.context.unsent.take(caller, bytes).await;
        Ok(Response {
            charge: Some(Box::new(UnsentCharge::new(charge))),
            ..response
        })
    }

    /// Dispatches the request to its handler.
    async fn dispatch(&self, caller: &Caller, request: Request) -> Result<Dispatched, Failure> {
        let by = caller.by.clone();
        match request {
            Request::Initialize => Ok(self.initialize(caller)),
            Request::ListAgents => Ok(Dispatched::now(Ok(self.list_agents()))),
            Request::ListRunningAgents => Ok(Dispatched::now(self.list_running_agents().await)),
            Request::ExamineAgent { agent } => Ok(Dispatched::now(self.examine_agent(agent).await)),
            Request::InstallAgent { agent } => Ok(Dispatched::now(self.install_agent(agent).await)),
            Request::ListFolders { path } => Ok(Dispatched::now(self.list_folders(path).await)),
            Request::CreateFolder { path } => Ok(Dispatched::now(self.create_folder(path).await)),
            Request::ReadPolicies { agent } => Ok(Dispatched::now(Ok(self.read_policies(agent.as_deref())))),
            Request::ChangeConfig(change) => self.change_config(by, change).await,
            Request::ListNotificationTargets => Ok(Dispatched::now(self.list_notification_targets().await)),
            Request::TestNotifications { target } => {
                Ok(Dispatched::now(self.test_notifications(target).await))
            }
            Request::ListThreads(wanted) => {
                Ok(Dispatched::respond_now(self.list_threads(caller, wanted).await))
            }
            Request::SearchThreads(wanted) => Ok(Dispatched::now(self.search_threads(wanted).await)),
            Request::ReadThread { thread, turns } => Ok(Dispatched::respond_now(
                self.read_thread(caller, thread, turns).await,
            )),
            Request::ReadTurnDiff { thread, turn } => {
                Ok(Dispatched::now(self.read_turn_diff(thread, turn).await))
            }
            Request::SeeThreads(seen) => Ok(Dispatched::now(self.see_threads(caller, seen).await)),
            Request::ReportPresence => Ok(Dispatched::now(Ok(self.report_presence(caller).await))),
            Request::ReadUsage(wanted) => Ok(Dispatched::now(self.read_usage(wanted).await)),
            Request::WatchThreadList { on, only } => Ok(watch_thread_list(on, only)),
            Request::StartThread(start) => self.start_thread(caller, *start).await,
            Request::OpenThread(open) => self.open_thread(caller, *open).await,
            Request::CloseThread { thread, release } => Ok(self.close_thread(caller, thread, release).await),
            Request::ForkThread(fork) => self.fork_thread(caller, *fork).await,
            Request::RunRetention(run) => Ok(self.run_retention(by, run)),
            Request::DeleteThread { thread } => self.delete_thread(by, thread).await,
            Request::ChangeThread { thread, change } => self.change_thread(by, thread, change).await,
            Request::SetDirectories {
                thread,
                cwd,
                additional_directories,
            } => {
                self.set_directories(caller, thread, cwd, additional_directories)
                    .await
            }
            Request::AddDirectory { thread, directory } => {
                self.add_directory(caller, thread, directory).await
            }
            Request::SetThreadPolicy { thread, policy } => self.set_thread_policy(by, thread, policy).await,
            Request::ExplainPolicy { thread, tool_call } => {
                self.explain_policy(by, caller.permissions.role, thread, tool_call)
                    .await
            }
            Request::ListRemembered { thread } => self.list_remembered(by, thread).await,
            Request::RevokeRemembered { thread, id } => self.revoke_remembered(by, thread, id).await,
            Request::ListAgentAnswers { agent } => {
                Ok(Dispatched::now(Ok(self.list_agent_answers(agent.as_deref()))))
            }
            Request::RevokeAgentAnswer { agent, id } => {
                Ok(Dispatched::now(self.revoke_agent_answer(by, &agent, id).await))
            }
            Request::CreateShare {
                thread,
                expires_in_secs,
                name,
            } => Ok(Dispatched::now(
                self.create_share(by, thread, expires_in_secs, name).await,
            )),
            Request::ListShares { thread } => Ok(Dispatched::now(self.list_shares(thread).await)),
            Request::RevokeShare { share } => Ok(Dispatched::now(self.revoke_share(share).await)),
            Request::MoveLease { thread, take } => self.move_lease(caller, thread, take).await,
            Request::StartTurn(start) => self.start_turn(by, start).await,
            Request::SteerTurn {
                thread,
                input,
                turn,
                client_turn_id,
            } => {
                self.context.attachments.keep(Some(thread), &input).await?;
                let steer = Command::Steer {
                    input,
                    turn,
                    client_turn_id,
                };
                self.command(by, thread, steer).await
            }
            Request::RunCommand { thread, line } => {
                self.command(by, thread, Command::RunCommand { line }).await
            }
            Request::CancelSignIn { thread } => self.command(by, thread, Command::CancelSignIn).await,
            Request::ReadSignIn { thread } => self.command(by, thread, Command::ReadSignIn).await,
            Request::UseTerminal {
                thread,
                terminal_id,
                act,
            } => {
                self.command(by, thread, Command::UseTerminal { terminal_id, act })
                    .await
            }
            Request::Interrupt {
                thread,
                turn,
                options,
            } => {
                self.command(by, thread, Command::Interrupt { turn, options })
                    .await
            }
            Request::ChangeQueue { thread, change } => {
                if let QueueChange::Edit { input, .. } = &change {
                    self.context.attachments.keep(Some(thread), input).await?;
                }
                self.command(by, thread, Command::ChangeQueue(change)).await
            }
            Request::Answer {
                request,
                answer,
                scope,
            } => self.answer(by, request, answer, scope).await,
            Request::AskAgent {
                thread,
                request,
                names_thread,
            } => self.ask_agent(caller, thread, request, names_thread).await,
            Request::NotifyAgent {
                thread,
                method,
                params,
                names_thread,
            } => self.notify_agent(by, thread, method, params, names_thread).await,
        }
    }

    /// Sends a command to a thread and returns the thread's answer as the answer of the request.
    pub(crate) async fn command(
        &self,
        by: Origin,
        thread: ThreadId,
        command: Command,
    ) -> Result<Dispatched, Failure> {
        let answer = self.directory.command(thread, by, command).await?;
        Ok(Dispatched::answer(
            async move { reply(await_reply(answer).await?) },
        ))
    }
}

fn watch_thread_list(on: bool, only: Option<ThreadId>) -> Dispatched {
    Dispatched {
        watch: Some(if on { Watch::On { only } } else { Watch::Off }),
        ..Dispatched::now(Ok(Reply::Done))
    }
}

/// Waits for a thread's answer.
pub(crate) async fn await_reply(answer: Answer) -> Result<thread::Reply, Failure> {
    let asleep = |_| Failure::new(ErrorCode::Overloaded, "the thread is being unloaded; try again");
    answer.await.map_err(asleep)?
}

/// Converts a thread's answer to the answer of a request.
fn reply(reply: thread::Reply) -> Result<Reply, Failure> {
    Ok(match reply {
        thread::Reply::Done => Reply::Done,
        thread::Reply::Turn(turn) => Reply::Turn(turn),
        thread::Reply::Steered { turn, delivery } => Reply::Steered { turn, delivery },
        thread::Reply::CommandStarted { item, turn } => Reply::CommandStarted { item, turn },
        thread::Reply::SignIn { in_progress, lines } => Reply::SignIn { in_progress, lines },
        thread::Reply::RolledBack(fidelity) => Reply::RolledBack(fidelity),
        thread::Reply::Explained(explanation) => Reply::Explained(explanation),
        thread::Reply::Remembered(rules) => Reply::Remembered(rules),
        thread::Reply::Lease(holder) => Reply::Lease(holder),
        thread::Reply::Agent(answer) => Reply::Agent(answer),
        thread::Reply::Fork(_) => return Err(misplaced()),
    })
}

/// Returns the error for an answer that does not match the command.
pub(crate) fn misplaced() -> Failure {
    Failure::new(ErrorCode::Internal, "internal error: unexpected reply type")
}

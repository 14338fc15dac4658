//! Handlers for client requests.
//!
//! In: a [`Request`] and its caller. Out: a reply, and the thread that the connection follows from now on. Owns:
//! the cache of what agents declare. Never: knows a wire protocol or writes a result.
//!
//! A handler returns the type that the row of its request names. `dispatch` makes the reply of the connection from it.

mod agents;
mod answer_room;
mod caller;
mod config;
mod directories;
mod dispatched;
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
mod thread_reply;
mod threads;
mod turn_notes;
mod turn_pages;
mod turns;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;

use acpd_model::limits::{SMALL_ANSWER_BYTES, UNSENT_ANSWER_BYTES};
use acpd_model::{Failure, Origin, ThreadId};
use acpd_proto::surface::request::{AnswerSize, Order, Request, calls};
use acpd_proto::thread::{Command, QueueChange};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Notify, watch};

pub use self::caller::{Caller, Defaults, Delegate};
use self::dispatched::now;
pub use self::dispatched::{Dispatched, Response, Watch};
use self::started::StartedThreads;
use self::thread_reply::{FromThread, await_reply};
use crate::config_file::ConfigFile;
use crate::context::Context;
use crate::feed::session_claims::SessionClaims;
use crate::retention::{Retention, RetentionSettings};
use crate::standby::initialize_cache::InitializeCache;
use crate::thread::directory::Directory;
use crate::unsent::UnsentCharge;

/// Carries out requests for clients; cheap to clone.
#[derive(Debug, Clone)]
pub struct Service {
    /// Gives access to the threads.
    pub directory: Directory,
    /// State that the threads share.
    pub context: Context,
    /// Notified when the log lacks data beside the events of a thread.
    pub indexing: Arc<Notify>,
    /// Shared, because each connection has a clone.
    state: Arc<State>,
}

/// What only the service uses.
#[derive(Debug)]
struct State {
    /// The initialize results that agents returned.
    initialize_cache: InitializeCache,
    /// Removes old threads.
    retention: Retention,
    /// Threads that a client may request to start again.
    started: StartedThreads,
    /// Agent sessions that a new thread is about to use.
    session_claims: SessionClaims,
    /// Changes the configuration file for clients.
    config_file: ConfigFile,
}

impl Service {
    /// Creates the service without limits of retention and without a configuration file, and starts its tasks.
    pub fn new(directory: Directory, context: Context) -> Self {
        Self::open(
            directory,
            context,
            watch::channel(RetentionSettings::default()).1,
            None,
            ConfigFile::default(),
        )
    }

    /// Creates the service, and starts its tasks. The sender of `retention` replaces the limits of retention, which stores what
    /// it must remember in the file. `config_file` receives what clients change in the configuration.
    pub fn open(
        directory: Directory,
        context: Context,
        retention: watch::Receiver<RetentionSettings>,
        retention_file: Option<PathBuf>,
        config_file: ConfigFile,
    ) -> Self {
        let state = State {
            initialize_cache: InitializeCache::open(context.clone()),
            retention: Retention::open(directory.clone(), context.clone(), retention, retention_file),
            started: StartedThreads::default(),
            session_claims: SessionClaims::default(),
            config_file,
        };
        Self {
            state: Arc::new(state),
            indexing: Arc::default(),
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
        if let Err(failure) = caller.permissions.check_role(request.role(), "this request") {
            return Dispatched::now(Err(failure));
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
        Ok(match request {
            Request::Initialize => self.initialize(caller).reply_to::<calls::Initialize>(),
            Request::ListAgents => now::<calls::ListAgents>(Ok(self.list_agents())),
            Request::ListRunningAgents => now::<calls::ListRunningAgents>(self.list_running_agents().await),
            Request::ExamineAgent { agent } => now::<calls::ExamineAgent>(self.examine_agent(agent).await),
            Request::ReadSessionOptions {
                agent,
                cwd,
                additional_directories,
            } => {
                let read = self.read_session_options(caller, agent, cwd, additional_directories);
                now::<calls::ReadSessionOptions>(read.await)
            }
            Request::InstallAgent { agent } => now::<calls::InstallAgent>(self.install_agent(agent).await),
            Request::ListFolders { path } => now::<calls::ListFolders>(self.list_folders(path).await),
            Request::CreateFolder { path } => now::<calls::CreateFolder>(self.create_folder(path).await),
            Request::ReadPolicies { agent } => {
                now::<calls::ReadPolicies>(Ok(self.read_policies(agent.as_deref())))
            }
            Request::ChangeConfig(change) => self
                .change_config(by, change)
                .await?
                .reply_to::<calls::ChangeConfig>(),
            Request::ListNotificationTargets => {
                now::<calls::ListNotificationTargets>(self.list_notification_targets().await)
            }
            Request::TestNotifications { target } => {
                now::<calls::TestNotifications>(self.test_notifications(target).await)
            }
            Request::ListThreads(wanted) => Dispatched::respond_now(self.list_threads(caller, wanted).await)
                .reply_to::<calls::ListThreads>(),
            Request::SearchThreads(wanted) => now::<calls::SearchThreads>(self.search_threads(wanted).await),
            Request::ReadThread { thread, turns } => {
                Dispatched::respond_now(self.read_thread(caller, thread, turns).await)
                    .reply_to::<calls::ReadThread>()
            }
            Request::ListLanes { thread } => now::<calls::ListLanes>(self.list_lanes(thread).await),
            Request::ReadTurnDiff { thread, turn } => {
                now::<calls::ReadTurnDiff>(self.read_turn_diff(thread, turn).await)
            }
            Request::SeeThreads(seen) => now::<calls::SeeThreads>(self.see_threads(caller, seen).await),
            Request::ReportPresence => now::<calls::ReportPresence>(Ok(self.report_presence(caller).await)),
            Request::ReadUsage(wanted) => now::<calls::ReadUsage>(self.read_usage(wanted).await),
            Request::WatchThreadList { on, only } => {
                watch_thread_list(on, only).reply_to::<calls::WatchThreadList>()
            }
            Request::StartThread(start) => self
                .start_thread(caller, *start)
                .await?
                .reply_to::<calls::StartThread>(),
            Request::OpenThread(open) => self
                .open_thread(caller, *open)
                .await?
                .reply_to::<calls::OpenThread>(),
            Request::CloseThread { thread, release } => self
                .close_thread(caller, thread, release)
                .await
                .reply_to::<calls::CloseThread>(),
            Request::ForkThread(fork) => self
                .fork_thread(caller, *fork)
                .await?
                .reply_to::<calls::ForkThread>(),
            Request::RunRetention(run) => self.run_retention(by, run).reply_to::<calls::RunRetention>(),
            Request::DeleteThread { thread } => self
                .delete_thread(by, thread)
                .await?
                .reply_to::<calls::DeleteThread>(),
            Request::ChangeThread { thread, change } => self
                .change_thread(by, thread, change)
                .await?
                .reply_to::<calls::ChangeThread>(),
            Request::UnarchiveThread { thread } => self
                .unarchive_thread(by, thread)
                .await?
                .reply_to::<calls::UnarchiveThread>(),
            Request::RollBack { thread, last_kept } => self
                .roll_back(by, thread, last_kept)
                .await?
                .reply_to::<calls::RollBack>(),
            Request::SetDirectories {
                thread,
                cwd,
                additional_directories,
            } => {
                let set = self.set_directories(caller, thread, cwd, additional_directories);
                set.await?.reply_to::<calls::SetDirectories>()
            }
            Request::AddDirectory { thread, directory } => self
                .add_directory(caller, thread, directory)
                .await?
                .reply_to::<calls::AddDirectory>(),
            Request::SetThreadPolicy { thread, policy } => self
                .set_thread_policy(by, thread, policy)
                .await?
                .reply_to::<calls::SetThreadPolicy>(),
            Request::ExplainPolicy { thread, tool_call } => {
                let explained = self.explain_policy(by, caller.permissions.role, thread, tool_call);
                explained.await?.reply_to::<calls::ExplainPolicy>()
            }
            Request::ListRemembered { thread } => self
                .list_remembered(by, thread)
                .await?
                .reply_to::<calls::ListRemembered>(),
            Request::RevokeRemembered { thread, id } => self
                .revoke_remembered(by, thread, id)
                .await?
                .reply_to::<calls::RevokeRemembered>(),
            Request::ListAgentAnswers { agent } => {
                now::<calls::ListAgentAnswers>(Ok(self.list_agent_answers(agent.as_deref())))
            }
            Request::RevokeAgentAnswer { agent, id } => {
                now::<calls::RevokeAgentAnswer>(self.revoke_agent_answer(by, &agent, id).await)
            }
            Request::CreateShare {
                thread,
                expires_in_secs,
                name,
            } => now::<calls::CreateShare>(self.create_share(by, thread, expires_in_secs, name).await),
            Request::ListShares { thread } => now::<calls::ListShares>(self.list_shares(thread).await),
            Request::RevokeShare { share } => now::<calls::RevokeShare>(self.revoke_share(share).await),
            Request::MoveLease { thread, take } => self
                .move_lease(caller, thread, take)
                .await?
                .reply_to::<calls::MoveLease>(),
            Request::StartTurn(start) => self.start_turn(by, start).await?.reply_to::<calls::StartTurn>(),
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
                self.command(by, thread, steer)
                    .await?
                    .reply_to::<calls::SteerTurn>()
            }
            Request::RunCommand { thread, line } => {
                let run = Command::RunCommand { line };
                self.command(by, thread, run)
                    .await?
                    .reply_to::<calls::RunCommand>()
            }
            Request::CancelSignIn { thread } => {
                let cancel = Command::CancelSignIn;
                self.command(by, thread, cancel)
                    .await?
                    .reply_to::<calls::CancelSignIn>()
            }
            Request::ReadSignIn { thread } => {
                let read = Command::ReadSignIn;
                self.command(by, thread, read)
                    .await?
                    .reply_to::<calls::ReadSignIn>()
            }
            Request::UseTerminal {
                thread,
                terminal_id,
                act,
            } => {
                let command = Command::UseTerminal { terminal_id, act };
                self.command(by, thread, command)
                    .await?
                    .reply_to::<calls::UseTerminal>()
            }
            Request::Interrupt {
                thread,
                turn,
                options,
            } => {
                let interrupt = Command::Interrupt { turn, options };
                self.command(by, thread, interrupt)
                    .await?
                    .reply_to::<calls::Interrupt>()
            }
            Request::ChangeQueue { thread, change } => {
                if let QueueChange::Edit { input, .. } = &change {
                    self.context.attachments.keep(Some(thread), input).await?;
                }
                let change = Command::ChangeQueue(change);
                self.command(by, thread, change)
                    .await?
                    .reply_to::<calls::ChangeQueue>()
            }
            Request::SteerQueuedTurn { thread, turn } => {
                let steer = Command::SteerQueued { turn };
                self.command(by, thread, steer)
                    .await?
                    .reply_to::<calls::SteerQueuedTurn>()
            }
            Request::Answer {
                request,
                answer,
                scope,
            } => self
                .answer(by, request, answer, scope)
                .await?
                .reply_to::<calls::Answer>(),
            Request::AskAgent {
                thread,
                request,
                names_thread,
            } => {
                let asked = self.ask_agent(caller, thread, request, names_thread);
                asked.await?.reply_to::<calls::AskAgent>()
            }
            Request::NotifyAgent {
                thread,
                method,
                params,
                names_thread,
            } => {
                let notified = self.notify_agent(by, thread, method, params, names_thread);
                notified.await?.reply_to::<calls::NotifyAgent>()
            }
        })
    }

    /// Sends a command to a thread and returns the thread's answer as the answer of the request.
    async fn command<R: FromThread>(
        &self,
        by: Origin,
        thread: ThreadId,
        command: Command,
    ) -> Result<Dispatched<R>, Failure> {
        let answer = self.directory.command(thread, by, command).await?;
        Ok(Dispatched::answer(await_reply(answer)))
    }
}

fn watch_thread_list(on: bool, only: Option<ThreadId>) -> Dispatched<()> {
    Dispatched {
        watch: Some(if on { Watch::On { only } } else { Watch::Off }),
        ..Dispatched::now(Ok(()))
    }
}

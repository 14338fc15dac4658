//! Requests about whole threads: open, close, change and delete.

use std::path::Path;
use std::sync::Arc;

use acpd_model::event::Fidelity;
use acpd_model::{ErrorCode, Failure, Origin, Role, ThreadId, TurnId};
use acpd_proto::projection::Live;
use acpd_proto::surface::reply::{Closed, Opened, RetentionReport, ThreadView};
use acpd_proto::surface::request::{FollowFrom, OpenThread, RunRetention};
use acpd_proto::thread::{Change, Command};

use crate::host::{blocking, paths};
use crate::service::caller::Caller;
use crate::service::directories::{find_directories, moved_along};
use crate::service::same_directory::on_this_host;
use crate::service::thread_reply::await_reply;
use crate::service::{Dispatched, Response, Service};
use crate::thread::subscription::FollowRequest;

impl Service {
    pub(super) async fn open_thread(
        &self,
        caller: &Caller,
        open: OpenThread,
    ) -> Result<Dispatched<Box<Opened>>, Failure> {
        let OpenThread {
            thread,
            from,
            turns,
            session,
            claims,
            starts_agent,
        } = open;
        let options = session.as_ref().map(|session| session.config_options.clone());
        if let Some(session) = session {
            self.set_session(caller, thread, session).await?;
        }
        let snapshot = self.directory.subscribe(thread, caller.lane).await?;
        let latest = snapshot.live.last_seq;
        let cursor = match from {
            FollowFrom::Start => 0,
            FollowFrom::Latest => latest,
            FollowFrom::After { seq, clamp } if clamp || seq <= latest => seq.min(latest),
            FollowFrom::After { .. } => {
                let message = format!("invalid after: the thread's latest event is {latest}");
                return Err(Failure::invalid_params(message));
            }
        };
        let attachment = self.attach(caller, thread).await?;
        if starts_agent {
            self.wake(caller, &snapshot.live).await?;
            let options = options.unwrap_or_default();
            self.set_options(caller, &snapshot.live, options).await?;
        }
        let live = Arc::clone(&snapshot.live);
        let (service, caller) = (self.clone(), caller.clone());
        let answer = Dispatched::respond(async move {
            let (turns, charge) = service.charged_page(&caller, &live, turns).await?;
            let opened = Opened {
                live,
                cursor,
                turns,
                turn: None,
                fidelity: None,
                claimed: service.claim(thread, claims, cursor).await?,
            };
            Ok(Response::charged(Box::new(opened), charge))
        });
        Ok(Dispatched {
            follow: Some(FollowRequest {
                thread,
                cursor,
                snapshot,
                attachment,
            }),
            answer_first: true,
            ..answer
        })
    }

    /// Answers a close request. The connection has already stopped following the thread.
    pub(super) async fn close_thread(
        &self,
        caller: &Caller,
        thread: ThreadId,
        release: bool,
    ) -> Dispatched<Closed> {
        let was_open = caller.follows;
        if was_open && release && caller.permissions.role.may(Role::Operator) {
            // If the notification fails, the thread is not loaded or the daemon is shutting down.
            let _ = self.directory.closed(thread).await;
        }
        Dispatched::now(Ok(Closed { was_open }))
    }

    pub(super) fn run_retention(&self, by: Origin, run: RunRetention) -> Dispatched<Box<RetentionReport>> {
        let retention = self.state.retention.clone();
        Dispatched::answer(async move {
            let report = retention.run(by, run).await?;
            Ok(Box::new(report))
        })
    }

    pub(super) async fn delete_thread(
        &self,
        by: Origin,
        thread: ThreadId,
    ) -> Result<Dispatched<()>, Failure> {
        self.command(by, thread, Command::Delete).await
    }

    pub(super) async fn change_thread(
        &self,
        by: Origin,
        thread: ThreadId,
        change: Change,
    ) -> Result<Dispatched<()>, Failure> {
        self.command(by, thread, Command::Change(change)).await
    }

    pub(super) async fn roll_back(
        &self,
        by: Origin,
        thread: ThreadId,
        last_kept: Option<TurnId>,
    ) -> Result<Dispatched<Fidelity>, Failure> {
        self.command(by, thread, Command::RollBack { last_kept }).await
    }

    /// Lets a thread work in other directories.
    pub(super) async fn set_directories(
        &self,
        caller: &Caller,
        thread: ThreadId,
        cwd: String,
        additional_directories: Option<Vec<String>>,
    ) -> Result<Dispatched<()>, Failure> {
        let live = self.directory.look(thread).await?;
        check_own_policy(caller, &live)?;
        let look = move || match additional_directories {
            Some(named) => find_directories(cwd, named),
            None => moved_along(&live.spec, cwd),
        };
        let directories = blocking(&*self.context.host, look).await?;
        let change = Change::SetDirectories(directories);
        self.command(caller.by.clone(), thread, Command::Change(change))
            .await
    }

    /// Opens a further directory for a thread, if it is one that may be opened.
    pub(super) async fn add_directory(
        &self,
        caller: &Caller,
        thread: ThreadId,
        directory: String,
    ) -> Result<Dispatched<()>, Failure> {
        let live = self.directory.look(thread).await?;
        check_own_policy(caller, &live)?;
        let (agents, reserved) = (
            Arc::clone(&self.context.agents),
            Arc::clone(&self.context.reserved),
        );
        let look = move || {
            let (spec, directory) = (&live.spec, on_this_host(directory)?);
            let config = agents.find(&spec.agent)?.config;
            config.check_folder(&reserved, &agents.programs(), Path::new(&directory))?;
            // A thread of an older version records them with the first folder that is added.
            let lacks = spec.directories().count() != spec.real_directories.len();
            let real_directories = if lacks {
                paths::real_directories(spec.directories())
            } else {
                Vec::new()
            };
            Ok(Change::AddDirectory {
                directory,
                real_directories,
            })
        };
        let change = blocking(&*self.context.host, look).await?;
        self.command(caller.by.clone(), thread, Command::Change(change))
            .await
    }

    /// Unarchives a thread and returns the whole thread.
    pub(super) async fn unarchive_thread(
        &self,
        by: Origin,
        thread: ThreadId,
    ) -> Result<Dispatched<Box<ThreadView>>, Failure> {
        let command = Command::Change(Change::Unarchive);
        let done = self.directory.command(thread, by, command).await?;
        let directory = self.directory.clone();
        Ok(Dispatched::answer(async move {
            await_reply::<()>(done).await?;
            let live = directory.look(thread).await?;
            Ok(Box::new(ThreadView { live, turns: None }))
        }))
    }
}

/// Rejects other directories for a thread whose own policy would apply to their files, unless the owner wants them.
fn check_own_policy(caller: &Caller, live: &Live) -> Result<(), Failure> {
    // Its rules name files below the working directory.
    if live.policy.is_none() || caller.permissions.role.may(Role::Owner) {
        return Ok(());
    }
    let message = "the thread has a policy of its own, which would apply to other files: changing its directories needs the role owner";
    Err(Failure::new(ErrorCode::Forbidden, message))
}

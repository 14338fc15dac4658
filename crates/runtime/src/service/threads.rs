//! Requests about whole threads: open, close, change and delete.

use std::path::Path;
use std::sync::Arc;

use acpd_model::event::Directories;
use acpd_model::{Failure, Origin, Role, ThreadId};
use acpd_proto::projection::Spec;
use acpd_proto::surface::reply::{Opened, Reply, ThreadView};
use acpd_proto::surface::request::{FollowFrom, OpenThread};
use acpd_proto::thread::{Change, Command};

use crate::host::paths;
use crate::service::caller::Caller;
use crate::service::same_directory::on_this_host;
use crate::service::start::check_directory;
use crate::service::{Dispatched, Service, await_reply};
use crate::thread::subscription::FollowRequest;

impl Service {
    pub(super) async fn open_thread(&self, caller: &Caller, open: OpenThread) -> Result<Dispatched, Failure> {
        let OpenThread {
            thread,
            from,
            turns,
            session,
            claims,
            starts_agent,
        } = open;
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
        }
        let live = Arc::clone(&snapshot.live);
        let service = self.clone();
        let answer = Dispatched::answer(async move {
            let turns = match turns {
                Some(wanted) => Some(service.turns_page(&live, wanted).await?),
                None => None,
            };
            Ok(Reply::Opened(Box::new(Opened {
                live,
                cursor,
                turns,
                turn: None,
                fidelity: None,
                claimed: service.claim(thread, claims, cursor).await?,
            })))
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
    pub(super) async fn close_thread(&self, caller: &Caller, thread: ThreadId, release: bool) -> Dispatched {
        let was_open = caller.follows;
        if was_open && release && caller.permissions.role.may(Role::Operator) {
            // If the notification fails, the thread is not loaded or the daemon is shutting down.
            let _ = self.directory.closed(thread).await;
        }
        Dispatched::now(Ok(Reply::Closed { was_open }))
    }

    pub(super) fn run_retention(&self, by: Origin, dry_run: bool) -> Dispatched {
        let retention = self.tasks.retention.clone();
        Dispatched::answer(async move {
            let report = retention.run(by, dry_run).await?;
            Ok(Reply::Retention(Box::new(report)))
        })
    }

    pub(super) async fn delete_thread(&self, by: Origin, thread: ThreadId) -> Result<Dispatched, Failure> {
        self.command(by, thread, Command::Delete).await
    }

    pub(super) async fn change_thread(
        &self,
        by: Origin,
        thread: ThreadId,
        change: Change,
    ) -> Result<Dispatched, Failure> {
        match change {
            Change::Unarchive => self.unarchive(by, thread).await,
            change => self.command(by, thread, Command::Change(change)).await,
        }
    }

    /// Lets a thread work in other directories, which exist.
    pub(super) async fn set_directories(
        &self,
        by: Origin,
        thread: ThreadId,
        cwd: String,
        additional_directories: Option<Vec<String>>,
    ) -> Result<Dispatched, Failure> {
        let cwd = on_this_host(cwd)?;
        let additional_directories = match additional_directories {
            Some(named) => named.into_iter().map(on_this_host).collect::<Result<_, _>>()?,
            None => moved_along(&self.directory.look(thread).await?.spec, &cwd),
        };
        let all = || {
            let additional = additional_directories.iter();
            std::iter::once(&cwd).chain(additional).map(String::as_str)
        };
        all().try_for_each(check_directory)?;
        let directories = Directories {
            real_directories: paths::real_directories(all()),
            cwd,
            additional_directories,
        };
        let change = Change::SetDirectories(directories);
        self.command(by, thread, Command::Change(change)).await
    }

    /// Unarchives a thread and returns the whole thread.
    async fn unarchive(&self, by: Origin, thread: ThreadId) -> Result<Dispatched, Failure> {
        let command = Command::Change(Change::Unarchive);
        let done = self.directory.command(thread, by, command).await?;
        let directory = self.directory.clone();
        Ok(Dispatched::answer(async move {
            await_reply(done).await?;
            let live = directory.look(thread).await?;
            Ok(Reply::Thread(Box::new(ThreadView { live, turns: None })))
        }))
    }
}

/// Returns the further directories of a thread whose working directory was moved to `cwd`: those inside of it have moved along.
fn moved_along(spec: &Spec, cwd: &str) -> Vec<String> {
    let moved = |directory: &String| match Path::new(directory).strip_prefix(&spec.cwd) {
        Ok(rest) => Path::new(cwd).join(rest).to_string_lossy().into_owned(),
        Err(_) => directory.clone(),
    };
    spec.additional_directories.iter().map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_moves_along() {
        let spec = Spec {
            cwd: "/old/app".into(),
            additional_directories: ["/old/app/docs", "/old/app-two", "/else"]
                .map(String::from)
                .into(),
            ..Spec::default()
        };
        assert_eq!(moved_along(&spec, "/new"), ["/new/docs", "/old/app-two", "/else"]);
    }
}

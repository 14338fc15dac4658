//! Requests about whole threads: open, close, change and delete.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use acpd_model::event::Directories;
use acpd_model::{ErrorCode, Failure, Origin, Role, ThreadId};
use acpd_proto::projection::{Live, Spec};
use acpd_proto::surface::reply::{Opened, Reply, ThreadView};
use acpd_proto::surface::request::{FollowFrom, OpenThread, RunRetention};
use acpd_proto::thread::{Change, Command};

use crate::host::{blocking, paths};
use crate::service::caller::Caller;
use crate::service::same_directory::on_this_host;
use crate::service::start::check_directory;
use crate::service::{Dispatched, Response, Service, await_reply};
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
            Ok(Response::charged(Reply::Opened(Box::new(opened)), charge))
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

    pub(super) fn run_retention(&self, by: Origin, run: RunRetention) -> Dispatched {
        let retention = self.tasks.retention.clone();
        Dispatched::answer(async move {
            let report = retention.run(by, run).await?;
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

    /// Lets a thread work in other directories.
    pub(super) async fn set_directories(
        &self,
        caller: &Caller,
        thread: ThreadId,
        cwd: String,
        additional_directories: Option<Vec<String>>,
    ) -> Result<Dispatched, Failure> {
        let live = self.directory.look(thread).await?;
        check_own_policy(caller, &live)?;
        let cwd = on_this_host(cwd)?;
        check_directory(&cwd)?;
        let directories = match additional_directories {
            Some(named) => {
                let named = named
                    .into_iter()
                    .map(on_this_host)
                    .collect::<Result<Vec<_>, _>>()?;
                named
                    .iter()
                    .try_for_each(|directory| check_directory(directory))?;
                named_directories(cwd, named)
            }
            None => moved_along(&live.spec, cwd)?,
        };
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
    ) -> Result<Dispatched, Failure> {
        let live = self.directory.look(thread).await?;
        check_own_policy(caller, &live)?;
        let directory = on_this_host(directory)?;
        let (agents, reserved) = (
            Arc::clone(&self.context.agents),
            Arc::clone(&self.context.reserved),
        );
        let (spec, folder) = (live.spec.clone(), PathBuf::from(&directory));
        let look = move || {
            let config = agents.find(&spec.agent)?.config;
            config.check_folder(&reserved, &agents.programs(), &folder)?;
            // A thread of an older version records them with the first folder that is added.
            let lacks = spec.directories().count() != spec.real_directories.len();
            Ok(if lacks {
                paths::real_directories(spec.directories())
            } else {
                Vec::new()
            })
        };
        let real_directories = blocking(&*self.context.host, look).await?;
        let change = Change::AddDirectory {
            directory,
            real_directories,
        };
        self.command(caller.by.clone(), thread, Command::Change(change))
            .await
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

/// Rejects other directories for a thread whose own policy would apply to their files, unless the owner wants them.
fn check_own_policy(caller: &Caller, live: &Live) -> Result<(), Failure> {
    // Its rules name files below the working directory.
    if live.policy.is_none() || caller.permissions.role.may(Role::Owner) {
        return Ok(());
    }
    let message = "the thread has a policy of its own, which would apply to other files: changing its directories needs the role owner";
    Err(Failure::new(ErrorCode::Forbidden, message))
}

/// Returns directories that a user has named, each with its real path.
fn named_directories(cwd: String, additional_directories: Vec<String>) -> Directories {
    let all = std::iter::once(&cwd).chain(&additional_directories);
    Directories {
        real_directories: paths::real_directories(all.map(String::as_str)),
        cwd,
        additional_directories,
    }
}

/// Returns the directories of a thread whose working directory is `cwd` from now on. Further ones inside the earlier one have moved
/// along, if they are there. Each must lead where it led before: the user has not named it, and an agent may have replaced
/// it with a link. Fails if one does not.
fn moved_along(spec: &Spec, cwd: String) -> Result<Directories, Failure> {
    let mut moved = named_directories(cwd, Vec::new());
    let (cwd, real_cwd) = (
        PathBuf::from(&moved.cwd),
        PathBuf::from(&moved.real_directories[0]),
    );
    let before: Vec<_> = spec.real_names().collect();
    let old_real = before.first().map_or(&*spec.cwd, |(_, real)| real);
    for (at, given) in spec.additional_directories.iter().enumerate() {
        let real = before.get(at + 1).map_or(&**given, |(_, real)| real);
        let rest = Path::new(given)
            .strip_prefix(&spec.cwd)
            .or_else(|_| Path::new(real).strip_prefix(old_real))
            .ok()
            .filter(|rest| cwd.join(rest).is_dir());
        let (new, wanted) = match rest {
            Some(rest) => (cwd.join(rest), real_cwd.join(rest)),
            None => (given.into(), real.into()),
        };
        if let Ok(leads) = new.canonicalize()
            && leads != wanted
        {
            return Err(Failure::invalid_params(format!(
                "{} leads to {}, and not to {}. An agent may have replaced it: put it back, or name all further directories, with \
                 \"acpd move --add-dir\" or in `additionalDirectories`; \"acpd move --only\" leaves them out",
                new.display(),
                leads.display(),
                wanted.display()
            )));
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        moved.additional_directories.push(text(&new));
        moved.real_directories.push(text(&wanted));
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_inside_moves_along_and_leads_where_it_led() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name).to_string_lossy().into_owned();
        for made in ["new/docs", "beside", "secret"] {
            std::fs::create_dir_all(path(made)).unwrap();
        }
        let named = ["old/docs", "old/gone", "beside", "missing"].map(path);
        let spec = Spec {
            cwd: path("old"),
            additional_directories: named.to_vec(),
            real_directories: std::iter::once(path("old")).chain(named).collect(),
            ..Spec::default()
        };
        let moved = moved_along(&spec, path("new")).unwrap();
        let expected = ["new/docs", "old/gone", "beside", "missing"].map(path);
        assert_eq!(moved.additional_directories, expected);
        assert_eq!(moved.real_directories[1..], expected);

        std::fs::remove_dir(path("beside")).unwrap();
        symlink(path("secret"), path("beside")).unwrap();
        let refused = moved_along(&spec, path("new")).unwrap_err();
        assert!(refused.message.contains("secret"), "{refused}");
        // A user who names it gets it.
        let named = named_directories(path("new"), vec![path("beside")]);
        assert_eq!(named.real_directories, [path("new"), path("secret")]);
    }
}

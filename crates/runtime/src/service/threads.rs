//! Threads as a whole: start, open, change, delete.

use std::path::Path;

use acpd_log::{Filter, ListedThread};
use acpd_model::limits::{LIST_PAGE, TURNS_PAGE};
use acpd_model::{ErrorCode, Failure, Origin, Role, ThreadId};
use acpd_proto::agent::AgentRequest;
use acpd_proto::projection::Spec;
use acpd_proto::surface::reply::{Opened, Reply, ThreadView};
use acpd_proto::surface::request::{OpenThread, StartThread};
use acpd_proto::thread::{self, Change, Command};

use crate::feed::session_claims::SessionClaim;
use crate::feed::snapshot::FollowRequest;
use crate::host::paths;
use crate::service::{Dispatched, Service, await_reply, misplaced};
use crate::thread::directory::log_failure;

impl Service {
    pub(super) async fn start_thread(
        &self,
        by: Origin,
        role: Role,
        start: StartThread,
    ) -> Result<Dispatched, Failure> {
        let StartThread {
            agent,
            cwd,
            additional_directories,
            mcp_servers,
            name,
            project_id,
            metadata,
            policy,
            mode,
            config,
            session_id,
            input,
            client_turn_id,
        } = start;
        // As where it is set later: who starts a thread does not say what its agent may do.
        if policy.is_some() && !role.may(Role::Owner) {
            let message = format!("policy needs the role owner; this token has the role {role}");
            return Err(Failure::new(ErrorCode::Forbidden, message));
        }
        self.context.agents.find(&agent)?;
        for directory in std::iter::once(&cwd).chain(&additional_directories) {
            check_directory(directory)?;
        }
        let alone = match &session_id {
            Some(session) => Some(self.begin_with(&agent, session).await?),
            None => None,
        };
        let thread = self.context.ids.thread();
        let mut spec = Spec {
            agent,
            cwd,
            additional_directories,
            mcp_servers,
            session_id,
            ..Spec::default()
        };
        spec.real_directories = paths::real_directories(&spec);
        // What was said before comes first.
        let begins_with_session = spec.session_id.is_some();
        let create = Command::Create {
            spec: Box::new(spec),
            name,
            project_id,
            metadata,
        };
        let created = self.directory.command(thread, by.clone(), create).await?;
        let snapshot = self.directory.subscribe(thread).await?;
        let mut settings = Vec::new();
        if let Some(policy) = policy {
            let command = Command::SetPolicy(Some(policy));
            settings.push(self.directory.command(thread, by.clone(), command).await?);
        }
        let mode = mode.map(|mode_id| AgentRequest::SetMode { mode_id });
        let config = config
            .into_iter()
            .map(|(config_id, value)| AgentRequest::SetConfigOption { config_id, value });
        for request in mode.into_iter().chain(config) {
            let command = Command::AgentRequest(request);
            settings.push(self.directory.command(thread, by.clone(), command).await?);
        }
        let mut first = (!input.is_empty()).then_some(Command::StartTurn {
            input,
            meta: None,
            client_turn_id,
        });
        let mut first_turn = None;
        if let Some(command) = first.take_if(|_| !begins_with_session) {
            first_turn = Some(self.directory.command(thread, by.clone(), command).await?);
        }
        let service = self.clone();
        let answer = Dispatched::answer(async move {
            await_reply(created).await?;
            // From here on the log knows whose it is.
            drop(alone);
            if let Some(command) = first {
                first_turn = Some(service.directory.command(thread, by, command).await?);
            }
            for setting in settings {
                await_reply(setting).await.map_err(|failure| Failure {
                    message: format!("the thread {thread} was started, but {}", failure.message),
                    ..failure
                })?;
            }
            let turn = match first_turn {
                Some(answer) => match await_reply(answer).await? {
                    thread::Reply::Turn(turn) => Some(turn),
                    _ => return Err(misplaced()),
                },
                None => None,
            };
            Ok(Reply::Opened(Box::new(Opened {
                live: service.directory.subscribe(thread).await?.live,
                turns: None,
                turn,
                fidelity: None,
            })))
        });
        Ok(Dispatched {
            follow: Some(FollowRequest {
                thread,
                cursor: 0,
                snapshot,
            }),
            ..answer
        })
    }

    /// A session that a thread goes on with is that thread's: two would not know of each other's turns. One that never got
    /// it does not go on with it.
    async fn begin_with(&self, agent: &str, session: &str) -> Result<SessionClaim, Failure> {
        let conflict = |message: String| Failure::new(ErrorCode::Conflict, message);
        let start = self.context.session_claims.begin(agent, session);
        let start =
            start.ok_or_else(|| conflict("another thread is being started with this session".into()))?;
        let filter = Filter {
            agent: Some(agent.to_owned()),
            session_id: Some(session.to_owned()),
            ..Filter::default()
        };
        let found = self.context.log.list(filter, None, LIST_PAGE).await;
        for ListedThread { thread, .. } in found.map_err(|error| log_failure(&error))? {
            if self.directory.subscribe(thread).await?.live.bound {
                let message = format!("thread {thread} already uses this session");
                return Err(conflict(message));
            }
        }
        Ok(start)
    }

    pub(super) async fn open_thread(
        &self,
        by: Origin,
        role: Role,
        OpenThread { thread, after, turns }: OpenThread,
    ) -> Result<Dispatched, Failure> {
        let snapshot = self.directory.subscribe(thread).await?;
        let live = snapshot.live.clone();
        let latest = live.last_seq;
        if after.is_some_and(|after| after > latest) {
            let message = format!("invalid after: the thread's latest event is {latest}");
            return Err(Failure::invalid_params(message));
        }
        // Started in the background: who only wants to look need not wait for the agent.
        if role.may(Role::Operator) && self.context.agents.knows(&live.spec.agent) {
            drop(self.directory.command(thread, by, Command::Wake).await?);
        }
        let service = self.clone();
        let answer = Dispatched::answer(async move {
            let turns = match turns {
                Some(wanted) => {
                    let transcript = service.transcript(thread, latest, None).await?;
                    Some(transcript.into_page(wanted.before, wanted.limit.unwrap_or(TURNS_PAGE)))
                }
                None => None,
            };
            Ok(Reply::Opened(Box::new(Opened {
                live,
                turns,
                turn: None,
                fidelity: None,
            })))
        });
        Ok(Dispatched {
            follow: Some(FollowRequest {
                thread,
                cursor: after.unwrap_or(latest),
                snapshot,
            }),
            answer_first: true,
            ..answer
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

    /// A thread that is listed again is answered as a whole.
    async fn unarchive(&self, by: Origin, thread: ThreadId) -> Result<Dispatched, Failure> {
        let command = Command::Change(Change::Unarchive);
        let done = self.directory.command(thread, by, command).await?;
        let directory = self.directory.clone();
        Ok(Dispatched::answer(async move {
            await_reply(done).await?;
            let live = directory.subscribe(thread).await?.live;
            Ok(Reply::Thread(Box::new(ThreadView { live, turns: None })))
        }))
    }
}

/// Refuses what is no directory of this host.
pub fn check_directory(path: &str) -> Result<(), Failure> {
    let directory = Path::new(path);
    if !directory.is_absolute() {
        return Err(Failure::invalid_params(format!(
            "{path:?} is not an absolute path"
        )));
    }
    if !directory.is_dir() {
        return Err(Failure::invalid_params(format!(
            "directory not found on the daemon's host: {path:?}"
        )));
    }
    Ok(())
}

//! Forking a thread. The origin determines the fork point. The new thread begins with the state at that point, and shares
//! the events before it. Its first append creates it, so that a killed daemon leaves either the whole thread or none.

use std::sync::Arc;

use acpd_log::{Filter, LogError};
use acpd_model::event::Fidelity;
use acpd_model::{Failure, Origin, Seq, ThreadId, TurnId};
use acpd_proto::agent::AgentRequest;
use acpd_proto::projection::Live;
use acpd_proto::surface::reply::Opened;
use acpd_proto::surface::request::ForkThread;
use acpd_proto::thread::{Command, ForkContents, ForkPoint};

use crate::service::caller::Caller;
use crate::service::thread_reply::await_reply;
use crate::service::{Dispatched, Response, Service};
use crate::stored::log_failure;
use crate::stored::state::load_state;
use crate::stored::turns::end_of_turns;
use crate::thread::history::linked_files;
use crate::thread::subscription::FollowRequest;

impl Service {
    pub(super) async fn fork_thread(
        &self,
        caller: &Caller,
        fork: ForkThread,
    ) -> Result<Dispatched<Box<Opened>>, Failure> {
        let ForkThread {
            thread,
            turn,
            name,
            session,
        } = fork;
        // This comes first: if it fails, there must not be a new thread that no client knows of.
        let options = session.as_ref().map(|session| session.config_options.clone());
        let change = match session {
            Some(session) => Some(self.session_change(thread, session).await?),
            None => None,
        };
        let split = self.split_off(caller.by.clone(), thread, turn, name).await?;
        let (service, caller) = (self.clone(), caller.clone());
        Ok(Dispatched::respond(async move {
            let (new, mut fidelity) = split.await?;
            let opens = change.is_some();
            if let Some(change) = change {
                service.change_session(&caller, new, change).await?;
            }
            let attachment = service.attach(&caller, new).await?;
            let snapshot = service.directory.subscribe(new, caller.lane).await?;
            let is_copy = snapshot.live.is_copy;
            if opens || is_copy {
                service.wake(&caller, &snapshot.live).await?;
                let options = options.unwrap_or_default();
                service.set_options(&caller, &snapshot.live, options).await?;
            }
            if is_copy && caller.delegate.is_some() {
                // The agent may need the editor to open the session, and the editor follows the thread only then. ACP's answer has no
                // fidelity.
                service.await_copy_beside(&caller, thread, &snapshot.live);
            } else if is_copy {
                fidelity = service.await_copy(&caller, thread, &snapshot.live).await?;
            }
            // The client that forks the thread already has the events up to the fork.
            let cursor = snapshot.live.last_seq;
            let opened = Opened {
                live: Arc::clone(&snapshot.live),
                cursor,
                turns: None,
                turn: None,
                fidelity: Some(fidelity),
                claimed: Vec::new(),
            };
            let follow = FollowRequest {
                thread: new,
                cursor,
                snapshot,
                attachment,
            };
            Ok(Response {
                follow: Some(follow),
                ..Box::new(opened).into()
            })
        }))
    }

    /// Forks `thread` after `turn`, or after its last turn. This function does the part that must happen in the order
    /// of commands. The returned future yields the new thread and how much of the context its agent has.
    async fn split_off(
        &self,
        by: Origin,
        thread: ThreadId,
        turn: Option<TurnId>,
        name: Option<String>,
    ) -> Result<impl Future<Output = Result<(ThreadId, Fidelity), Failure>> + Send + 'static, Failure> {
        let command = Command::Fork { turn };
        let point = self.directory.command(thread, by.clone(), command).await?;
        let service = self.clone();
        Ok(async move {
            let point: Box<ForkPoint> = await_reply(point).await?;
            let fidelity = point.forked.fidelity;
            let new = service.context.ids.thread();
            let state = service.state_at(thread, point.forked.last, point.until).await;
            let state = state.map_err(|error| log_failure(&error))?;
            service.take_files_along(thread, new, &state).await;
            let adopted = ForkContents {
                live: Box::new(state),
                point: *point,
                name,
            };
            let adopt = Command::Adopt(Box::new(adopted));
            await_reply::<()>(service.directory.command(new, by, adopt).await?).await?;
            service.indexing.notify_one();
            Ok((new, fidelity))
        })
    }

    /// Returns how well the agent of a fork of the thread `from` remembers, whose session is a copy. Only a process that has
    /// opened the copy shows that: some agents let no other process use it than the one that has made it. `fork` is the state of the
    /// new thread before that.
    async fn await_copy(&self, caller: &Caller, from: ThreadId, fork: &Live) -> Result<Fidelity, Failure> {
        let new = fork.thread;
        let opening = Command::AwaitSession;
        let opening = self.directory.command(new, caller.by.clone(), opening).await?;
        if let Err(failure) = await_reply::<()>(opening).await {
            // The thread has a notice about it, and its agent starts again with the next prompt.
            tracing::info!(thread = %new, %failure, "the agent of the fork has not opened its session");
        }
        let live = self.directory.look(new).await?;
        if live.is_copy {
            return Ok(Fidelity::Recalled);
        }
        let unused = fork.summary.session_id.clone();
        if let Some(copy) = unused.filter(|copy| live.summary.session_id.as_ref() != Some(copy)) {
            self.delete_copy(from, copy, &live).await;
        }
        Ok(if live.forgotten {
            Fidelity::Recalled
        } else {
            Fidelity::Exact
        })
    }

    /// Like [`await_copy`](Self::await_copy), in a task of its own.
    fn await_copy_beside(&self, caller: &Caller, from: ThreadId, fork: &Arc<Live>) {
        let (service, caller, fork) = (self.clone(), caller.clone(), Arc::clone(fork));
        tokio::spawn(async move {
            if let Err(failure) = service.await_copy(&caller, from, &fork).await {
                tracing::info!(thread = %fork.thread, %failure, "the session of the fork was not looked at");
            }
        });
    }

    /// Has the agent of the thread `from` delete a copy of its session that no thread uses. Its process has made the copy, and may be
    /// the only one that can. A copy that is not deleted stays in the agent's own list of sessions.
    async fn delete_copy(&self, from: ThreadId, session_id: String, fork: &Live) {
        if !fork.declared.delete {
            return;
        }
        let filter = Filter {
            agent: Some(fork.spec.agent.clone()),
            session_id: Some(session_id.clone()),
            ..Filter::default()
        };
        let delete = Command::AgentRequest(AgentRequest::DeleteSession { session_id });
        let deleting = match self.context.log.list(filter, None, 1).await {
            Ok(used) if used.is_empty() => self.directory.command(from, Origin::Daemon, delete).await,
            // The agent has called the session of another thread a copy.
            Ok(_) => return,
            Err(error) => Err(log_failure(&error)),
        };
        if let Err(failure) = deleting {
            tracing::info!(thread = %from, %failure, "the copy of a session for a fork is not deleted");
        }
    }

    /// Lets the agent of the thread `new` read the files to which the turns link that it has copied. `state` is that of the thread
    /// `from` at the fork.
    async fn take_files_along(&self, from: ThreadId, new: ThreadId, state: &Live) {
        let attachments = &self.context.attachments;
        if !attachments.has_files(from).await {
            return;
        }
        let (until, dropped, files) = (state.last_seq, state.dropped.clone(), attachments.clone());
        let finding = self.context.read_log(|log| async move {
            linked_files(&log, from, until, dropped, |block| files.link(block)).await
        });
        match finding.await {
            Ok(links) => attachments.take_along(from, new, links).await,
            // The conversation is worth more than its files.
            Err(error) => {
                tracing::warn!(thread = %new, %error, "the agent of the fork cannot read the attached files of its origin");
            }
        }
    }

    /// Returns the state of the thread `from` after its event `until`, or else at the end of the turn `last`, or before its first turn.
    async fn state_at(
        &self,
        from: ThreadId,
        last: Option<TurnId>,
        until: Option<Seq>,
    ) -> Result<Live, LogError> {
        let loading = self.context.read_log(move |log| async move {
            let end = match until {
                Some(until) => until,
                None => end_of_turns(&log, from, last).await?,
            };
            load_state(&log, from, end).await
        });
        loading.await
    }
}

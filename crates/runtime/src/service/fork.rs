//! Forking a thread. The origin determines the fork point. The new thread begins with the state at that point, and shares
//! the events before it. Its first append creates it, so that a killed daemon leaves either the whole thread or none.

use std::sync::Arc;

use acpd_log::{Filter, LogError};
use acpd_model::event::Fidelity;
use acpd_model::{ErrorCode, Failure, Origin, Seq, ThreadId, TurnId};
use acpd_proto::agent::{AgentRequest, ConfigValue};
use acpd_proto::projection::Live;
use acpd_proto::surface::reply::Opened;
use acpd_proto::surface::request::ForkThread;
use acpd_proto::thread::{Command, ForkContents, ForkPoint};
use tokio::sync::oneshot;

use crate::feed::session_claims::SessionClaim;
use crate::service::caller::Caller;
use crate::service::thread_reply::{await_any, await_reply};
use crate::service::{Dispatched, Response, Service};
use crate::stored::log_failure;
use crate::stored::state::load_state;
use crate::stored::turns::end_of_turns;
use crate::thread::directory::ReplyReceiver;
use crate::thread::history::linked_files;
use crate::thread::subscription::FollowRequest;

/// A copy of a session of the thread `from` that its agent is deleting.
struct CopyDeletion {
    from: ThreadId,
    /// No thread begins to use the copy meanwhile.
    claim: SessionClaim,
    answer: ReplyReceiver,
}

impl CopyDeletion {
    async fn finish(self) {
        let Self { from, claim, answer } = self;
        if let Err(failure) = await_any(answer).await {
            tracing::info!(thread = %from, %failure, "the copy of a session for a fork is not deleted");
        }
        drop(claim);
    }
}

/// Returns the failure of a fork whose agent remembers nothing, and would receive nothing.
fn never_recalled() -> Failure {
    let message =
        "the agent has not opened the fork of its session, and receives no history: limits.recall_bytes is 0";
    Failure::new(ErrorCode::Unsupported, message)
}

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
            if let Some(change) = change
                && let Err(failure) = service.change_session(&caller, new, change).await
            {
                service.discard(caller.by.clone(), new).await;
                return Err(failure);
            }
            let attachment = service.attach(&caller, new).await?;
            let snapshot = service.directory.subscribe(new, caller.lane).await?;
            let is_copy = snapshot.live.is_copy;
            if opens || is_copy {
                service
                    .open_fork(&caller, &snapshot.live, options.unwrap_or_default())
                    .await;
            }
            if is_copy {
                let opening = service.await_copy(caller.by.clone(), thread, Arc::clone(&snapshot.live));
                // The agent may need the editor to open the session, and the editor follows the thread only then. ACP's answer has no
                // fidelity.
                if caller.delegate.is_none() {
                    let live = opening.await.ok();
                    let forgot = live.as_ref().is_some_and(|live| live.forgotten);
                    let is_lost = forgot && service.context.limits.now().recall_bytes == 0;
                    // If it cannot be deleted, somebody uses it already.
                    if is_lost && service.discard(caller.by.clone(), new).await {
                        return Err(never_recalled());
                    }
                    if forgot || live.is_none_or(|live| live.is_copy) {
                        fidelity = Fidelity::Recalled;
                    }
                }
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
            let point = service.fork_point(thread, point).await?;
            let (fidelity, copy) = (point.forked.fidelity, point.forked.session_id.clone());
            match service.create_fork(by, thread, *point, name).await {
                Ok(new) => Ok((new, fidelity)),
                Err(failure) => {
                    service.drop_copy(thread, copy);
                    Err(failure)
                }
            }
        })
    }

    /// Creates the fork of `thread` at `point`.
    async fn create_fork(
        &self,
        by: Origin,
        thread: ThreadId,
        point: ForkPoint,
        name: Option<String>,
    ) -> Result<ThreadId, Failure> {
        let new = self.context.ids.thread();
        let state = self.state_at(thread, point.forked.last, point.until).await;
        let state = state.map_err(|error| log_failure(&error))?;
        self.take_files_along(thread, new, &state).await;
        let adopted = ForkContents {
            live: Box::new(state),
            point,
            name,
        };
        let adopt = Command::Adopt(Box::new(adopted));
        await_reply::<()>(self.directory.command(new, by, adopt).await?).await?;
        self.indexing.notify_one();
        Ok(new)
    }

    /// Waits for the point at which the thread is forked. If the client leaves before the agent has answered, there is no fork, and the agent's
    /// copy of its session is deleted.
    async fn fork_point(&self, thread: ThreadId, point: ReplyReceiver) -> Result<Box<ForkPoint>, Failure> {
        let (point_tx, point_rx) = oneshot::channel();
        let service = self.clone();
        tokio::spawn(async move {
            let point = await_reply::<Box<ForkPoint>>(point).await;
            if let Err(Ok(unused)) = point_tx.send(point) {
                service.drop_copy(thread, unused.forked.session_id);
            }
        });
        let stopped = |_| Failure::new(ErrorCode::Overloaded, "the daemon is stopping");
        point_rx.await.map_err(stopped)?
    }

    /// Has the agent of a fork open its session. The thread exists, so what fails is not the client's failure: a client that sends the
    /// request again would have two forks.
    async fn open_fork(&self, caller: &Caller, fork: &Live, options: Vec<(String, ConfigValue)>) {
        let opening = async {
            self.wake(caller, fork).await?;
            self.set_options(caller, fork, options).await
        };
        if let Err(failure) = opening.await {
            tracing::info!(thread = %fork.thread, %failure, "the agent of the fork is not started");
        }
    }

    /// Deletes a fork that its client does not get. Returns whether it is deleted.
    async fn discard(&self, by: Origin, fork: ThreadId) -> bool {
        let deleting = async {
            let deleting = self.directory.command(fork, by, Command::Delete).await?;
            await_reply::<()>(deleting).await
        };
        let deleted = deleting.await;
        if let Err(failure) = &deleted {
            tracing::info!(thread = %fork, %failure, "the fork is not deleted, although its client has got an error");
        }
        deleted.is_ok()
    }

    /// Waits in a task of its own until the agent of a fork of the thread `from` has opened its session, which is a copy, or has failed to.
    /// Only that shows whether it remembers: some agents let no other process use the copy than the one that has made it. `fork` is the
    /// state of the new thread before that, and the receiver gets the one after it. The task does not end with the request of a client
    /// that leaves, because it deletes a copy that is no longer used.
    fn await_copy(&self, by: Origin, from: ThreadId, fork: Arc<Live>) -> oneshot::Receiver<Arc<Live>> {
        let (opened_tx, opened_rx) = oneshot::channel();
        let service = self.clone();
        tokio::spawn(async move {
            let new = fork.thread;
            let live = match service.opened_fork(by, new).await {
                Ok(live) => live,
                Err(failure) => {
                    tracing::info!(thread = %new, %failure, "the session of the fork was not looked at");
                    return;
                }
            };
            let copy = fork.summary.session_id.clone().filter(|_| !live.is_copy);
            let unused = copy.filter(|copy| live.summary.session_id.as_ref() != Some(copy));
            let deleting = match unused {
                Some(copy) => service.delete_copy(from, copy).await,
                None => None,
            };
            // Nobody receives it if the client has left, or is an editor.
            let _ = opened_tx.send(live);
            if let Some(deleting) = deleting {
                deleting.finish().await;
            }
        });
        opened_rx
    }

    async fn opened_fork(&self, by: Origin, new: ThreadId) -> Result<Arc<Live>, Failure> {
        let opening = self.directory.command(new, by, Command::AwaitSession).await?;
        if let Err(failure) = await_reply::<()>(opening).await {
            // The thread has a notice about it, and its agent starts again with the next prompt.
            tracing::info!(thread = %new, %failure, "the agent of the fork has not opened its session");
        }
        self.directory.look(new).await
    }

    /// Has the agent of the thread `from` delete a copy of its session that no thread uses. Its process has made the copy, and may be
    /// the only one that can. A copy that is not deleted stays in the agent's own list of sessions.
    async fn delete_copy(&self, from: ThreadId, session_id: String) -> Option<CopyDeletion> {
        match self.begin_deleting(from, session_id).await {
            Ok(deletion) => deletion,
            Err(failure) => {
                tracing::info!(thread = %from, %failure, "the copy of a session for a fork is not deleted");
                None
            }
        }
    }

    /// Has the agent of the thread `from` delete a copy of its session for a fork that does not come about, without waiting for that.
    fn drop_copy(&self, from: ThreadId, copy: Option<String>) {
        let Some(copy) = copy else {
            return;
        };
        let service = self.clone();
        tokio::spawn(async move {
            if let Some(deleting) = service.delete_copy(from, copy).await {
                deleting.finish().await;
            }
        });
    }

    async fn begin_deleting(
        &self,
        from: ThreadId,
        session_id: String,
    ) -> Result<Option<CopyDeletion>, Failure> {
        let live = self.directory.look(from).await?;
        let agent = &live.spec.agent;
        if !live.declared.delete {
            return Ok(None);
        }
        // A user who has found the copy in the agent's list may be starting a thread with it.
        let Some(claim) = self.state.session_claims.begin(agent, &session_id) else {
            return Ok(None);
        };
        let filter = Filter {
            agent: Some(agent.clone()),
            session_id: Some(session_id.clone()),
            ..Filter::default()
        };
        let used = self.context.log.list(filter, None, 1).await;
        if !used.map_err(|error| log_failure(&error))?.is_empty() {
            // The agent has called the session of another thread a copy.
            return Ok(None);
        }
        let delete = Command::AgentRequest(AgentRequest::DeleteSession { session_id });
        let answer = self.directory.command(from, Origin::Daemon, delete).await?;
        Ok(Some(CopyDeletion { from, claim, answer }))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use acpd_model::event::Binding;
    use acpd_model::{Event, EventKind, Extract, Limits, RawJson, SessionEvent, Summary};

    use super::*;
    use crate::test_context::{context, event};
    use crate::thread::directory::Directory;

    /// A user may find the copy in the agent's list.
    #[tokio::test]
    async fn a_copy_that_a_thread_begins_to_use_is_not_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let context = context(dir.path(), BTreeMap::new(), Limits::default());
        let directory = Directory::open(context.clone()).await.unwrap();
        let service = Service::new(directory, context);
        let thread = ThreadId(uuid::Uuid::from_u128(7));
        let hello = r#"{"agentCapabilities":{"sessionCapabilities":{"delete":{}}}}"#;
        let bound = Event {
            kind: EventKind::Session(SessionEvent::AgentBound {
                session_id: "s-1".into(),
                how: Binding::New,
                agent: RawJson::parse(hello).unwrap(),
                session: RawJson::parse("{}").unwrap(),
                protocol: None,
            }),
            ..event(1)
        };
        let (summary, extract) = (Summary::default(), Extract::default());
        let log = &service.context.log;
        log.append_with(thread, &[bound], Some(&summary), &extract)
            .await
            .unwrap();
        let begin = || service.state.session_claims.begin("", "s-2");
        let starts = begin().expect("no thread uses it");
        let copy = || "s-2".to_owned();
        assert!(service.delete_copy(thread, copy()).await.is_none());
        drop(starts);
        let deleting = service.delete_copy(thread, copy()).await.expect("it is not used");
        assert!(begin().is_none(), "no thread begins to use it meanwhile");
        deleting.finish().await;
        assert!(begin().is_some());
    }
}

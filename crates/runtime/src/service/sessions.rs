//! Sessions that clients open: their parameters, and which editors take part.

use std::path::Path;

use acpd_model::{Failure, Role, ThreadId};
use acpd_proto::agent::{AgentRequest, ConfigValue};
use acpd_proto::projection::{Live, SessionChange, Spec};
use acpd_proto::surface::request::SessionOptions;
use acpd_proto::thread::Command;
use tokio_util::sync::CancellationToken;

use crate::host::blocking;
use crate::service::Service;
use crate::service::caller::{Caller, Delegate};
use crate::service::same_directory::on_this_host;
use crate::service::thread_reply::await_reply;
use crate::thread::delegates::{Attachment, AttachmentGuard};

impl Service {
    /// Applies the client's session parameters to a thread, from now on. Does nothing for clients below the operator role.
    pub(super) async fn set_session(
        &self,
        caller: &Caller,
        thread: ThreadId,
        wanted: SessionOptions,
    ) -> Result<(), Failure> {
        if caller.permissions.role.may(Role::Operator) {
            let change = self.session_change(thread, wanted).await?;
            self.change_session(caller, thread, change).await?;
        }
        Ok(())
    }

    /// Has a thread's agent set options, without waiting for it. What the agent refuses stays as it is. This comes after
    /// [`wake`](Self::wake), because it starts the agent as well. Does nothing for clients below the operator role.
    pub(super) async fn set_options(
        &self,
        caller: &Caller,
        live: &Live,
        options: Vec<(String, ConfigValue)>,
    ) -> Result<(), Failure> {
        if !self.may_start(caller, live) {
            return Ok(());
        }
        for (config_id, value) in options {
            let request = AgentRequest::SetConfigOption { config_id, value };
            let command = Command::AgentRequest(request);
            let set = self.directory.command(live.thread, caller.by.clone(), command);
            drop(set.await?);
        }
        Ok(())
    }

    pub(super) async fn change_session(
        &self,
        caller: &Caller,
        thread: ThreadId,
        change: SessionChange,
    ) -> Result<(), Failure> {
        let command = Command::SetSessionParams(change);
        let done = self.directory.command(thread, caller.by.clone(), command).await?;
        await_reply(done).await
    }

    /// Resolves the client's session options, with the directory as the thread spells it.
    pub(super) async fn session_change(
        &self,
        thread: ThreadId,
        wanted: SessionOptions,
    ) -> Result<SessionChange, Failure> {
        let SessionOptions {
            mut change,
            additional_directories,
            config_options: _,
        } = wanted;
        let live = self.directory.look(thread).await?;
        let named = change.cwd.take();
        if named.is_none() && additional_directories.is_empty() {
            return Ok(change);
        }
        let look = move || {
            let found = |named| within(thread, &live.spec, Path::new(&on_this_host(named)?));
            let cwd = named.map(found).transpose()?;
            for directory in additional_directories {
                found(directory)?;
            }
            Ok(cwd)
        };
        change.cwd = blocking(&*self.context.host, look).await?;
        Ok(change)
    }

    /// Registers the client with a thread, if the client answers agent requests. This happens before the client learns
    /// that the session is open, so that the thread can send it every request that follows. Clients below the operator
    /// role receive no agent requests.
    pub(super) async fn attach(
        &self,
        caller: &Caller,
        thread: ThreadId,
    ) -> Result<Option<AttachmentGuard>, Failure> {
        let Some(delegate) = &caller.delegate else {
            return Ok(None);
        };
        if !caller.permissions.role.may(Role::Operator) {
            return Ok(None);
        }
        let gone = CancellationToken::new();
        let until = gone.clone().drop_guard();
        let Delegate {
            connection,
            abilities,
            inbox,
        } = delegate.clone();
        let connection = connection.to_string();
        let attachment = Attachment {
            by: caller.by.clone(),
            connection,
            abilities,
            inbox,
            gone,
        };
        self.directory.attach(thread, attachment.clone()).await?;
        Ok(Some(AttachmentGuard { attachment, until }))
    }

    /// Starts a thread's agent in the background, so that a client that only reads does not wait for it.
    pub(super) async fn wake(&self, caller: &Caller, live: &Live) -> Result<(), Failure> {
        if !self.may_start(caller, live) {
            return Ok(());
        }
        self.offer_standby(
            caller,
            live.thread,
            &live.spec.agent,
            live.spec.session_cwd(),
            false,
        )
        .await?;
        // The client is a subscriber only once its request is answered, and the process starts before that.
        let wake = Command::Wake { shows: caller.shows };
        let woken = self.directory.command(live.thread, caller.by.clone(), wake);
        drop(woken.await?);
        Ok(())
    }

    /// Returns whether a client may start the thread's agent, and there is one.
    fn may_start(&self, caller: &Caller, live: &Live) -> bool {
        caller.permissions.role.may(Role::Operator) && self.context.agents.knows(&live.spec.agent)
    }

    /// Gives the standby process to a thread, if it can open the thread's session. `create` marks a thread that is
    /// about to be created.
    pub(super) async fn offer_standby(
        &self,
        caller: &Caller,
        thread: ThreadId,
        agent: &str,
        cwd: &str,
        create: bool,
    ) -> Result<(), Failure> {
        let Some(connections) = &caller.standby else {
            return Ok(());
        };
        if let Some(standby) = connections.take(agent, cwd).await
            && let Some(back) = self.directory.offer(thread, create, standby).await?
        {
            connections.put(back);
        }
        Ok(())
    }
}

/// Returns the directory as the thread spells it, if it is one of the thread's directories or inside one. Links and
/// `..` are resolved first. Blocks on the disk.
fn within(thread: ThreadId, spec: &Spec, directory: &Path) -> Result<String, Failure> {
    let roots = || std::iter::once(&spec.cwd).chain(&spec.additional_directories);
    let named = |path: &Path| path.to_string_lossy().into_owned();
    // If the directory no longer exists, reporting that is up to the agent.
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
    if Path::new(&spec.cwd).try_exists().is_ok_and(|exists| !exists) {
        let (cwd, directory) = (&spec.cwd, directory.display());
        let message = format!(
            "the directory of the thread, {cwd}, is gone. If it is {directory} now: acpd move {thread} {directory}"
        );
        return Err(Failure::invalid_params(message));
    }
    let known: Vec<_> = roots().map(String::as_str).collect();
    Err(Failure::invalid_params(format!(
        "{} is outside of this session's directories: {}. Start a new session there",
        directory.display(),
        known.join(", ")
    )))
}

//! The sessions that clients open: what their agents open them with, and who takes part.

use std::path::Path;

use acpd_model::{Failure, Role, ThreadId};
use acpd_proto::projection::{Live, SessionChange, Spec};
use acpd_proto::surface::request::SessionOptions;
use acpd_proto::thread::Command;
use tokio_util::sync::CancellationToken;

use crate::service::caller::{Caller, Delegate};
use crate::service::{Service, await_reply};
use crate::thread::delegates::{Attachment, AttachmentGuard};

impl Service {
    /// Has a thread's session opened as the client wants it, from now on. Who may only look changes nothing.
    pub(super) async fn set_session(
        &self,
        caller: &Caller,
        thread: ThreadId,
        wanted: SessionOptions,
    ) -> Result<(), Failure> {
        if caller.role.may(Role::Operator) {
            let change = self.session_change(thread, wanted).await?;
            self.change_session(caller, thread, change).await?;
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
        await_reply(done).await.map(drop)
    }

    /// What a client wants of a session, with its directory by the thread's name for it.
    pub(super) async fn session_change(
        &self,
        thread: ThreadId,
        wanted: SessionOptions,
    ) -> Result<SessionChange, Failure> {
        let SessionOptions {
            mut change,
            additional_directories,
        } = wanted;
        let live = self.directory.subscribe(thread).await?.live;
        change.cwd = match change.cwd {
            Some(cwd) => Some(within(&live.spec, Path::new(&cwd))?),
            None => None,
        };
        for directory in additional_directories {
            within(&live.spec, Path::new(&directory))?;
        }
        Ok(change)
    }

    /// Lets a thread know that the client is there, if the client answers what agents ask: before it is told that the
    /// session is open, so that whatever comes after that can be asked of it. Who may only look on is asked nothing.
    pub(super) async fn attach(
        &self,
        caller: &Caller,
        thread: ThreadId,
    ) -> Result<Option<AttachmentGuard>, Failure> {
        let Some(delegate) = &caller.delegate else {
            return Ok(None);
        };
        if !caller.role.may(Role::Operator) {
            return Ok(None);
        }
        let gone = CancellationToken::new();
        let until = gone.clone().drop_guard();
        let Delegate {
            connection,
            abilities,
            inbox,
        } = delegate.clone();
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

    /// Starts a thread's agent in the background: who only wants to look need not wait for it.
    pub(super) async fn wake(&self, caller: &mut Caller, live: &Live) -> Result<(), Failure> {
        if !caller.role.may(Role::Operator) || !self.context.agents.knows(&live.spec.agent) {
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
        let woken = self
            .directory
            .command(live.thread, caller.by.clone(), Command::Wake);
        drop(woken.await?);
        Ok(())
    }

    /// Gives a thread the process that waits for a session, if that can open the thread's; `create` for a thread that is
    /// about to be made.
    pub(super) async fn offer_standby(
        &self,
        caller: &mut Caller,
        thread: ThreadId,
        agent: &str,
        cwd: &str,
        create: bool,
    ) -> Result<(), Failure> {
        let standby = &mut caller.standby;
        if let Some(fitting) = standby.take_if(|standby| standby.agent() == agent && standby.fits(cwd)) {
            *standby = self.directory.offer(thread, create, fitting).await?;
        }
        Ok(())
    }
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

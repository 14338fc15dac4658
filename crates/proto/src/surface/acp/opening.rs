//! Requests that open a session.

use acpd_model::windows_path::WindowsPath;
use acpd_model::{Failure, Seq, ThreadId};

use super::cursors::{refused, turn_of};
use super::params::{self, OpenSession, Params};
use super::peer::{Peer, Step};
use super::session::OpenMode;
use crate::projection::SessionChange;
use crate::surface::contract::{DaemonRequest, Steps, request};
use crate::surface::reply::Opened;
use crate::surface::request::{FollowFrom, ForkThread, OpenThread, SessionOptions, StartThread};
use crate::wire::others;

pub(super) fn new_session(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    Ok(opening(peer.new_session(method, params)?, OpenMode::New))
}

pub(super) fn fork_session(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let (thread, session) = peer.existing(method, params)?;
    let params::ForkSession { cursor_id } = params::read(method, params)?;
    let turn = cursor_id.as_deref().map(turn_of).transpose()?;
    let fork = ForkThread {
        thread,
        turn,
        name: None,
        session: Some(session),
    };
    let request = request!(ForkThread(Box::new(fork)));
    Ok(Peer::finally(request, move |peer, open, opened| match opened {
        Ok(opened) => peer.follows(open, OpenMode::New, *opened),
        Err(failure) => peer.refuse(open, &refused(turn, failure)),
    }))
}

pub(super) fn load_session(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let (thread, session) = peer.existing(method, params)?;
    let open = from_start(thread, session);
    Ok(opening(request!(OpenThread(Box::new(open))), OpenMode::Load))
}

pub(super) fn resume_session(peer: &mut Peer, method: &str, params: Params<'_>) -> Result<Step, Failure> {
    let (thread, session) = peer.existing(method, params)?;
    let seen = |seq: &Seq| FollowFrom::After {
        seq: *seq,
        clamp: true,
    };
    let open = OpenThread {
        from: peer.start.after.get(&thread).map_or(FollowFrom::Latest, seen),
        claims: peer.claims(thread),
        ..from_start(thread, session)
    };
    Ok(opening(request!(OpenThread(Box::new(open))), OpenMode::Resume))
}

pub(super) fn from_start(thread: ThreadId, session: SessionOptions) -> OpenThread {
    OpenThread {
        thread,
        from: FollowFrom::Start,
        turns: None,
        session: Some(session),
        claims: Vec::new(),
        starts_agent: true,
    }
}

pub(super) fn opening(request: DaemonRequest<Box<Opened>>, mode: OpenMode) -> Step {
    Peer::then(request, move |peer, open, opened| {
        peer.follows(open, mode, *opened)
    })
}

impl Peer {
    /// Reads a request for a new session; the first one may open an existing thread.
    fn new_session(
        &mut self,
        method: &str,
        params: Params<'_>,
    ) -> Result<DaemonRequest<Box<Opened>>, Failure> {
        let SessionOptions {
            mut change,
            additional_directories,
            config_options,
        } = wanted(method, params)?;
        let missing = || Failure::invalid_params("session/new: missing field `cwd`");
        let cwd = change.cwd.take().ok_or_else(missing)?;
        if let Some(thread) = self.start.thread.take() {
            // The user has selected the thread. Its directories do not depend on the editor's.
            let session = SessionOptions {
                change,
                additional_directories: Vec::new(),
                config_options,
            };
            let open = from_start(thread, session);
            return Ok(request!(OpenThread(Box::new(open))));
        }
        let cwd = self.absolute(cwd);
        Ok(request!(StartThread(Box::new(StartThread {
            additional_directories,
            session: change,
            initial: config_options,
            ..StartThread::new(cwd)
        }))))
    }

    /// Returns an absolute path, without spare slashes and dots. A path of Windows stays as it is: the daemon translates it
    /// or says the path to use.
    pub(super) fn absolute(&self, path: String) -> String {
        if WindowsPath::read(&path).is_some() {
            return path;
        }
        let path = self.start.cwd.join(path);
        path.components().as_path().to_string_lossy().into_owned()
    }

    /// Reads the session to open and its new options.
    pub(super) fn existing(
        &self,
        method: &str,
        params: Params<'_>,
    ) -> Result<(ThreadId, SessionOptions), Failure> {
        let thread = params::thread(method, params)?;
        let mut wanted = wanted(method, params)?;
        // Members about this single request do not change the session.
        let meta = wanted.change.meta.take();
        wanted.change.meta = meta.and_then(|meta| others(&meta, &TRACE));
        let absolute = |path: &mut String| *path = self.absolute(std::mem::take(path));
        wanted.change.cwd.as_mut().into_iter().for_each(absolute);
        wanted.additional_directories.iter_mut().for_each(absolute);
        Ok((thread, wanted))
    }
}

/// Members of `_meta` that ACP reserves for W3C's trace context.
const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// Reads the session options in the params.
fn wanted(method: &str, params: Params<'_>) -> Result<SessionOptions, Failure> {
    let OpenSession {
        cwd,
        additional_directories,
        mcp_servers,
        system_prompt,
        config_options,
        meta,
        members,
    } = OpenSession::read(method, params)?;
    Ok(SessionOptions {
        change: SessionChange {
            cwd,
            mcp_servers,
            members,
            system_prompt,
            meta,
        },
        additional_directories: additional_directories.unwrap_or_default(),
        config_options: config_options
            .unwrap_or_default()
            .into_iter()
            .map(|option| (option.config_id, option.value))
            .collect(),
    })
}

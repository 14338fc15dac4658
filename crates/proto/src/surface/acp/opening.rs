//! Requests that open a session.

use std::collections::BTreeMap;

use acpd_model::windows_path::WindowsPath;
use acpd_model::{Failure, Seq, ThreadId};
use serde_json::value::RawValue;

use super::params::{self, OpenSession};
use super::peer::{Peer, ReplyTo};
use super::session::OpenMode;
use crate::projection::SessionChange;
use crate::surface::request::{
    Follow, FollowFrom, ForkThread, OpenThread, Request, SessionOptions, StartThread,
};
use crate::wire::others;

impl Peer {
    pub(super) fn open_request(
        &mut self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(Request, ReplyTo), Failure> {
        if method == "session/new" {
            return Ok((self.new_session(method, params)?, ReplyTo::Open(OpenMode::New)));
        }
        let (thread, session) = self.existing(method, params)?;
        let session = Some(session);
        if method == "session/fork" {
            let fork = ForkThread {
                thread,
                turn: None,
                name: None,
                session,
            };
            return Ok((Request::ForkThread(Box::new(fork)), ReplyTo::Open(OpenMode::New)));
        }
        let open = OpenThread {
            thread,
            from: FollowFrom::Start,
            turns: None,
            session,
            claims: Vec::new(),
            starts_agent: true,
        };
        if method == "session/load" {
            return Ok((Request::OpenThread(Box::new(open)), ReplyTo::Open(OpenMode::Load)));
        }
        let seen = |seq: &Seq| FollowFrom::After {
            seq: *seq,
            clamp: true,
        };
        let open = OpenThread {
            from: self.start.after.get(&thread).map_or(FollowFrom::Latest, seen),
            claims: self.claims(thread),
            ..open
        };
        Ok((
            Request::OpenThread(Box::new(open)),
            ReplyTo::Open(OpenMode::Resume),
        ))
    }

    /// Reads a request for a new session; the first one may open an existing thread.
    fn new_session(&mut self, method: &str, params: Option<&RawValue>) -> Result<Request, Failure> {
        let SessionOptions {
            mut change,
            additional_directories,
        } = wanted(method, params)?;
        let missing = || Failure::invalid_params("session/new: missing field `cwd`");
        let cwd = change.cwd.take().ok_or_else(missing)?;
        if let Some(thread) = self.start.thread.take() {
            // The user has selected the thread. Its directories do not depend on the editor's.
            let session = SessionOptions {
                change,
                additional_directories: Vec::new(),
            };
            return Ok(Request::OpenThread(Box::new(OpenThread {
                thread,
                from: FollowFrom::Start,
                turns: None,
                session: Some(session),
                claims: Vec::new(),
                starts_agent: true,
            })));
        }
        let cwd = self.absolute(cwd);
        Ok(Request::StartThread(Box::new(StartThread {
            thread: None,
            agent: None,
            cwd,
            additional_directories,
            session: change,
            name: None,
            project_id: None,
            metadata: None,
            policy: None,
            mode: None,
            config: BTreeMap::new(),
            session_id: None,
            input: Vec::new(),
            client_turn_id: None,
            follow: Follow::WithReply,
        })))
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
    fn existing(
        &self,
        method: &str,
        params: Option<&RawValue>,
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
fn wanted(method: &str, params: Option<&RawValue>) -> Result<SessionOptions, Failure> {
    let OpenSession {
        cwd,
        additional_directories,
        mcp_servers,
        meta,
        members,
    } = OpenSession::read(method, params)?;
    Ok(SessionOptions {
        change: SessionChange {
            cwd,
            mcp_servers,
            members,
            meta,
        },
        additional_directories: additional_directories.unwrap_or_default(),
    })
}

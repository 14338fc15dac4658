//! The requests that a client may make of a thread that was shared with it. This is the only place that decides it, for
//! every protocol.
//!
//! In: a request, and the client's permissions. Out: the request, limited to the shared thread, or why it is refused. Never:
//! looks anything up. So the answer to a request about another thread does not depend on whether that thread exists.

use acpd_model::{AccessScope, ErrorCode, Failure, Role, ThreadId};

use super::properties::SharedAccess;
use super::table::{Request, RequestKind};

/// What a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permissions {
    /// The client's role.
    pub role: Role,
    /// The threads that the client reaches.
    pub scope: AccessScope,
}

impl From<Role> for Permissions {
    /// Returns the permissions of a token, which reaches all threads.
    fn from(role: Role) -> Self {
        Self {
            role,
            scope: AccessScope::Everything,
        }
    }
}

impl Permissions {
    /// Checks whether the client's scope permits requests of this kind at all. It does not check the role.
    pub fn check_scope(self, kind: RequestKind) -> Result<(), Failure> {
        match (self.scope, kind.shared_access()) {
            (AccessScope::Thread(_), SharedAccess::Refused) => Err(outside()),
            _ => Ok(()),
        }
    }

    /// Checks whether the client's role permits `what`, which needs the role `needed`.
    pub fn check_role(self, needed: Role, what: &str) -> Result<(), Failure> {
        let role = self.role;
        if role.may(needed) {
            return Ok(());
        }
        let message = format!("{what} needs the role {needed}; this client has the role {role}");
        Err(Failure::new(ErrorCode::Forbidden, message))
    }

    /// Checks whether the client's scope and role permit requests of this kind, which the client knows as `what`.
    pub fn check(self, kind: RequestKind, what: &str) -> Result<(), Failure> {
        self.check_scope(kind)?;
        self.check_role(kind.role(), what)
    }

    /// Returns whether the client's role and scope permit requests of this kind.
    pub fn may(self, kind: RequestKind) -> bool {
        self.role.may(kind.role()) && self.check_scope(kind).is_ok()
    }

    /// Limits a request to the client's scope, or refuses it. It does not check the role.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a link permits only what is limited here"
    )]
    pub fn limit(self, mut request: Request) -> Result<Request, Failure> {
        let AccessScope::Thread(shared) = self.scope else {
            return Ok(request);
        };
        self.check_scope(request.kind())?;
        match &mut request {
            Request::Initialize => {}
            Request::ListThreads(list) => list.only = Some(shared),
            Request::WatchThreadList { only, .. } => *only = Some(shared),
            Request::SearchThreads(search) => {
                check_thread(search.thread.unwrap_or(shared), shared)?;
                search.thread = Some(shared);
            }
            Request::OpenThread(open) => {
                check_thread(open.thread, shared)?;
                // These concern the agent and the client's own prompts. The role permits neither.
                open.session = None;
                open.claims.clear();
                open.starts_agent = false;
            }
            Request::CloseThread { thread, release } => {
                check_thread(*thread, shared)?;
                *release = false;
            }
            Request::ReadThread { thread, .. }
            | Request::ReadTurnDiff { thread, .. }
            | Request::ListLanes { thread } => {
                check_thread(*thread, shared)?;
            }
            // None of these is permitted by its kind. One that becomes so is refused until it is limited above.
            _ => return Err(outside()),
        }
        Ok(request)
    }
}

/// Returns the failure for everything that a shared thread does not include.
pub fn outside() -> Failure {
    let message = "this link shares one thread to read; it permits nothing else";
    Failure::new(ErrorCode::Forbidden, message)
}

/// Returns the failure for a thread that does not exist. A thread outside of the client's scope has the same one.
pub fn no_thread(thread: ThreadId) -> Failure {
    Failure::not_found(format_args!("thread {thread}"))
}

fn check_thread(named: ThreadId, shared: ThreadId) -> Result<(), Failure> {
    if named == shared {
        Ok(())
    } else {
        Err(no_thread(named))
    }
}

#[cfg(test)]
mod tests;

//! Going on with an earlier session: which ways have broken an agent, so that the next process is not asked the same.
//!
//! In: what is asked of the process, how it answers, its end. Out: the ways to leave out. Owns: what is known of them
//! while the daemon runs. Never: leaves out a new session, so that a thread can always go on.

use acpd_model::event::{Binding, Level};

use super::Session;
use crate::thread::journal::Journal;
use crate::wire::RpcError;

/// What is known of the ways to go on with the thread's session.
#[derive(Debug, Default)]
pub(super) struct ResumeAttempts {
    /// The one that the process is being asked.
    trying: Option<Binding>,
    /// Those that it did not answer, or did not survive.
    pub broken: Vec<Binding>,
}

impl ResumeAttempts {
    fn exclude(&mut self, how: Binding) {
        if !self.broken.contains(&how) {
            self.broken.push(how);
        }
    }

    /// A session is open.
    pub fn opened(&mut self, how: Binding) {
        self.trying = None;
        if how == Binding::New {
            self.broken.clear();
        }
    }
}

impl Session {
    /// Notes that the agent is asked to continue the session.
    pub fn resume_started(&mut self, how: Binding) {
        self.resume.trying = Some(how);
    }

    /// The agent has not gone on with the session; `late` if it never answered.
    pub fn resume_failed(&mut self, journal: &mut Journal, how: Binding, error: &RpcError, late: bool) {
        self.discard_import();
        self.resume.trying = None;
        if late {
            self.resume.exclude(how);
        }
        let message = format!(
            "The agent failed to continue its session with {}: {error}",
            method(how)
        );
        journal.notice(Level::Info, "notReopened", &message);
    }

    /// The process is gone. If that was over an attempt to go on with the session, the next one is spared it.
    pub(super) fn resume_ended(&mut self, journal: &mut Journal, expected: bool) {
        let Some(how) = self.resume.trying.take().filter(|_| !expected) else {
            return;
        };
        self.resume.exclude(how);
        let message = format!(
            "The agent exited while continuing its session with {}; this method is disabled for the thread.",
            method(how)
        );
        journal.notice(Level::Warning, "notReopened", &message);
    }
}

fn method(how: Binding) -> &'static str {
    match how {
        Binding::Load => "session/load",
        Binding::Resume => "session/resume",
        Binding::New => "session/new",
    }
}

//! Resuming an earlier session: records which methods broke an agent, so that the next process does not get the same
//! request.
//!
//! In: the method that is tried, how the process answers, its exit. Out: the methods to leave out. Owns: the results
//! of the attempts while the daemon runs. Never: leaves out a new session, so that a thread can always continue.

use acpd_model::event::{Binding, Level};

use super::Session;
use crate::thread::journal::Journal;
use crate::wire::RpcError;

/// The attempts to resume the thread's session.
#[derive(Debug, Default)]
pub(super) struct ResumeAttempts {
    /// The method that is currently tried.
    trying: Option<Binding>,
    /// Methods that a process did not answer, or during which it exited.
    pub broken: Vec<Binding>,
    /// Why the agent did not open a copy by the methods that were tried. It matters only if no other method opens it.
    refusals: Vec<String>,
}

impl ResumeAttempts {
    fn exclude(&mut self, how: Binding) {
        if !self.broken.contains(&how) {
            self.broken.push(how);
        }
    }
}

impl Session {
    /// Records that a session is open.
    pub(super) fn note_opened(&mut self, journal: &mut Journal, how: Binding) {
        self.resume.trying = None;
        if how == Binding::New {
            self.resume.broken.clear();
            self.note_refusals(journal);
        }
        self.resume.refusals.clear();
    }

    /// Records why the agent did not open a copy, now that it is not opened.
    pub(super) fn note_refusals(&mut self, journal: &mut Journal) {
        for message in std::mem::take(&mut self.resume.refusals) {
            journal.notice(Level::Info, "notReopened", &message);
        }
    }

    /// Records that the agent wants a sign-in before it opens the session. All methods are tried again after it.
    pub(super) fn resume_deferred(&mut self) {
        self.resume.trying = None;
        self.resume.refusals.clear();
    }

    /// Records that the agent is asked to continue the session.
    pub fn resume_started(&mut self, how: Binding) {
        self.resume.trying = Some(how);
    }

    /// Records that the agent did not resume the session; `late` if it never answered.
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
        self.resume.refusals.push(message);
        // A copy that one process does not open may be forked: then nothing is lost.
        if !journal.live().is_copy {
            self.note_refusals(journal);
        }
    }

    /// Records the exit of the process. If it exited during an attempt to resume, that method is not tried again, and the
    /// next process tries another one: then this returns `true`.
    pub(super) fn resume_ended(&mut self, journal: &mut Journal, expected: bool) -> bool {
        self.resume.refusals.clear();
        let Some(how) = self.resume.trying.take().filter(|_| !expected) else {
            return false;
        };
        self.resume.exclude(how);
        let message = format!(
            "The agent exited while continuing its session with {}; this method is disabled for the thread.",
            method(how)
        );
        journal.notice(Level::Warning, "notReopened", &message);
        true
    }
}

fn method(how: Binding) -> &'static str {
    match how {
        Binding::Load => "session/load",
        Binding::Resume => "session/resume",
        Binding::Fork => "session/fork",
        Binding::New => "session/new",
    }
}

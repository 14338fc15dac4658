//! The kinds of events that only the app protocol and JSONL exports tell of: neither editors nor Codex nor documents have words
//! for them.
//!
//! Each is a pattern for a match over a group. A kind that another protocol gets words for leaves its pattern, and the compiler then
//! asks for it wherever kinds are named.

/// Facts of the thread.
macro_rules! ours_of_thread {
    () => {
        ThreadEvent::Created(_)
            | ThreadEvent::MetadataSet { .. }
            | ThreadEvent::PinSet { .. }
            | ThreadEvent::PolicySet { .. }
    };
}

/// Facts of the session.
macro_rules! ours_of_session {
    () => {
        // Cursors of the agent's session. An editor gets those of the thread.
        SessionEvent::ParamsSet(_) | SessionEvent::CursorUpdated { .. }
    };
}

/// What happens to terminals.
macro_rules! ours_of_host {
    () => {
        HostEvent::TerminalInput { .. }
            | HostEvent::TerminalKilled { .. }
            | HostEvent::TerminalReleased { .. }
    };
}

/// Answers without a question.
macro_rules! ours_of_request {
    () => {
        RequestEvent::CallPermitted { .. }
            | RequestEvent::AnswerRemembered { .. }
            | RequestEvent::AnswerRevoked { .. }
    };
}

pub(in crate::surface) use {ours_of_host, ours_of_request, ours_of_session, ours_of_thread};

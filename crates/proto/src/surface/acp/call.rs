//! What an editor wants of the daemon, and what it hears.

use acpd_model::event::LeaseHolder;
use acpd_model::{Millis, RawJson, RequestId, Seq, ThreadId, TurnId};

use crate::agent::AgentRequest;
use crate::projection::SessionChange;
use crate::thread::Answer;
use crate::wire::RpcError;

/// Something for the daemon to do. An editor that opens a thread is attached to it until it closes it. Calls that name the same thread are carried out in the order in which they come.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// Say what the connection's agent declares; answered with [`Reply::Json`], the result of its `initialize`.
    Initialize,
    /// Make a thread and have its agent open a session; answered with [`Reply::Opened`] when it is open. The thread is
    /// followed from before its first event, and `until` is the last one that was stored by then.
    New {
        /// Working directory, as the editor named it: `.` is one.
        cwd: String,
        /// Further directories of the workspace.
        additional_directories: Vec<String>,
        /// What else its session is opened with.
        change: SessionChange,
    },
    /// Follow a thread from before its first event; answered at once with [`Reply::Opened`], where `until` is the last event
    /// that is there already. The agent is started in the background.
    Load(ThreadId, SessionOptions),
    /// Follow a thread from its last event on, which is `until`; answered at once with [`Reply::Opened`]. Questions that
    /// are open are handed over again. The agent is started in the background.
    Resume(ThreadId, SessionOptions),
    /// Make a thread that goes on from this one, and open it as a new one is.
    Fork(ThreadId, SessionOptions),
    /// Follow the thread no longer; answered with [`Reply::Done`], also where it was not followed.
    Close(ThreadId),
    /// List threads, the newest first; answered with [`Reply::Sessions`].
    List {
        /// Only those of this directory.
        cwd: Option<String>,
        /// Where the last page ended.
        cursor: Option<String>,
    },
    /// Delete a thread; answered with [`Reply::Done`].
    Delete(ThreadId),
    /// Send a prompt; answered with [`Reply::Turn`] when it was taken. That its turn is over is seen in the thread's events.
    Prompt {
        /// To which thread.
        thread: ThreadId,
        /// The turn's id by its sender, which the events repeat.
        client_turn_id: String,
        /// ACP content blocks.
        blocks: Vec<RawJson>,
        /// `_meta` of the request, for the agent.
        meta: Option<RawJson>,
    },
    /// End a turn, or take it back while it waits. No answer is expected.
    Interrupt {
        /// Of which thread.
        thread: ThreadId,
        /// Which; the running one if absent.
        turn: Option<TurnId>,
    },
    /// Answer a question. No answer is expected: who is too late has lost.
    Answer {
        /// Which.
        request: RequestId,
        /// What.
        answer: Answer,
    },
    /// Have the agent do something; answered with [`Reply::Json`], what it answered. Params of an extension name the thread as
    /// their session: [`with_session`](super::with_session) puts the agent's own there.
    Ask {
        /// The agent of which thread; without one it is for any process of the connection's agent, also before there is a
        /// session.
        thread: Option<ThreadId>,
        /// What.
        request: AgentRequest,
    },
    /// Take the thread's lease, or give it up; answered with [`Reply::Lease`].
    Lease {
        /// Which thread's.
        thread: ThreadId,
        /// Whether to take it.
        take: bool,
    },
    /// The editor has answered what the agent asked, see [`Peer::order`](super::Peer::order). No answer is expected.
    EditorAnswered {
        /// The agent of which thread.
        thread: ThreadId,
        /// The agent's callback.
        call: u64,
        /// The answer as it came, but for the name of a terminal.
        result: Result<RawJson, RpcError>,
    },
    /// Tell the agent something that ACP does not know. No answer is expected. Its params are as those of [`Call::Ask`].
    Notify {
        /// The agent of which thread.
        thread: ThreadId,
        /// Method; its name begins with `_`.
        method: String,
        /// Params as they came.
        params: Option<RawJson>,
    },
}

/// What an editor that opens a session wants of it; the directories are as the editor named them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionOptions {
    /// What the session is to be opened with from now on.
    pub change: SessionChange,
    /// Further directories, which must be the thread's.
    pub additional_directories: Vec<String>,
}

/// The answer to a [`Call`].
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// It is done.
    Done,
    /// A thread is followed. To be told before the first of its frames.
    Opened(Opened),
    /// The turn of a prompt.
    Turn(TurnId),
    /// Threads.
    Sessions {
        /// One page of them.
        sessions: Vec<ListedSession>,
        /// Where the next page begins.
        next_cursor: Option<String>,
    },
    /// Who holds a lease now.
    Lease(Option<LeaseHolder>),
    /// What the agent answered.
    Json(RawJson),
}

/// A thread that a connection has opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// Which.
    pub thread: ThreadId,
    /// The last event that was there when it was opened.
    pub until: Seq,
    /// Its modes, models and options as they are now, see [`session_state`](super::session_state).
    pub state: RawJson,
    /// The highest number of a terminal so far.
    pub last_terminal: u64,
    /// Who holds the lease.
    pub lease: Option<LeaseHolder>,
    /// What an editor is told once the session is open and it was not replayed: `update` objects, such as the commands.
    pub updates: Vec<RawJson>,
}

/// A thread in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// Which.
    pub thread: ThreadId,
    /// Working directory.
    pub cwd: String,
    /// Its name.
    pub title: Option<String>,
    /// When something last happened, milliseconds since the epoch.
    pub updated_at: Millis,
}

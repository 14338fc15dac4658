//! Words: statuses, kinds and reasons.

use acpd_model::event::{Binding, Fidelity, LeaseMove, Level, SessionDeleted};
use acpd_model::item::ToolStatus;
use acpd_model::subject::FileAccess;
use acpd_model::{ItemOutcome, MessageType, Replaced, Role, TextKind, ThreadStatus, event};

use crate::thread::SteerDelivery;

wire! {
    /// What a thread is doing.
    enum ThreadStatus for ThreadStatus {
        /// No turn is running.
        Idle,
        /// A turn is running.
        Running,
        /// A turn is running and waits for a user.
        Waiting,
        /// The thread is being deleted.
        Deleting,
        /// The thread's log cannot be written, or part of it cannot be read; `error` says why.
        Failed,
    }

    /// Status of a turn.
    enum TurnStatus {
        /// The turn waits for the turns before it.
        Queued,
        /// It is running.
        Running,
        /// The agent ended the turn normally.
        Completed,
        /// A client interrupted the turn.
        Interrupted,
        /// The turn failed; `error` says why.
        Failed,
        /// The agent refused to continue.
        Refused,
        /// The turn reached a limit of the model or of the agent.
        Limited,
    }
}

impl From<event::TurnStatus> for TurnStatus {
    fn from(settled: event::TurnStatus) -> Self {
        match settled {
            event::TurnStatus::Completed => Self::Completed,
            event::TurnStatus::Interrupted => Self::Interrupted,
            event::TurnStatus::Failed => Self::Failed,
            event::TurnStatus::Refused => Self::Refused,
            event::TurnStatus::Limited => Self::Limited,
        }
    }
}

wire! {
    /// How an item ended.
    enum ItemOutcome for ItemOutcome {
        /// The item finished.
        Completed,
        /// The item failed, or its turn did.
        Failed,
        /// The item's turn was interrupted.
        Interrupted,
    }

    /// ACP's tool call status.
    enum ToolStatus for ToolStatus {
        /// The call has not started.
        Pending,
        /// It is running.
        [rename = "in_progress"] InProgress,
        /// The call finished.
        Completed,
        /// The call failed.
        Failed,
    }

    /// Type of a message, which also names its author.
    enum MessageType for MessageType {
        /// A message of the user.
        UserMessage,
        /// The agent.
        AgentMessage,
        /// The agent's reasoning.
        AgentThought,
    }

    enum ToolCallType { ToolCall }

    enum FileChangeType { FileChange }

    enum TerminalCommandType { TerminalCommand }

    /// What a write replaced.
    enum Replaced for Replaced {
        /// The file did not exist before.
        Nothing,
        /// Text that the diff shows.
        Text,
        /// Content that cannot be shown: not UTF-8, too large or unreadable.
        Unknown,
    }

    /// Why a thread's lease moved.
    enum LeaseMove for LeaseMove {
        /// The lease was free when an editor that can answer the agent opened the thread.
        Opened,
        /// An editor requested the lease.
        Acquired,
        /// The holder released the lease.
        Released,
        /// The holder closed the session, or its connection ended.
        Left,
        /// The daemon restarted, which ends every connection.
        Restarted,
    }

    /// Whether a deleted thread's session was also deleted in the agent.
    enum SessionDeleted for SessionDeleted {
        /// The agent deleted the session.
        Deleted,
        /// The daemon sent the request, but the agent did not delete the session.
        Failed,
        /// There was no session, or the agent does not support deleting sessions.
        NotAsked,
    }

    /// How a thread got its agent session.
    enum Binding for Binding {
        /// A new session. The agent remembers nothing.
        New,
        /// The agent loaded the earlier session.
        Load,
        /// The agent resumed the earlier session.
        Resume,
        /// The agent forked the earlier session, which remembers the same, because another process of it has that one.
        Fork,
    }

    /// Severity of a notice.
    enum Level for Level { Info, Warning, Error }

    /// How well an agent remembers the kept turns of a thread after a rollback or a fork.
    enum Fidelity for Fidelity {
        /// The agent remembers exactly the kept turns and nothing else.
        Exact,
        /// The agent starts a new session and receives the conversation so far with its next prompt.
        Recalled,
    }

    /// How a message reaches the agent.
    enum Delivery for SteerDelivery {
        /// As a message of the running turn.
        Steered,
        /// As a turn of its own.
        Queued,
    }

    /// How a question was resolved.
    enum Resolution {
        /// The answer permits the call, or provides the information.
        Accepted,
        /// The answer denies the call, or declines to give the information.
        Declined,
        /// The question was cancelled, neither accepted nor declined.
        Cancelled,
        /// The question was closed, because nothing waits for its answer.
        Void,
    }

    /// A type of access to a file.
    enum FileAccess for FileAccess {
        /// Reads the content.
        Read,
        /// Searches the file, or finds files in the directory.
        Search,
        /// Creates or changes the file.
        Edit,
        /// Deletes the file.
        Delete,
        /// Moves or renames the file, or moves another file onto it.
        Move,
    }

    /// Type of a text.
    enum TextKind for TextKind {
        /// A message of the user.
        UserMessage,
        /// The agent's answer.
        AgentMessage,
        /// The title of a tool call.
        ToolCall,
        /// A command line.
        Command,
        /// File paths.
        Path,
    }

    /// The role of a principal. Each role includes the permissions of those before it.
    enum Role for Role {
        /// Lists, reads and follows threads.
        Observer,
        /// Also answers questions.
        Approver,
        /// Also starts, steers and ends threads and turns.
        Operator,
        /// Also changes permissions: policies, sign-ins, tokens.
        Owner,
    }
}

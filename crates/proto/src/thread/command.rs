//! The inputs of a thread, and the effects that it requests.

use acpd_model::event::{Fidelity, LeaseHolder, ThreadForked, TurnStatus};
use acpd_model::{Event, Failure, Millis, Origin, PreviousContent, RawJson, RequestId, Seq, TurnId};

use super::editors::{EditorCapabilities, EditorCommand};
use crate::agent::{AgentCommand, AgentEvent, AgentRequest, Start, TerminalExit};
use crate::fanout::LiveText;
use crate::projection::{DroppedTurns, Exchanges, SessionChange, Spec};
use crate::wire::RpcError;
use acpd_policy::{Explanation, Policy, RealPaths, RememberedRule, Request, Scope};
use serde::Serialize;

/// An input that a thread must handle.
#[derive(Debug)]
pub enum Input {
    /// A client sent a command.
    Command {
        /// Identifies the command; [`Effect::Reply`] returns the same number.
        call: u64,
        /// The client that sent the command.
        by: Origin,
        /// The requested operation.
        command: Command,
    },
    /// The agent sent a request, a notification or a response.
    Agent(AgentEvent),
    /// The agent's process exited, or failed to start.
    AgentExited(AgentExit),
    /// A file or terminal operation that the agent requested is done.
    Host {
        /// Identifies the agent's callback.
        call: u64,
        /// The result of the operation, or why it failed.
        result: Result<HostReply, Failure>,
    },
    /// Paths were resolved, see [`Effect::Resolve`].
    Resolved {
        /// The waiter from the effect.
        waiter: Waiter,
        /// The real paths that were found.
        real: RealPaths,
    },
    /// The outcome of a change to the agent-wide remembered answers, see [`Effect::ChangeRemembered`].
    RememberedChanged {
        /// The client from the effect.
        by: Origin,
        /// The outcome of the change.
        outcome: RememberedOutcome,
    },
    /// The text of the conversation so far, see [`Effect::CollectHistory`]; or why it cannot be read.
    HistoryCollected(Result<String, Failure>),
    /// The exchanges of the conversation so far, see [`Effect::CollectExchanges`]; or why they cannot be read.
    ExchangesCollected(Result<Exchanges, Failure>),
    /// An editor answered a request, see [`Effect::Editor`].
    EditorAnswered {
        /// The editor's connection.
        connection: String,
        /// Identifies the agent's callback.
        call: u64,
        /// The editor's result or error, unchanged except for terminal ids, which are the daemon's.
        result: Result<RawJson, RpcError>,
    },
    /// An attached editor closed the thread, or its connection closed.
    EditorGone {
        /// The editor's connection.
        connection: String,
        /// Callbacks that were never sent to the editor.
        unsent: Vec<u64>,
    },
    /// A terminal wrote output or exited.
    Terminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
        /// The output or the exit.
        event: TerminalEvent,
    },
}

/// Identifies what waits for resolved paths.
#[derive(Debug, Clone, PartialEq)]
pub enum Waiter {
    /// A callback of the agent, by its number.
    Call(u64),
    /// A client that asked how the policy decides a tool call.
    Explain {
        /// The number of its command.
        call: u64,
        /// The ACP tool call.
        tool_call: RawJson,
        /// Which parts of the disk may be looked up for it.
        sight: Sight,
    },
}

/// Limits what a client may learn about the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Only the thread's directories: for clients that may not run commands.
    Workspace,
    /// Every path that the daemon's user can look up.
    Everything,
}

/// A change to the answers that apply to all threads of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum RememberedChange {
    /// Remembers an answer.
    Remember {
        /// The request that was answered.
        request: Box<Request>,
        /// Whether such requests are allowed from now on; otherwise they are denied.
        allow: bool,
    },
    /// Revokes a remembered answer.
    Revoke {
        /// The number of the client's command.
        call: u64,
        /// The id of the remembered answer.
        id: u64,
    },
}

/// The outcome of a [`RememberedChange`]. It is durable before it is reported here.
#[derive(Debug, Clone, PartialEq)]
pub enum RememberedOutcome {
    /// The new rules; empty if all of them existed already.
    Remembered(Result<Vec<RememberedRule>, Failure>),
    /// A remembered answer was revoked.
    Revoked {
        /// The number of the client's command.
        call: u64,
        /// The id of the remembered answer.
        id: u64,
        /// Whether the answer existed and was removed.
        result: Result<(), Failure>,
    },
}

/// Describes how an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentExit {
    /// A human-readable sentence.
    pub reason: String,
    /// The last lines of the process's stderr.
    pub stderr: String,
}

/// A command from a client to a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Creates the thread. Always the first input of a thread; the reply follows when the agent is ready or has
    /// failed.
    Create {
        /// How to start the agent and open its session.
        spec: Box<Spec>,
        /// A name chosen by the user.
        name: Option<String>,
        /// The client's own grouping.
        project_id: Option<String>,
        /// The client's own data.
        metadata: Option<RawJson>,
    },
    /// Changes how the agent's session is opened from now on; the reply is immediate.
    SetSessionParams(SessionChange),
    /// Starts the agent if it does not run; the reply is immediate.
    Wake,
    /// Sends a prompt, now or after the turns that are queued before it.
    StartTurn {
        /// ACP content blocks.
        input: Vec<RawJson>,
        /// `_meta` of the prompt for the agent; passed on unchanged.
        meta: Option<RawJson>,
        /// The client's own id for the turn.
        client_turn_id: Option<String>,
    },
    /// Adds input to the running turn; the reply is [`Reply::Steered`].
    Steer {
        /// ACP content blocks.
        input: Vec<RawJson>,
        /// The expected running turn; the command fails if another turn runs.
        turn: Option<TurnId>,
    },
    /// Changes something about the thread as a whole.
    Change(Change),
    /// Deletes the thread. The reply follows when all of its data is deleted.
    Delete,
    /// Returns the point for a fork of this thread, as [`Reply::Fork`].
    Fork {
        /// The last turn to include; if absent, the last finished turn.
        turn: Option<TurnId>,
    },
    /// Creates the thread from another thread's events. Always the first input of such a thread.
    Adopt(Box<ForkContents>),
    /// Interrupts a turn.
    Interrupt {
        /// The turn to interrupt; the running one if absent.
        turn: Option<TurnId>,
    },
    /// Answers a request of the agent.
    Answer {
        /// The request to answer.
        request: RequestId,
        /// The client's answer.
        answer: Answer,
        /// How long the answer applies, if it applies to more than this request.
        scope: Option<Scope>,
    },
    /// Explains how the policy decides an ACP tool call; the reply is [`Reply::Explained`].
    Explain {
        /// The ACP tool call.
        tool_call: RawJson,
        /// Which parts of the disk may be looked up for it.
        sight: Sight,
    },
    /// Sets the thread's own policy, or removes it.
    SetPolicy(Option<RawJson>),
    /// Lists the remembered answers; the reply is [`Reply::Remembered`].
    Remembered,
    /// Revokes a remembered answer.
    Revoke {
        /// The id of the remembered answer.
        id: u64,
    },
    /// Sends the agent a request that is not part of a turn; the reply is [`Reply::Agent`].
    AgentRequest(AgentRequest),
    /// Sends the agent an extension notification.
    Notify {
        /// The method; its name begins with `_`.
        method: String,
        /// The params, passed on unchanged.
        params: Option<RawJson>,
    },
    /// Attaches an editor to the thread until [`Input::EditorGone`]; the reply is [`Reply::Lease`].
    Attach {
        /// Identifies the editor's connection in this process.
        connection: String,
        /// The capabilities that the editor offers to the agent.
        abilities: EditorCapabilities,
    },
    /// Gives the lease to an attached editor; the reply is that of [`Command::Attach`].
    AcquireLease {
        /// The editor's connection.
        connection: String,
    },
    /// Releases the lease of an attached editor, if it holds it; the reply is that of [`Command::Attach`].
    ReleaseLease {
        /// The editor's connection.
        connection: String,
    },
    /// Unloads the agent if the thread is idle.
    Rest,
    /// Ends the agent and all pending work because the daemon stops, and records that.
    Stop,
}

/// A change to a thread as a whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Renames the thread.
    Rename {
        /// The new name; `None` restores the default name.
        name: Option<String>,
    },
    /// Replaces the client's own data.
    SetMetadata {
        /// The new data; `None` removes it.
        metadata: Option<RawJson>,
    },
    /// Archives the thread.
    Archive,
    /// Unarchives the thread.
    Unarchive,
    /// Drops the last turns of the thread; the reply is [`Reply::RolledBack`].
    RollBack {
        /// The last turn to keep; `None` drops all turns.
        last_kept: Option<TurnId>,
    },
}

/// The point where another thread is forked, and what the agent may do in the fork.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkPoint {
    /// Describes the fork in the new thread's log.
    pub forked: ThreadForked,
    /// The thread's own policy.
    pub policy: Option<Policy>,
    /// Remembered answers that outlive a session.
    pub remembered: Vec<RememberedRule>,
}

/// The contents of a thread that is forked from another one.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkContents {
    /// The other thread's events, see [`ThreadCopy`](super::ThreadCopy).
    pub events: Vec<Event>,
    /// The point where the events end.
    pub point: ForkPoint,
    /// The new thread's own name.
    pub name: Option<String>,
}

/// An answer to a permission request, or to a request for information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// One of the agent's own options.
    Option(PickedOption),
    /// The agent's option at this index, counted from 0.
    Place(usize),
    /// Allows the request.
    Accept {
        /// Also for the rest of the session, if the agent offers that.
        always: bool,
    },
    /// Denies the request.
    Decline {
        /// Also for the rest of the session, if the agent offers that.
        always: bool,
    },
    /// The information that the agent requested, in its schema.
    Provide(RawJson),
    /// Cancels the request without an answer.
    Cancel,
}

/// One of the agent's options, and the meaning that the client showed for it. If the two differ, the answer is
/// rejected: a user may have pressed a button with a different label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickedOption {
    /// The agent's id for the option.
    pub option_id: String,
    /// The kind of the option that the user saw.
    pub kind: Option<String>,
    /// The verdict that the user gave.
    pub verdict: Option<Verdict>,
}

/// Allows or denies a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the request is allowed.
    pub allow: bool,
    /// Whether the verdict applies to more than this request. `false` means that this is unknown.
    pub always: bool,
}

impl From<&str> for PickedOption {
    fn from(option_id: &str) -> Self {
        Self::from(option_id.to_owned())
    }
}

impl From<String> for PickedOption {
    fn from(option_id: String) -> Self {
        Self {
            option_id,
            kind: None,
            verdict: None,
        }
    }
}

impl Verdict {
    /// Returns whether an option of this kind has the same meaning.
    pub fn agrees_with(self, kind: &str) -> bool {
        let word = if self.allow { "allow_" } else { "reject_" };
        kind.strip_prefix(word)
            .is_some_and(|how_long| !self.always || how_long == "always")
    }
}

/// The reply to a client's command.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The command is done.
    Done,
    /// The turn that was started or queued.
    Turn(TurnView),
    /// The input for the running turn was accepted.
    Steered {
        /// The turn that contains the input.
        turn: TurnId,
        /// How the input reaches the agent.
        delivery: SteerDelivery,
    },
    /// The point where another thread is forked.
    Fork(Box<ForkPoint>),
    /// How well the agent remembers the remaining turns after the last ones were dropped.
    RolledBack(Fidelity),
    /// How the policy decides a tool call.
    Explained(Box<Explanation>),
    /// The remembered answers of the thread and of its agent.
    Remembered(Vec<RememberedRule>),
    /// The editor that holds the lease now.
    Lease(Option<LeaseHolder>),
    /// The agent's response, unchanged.
    Agent(RawJson),
}

/// How input for a running turn reaches the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SteerDelivery {
    /// As part of the turn that runs.
    Steered,
    /// As a separate turn, after the queued ones.
    Queued,
}

/// A summary of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnView {
    /// The turn's id.
    pub id: TurnId,
    /// `None` while the turn is queued or runs.
    pub status: Option<TurnStatus>,
    /// Whether the turn is queued.
    pub queued: bool,
    /// The time when the turn started.
    pub started_at: Option<Millis>,
}

/// An effect to carry out after the events before it are stored.
#[derive(Debug)]
pub enum Effect {
    /// Sends the reply to a client's command.
    Reply {
        /// The command's number.
        call: u64,
        /// The reply, or why the command failed.
        result: Result<Reply, Failure>,
    },
    /// Starts the agent's process.
    StartAgent(Start),
    /// Ends the agent's process and its terminals.
    StopAgent,
    /// Sends a command to the agent's connection.
    Agent(AgentCommand),
    /// Shows live text to clients that follow the thread now. It is not in the log, has no sequence number and is
    /// never repeated.
    Show {
        /// The turn that runs.
        turn: Option<TurnId>,
        /// The time of the text.
        at: Millis,
        /// The last event before the text: clients see the text after that event, and before the next.
        after: Seq,
        /// The text to show.
        shown: LiveText,
    },
    /// Resolves these absolute paths, and returns the result as [`Input::Resolved`].
    Resolve {
        /// What waits for the result.
        waiter: Waiter,
        /// The paths, without duplicates.
        paths: Vec<String>,
    },
    /// Changes the agent-wide remembered answers, and returns the outcome as [`Input::RememberedChanged`].
    ChangeRemembered {
        /// The client that requested the change.
        by: Origin,
        /// The change.
        order: RememberedChange,
    },
    /// Reads the conversation so far with [`Exchanges::known`], and returns the result as
    /// [`Input::ExchangesCollected`].
    CollectExchanges {
        /// The turn to leave out, because its prompt is about to be sent.
        except: Option<TurnId>,
        /// Turns that no longer belong to the conversation.
        dropped: DroppedTurns,
    },
    /// Collects the text of the conversation so far with [`HistoryText`](crate::projection::HistoryText), and returns
    /// the result as [`Input::HistoryCollected`].
    CollectHistory {
        /// The turn to leave out, because its prompt is about to be sent.
        except: TurnId,
        /// Turns that no longer belong to the conversation.
        dropped: DroppedTurns,
        /// The maximum size of the text, in bytes.
        bytes: usize,
    },
    /// Deletes the thread's log; after that the thread no longer exists.
    Delete {
        /// The command to reply to afterwards. It is unknown after a restart.
        call: Option<u64>,
    },
    /// Sends a command to an editor.
    Editor {
        /// The editor's connection.
        connection: String,
        /// The command.
        order: EditorCommand,
    },
    /// Runs a file or terminal operation on the host for the agent.
    Host {
        /// The agent's callback, which [`Input::Host`] completes.
        call: u64,
        /// The operation.
        what: HostCall,
    },
}

/// A file or terminal operation that a thread requests from the host.
#[derive(Debug, Clone, PartialEq)]
pub enum HostCall {
    /// Reads a text file.
    ReadFile {
        /// The absolute path.
        path: String,
        /// The real path at the time of the decision: the read must use it or fail.
        at: Option<String>,
        /// The first line, counted from 1.
        line: Option<u64>,
        /// The number of lines.
        limit: Option<u64>,
    },
    /// Writes a text file.
    WriteFile {
        /// The absolute path.
        path: String,
        /// The real path at the time of the decision: the write must use it or fail.
        at: Option<String>,
        /// The complete new content.
        content: String,
    },
    /// Runs a command in a new terminal.
    CreateTerminal {
        /// The daemon's id for the new terminal.
        terminal_id: String,
        /// The program to run.
        command: String,
        /// The program's arguments.
        args: Vec<String>,
        /// Variables to add to the environment.
        env: Vec<(String, String)>,
        /// The absolute working directory.
        cwd: String,
        /// The maximum output to keep, in bytes.
        output_bytes: usize,
    },
    /// Returns the terminal's output so far.
    TerminalOutput {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// Waits until the terminal's command exits.
    WaitForTerminalExit {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// Ends the command and keeps the output.
    KillTerminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
    /// Ends the command and discards the output.
    ReleaseTerminal {
        /// The daemon's id for the terminal.
        terminal_id: String,
    },
}

/// The result of a [`HostCall`].
#[derive(Debug, Clone, PartialEq)]
pub enum HostReply {
    /// A file was read.
    Read {
        /// The requested lines of the file.
        content: String,
    },
    /// A file was written.
    Written {
        /// The file's content before the write.
        old: PreviousContent,
    },
    /// A terminal was created and runs.
    Created,
    /// The output of a terminal.
    Output {
        /// The end of the output.
        output: String,
        /// Whether earlier output was dropped.
        truncated: bool,
        /// The command's exit, if it has exited.
        exit: Option<TerminalExit>,
    },
    /// A terminal's command exited.
    Exited(TerminalExit),
    /// The operation is done and has no result.
    Done,
}

/// Output or exit of a terminal.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalEvent {
    /// The terminal wrote output.
    Output(String),
    /// The terminal's command exited, and its output is complete.
    Exited {
        /// How the command exited.
        exit: TerminalExit,
        /// The end of the output.
        output: String,
        /// Whether earlier output was dropped.
        truncated: bool,
    },
}

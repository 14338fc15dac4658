//! What a thread is told, and what it wants done.

use acpd_model::event::{Fidelity, LeaseHolder, ThreadForked, TurnStatus};
use acpd_model::{Event, Failure, Millis, Origin, PreviousContent, RawJson, RequestId, Seq, TurnId};

use super::editors::{EditorCapabilities, EditorCommand};
use crate::agent::{AgentCommand, AgentEvent, AgentRequest, Start, TerminalExit};
use crate::fanout::LiveText;
use crate::projection::{DroppedTurns, Exchanges, SessionChange, Spec};
use crate::wire::RpcError;
use acpd_policy::{Explanation, Policy, RealPaths, RememberedRule, Request, Scope};
use serde::Serialize;

/// Something that a thread must deal with.
#[derive(Debug)]
pub enum Input {
    /// A client wants something.
    Command {
        /// The answer goes out under this number.
        call: u64,
        /// Who wants it.
        by: Origin,
        /// What.
        command: Command,
    },
    /// The agent did something.
    Agent(AgentEvent),
    /// The agent's process is gone, or never came.
    AgentExited(AgentExit),
    /// A file or terminal did what the agent had asked for.
    Host {
        /// The agent's callback.
        call: u64,
        /// How it went.
        result: Result<HostReply, Failure>,
    },
    /// It was found out where paths lead, see [`Effect::Resolve`].
    Resolved {
        /// Who waits for it.
        waiter: Waiter,
        /// Where they lead.
        real: RealPaths,
    },
    /// What became of an answer for all threads of the agent, see [`Effect::ChangeRemembered`].
    RememberedChanged {
        /// Who wanted it.
        by: Origin,
        /// How it went.
        outcome: RememberedOutcome,
    },
    /// The conversation so far was collected, see [`Effect::CollectHistory`]; or why it cannot be read.
    HistoryCollected(Result<String, Failure>),
    /// The conversation so far was gone through, see [`Effect::CollectExchanges`]; or why it cannot be read.
    ExchangesCollected(Result<Exchanges, Failure>),
    /// An editor answered what it was asked, see [`Effect::Editor`].
    EditorAnswered {
        /// Its connection.
        connection: String,
        /// The agent's callback.
        call: u64,
        /// The result, or its error, as they came; a terminal is called by our name for it.
        result: Result<RawJson, RpcError>,
    },
    /// An editor that was attached has closed the thread, or its connection is gone.
    EditorGone {
        /// Its connection.
        connection: String,
        /// Callbacks that it was never asked.
        unsent: Vec<u64>,
    },
    /// A terminal did something by itself.
    Terminal {
        /// Which one.
        terminal_id: String,
        /// What.
        event: TerminalEvent,
    },
}

/// Who waits to hear where paths lead.
#[derive(Debug, Clone, PartialEq)]
pub enum Waiter {
    /// A callback of the agent.
    Call(u64),
    /// A client that wants to know what the policy makes of a tool call.
    Explain {
        /// The number of its command.
        call: u64,
        /// The tool call.
        tool_call: RawJson,
        /// What of the disk is looked at for it.
        sight: Sight,
    },
}

/// How much of the disk a client may learn about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Only the thread's directories: for whoever may not run commands.
    Workspace,
    /// Every path that the daemon's user can look up.
    Everything,
}

/// What is to become of the answers that hold for all threads of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum RememberedChange {
    /// Remember one.
    Remember {
        /// What was asked.
        request: Box<Request>,
        /// Whether it is allowed from now on; else it is refused.
        allow: bool,
    },
    /// Take one back.
    Revoke {
        /// The number of the client's command.
        call: u64,
        /// Its id.
        id: u64,
    },
}

/// What became of an [`RememberedChange`]. What is told here is durable.
#[derive(Debug, Clone, PartialEq)]
pub enum RememberedOutcome {
    /// These are new; none if all was known.
    Remembered(Result<Vec<RememberedRule>, Failure>),
    /// One was taken back.
    Revoked {
        /// The number of the client's command.
        call: u64,
        /// Its id.
        id: u64,
        /// Whether it was there, and is gone.
        result: Result<(), Failure>,
    },
}

/// How an agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentExit {
    /// A sentence for people.
    pub reason: String,
    /// The last lines of its stderr.
    pub stderr: String,
}

/// What a client may want of a thread.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Make the thread. The first thing that happens to it; answered when its agent is ready or has failed.
    Create {
        /// How.
        spec: Box<Spec>,
        /// A name given by a person.
        name: Option<String>,
        /// The client's own grouping.
        project_id: Option<String>,
        /// The client's own data.
        metadata: Option<RawJson>,
    },
    /// Open the agent's session otherwise from now on; answered at once.
    SetSessionParams(SessionChange),
    /// Have the agent running; answered at once.
    Wake,
    /// Send a prompt, now or when the turns before it are over.
    StartTurn {
        /// ACP content blocks.
        input: Vec<RawJson>,
        /// `_meta` for the agent, beside them; passed on as it came.
        meta: Option<RawJson>,
        /// The client's own id for the turn.
        client_turn_id: Option<String>,
    },
    /// Say something in the middle of the running turn; answered with [`Reply::Steered`].
    Steer {
        /// ACP content blocks.
        input: Vec<RawJson>,
        /// Refused if another turn is running.
        turn: Option<TurnId>,
    },
    /// Change something about the thread as a whole.
    Change(Change),
    /// Delete the thread. It is answered when nothing is left of it.
    Delete,
    /// Say where another thread is split off; answered with [`Reply::Fork`].
    Fork {
        /// The last turn to take over; if absent, the last that is over.
        turn: Option<TurnId>,
    },
    /// Make the thread of another one's events. The first thing that happens to it.
    Adopt(Box<ForkContents>),
    /// End a turn.
    Interrupt {
        /// Which; the running one if absent.
        turn: Option<TurnId>,
    },
    /// Answer a question.
    Answer {
        /// Which.
        request: RequestId,
        /// What.
        answer: Answer,
        /// How long it holds, if it is to hold for more than this question.
        scope: Option<Scope>,
    },
    /// Say what the policy makes of an ACP tool call; answered with [`Reply::Explained`].
    Explain {
        /// The tool call.
        tool_call: RawJson,
        /// What of the disk is looked at for it.
        sight: Sight,
    },
    /// Give the thread a policy of its own, or take it away.
    SetPolicy(Option<RawJson>),
    /// Say which answers hold; answered with [`Reply::Remembered`].
    Remembered,
    /// Take back an answer that holds.
    Revoke {
        /// Its id.
        id: u64,
    },
    /// Have the agent do something beside turns; answered with [`Reply::Agent`].
    AgentRequest(AgentRequest),
    /// Tell the agent something that ACP does not know.
    Notify {
        /// Method; its name begins with `_`.
        method: String,
        /// Params, passed on as they came.
        params: Option<RawJson>,
    },
    /// An editor has the thread open from now on, until [`Input::EditorGone`]; answered with [`Reply::Lease`].
    Attach {
        /// Names its connection among all others.
        connection: String,
        /// What it can do for an agent.
        abilities: EditorCapabilities,
    },
    /// Give an attached editor the lease; answered as [`Command::Attach`] is.
    AcquireLease {
        /// Its connection.
        connection: String,
    },
    /// Take the lease back from an attached editor, if it has it; answered as [`Command::Attach`] is.
    ReleaseLease {
        /// Its connection.
        connection: String,
    },
    /// Let the agent go, if no turn runs.
    Rest,
    /// The daemon stops: let everything go, and say so.
    Stop,
}

/// A change of a thread as a whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Name it.
    Rename {
        /// The name; none gives it back.
        name: Option<String>,
    },
    /// Replace the client's own data.
    SetMetadata {
        /// The data; none takes them away.
        metadata: Option<RawJson>,
    },
    /// Put it away.
    Archive,
    /// Take it out again.
    Unarchive,
    /// Drop its last turns; answered with [`Reply::RolledBack`].
    RollBack {
        /// The last turn that is kept; none drops all.
        last_kept: Option<TurnId>,
    },
}

/// Where another thread is split off a thread, and what the agent may do there.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkPoint {
    /// For the new thread's log.
    pub forked: ThreadForked,
    /// The thread's own policy.
    pub policy: Option<Policy>,
    /// Answers that hold for longer than a session.
    pub remembered: Vec<RememberedRule>,
}

/// What a thread is made of that is split off another one.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkContents {
    /// The other thread's, see [`ThreadCopy`](super::ThreadCopy).
    pub events: Vec<Event>,
    /// Where they end.
    pub point: ForkPoint,
    /// A name of its own.
    pub name: Option<String>,
}

/// An answer to a permission request, or to a question for information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// One of the agent's own options.
    Option(PickedOption),
    /// The agent's option in this place, counted from 0.
    Place(usize),
    /// Yes.
    Accept {
        /// For the rest of the session, if the agent offers that.
        always: bool,
    },
    /// No.
    Decline {
        /// For the rest of the session, if the agent offers that.
        always: bool,
    },
    /// What the agent wanted to know, by its schema.
    Provide(RawJson),
    /// Neither: the question is dropped.
    Cancel,
}

/// One of the agent's options, and what the client took it for. Where the two differ, the answer is none: a person may have
/// pressed a button that said something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickedOption {
    /// The agent's id for it.
    pub option_id: String,
    /// The kind of the option that the person saw.
    pub kind: Option<String>,
    /// The answer that the person gave.
    pub verdict: Option<Verdict>,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Yes.
    pub allow: bool,
    /// For more than this question. If not, nothing is said about that.
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
    /// Whether an option of this kind says the same.
    pub fn agrees_with(self, kind: &str) -> bool {
        let word = if self.allow { "allow_" } else { "reject_" };
        kind.strip_prefix(word)
            .is_some_and(|how_long| !self.always || how_long == "always")
    }
}

/// What a client hears when its command is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// It is done.
    Done,
    /// The turn that was started or queued.
    Turn(TurnView),
    /// Words for the running turn were accepted.
    Steered {
        /// The turn that they are part of.
        turn: TurnId,
        /// How they reach the agent.
        delivery: SteerDelivery,
    },
    /// Where another thread is split off.
    Fork(Box<ForkPoint>),
    /// How well the agent remembers what is left after turns were dropped.
    RolledBack(Fidelity),
    /// What the policy makes of a tool call.
    Explained(Box<Explanation>),
    /// The remembered answers of the thread and of its agent.
    Remembered(Vec<RememberedRule>),
    /// The editor that holds the lease now.
    Lease(Option<LeaseHolder>),
    /// What the agent answered, unchanged.
    Agent(RawJson),
}

/// How words for a running turn reach the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SteerDelivery {
    /// In the middle of the turn that runs.
    Steered,
    /// As a turn of their own, after those that wait.
    Queued,
}

/// A turn at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnView {
    /// Its id.
    pub id: TurnId,
    /// `None` while it waits or runs.
    pub status: Option<TurnStatus>,
    /// Whether it waits.
    pub queued: bool,
    /// When it began.
    pub started_at: Option<Millis>,
}

/// Something to be done, after the events before it are stored.
#[derive(Debug)]
pub enum Effect {
    /// Answer a client's command.
    Reply {
        /// The command's number.
        call: u64,
        /// The answer.
        result: Result<Reply, Failure>,
    },
    /// Start the agent's process.
    StartAgent(Start),
    /// End the agent's process, and its terminals.
    StopAgent,
    /// Tell the agent.
    Agent(AgentCommand),
    /// Show this to whoever watches right now. It is in no log, has no number and never comes again.
    Show {
        /// The turn that runs.
        turn: Option<TurnId>,
        /// When.
        at: Millis,
        /// The last event before it: to be shown after that one, and before the next.
        after: Seq,
        /// What.
        shown: LiveText,
    },
    /// Find out where these absolute paths lead, and bring it back as [`Input::Resolved`].
    Resolve {
        /// Who waits for it.
        waiter: Waiter,
        /// The paths, each once.
        paths: Vec<String>,
    },
    /// Change the answers that hold for all threads of the agent, and bring the outcome back as [`Input::RememberedChanged`].
    ChangeRemembered {
        /// Who wants it.
        by: Origin,
        /// What.
        order: RememberedChange,
    },
    /// Go through the conversation so far, with [`Exchanges::known`], and bring it back as [`Input::ExchangesCollected`].
    CollectExchanges {
        /// Leave this turn out: it is about to be prompted.
        except: Option<TurnId>,
        /// Turns that are no longer part of it.
        dropped: DroppedTurns,
    },
    /// Collect the conversation so far, with [`HistoryText`](crate::projection::HistoryText), and bring it back as
    /// [`Input::HistoryCollected`].
    CollectHistory {
        /// Leave this turn out: it is about to be prompted.
        except: TurnId,
        /// Turns that are no longer part of it.
        dropped: DroppedTurns,
        /// At most so much, in bytes.
        bytes: usize,
    },
    /// Delete the thread's log; then the thread is no more.
    Delete {
        /// The command that wanted it, to be answered then. It is not known after a restart.
        call: Option<u64>,
    },
    /// Have an editor do something.
    Editor {
        /// Its connection.
        connection: String,
        /// What.
        order: EditorCommand,
    },
    /// Touch the machine for the agent.
    Host {
        /// The agent's callback, to be answered with [`Input::Host`].
        call: u64,
        /// What to do.
        what: HostCall,
    },
}

/// What a thread wants done with files and terminals.
#[derive(Debug, Clone, PartialEq)]
pub enum HostCall {
    /// Read a text file.
    ReadFile {
        /// Absolute path.
        path: String,
        /// Where it was found to lead when it was decided on: it is read there or nowhere.
        at: Option<String>,
        /// First line, counted from 1.
        line: Option<u64>,
        /// Number of lines.
        limit: Option<u64>,
    },
    /// Write a text file.
    WriteFile {
        /// Absolute path.
        path: String,
        /// Where it was found to lead when it was decided on: it is written there or nowhere.
        at: Option<String>,
        /// All of it.
        content: String,
    },
    /// Run a command.
    CreateTerminal {
        /// The id it gets.
        terminal_id: String,
        /// Program.
        command: String,
        /// Arguments.
        args: Vec<String>,
        /// Environment to add.
        env: Vec<(String, String)>,
        /// Absolute working directory.
        cwd: String,
        /// Output to keep, in bytes.
        output_bytes: usize,
    },
    /// What it has written so far.
    TerminalOutput {
        /// Which.
        terminal_id: String,
    },
    /// Wait for its end.
    WaitForTerminalExit {
        /// Which.
        terminal_id: String,
    },
    /// End the command, keep the output.
    KillTerminal {
        /// Which.
        terminal_id: String,
    },
    /// End the command, forget the output.
    ReleaseTerminal {
        /// Which.
        terminal_id: String,
    },
}

/// How a [`HostCall`] went.
#[derive(Debug, Clone, PartialEq)]
pub enum HostReply {
    /// A file was read.
    Read {
        /// What was asked for.
        content: String,
    },
    /// A file was written.
    Written {
        /// What was there before.
        old: PreviousContent,
    },
    /// A terminal runs.
    Created,
    /// What a terminal has written.
    Output {
        /// The last of it.
        output: String,
        /// Whether earlier output was dropped.
        truncated: bool,
        /// How the command ended, if it has.
        exit: Option<TerminalExit>,
    },
    /// A command ended.
    Exited(TerminalExit),
    /// It is done.
    Done,
}

/// What a terminal did by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalEvent {
    /// It wrote something.
    Output(String),
    /// Its command ended and all output is in.
    Exited {
        /// How.
        exit: TerminalExit,
        /// The last of its output.
        output: String,
        /// Whether earlier output was dropped.
        truncated: bool,
    },
}

//! Every message that the daemon sends unrequested: notifications and questions. The frames, the JSON Schema, the
//! types of the clients and the reference all come from this table.

use acpd_model::RequestId;

use super::wire::Value;
use super::wire::error::Rejected;
use super::wire::{event, item_event as item, lane, notice, question};
use crate::wire::Object;

/// Description and params of a notification or a question.
#[cfg(test)]
pub(super) struct Described {
    pub method: &'static str,
    pub about: &'static str,
    pub params: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

macro_rules! notifications {
    ($(
        $table:ident {
            $($(#[doc = $about:literal])+ $method:literal $name:ident($params:ty);)+
        }
    )+) => {
        /// A message that the daemon sends unrequested.
        #[allow(clippy::large_enum_variant, reason = "one is made for each event, and written at once")]
        pub(super) enum Notification<'a> {
            $($($name($params),)+)+
        }

        impl Notification<'_> {
            /// Returns the method.
            pub fn method(&self) -> &'static str {
                match self {
                    $($(Self::$name(_) => $method,)+)+
                }
            }

            fn write_params(&self, out: &mut Vec<u8>) {
                match self {
                    $($(Self::$name(params) => params.write(out),)+)+
                }
            }
        }

        $(
            #[cfg(test)]
            pub(super) const $table: &[Described] = &[$(
                Described {
                    method: $method,
                    about: concat!($($about),+),
                    params: |generator| {
                        type Params<'a> = $params;
                        generator.subschema_for::<<Params<'_> as super::wire::Described>::Schema>()
                    },
                },
            )+];
        )+
    };
}

impl Notification<'_> {
    /// Appends the message, which is a request if it has an id.
    pub fn write(&self, out: &mut Vec<u8>, id: Option<&RequestId>) {
        let mut message = Object::open(out);
        message.raw("jsonrpc", "\"2.0\"").maybe("id", id);
        message.plain("method", self.method());
        message.with("params", |out| self.write_params(out));
        message.close();
    }
}

notifications! {
    NOTIFICATIONS {
        /// A thread was created.
        "thread/started" ThreadStarted(event::ThreadMade<'a>);
        /// The status of the thread changed: a turn started, ended, or waits for a user.
        "thread/status/changed" ThreadStatusChanged(event::StatusChanged<'a>);
        /// Properties of the thread changed. Contains only the changed ones.
        "thread/updated" ThreadUpdated(event::ThreadUpdated<'a>);
        /// Sent to connections that watch the thread list when a thread is created, deleted or changes its list entry. Not an
        /// event of the thread: it has no `seq`, and intermediate changes are omitted.
        "thread/list/changed" ThreadListChanged(event::ListChanged<'a>);
        /// Sent to a connection that missed changes of the thread list and must request it again. The watch continues.
        "thread/list/reset" ThreadListReset(event::ListReset);
        /// Sent to connections that watch the thread list when their own principal has marked threads as seen, on this connection or
        /// another one. Not an event of the thread: it has no `seq`.
        "thread/list/seen" ThreadListSeen(event::SeenChanged<'a>);
        /// Sent to subscribers with `capabilities.subscribers`: the other clients that follow the thread. Sent at the start and
        /// whenever a client joins or leaves, possibly without a change. Not an event of the thread: it has no `seq`.
        "thread/subscribers/changed" ThreadSubscribersChanged(event::SubscribersChanged<'a>);
        /// Sent to subscribers when the daemon cannot write the thread's log, or can write it again. Until then the thread
        /// accepts no changes, and work that is not in the log is lost. Not an event of the thread: it has no `seq`.
        "thread/log/changed" ThreadLogChanged(event::LogChanged<'a>);
        /// Sent to a subscriber in place of events that cannot be read, because their part of the log is damaged. `seq` is the
        /// number of the last one.
        "thread/log/damaged" ThreadLogDamaged(event::LogDamaged<'a>);
        /// The thread was archived.
        "thread/archived" ThreadArchived(event::ThreadChanged<'a>);
        /// The thread was unarchived.
        "thread/unarchived" ThreadUnarchived(event::ThreadChanged<'a>);
        /// The thread and its log are deleted. No event follows.
        "thread/deleted" ThreadDeleted(event::ThreadDeleted<'a>);
        /// Turns were dropped and are no longer part of the conversation.
        "thread/rolledBack" ThreadRolledBack(event::TurnsRolledBack<'a>);
        /// The thread was forked from another thread. All events before this one are shared with that thread,
        /// or end what concerned that thread alone.
        "thread/forked" ThreadForked(event::ThreadForked<'a>);
        /// The lease moved: another editor, or the daemon, answers the agent's client requests (files, terminals).
        "thread/lease/moved" ThreadLeaseMoved(event::LeaseMoved<'a>);
        /// The usage of the agent's context changed.
        "thread/tokenUsage/updated" ThreadTokenUsageUpdated(event::TokenUsageUpdated<'a>);
        /// A subagent was reported or has changed. Contains only what has changed.
        "thread/lane/updated" ThreadLaneUpdated(lane::LaneUpdated<'a>);
        /// A notice for the user.
        "thread/notice" ThreadNotice(notice::Notice<'a>);
        /// The agent read a file.
        "thread/file/read" ThreadFileRead(event::FileTouched<'a>);
        /// The agent wrote a file.
        "thread/file/written" ThreadFileWritten(event::FileWritten<'a>);
        /// A silent command in a terminal waits for input. The wait ends with the next output, input or exit.
        "thread/terminal/waiting" ThreadTerminalWaiting(event::TerminalWaiting<'a>);
        /// A user types into a terminal, or, without `by`, the daemon ended the input of a command that waited for long.
        "thread/terminal/input" ThreadTerminalInput(event::TerminalNamed<'a>);
        /// The agent, or a user, terminated the command in a terminal.
        "thread/terminal/killed" ThreadTerminalKilled(event::TerminalNamed<'a>);
        /// The agent released a terminal.
        "thread/terminal/released" ThreadTerminalReleased(event::TerminalNamed<'a>);
        /// The agent called a method without a permission request, and the policy allowed it.
        "policy/permitted" PolicyPermitted(event::Permitted<'a>);
        /// An answer was remembered.
        "policy/remembered" PolicyRemembered(event::Remembered<'a>);
        /// A remembered answer was revoked.
        "policy/revoked" PolicyRevoked(event::Revoked<'a>);
        /// An unknown message from the agent, unchanged.
        "agent/notification" AgentNotification(event::AgentNotification<'a>);
        /// A prompt was queued until the turns before it are over, or the prompt of a queued turn was replaced.
        "turn/queued" TurnQueued(event::TurnChanged<'a>);
        /// The queue was reordered, paused or continued.
        "turn/queue/changed" TurnQueueChanged(event::QueueChanged<'a>);
        /// A turn started.
        "turn/started" TurnStarted(event::TurnChanged<'a>);
        /// A turn is being interrupted.
        "turn/interrupting" TurnInterrupting(event::TurnInterrupting<'a>);
        /// A client sent a message during the running turn, and the daemon passed it on to the agent. Once the agent has accepted
        /// it, it follows as a message of the turn.
        "turn/steering" TurnSteering(event::TurnSteering<'a>);
        /// A turn ended.
        "turn/completed" TurnCompleted(event::TurnCompleted<'a>);
        /// The agent replaced a whole plan: the one with this id, or the one without an id. An empty plan counts too.
        "turn/plan/updated" TurnPlanUpdated(event::PlanUpdated<'a>);
        /// The agent removed a plan, or the daemon did, because the thread has more than 64 plans, or 1 MiB of them.
        "turn/plan/removed" TurnPlanRemoved(event::PlanRemoved<'a>);
        /// The unified diff of the whole turn changed. While the turn runs, it is only shown live and has no `seq`.
        "turn/diff/updated" TurnDiffUpdated(event::DiffUpdated<'a>);
        /// The prompts that the agent suggests for the next turn changed. They are only shown live, so it has no `seq`: a new
        /// subscriber receives the current ones behind the events that it missed. The next prompt, and the end of the agent's
        /// process, withdraw them.
        "thread/suggestions/updated" SuggestionsUpdated(event::SuggestionsUpdated<'a>);
        /// A message or thought started.
        "item/started" MessageStarted(item::MessageStarted<'a>);
        /// A message or thought is complete.
        "item/completed" MessageCompleted(item::MessageCompleted<'a>);
        /// A message of the user, from this client, another client or the agent's own history.
        "item/userMessage" UserMessage(item::UserMessage<'a>);
        /// Text or a content block was added to a message.
        "item/agentMessage/delta" AgentMessageDelta(item::Delta<'a>);
        /// Text or a content block was added to a thought.
        "item/agentThought/delta" AgentThoughtDelta(item::Delta<'a>);
        /// A tool call started.
        "item/toolCall/started" ToolCallStarted(item::ToolCallStarted<'a>);
        /// A tool call changed.
        "item/updated" ToolCallUpdated(item::ToolCallUpdated<'a>);
        /// A tool call ended.
        "item/toolCall/completed" ToolCallCompleted(item::ToolCallCompleted<'a>);
        /// A file change started.
        "item/fileChange/started" FileChangeStarted(item::FileChangeStarted<'a>);
        /// A file change ended, successfully or not.
        "item/fileChange/completed" FileChangeCompleted(item::FileChangeCompleted<'a>);
        /// A command in a terminal started.
        "item/terminalCommand/started" TerminalCommandStarted(item::TerminalCommandStarted<'a>);
        /// A command in a terminal wrote output. Output that is only shown live has no `seq`.
        "item/terminalCommand/output" TerminalOutput(item::TerminalOutput<'a>);
        /// A command in a terminal ended.
        "item/terminalCommand/completed" TerminalCommandCompleted(item::TerminalCommandCompleted<'a>);
        /// A question was answered, or needs no answer any more.
        "serverRequest/resolved" RequestResolved(question::Resolved<'a>);
        /// The client's response to a question was refused. Sent only to that client.
        "serverRequest/rejected" RequestRejected(Rejected<'a>);
    }
    REQUESTS {
        /// Asks whether the agent may run a command.
        "item/commandExecution/requestApproval" CommandApproval(question::Approval<'a>);
        /// Asks whether the agent may change a file.
        "item/fileChange/requestApproval" FileChangeApproval(question::Approval<'a>);
        /// Asks whether the agent may make any other tool call.
        "item/permissions/requestApproval" PermissionsApproval(question::Approval<'a>);
        /// The agent requests information from the user.
        "item/tool/requestUserInput" UserInput(question::InputWanted<'a>);
    }
}

//! The names of event types in an export.
//!
//! The names follow the activity log that ACP tools know. New names have the same form: the subject, a colon, the
//! event.
//!
//! | Type | Event |
//! |---|---|
//! | `thread:create`, `thread:status` | the thread was created; its status changed |
//! | `thread:rename`, `thread:metadata` | a client changed its name; a client replaced its metadata |
//! | `thread:pin` | a client pinned the thread, or removed its pin |
//! | `thread:archive`, `thread:unarchive`, `thread:delete` | the thread was archived, unarchived, marked for deletion |
//! | `thread:fork`, `turn:rollback` | the thread was forked from another one; turns were dropped |
//! | `thread:lease` | the lease moved: another client, or the daemon, answers the agent's requests from now on |
//! | `session:info` | the agent sent information about its session |
//! | `agent:bound`, `agent:lost` | the thread got an agent session; the agent's process has ended |
//! | `agent:malformed`, `agent:notification`, `agent:refused` | an invalid line; an extension; a refused request |
//! | `notice` | a notice for the user |
//! | `turn:queue`, `turn:start`, `turn:interrupt`, `turn:end` | a turn was queued, started, interrupted, ended |
//! | `turn:steer` | a client sent input for the running turn |
//! | `diff:update` | all file changes of the turn so far |
//! | `prompt:start`, `prompt:sent`, `prompt:chunk`, `prompt:complete` | a user's message |
//! | `message:start`, `message:chunk`, `message:complete` | the agent's message |
//! | `thought:start`, `thought:chunk`, `thought:complete` | the agent's reasoning |
//! | `tool:call`, `tool:result`, `tool:complete` | a tool call started, was updated, ended |
//! | `change:start`, `change:complete` | a file change, with its diff at the end |
//! | `terminal:kill`, `terminal:release` | the agent killed a command; the agent released its terminal |
//! | `terminal:create`, `terminal:output`, `terminal:exit` | a command in a terminal of the daemon |
//! | `plan:update`, `mode:change`, `model:change`, `config:update`, `commands:update`, `usage:update` | the session's state |
//! | `input:request` | a request for information; its answer is a `permission:result` |
//! | `permission:request`, `permission:result` | a permission request, and its answer or why there is none |
//! | `permission:granted` | a call that the policy approved without a question |
//! | `policy:set`, `policy:remember`, `policy:revoke` | the thread's policy changed; an answer was remembered, or
//! revoked |
//! | `file:read`, `file:write` | the agent accessed a file through acpd |
//! | `event:…` | a kind without a name here, under its name in the log |
//! | `unknown` | a kind of a newer daemon that this one cannot read |

use acpd_model::{EventKind, ItemEnd, ItemStart, MessageType};

/// Returns the type of an event of this kind; `None` if it has no name yet.
#[allow(
    clippy::match_wildcard_for_single_variants,
    reason = "a kind that is added to the model must not stop an export"
)]
pub fn type_of(kind: &EventKind) -> Option<&'static str> {
    use EventKind as K;
    Some(match kind {
        K::ThreadCreated(_) => "thread:create",
        K::StatusChanged { .. } => "thread:status",
        K::ThreadRenamed { .. } => "thread:rename",
        K::MetadataSet { .. } => "thread:metadata",
        K::DirectoriesSet(_) => "thread:directories",
        K::PinSet { .. } => "thread:pin",
        K::ThreadArchived {} => "thread:archive",
        K::ThreadUnarchived {} => "thread:unarchive",
        K::ThreadDeleted { .. } => "thread:delete",
        K::ThreadForked(_) => "thread:fork",
        K::TurnsRolledBack { .. } => "turn:rollback",
        K::LeaseMoved { .. } => "thread:lease",
        K::SteerRequested { .. } => "turn:steer",
        K::SessionInfoUpdated { .. } => "session:info",
        K::SessionParamsSet(_) => "session:params",
        K::AgentBound { .. } => "agent:bound",
        K::AgentLost { .. } => "agent:lost",
        K::NoticeGiven { .. } => "notice",
        K::LineMalformed { .. } => "agent:malformed",
        K::AgentNotified { .. } => "agent:notification",
        K::CallRefused { .. } => "agent:refused",
        K::TurnQueued { .. } => "turn:queue",
        K::QueueChanged { .. } => "queue:change",
        K::TurnStarted { .. } => "turn:start",
        K::TurnSettled { .. } => "turn:end",
        K::InterruptRequested {} => "turn:interrupt",
        K::DiffUpdated { .. } => "diff:update",
        K::ItemStarted { start, .. } => match start {
            ItemStart::Message { role, .. } => {
                spoken(*role, "prompt:start", "message:start", "thought:start")
            }
            ItemStart::ToolCall { .. } => "tool:call",
            ItemStart::FileChange { .. } => "change:start",
            ItemStart::TerminalCommand { .. } => "terminal:create",
        },
        K::ItemDelta { role, .. } | K::ItemContent { role, .. } => {
            spoken(*role, "prompt:chunk", "message:chunk", "thought:chunk")
        }
        K::ItemUpdated { .. } => "tool:result",
        K::ItemCompleted { end, .. } => match end {
            ItemEnd::Message { role, .. } => {
                spoken(*role, "prompt:complete", "message:complete", "thought:complete")
            }
            ItemEnd::ToolCall { .. } => "tool:complete",
            ItemEnd::FileChange { .. } => "change:complete",
            ItemEnd::TerminalCommand { .. } => "terminal:exit",
        },
        K::UserMessageAdded { .. } => "prompt:sent",
        K::TerminalOutput { .. } => "terminal:output",
        K::PlanReplaced { .. } => "plan:update",
        K::ModeChanged { .. } => "mode:change",
        K::ModelChanged { .. } => "model:change",
        K::ConfigOptionsReplaced { .. } => "config:update",
        K::CommandsReplaced {} => "commands:update",
        K::UsageUpdated { .. } => "usage:update",
        K::PermissionRequested { .. } => "permission:request",
        K::InputRequested { .. } => "input:request",
        K::RequestSettled { .. } | K::RequestVoided { .. } => "permission:result",
        K::CallPermitted { .. } => "permission:granted",
        K::PolicySet { .. } => "policy:set",
        K::AnswerRemembered { .. } => "policy:remember",
        K::AnswerRevoked { .. } => "policy:revoke",
        K::FileRead { .. } => "file:read",
        K::FileWritten { .. } => "file:write",
        K::TerminalWaiting { .. } => "terminal:waiting",
        K::TerminalInput { .. } => "terminal:input",
        K::TerminalKilled { .. } => "terminal:kill",
        K::TerminalReleased { .. } => "terminal:release",
        _ => return None,
    })
}

fn spoken(
    role: MessageType,
    prompt: &'static str,
    message: &'static str,
    thought: &'static str,
) -> &'static str {
    match role {
        MessageType::UserMessage => prompt,
        MessageType::AgentMessage => message,
        MessageType::AgentThought => thought,
    }
}

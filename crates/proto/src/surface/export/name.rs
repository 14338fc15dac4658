//! What an event is called in an export.
//!
//! The names are those of the activity log that ACP tools know, and the others are formed like them: what it is
//! about, a colon, what happened.
//!
//! | Type | When |
//! |---|---|
//! | `thread:create`, `thread:status` | the thread was made; what it does changed |
//! | `thread:rename`, `thread:metadata` | somebody named it; its client's data were replaced |
//! | `thread:archive`, `thread:unarchive`, `thread:delete` | it was put away, taken out again, is to vanish |
//! | `thread:fork`, `turn:rollback` | it was split off another one; turns were dropped |
//! | `thread:lease` | what the agent asks of its client is answered by somebody else from now on |
//! | `session:info` | the agent told something about its session |
//! | `agent:bound`, `agent:lost` | the thread got an agent session; the process is gone |
//! | `agent:malformed`, `agent:notification`, `agent:refused` | a line that is no message; an extension; a refused call |
//! | `notice` | something that a person should know |
//! | `turn:queue`, `turn:start`, `turn:interrupt`, `turn:end` | a turn waits, begins, is asked to end, is over |
//! | `turn:steer` | somebody has something to say in the middle of it |
//! | `diff:update` | all that the turn changed so far |
//! | `prompt:start`, `prompt:sent`, `prompt:chunk`, `prompt:complete` | a person's words |
//! | `message:start`, `message:chunk`, `message:complete` | the agent's answer |
//! | `thought:start`, `thought:chunk`, `thought:complete` | the agent's reasoning |
//! | `tool:call`, `tool:result`, `tool:complete` | a tool call began, was updated, is over |
//! | `change:start`, `change:complete` | a file is changed, with its diff at the end |
//! | `terminal:kill`, `terminal:release` | the agent ended such a command; it let the terminal go |
//! | `terminal:create`, `terminal:output`, `terminal:exit` | a command in one of our terminals |
//! | `plan:update`, `mode:change`, `model:change`, `config:update`, `commands:update`, `usage:update` | the session's state |
//! | `input:request` | a question for information; its answer is a `permission:result` |
//! | `permission:request`, `permission:result` | a question, and its answer or why there is none |
//! | `permission:granted` | a call that the policy let through without a question |
//! | `policy:set`, `policy:remember`, `policy:revoke` | the thread's policy; an answer holds from now on, or no longer |
//! | `file:read`, `file:write` | the agent used a file through us |
//! | `event:…` | a kind that has no name here yet, under its name in the log |
//! | `unknown` | a kind of a newer daemon, which this one cannot read |

use acpd_model::{EventKind, ItemEnd, ItemStart, MessageType};

/// The type of an event of this kind; `None` if it has no name yet.
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
        K::ConfigOptionsReplaced {} => "config:update",
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

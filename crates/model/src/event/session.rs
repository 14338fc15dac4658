//! What happened to the agent's process and its session.

use super::created::SessionParams;
use super::lane::SubagentPatch;
use super::row::kinds;
use super::words::{Binding, ChosenOption, CursorPlace, Level};
use crate::json::RawJson;
use crate::origin::ClientOrigin;

kinds! {
    /// What happened to the agent's process and its session.
    SessionEvent {
        /// The agent sent session information (`session_info_update`). `raw` has the whole update.
        "sessionInfoUpdated" as "session:info" in State => InfoUpdated {
            /// The new title, if the update has one.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            title: Option<String>,
            /// Whether a user has named the thread, so that the title is not displayed.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            overruled: bool,
        },
        /// The thread was bound to an agent session.
        "agentBound" as "agent:bound" in Agent => AgentBound {
            /// The agent's id for the session.
            session_id: String,
            /// How the session was opened.
            how: Binding,
            /// The agent's result of `initialize`.
            agent: RawJson,
            /// The result of the ACP method that opened the session.
            session: RawJson,
            /// The version of ACP that the agent speaks; absent for version 1. `agent` and `session` have the form of version 1
            /// in any case.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            protocol: Option<u32>,
        },
        /// A client replaced the parameters that the agent's session is opened with from now on.
        "sessionParamsSet" as "session:params" in Thread => ParamsSet(Box<SessionParams>),
        /// The agent's process ended.
        "agentLost" as "agent:lost" in Agent => AgentLost {
            /// Explanation for the user of how the process ended.
            reason: String,
            /// The last lines of the agent's stderr.
            #[serde(default, skip_serializing_if = "String::is_empty")]
            stderr: String,
            /// Whether the daemon had stopped the agent.
            expected: bool,
        },
        /// The agent reported on a subagent (`subagent_update`), or acpd noticed one. `raw` has the whole update.
        "subagentUpdated" as "subagent:update" in Agent => SubagentUpdated(Box<SubagentPatch>),
        /// A notice for the user.
        "noticeGiven" as "notice" in Agent => NoticeGiven {
            /// Severity of the notice.
            level: Level,
            /// Stable code for programs.
            code: String,
            /// One sentence for the user.
            message: String,
            /// Further explanation.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            detail: Option<String>,
            /// The folder that a user may open for the thread, if the agent was denied a path in it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            folder: Option<String>,
        },
        /// The agent wrote a line that is not a JSON-RPC message.
        "lineMalformed" as "agent:malformed" in Agent => LineMalformed {
            /// Why the line is not a message.
            reason: String,
            /// The line, cut to [`crate::limits::MALFORMED_BYTES`], with U+FFFD in place of bytes that are not UTF-8.
            text: String,
            /// Length of the whole line, in bytes.
            bytes: u64,
        },
        /// The agent sent a notification that the daemon does not handle: an extension, or an unknown update kind. `raw`
        /// holds its params.
        "agentNotified" as "agent:notification" in Agent => AgentNotified {
            /// The notification's method.
            method: String,
        },
        /// The agent called a method that does not exist, or that it may not call. The daemon denied the call. Or the policy
        /// denied a command that a user wanted to run.
        "callRefused" as "agent:refused" in Agent => CallRefused {
            /// The method that was called; `thread/command/run` for a command of a user.
            method: String,
            /// The error that the daemon returned.
            reason: String,
            /// The client whose user wanted to run the command; absent for a call of the agent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            requested_by: Option<Box<ClientOrigin>>,
        },
        /// The agent switched to another mode.
        "modeChanged" as "mode:change" in State => ModeChanged {
            /// The agent's id for the mode.
            mode_id: String,
        },
        /// The agent switched to another model. Only for agents that have no config option for the model.
        "modelChanged" as "model:change" in State => ModelChanged {
            /// The agent's id for the model.
            model_id: String,
        },
        /// The agent's config options changed. `raw` has all of them.
        "configOptionsReplaced" as "config:update" in State => ConfigOptionsReplaced {
            /// The option that a client set. Absent if the agent reported the options by itself, and in logs from before this
            /// member existed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            chosen: Option<ChosenOption>,
        },
        /// The agent announced a cursor: a position of its session at which it forks the session. Or it changed what the cursor can be
        /// used for. `raw` has the whole update.
        "cursorUpdated" as "session:cursor" in State => CursorUpdated {
            /// The agent's id for the cursor.
            cursor_id: String,
            /// The place of the cursor in the thread. Absent if the update names none, or none that the thread has.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            place: Option<CursorPlace>,
            /// Whether the agent forks its session at the cursor; absent if the update leaves that as it was.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            forks: Option<bool>,
        },
        /// The agent's slash commands changed. `raw` has all of them.
        "commandsReplaced" as "commands:update" in State => CommandsReplaced {},
    }
}

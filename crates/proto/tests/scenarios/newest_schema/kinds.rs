//! The lists of what acpd handles of ACP, and of what it leaves out.

/// A subject of the schema, such as [`UPDATE`], with names.
pub type Names = &'static [(&'static str, &'static [&'static str])];

/// Requests and notifications to an agent.
pub const TO_AGENT: &str = "method of agents";
/// Requests and notifications to a client.
pub const TO_CLIENT: &str = "method of clients";
pub const UPDATE: &str = "update";
pub const CONTENT: &str = "content block";
pub const TOOL_CONTENT: &str = "tool content";
pub const COMMAND: &str = "command";
pub const CLIENT_CAN: &str = "capability of clients";
pub const AGENT_CAN: &str = "capability of agents";

/// Both versions have it.
const PROTOCOL: (&str, &[&str]) = (TO_AGENT, &["$/cancel_request"]);

// Reasons to leave something out of both versions.
const NO_SERVERS: &str =
    "Agents start MCP servers or reach them over HTTP; acpd offers none over its own connection.";
const NO_ARCHIVE: &str = "ACP ends the running turn of a session that is archived, and acpd refuses to archive its thread; an agent would have to be started \
     only to hide the session from its other programs.";
const NO_STATUS: &str = "A session can be opened whether or not its agent runs, and acpd opens it in a process of its own, whatever another one has in \
     memory.";
const NO_LINKS: &str = "Tool calls do not link to sessions: the ids are the agent's own, and the calls of a subagent have its name.";
const PLAIN_SUGGESTIONS: &str =
    "Suggested prompts are text and links to resources; acpd does not declare others.";

/// What acpd does something with in version 1.
pub const HANDLED: Names = &[
    PROTOCOL,
    (
        TO_AGENT,
        &[
            "auth/status",
            "authenticate",
            "initialize",
            "logout",
            "providers/disable",
            "providers/list",
            "providers/set",
            "session/cancel",
            "session/close",
            "session/delete",
            "session/fork",
            "session/list",
            "session/load",
            "session/new",
            "session/options",
            "session/prompt",
            "session/resume",
            "session/set_config_option",
            "session/set_mode",
            "session/set_title",
        ],
    ),
    (
        TO_CLIENT,
        &[
            "auth/status_update",
            "elicitation/complete",
            "elicitation/create",
            "fs/read_text_file",
            "fs/write_text_file",
            "session/request_permission",
            "session/update",
            "terminal/create",
            "terminal/kill",
            "terminal/output",
            "terminal/release",
            "terminal/wait_for_exit",
        ],
    ),
    (
        UPDATE,
        &[
            "agent_message_chunk",
            "agent_thought_chunk",
            "available_commands_update",
            "compaction_summary_chunk",
            "compaction_update",
            "config_option_update",
            "current_mode_update",
            "cursor_update",
            "notice",
            "plan",
            "plan_removed",
            "plan_update",
            "prompt_suggestions_update",
            "session_info_update",
            "session_message",
            "session_message_chunk",
            "subagent_update",
            "tool_call",
            "tool_call_update",
            "usage_update",
            "user_message_chunk",
        ],
    ),
    (CONTENT, &["audio", "image", "resource", "resource_link", "text"]),
    (TOOL_CONTENT, &["content", "diff", "terminal"]),
    (
        CLIENT_CAN,
        &[
            "auth",
            "auth.terminal",
            "elicitation",
            "elicitation.form",
            "elicitation.url",
            "fs",
            "fs.readTextFile",
            "fs.writeTextFile",
            "plan",
            "session",
            "session.compaction",
            "session.configOptions",
            "session.configOptions.boolean",
            "session.cursors",
            "session.notices",
            "session.promptSuggestions",
            "subagents",
            "terminal",
        ],
    ),
    (
        AGENT_CAN,
        &[
            "auth",
            "auth.logout",
            "auth.status",
            "loadSession",
            "mcpCapabilities",
            "mcpCapabilities.http",
            "mcpCapabilities.sse",
            "promptCapabilities",
            "promptCapabilities.audio",
            "promptCapabilities.embeddedContext",
            "promptCapabilities.image",
            "providers",
            "sessionCapabilities",
            "sessionCapabilities.additionalDirectories",
            "sessionCapabilities.close",
            "sessionCapabilities.delete",
            "sessionCapabilities.fork",
            "sessionCapabilities.list",
            "sessionCapabilities.options",
            "sessionCapabilities.resume",
            "sessionCapabilities.systemPrompt",
            "sessionCapabilities.systemPrompt.mode",
            "sessionCapabilities.systemPrompt.mode.override",
            "sessionCapabilities.title",
        ],
    ),
];

/// What acpd leaves out of version 1, each with the reason.
pub const LEFT_OUT: &[(&str, Names)] = &[
    (
        NO_SERVERS,
        &[
            (TO_AGENT, &["mcp/message"]),
            (TO_CLIENT, &["mcp/message"]),
            (AGENT_CAN, &["mcpCapabilities.acp"]),
        ],
    ),
    (
        NO_ARCHIVE,
        &[
            (TO_AGENT, &["session/archive", "session/unarchive"]),
            (AGENT_CAN, &["sessionCapabilities.archive"]),
        ],
    ),
    (
        NO_STATUS,
        &[
            (TO_AGENT, &["session/status"]),
            (AGENT_CAN, &["sessionCapabilities.status"]),
        ],
    ),
    (NO_LINKS, &[(TOOL_CONTENT, &["session"])]),
    (
        PLAIN_SUGGESTIONS,
        &[(
            CLIENT_CAN,
            &[
                "session.promptSuggestions.audio",
                "session.promptSuggestions.embeddedContext",
                "session.promptSuggestions.image",
            ],
        )],
    ),
];

/// What acpd does something with in version 2.
pub const HANDLED_2: Names = &[
    PROTOCOL,
    (
        TO_AGENT,
        &[
            "auth/login",
            "auth/logout",
            "auth/status",
            "initialize",
            "providers/disable",
            "providers/list",
            "providers/set",
            "session/cancel",
            "session/close",
            "session/delete",
            "session/fork",
            "session/list",
            "session/new",
            "session/options",
            "session/prompt",
            "session/resume",
            "session/set_config_option",
            "session/set_title",
        ],
    ),
    (
        TO_CLIENT,
        &[
            "auth/status_update",
            "elicitation/complete",
            "elicitation/create",
            "session/request_permission",
            "session/update",
        ],
    ),
    (
        UPDATE,
        &[
            "agent_message",
            "agent_message_chunk",
            "agent_thought",
            "agent_thought_chunk",
            "available_commands_update",
            "compaction_summary_chunk",
            "compaction_update",
            "config_option_update",
            "cursor_update",
            "notice",
            "plan_removed",
            "plan_update",
            "prompt_suggestions_update",
            "replay_complete",
            "session_info_update",
            "session_message",
            "session_message_chunk",
            "state_update",
            "subagent_update",
            "terminal_output_chunk",
            "terminal_update",
            "tool_call_content_chunk",
            "tool_call_update",
            "usage_update",
            "user_message",
            "user_message_chunk",
        ],
    ),
    (
        CONTENT,
        &["audio", "image", "resource", "resource_link", "skill", "text"],
    ),
    (TOOL_CONTENT, &["content", "diff", "terminal"]),
    (COMMAND, &["command", "skill"]),
    (
        CLIENT_CAN,
        &[
            "auth",
            "auth.terminal",
            "elicitation",
            "elicitation.form",
            "elicitation.url",
            "session",
            "session.commands",
            "session.commands.skill",
            "session.promptSuggestions",
        ],
    ),
    (
        AGENT_CAN,
        &[
            "auth",
            "auth.status",
            "providers",
            "session",
            "session.additionalDirectories",
            "session.delete",
            "session.fork",
            "session.mcp",
            "session.mcp.http",
            "session.mcp.stdio",
            "session.options",
            "session.prompt",
            "session.prompt.audio",
            "session.prompt.embeddedContext",
            "session.prompt.image",
            "session.prompt.skill",
            "session.prompt.skill.inline",
            "session.systemPrompt",
            "session.systemPrompt.mode",
            "session.systemPrompt.mode.override",
            "session.title",
        ],
    ),
];

/// What acpd leaves out of version 2, each with the reason.
pub const LEFT_OUT_2: &[(&str, Names)] = &[
    (
        NO_SERVERS,
        &[
            (TO_AGENT, &["mcp/message"]),
            (TO_CLIENT, &["mcp/message"]),
            (AGENT_CAN, &["session.mcp.acp"]),
        ],
    ),
    (
        NO_ARCHIVE,
        &[
            (TO_AGENT, &["session/archive", "session/unarchive"]),
            (AGENT_CAN, &["session.archive"]),
        ],
    ),
    (
        NO_STATUS,
        &[(TO_AGENT, &["session/status"]), (AGENT_CAN, &["session.status"])],
    ),
    (NO_LINKS, &[(TOOL_CONTENT, &["session"])]),
    (
        PLAIN_SUGGESTIONS,
        &[(
            CLIENT_CAN,
            &[
                "session.promptSuggestions.audio",
                "session.promptSuggestions.embeddedContext",
                "session.promptSuggestions.image",
            ],
        )],
    ),
    (
        "A turn is interrupted as a whole, because an agent of version 1 can end neither a tool call nor a terminal of its own.",
        &[(TO_AGENT, &["terminal/cancel", "tool_call/cancel"])],
    ),
];

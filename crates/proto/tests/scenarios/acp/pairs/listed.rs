//! The losses that the documents list. Each row of their tables is here, with what shows it.

use std::collections::BTreeSet;

use super::expected::Loss;

/// What shows that a row is true.
#[derive(Debug)]
pub enum Shown {
    /// Scenes in which these losses take place.
    By(&'static [Loss]),
    /// A scene in which nothing is lost: the words are others.
    Same(&'static str),
    /// Something else, or nothing, for this reason.
    Elsewhere,
}

use Shown::{By, Elsewhere, Same};

/// The rows of the tables, by their first cell.
pub const ROWS: &[(&str, Shown)] = &[
    // Version 1 of the agent, version 2 of the editor.
    ("a chunk without `messageId`", By(&[Loss::MessageId])),
    (
        "`null` in a tool call's update, which changes nothing",
        Same("null in version 1"),
    ),
    // The unit tests of the surface have these.
    ("a location of a tool call with line 0", Elsewhere),
    (
        "members of a type that ACP does not have, such as a location without a path",
        Elsewhere,
    ),
    ("a diff of a new file", Same("changes of files")),
    ("a diff of a file", By(&[Loss::FileChange])),
    ("the deletion or the move of a file", By(&[Loss::MoveOrDeletion])),
    ("content that links to a session", By(&[Loss::SessionLink])),
    // An agent of version 1 that sends one is not valid; `turns` has them.
    ("a stop reason that ACP does not have", By(&[Loss::StopReason])),
    (
        "a call that ends with its interrupted turn",
        By(&[Loss::OpenCall]),
    ),
    // They are not valid in version 1. The unit tests of the surface have them.
    (
        "updates that only version 2 has, such as `state_update`",
        Elsewhere,
    ),
    // The host decodes the output.
    ("output of a terminal that is not UTF-8", Elsewhere),
    // Version 1 has no word with which an agent could report it.
    ("background work", Elsewhere),
    // It is in the editor only.
    ("a change of an unsaved buffer in the editor", Elsewhere),
    // Version 2 of both.
    ("`tool_call_content_chunk`", Same("content in pieces")),
    ("a chunk of a terminal's output", Same("a terminal")),
    // `v2_both` has these.
    ("a terminal with an id that begins with `term_`", Elsewhere),
    ("capabilities of terminals and tool calls", Elsewhere),
    ("a message of several blocks that replaces another", Elsewhere),
    // The words of acpd are the same with all pairs.
    ("the title of a question", Same("a question about a call")),
    (
        "`user_message` with the prompt, `state_update`, `config_option_update`",
        Same("a conversation"),
    ),
    (
        "options that are neither `select` nor `boolean`",
        By(&[Loss::OddOption]),
    ),
    (
        "`null`, or a member of the wrong type, in the first update of a call",
        Elsewhere,
    ),
    // Version 2 of the editor, version 1 of the agent.
    ("an MCP server of the type `stdio`", Elsewhere),
    ("`auth/login`, `auth/logout`", Elsewhere),
    (
        "`session/set_config_option` of `acpd.mode` and `acpd.model`",
        Elsewhere,
    ),
    ("`tool_call/cancel`", Elsewhere),
    // Version 2 of the agent.
    ("terminals of the agent", By(&[Loss::AgentsTerminal])),
    ("patches of several files", By(&[Loss::Patch])),
    ("a message that is replaced", By(&[Loss::Revision])),
    // `v2_both` has it.
    ("a message that is cleared", Elsewhere),
    (
        "status `paused`, `cancelled` and unknown ones of a tool call",
        By(&[Loss::CallStatus]),
    ),
    (
        "a status of a tool call that is earlier than the one before",
        By(&[Loss::EarlierStatus]),
    ),
    ("`null` for a member of a tool call", By(&[Loss::ClearedInput])),
    (
        "steps of a plan that are `cancelled`, or unknown",
        By(&[Loss::StepStatus]),
    ),
    (
        "questions about a command, about a tool call without an id, or about nothing",
        By(&[Loss::Question]),
    ),
    // The unit tests of the connection have these.
    (
        "a kind of a tool call, and a priority of a step of a plan, that version 1 does not have",
        Elsewhere,
    ),
    ("a tool call without a title", Elsewhere),
    ("unknown blocks of messages and content of tool calls", Elsewhere),
    (
        "formats of texts and optional fields of forms that version 1 does not have",
        Elsewhere,
    ),
    // Agents cannot send it: their tests do.
    ("`_meta.acpd` of the agent itself", Elsewhere),
    (
        "work in the background, unknown updates, terminals that no tool call shows",
        By(&[Loss::Background]),
    ),
    (
        "options that are neither `select` nor `boolean`, commands that are neither `command` nor `skill`",
        By(&[Loss::OddOption]),
    ),
    ("a turn that ends for an unknown reason", By(&[Loss::StopReason])),
];

/// What version 1 has no word for at all, which is in no row.
pub const OF_VERSION_1: [Loss; 2] = [Loss::States, Loss::AcpdsTerminal];

/// Returns the first cells of the tables about versions in the documents.
pub fn documented() -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for (file, heading) in [("acp", "## Version 2"), ("agents", "### ACP versions")] {
        let file = format!("{}/../../docs/{file}.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).unwrap();
        let section = text.split(&format!("\n{heading}\n")).nth(1).unwrap();
        let lines = section.lines().take_while(|line| !line.starts_with('#'));
        let tables: Vec<&str> = lines.collect();
        for (at, line) in tables.iter().enumerate() {
            let is_rule = |line: &&str| line.starts_with("|-");
            let is_head = tables.get(at + 1).is_some_and(is_rule);
            if line.starts_with("| ") && !is_head {
                rows.extend(line.split('|').nth(1).map(|cell| cell.trim().to_owned()));
            }
        }
    }
    rows
}

//! Unknown members of a tool call's input.
//!
//! In: the kinds that a call is judged as, and its input. Out: the names of members that may have effects that acpd
//! does not analyze. Never: accepts a member that is known for one kind only and hides an effect of another kind.

use acpd_model::text::shorten;
use serde_json::{Map, Value};

use super::claims;
use super::member_names::{
    ARGUMENTS, CODE, COMMANDS, DESTINATIONS, DIRECTORIES, GLOBS, INSTRUCTIONS, MCP_SERVERS, MCP_TOOLS, MOVES,
    NAMES, OPERATIONS, PATHS, PATTERNS, REPLACED, SEARCHED, TEXTS, THOUGHTS, URLS,
};
use super::subject::Kind;
use super::tool_names::kind_of_name;

/// Members with text for users and ids of a call. They do not change the effect of a call of any kind.
const REMARKS: [&str; 9] = [
    "approval_id",
    "call_id",
    "description",
    "explanation",
    "justification",
    "reason",
    "security_risk",
    "started_at_ms",
    "turn_id",
];
/// Members of a command's input: time limits, the target of its output, and Codex's assessment of it.
const EXECUTE: [&str; 8] = [
    "is_background",
    "max_output_tokens",
    "run_in_background",
    "timeout",
    "timeout_ms",
    "timeoutMs",
    "yield_time_ms",
    "timeout_seconds",
];
/// Members in which Codex describes a command and the answers to a question about it, in any form.
const CODEX: [&str; 3] = [
    "available_decisions",
    "parsed_cmd",
    "proposed_execpolicy_amendment",
];
/// Members that process a fetched page, and time limits.
const FETCH: [&str; 8] = [
    "format",
    "max_chars",
    "max_length",
    "prompt",
    "start_index",
    "timeout",
    "timeout_ms",
    "timeoutMs",
];
/// Members that select the part of a file, or the files, to read.
const READ: [&str; 28] = [
    "count",
    "depth",
    "encoding",
    "end_line",
    "endLine",
    "exclude",
    "forceReadLargeFiles",
    "hidden",
    "ignore",
    "include",
    "limit",
    "line",
    "line_offset",
    "lines",
    "max_chars",
    "max_length",
    "max_results",
    "maxResults",
    "n_lines",
    "offset",
    "pages",
    "recursive",
    "respect_gemini_ignore",
    "respect_git_ignore",
    "start_line",
    "startLine",
    "useDefaultExcludes",
    "view_range",
];
/// Members of a search in addition to [`READ`], [`PATTERNS`] and [`GLOBS`]: how to search, and how much to return.
const SEARCH: [&str; 26] = [
    "-A",
    "-B",
    "-C",
    "-i",
    "-n",
    "after",
    "before",
    "case_sensitive",
    "context",
    "exclude_pattern",
    "fixed_strings",
    "head_limit",
    "ignore_case",
    "instruction",
    "max_matches",
    "max_matches_per_file",
    "multiline",
    "names_only",
    "no_ignore",
    "numResults",
    "output_mode",
    "regex",
    "total_max_matches",
    "type",
    "use_default_ignore",
    "context_lines",
];
/// Members of a replacement in addition to [`REPLACED`]: where, and how often.
const EDIT: [&str; 18] = [
    "all",
    "allow_multiple",
    "append",
    "cell_id",
    "cell_type",
    "edit_mode",
    "encoding",
    "end_line",
    "endLine",
    "expected_replacements",
    "insert_line",
    "instruction",
    "line",
    "overwrite",
    "replace_all",
    "replaceAll",
    "start_line",
    "startLine",
];
/// Numbers and switches of thinking tools, in addition to [`THOUGHTS`].
const THINK: [&str; 9] = [
    "branchFromThought",
    "isRevision",
    "merge",
    "needsMoreThoughts",
    "nextThoughtNeeded",
    "revisesThought",
    "run_in_background",
    "thoughtNumber",
    "totalThoughts",
];
/// Members of an entry in a todo list.
const NOTE: [&str; 12] = [
    "active_form",
    "activeForm",
    "content",
    "dependencies",
    "description",
    "id",
    "notes",
    "priority",
    "status",
    "step",
    "text",
    "title",
];

/// Returns the names of members that are not analyzed for a call of `kinds`, each short enough to show. Returns none
/// for a call without a kind, and for kinds whose whole input is shown.
pub(super) fn unknown(kinds: &[Kind], is_mcp: bool, input: &Map<String, Value>) -> Vec<String> {
    /// Longest name that is shown, in characters.
    const NAME_CHARS: usize = 60;
    let shows_all = |kind: &Kind| matches!(kind, Kind::SwitchMode | Kind::Other);
    let kinds: Vec<Kind> = kinds.iter().copied().filter(|kind| !shows_all(kind)).collect();
    if kinds.is_empty() {
        return Vec::new();
    }
    let is_known = |name: &str, value: &Value| {
        let names_tool = is_mcp && (MCP_SERVERS.contains(&name) || MCP_TOOLS.contains(&name));
        // A member that any of the kinds analyzes is judged. A member that only limits the effect must do so for every
        // kind.
        names_tool
            || kinds.iter().any(|kind| is_read(*kind, name, value))
            || kinds.iter().all(|kind| says_no_more(*kind, name, value))
    };
    // An unset member has no effect.
    let is_set = |value: &Value| !value.is_null() && *value != Value::Bool(false);
    input
        .iter()
        .filter(|(name, value)| is_set(value) && !is_known(name, value))
        .map(|(name, _)| shorten(name, NAME_CHARS))
        .collect()
}

/// Returns whether this member is analyzed for a call of `kind`.
fn is_read(kind: Kind, name: &str, value: &Value) -> bool {
    // Case-insensitive, as in `claims::named`.
    let is_in = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(name));
    let is_path = || is_in(&PATHS) && is_plain(value, &["path"]);
    match kind {
        Kind::Read | Kind::Search => is_path() || (is_in(&SEARCHED) && is_plain(value, &[])),
        Kind::Edit => is_path() || is_in(&TEXTS) || is_in(&INSTRUCTIONS),
        Kind::Delete => is_path() || name == "changes",
        Kind::Move => {
            is_path()
                || name == "changes"
                || ((is_in(&MOVES) || is_in(&DESTINATIONS)) && is_plain(value, &[]))
        }
        Kind::Execute => {
            let is_list = is_in(&COMMANDS) || is_in(&DIRECTORIES) || is_in(&CODE);
            is_list || ARGUMENTS.contains(&name) || name == "is_input"
        }
        Kind::Fetch => is_in(&URLS) && is_plain(value, &[]),
        Kind::Think | Kind::SwitchMode | Kind::Other => false,
    }
}

/// Returns whether this member adds no effect to a call of `kind`.
fn says_no_more(kind: Kind, name: &str, value: &Value) -> bool {
    let text = value.as_str();
    let is_operation = || OPERATIONS.contains(&name) && text.is_some_and(claims::is_operation);
    let of_kind = match kind {
        Kind::Read => READ.contains(&name) || is_operation(),
        Kind::Search => {
            let is_target = name == "target" && matches!(text, Some("content" | "files"));
            let is_pattern = PATTERNS.contains(&name) || GLOBS.contains(&name);
            READ.contains(&name) || SEARCH.contains(&name) || is_pattern || is_target || is_operation()
        }
        Kind::Edit => EDIT.contains(&name) || REPLACED.contains(&name) || is_operation(),
        Kind::Delete | Kind::Move => is_operation(),
        Kind::Execute if CODEX.contains(&name) => return true,
        Kind::Execute => EXECUTE.contains(&name),
        Kind::Fetch => {
            let is_get = |text: &str| ["GET", "HEAD"].iter().any(|get| get.eq_ignore_ascii_case(text));
            FETCH.contains(&name) || (name == "method" && text.is_some_and(is_get))
        }
        Kind::Think if THOUGHTS.contains(&name) => return is_plain(value, &NOTE),
        Kind::Think => THINK.contains(&name) && !value.is_string(),
        Kind::SwitchMode | Kind::Other => true,
    };
    // A tool with a known name is judged by it. OpenHands sends the names of its classes.
    let names_tool = NAMES.contains(&name) && text.and_then(kind_of_name).is_some();
    let is_class = name == "kind" && text.is_some_and(|text| text.ends_with("Action"));
    (of_kind || names_tool || is_class || REMARKS.contains(&name)) && is_plain(value, &[])
}

/// Returns whether `value` is a string, a number, a list of those, or a list of objects with only these members.
fn is_plain(value: &Value, members: &[&str]) -> bool {
    let is_flat = |value: &Value| match value {
        Value::Array(items) => items.iter().all(|item| !item.is_array() && !item.is_object()),
        Value::Object(_) => false,
        _ => true,
    };
    match value {
        Value::Array(items) => items.iter().all(|item| match item {
            Value::Object(item) => item
                .iter()
                .all(|(name, value)| members.contains(&name.as_str()) && is_flat(value)),
            Value::Array(_) => false,
            _ => true,
        }),
        other => is_flat(other),
    }
}

/// Describes unknown members.
pub(super) fn in_words(unknown: &[String]) -> String {
    /// Number of members that are named.
    const NAMES: usize = 5;
    let names: Vec<_> = unknown
        .iter()
        .take(NAMES)
        .map(|name| format!("{name:?}"))
        .collect();
    let more = unknown.len().saturating_sub(NAMES);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "the call has members that acpd does not know: {}{more}",
        names.join(", ")
    )
}

//! Members of a tool call's input that acpd does not know.
//!
//! In: the input of a call. Out: the names of members that may ask for more than what acpd reads. Never: takes a member for
//! harmless by its value.

use acpd_model::text::shorten;
use serde_json::{Map, Value};

use super::claims;
use super::tool_call::{ARGUMENTS, COMMANDS, DIRECTORIES, MCP_SERVERS, MOVES, PATHS, URLS};

/// Members of the tools of known agents that change nothing of what a call does, or only how much of it is told: words
/// for people, time-outs, which part of a file, what is looked for, what is replaced.
const KNOWN: [&str; 74] = [
    "all",
    "allow_multiple",
    "approval_id",
    "available_decisions",
    "call_id",
    "case_sensitive",
    "cell_id",
    "cell_type",
    "context",
    "count",
    "depth",
    "edit_mode",
    "encoding",
    "end_line",
    "endLine",
    "exclude",
    "expected_replacements",
    "format",
    "glob",
    "head_limit",
    "hidden",
    "ignore",
    "include",
    "insert_line",
    "instruction",
    "is_background",
    "is_input",
    "justification",
    "limit",
    "line",
    "line_offset",
    "lines",
    "max_chars",
    "max_length",
    "max_output_tokens",
    "max_results",
    "maxResults",
    "multiline",
    "n_lines",
    "numResults",
    "offset",
    "old_string",
    "oldString",
    "old_str",
    "oldStr",
    "oldText",
    "old_text",
    "output_mode",
    "pages",
    "parsed_cmd",
    "pattern",
    "process_id",
    "proposed_execpolicy_amendment",
    "query",
    "reason",
    "recursive",
    "regex",
    "replace_all",
    "replaceAll",
    "reset",
    "respect_git_ignore",
    "run_in_background",
    "security_risk",
    "session_id",
    "start_line",
    "startLine",
    "timeout",
    "timeout_ms",
    "timeoutMs",
    "turn_id",
    "type",
    "view_range",
    "yield_time_ms",
    "-i",
];

/// The names of members that are not known, each short enough to be shown.
pub(super) fn unknown(input: &Map<String, Value>) -> Vec<String> {
    /// So many characters of a name are shown.
    const NAME_CHARS: usize = 60;
    let is_known = |name: &str| {
        let lists: [&[&str]; 8] = [
            &KNOWN,
            &COMMANDS,
            &DIRECTORIES,
            &PATHS,
            &MOVES,
            &URLS,
            &MCP_SERVERS,
            &ARGUMENTS,
        ];
        lists.iter().any(|list| list.contains(&name)) || claims::is_claim(name)
    };
    // What is not set says nothing.
    let is_set = |value: &Value| !value.is_null() && *value != Value::Bool(false);
    input
        .iter()
        .filter(|(name, value)| is_set(value) && !is_known(name))
        .map(|(name, _)| shorten(name, NAME_CHARS))
        .collect()
}

/// What is said of members that are not known.
pub(super) fn in_words(unknown: &[String]) -> String {
    /// So many members are named.
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

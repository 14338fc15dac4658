//! The effects that a tool call's input indicates, regardless of the kind that the agent declares.
//!
//! In: an input and the tool's name. Out: kinds, or that they are unknown. Agents name the same effect in many ways,
//! and a malicious agent in even more. Therefore many members indicate a write. A call that only reads or thinks must
//! not have a member that could mean anything else (see [`super::members`]).

use serde_json::{Map, Value};

use super::member_names::{CODE, DESTINATIONS, FLAGS, INSTRUCTIONS, NAMES, OPERATIONS, TEXTS};
use super::subject::Kind;
use super::tool_names::kind_of_name;

type Object = Map<String, Value>;

/// Returns the kind of an operation name of file editing tools. The operations of the first kind change nothing.
fn operation(word: &str) -> Option<Kind> {
    Some(match word.to_ascii_lowercase().as_str() {
        "view" | "read" | "get" | "cat" | "open" | "show" | "stat" | "content" | "text" => Kind::Read,
        "list" | "ls" | "search" | "find" | "grep" | "glob" | "files_with_matches" | "count" => Kind::Search,
        "create" | "write" | "insert" | "str_replace" | "replace" | "append" | "prepend" | "edit"
        | "update" | "overwrite" | "undo_edit" | "undo" | "patch" | "apply_patch" | "save" | "touch"
        | "mkdir" => Kind::Edit,
        "delete" | "remove" | "unlink" | "rm" | "rmdir" => Kind::Delete,
        "move" | "rename" | "mv" => Kind::Move,
        _ => return None,
    })
}

/// Returns whether `word` is an operation of a file tool, and not a program.
pub fn is_operation(word: &str) -> bool {
    operation(word).is_some()
}

/// Returns the values of the members of `input` with one of these names, in the order of the names. Case is ignored,
/// and `null` counts as absent.
pub fn named<'a>(input: &'a Object, names: &[&str]) -> impl Iterator<Item = &'a Value> + use<'a> {
    let place = |key: &String| names.iter().position(|name| name.eq_ignore_ascii_case(key));
    let given = input.iter().filter(|(_, value)| !value.is_null());
    let mut found: Vec<(usize, &Value)> = given
        .filter_map(|(key, value)| Some((place(key)?, value)))
        .collect();
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, value)| value)
}

/// Returns the kinds that `input` indicates.
pub fn kinds(input: &Object) -> Vec<Kind> {
    let has = |names: &[&str]| named(input, names).next().is_some();
    let texts = |names: &[&str]| named(input, names).filter_map(Value::as_str);
    let mut kinds: Vec<Kind> = texts(&NAMES).filter_map(kind_of_name).collect();
    kinds.extend(texts(&OPERATIONS).filter_map(operation));
    let is_patch = |value: &Value| {
        value
            .as_str()
            .is_some_and(|text| text.contains("*** Begin Patch"))
    };
    let is_set = |value: &Value| *value == Value::Bool(true);
    if has(&TEXTS) || has(&INSTRUCTIONS) || named(input, &FLAGS).any(is_set) || input.values().any(is_patch) {
        kinds.push(Kind::Edit);
    }
    if has(&DESTINATIONS) {
        kinds.push(Kind::Move);
    }
    if has_code(input) {
        kinds.push(Kind::Execute);
    }
    kinds
}

/// Returns whether `input` indicates that a tool with several operations only reads.
pub fn only_looks(input: &Object) -> bool {
    let looks = |kind: &Kind| matches!(kind, Kind::Read | Kind::Search);
    let operations = named(input, &OPERATIONS).filter_map(|word| operation(word.as_str()?));
    operations.count() > 0 && kinds(input).iter().all(looks)
}

/// Returns whether `input` contains code to run.
pub fn has_code(input: &Object) -> bool {
    named(input, &CODE).next().is_some()
}

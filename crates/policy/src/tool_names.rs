//! Determines a tool's effect from its programmatic name.
//!
//! In: the name, as the agent sends it. Out: a kind. If an agent declares that a tool reads but the tool's name means
//! writing, the call is judged by the name. A name can only make a decision stricter.

use super::subject::Kind;

/// Words for an agent's own notes, which a thinking tool may write.
const NOTES: [&str; 6] = ["todo", "todos", "plan", "task", "tasks", "topic"];
/// Words of tools that look for files by their names.
const FINDS: [&str; 4] = ["glob", "find", "ls", "list"];
/// Words for files. A tool with one of them does not write an agent's own notes.
const FILES: [&str; 3] = ["file", "files", "disk"];
const RUNS: [&str; 24] = [
    "sh",
    "bash",
    "zsh",
    "shell",
    "powershell",
    "pwsh",
    "cmd",
    "command",
    "terminal",
    "exec",
    "execute",
    "run",
    "process",
    "script",
    "automation",
    "computer",
    "cron",
    "cronjob",
    "kill",
    "spawn",
    "stdin",
    "eval",
    "python",
    "repl",
];
const DELETES: [&str; 5] = ["delete", "remove", "unlink", "rm", "rmdir"];
const MOVES: [&str; 3] = ["move", "rename", "mv"];
const EDITS: [&str; 20] = [
    "write",
    "edit",
    "multiedit",
    "editor",
    "create",
    "insert",
    "replace",
    "patch",
    "append",
    "update",
    "save",
    "overwrite",
    "modify",
    "manage",
    "mkdir",
    "touch",
    "put",
    "upload",
    "undo",
    "memory",
];

/// Returns the kind of a tool that the known agents call by exactly this name.
pub fn kind_of_name(name: &str) -> Option<Kind> {
    Some(match name.to_ascii_lowercase().as_str() {
        "bash" | "shell" | "terminal" | "run_shell_command" | "run_command" | "run_terminal_cmd"
        | "exec_command" | "execute_command" | "execute_bash" | "local_shell" | "unified_exec"
        | "write_stdin" | "killshell" | "kill_shell" => Kind::Execute,
        "read" | "notebookread" | "read_file" | "readfile" | "read_many_files" | "read_text_file" => {
            Kind::Read
        }
        "write"
        | "edit"
        | "multiedit"
        | "notebookedit"
        | "write_file"
        | "writefile"
        | "create_file"
        | "edit_file"
        | "replace"
        | "search_replace"
        | "apply_patch"
        | "patch"
        | "strreplacefile"
        | "insert_edit_into_file"
        | "write_text_file"
        | "save_memory" => Kind::Edit,
        "delete_file" | "remove_file" => Kind::Delete,
        "move_file" | "rename_file" => Kind::Move,
        "grep" | "glob" | "ls" | "grep_search" | "search_file_content" | "list_directory" => Kind::Search,
        "webfetch" | "websearch" | "web_fetch" | "google_web_search" => Kind::Fetch,
        _ => return None,
    })
}

/// Returns the kind that the words in a tool's name mean, for a call with the harmless declared kind `kind`. For other
/// kinds, the declared kind is at least as strict.
pub fn kind_by_words(name: &str, kind: Kind) -> Option<Kind> {
    let words = words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_note = kind == Kind::Think && has(&NOTES) && !has(&FILES);
    let kinds = [
        (&RUNS[..], Kind::Execute),
        (&DELETES, Kind::Delete),
        (&MOVES, Kind::Move),
        (&EDITS, Kind::Edit),
    ];
    kinds
        .into_iter()
        .find_map(|(list, kind)| has(list).then_some(kind))
        .filter(|kind| *kind != Kind::Edit || !is_note)
}

/// Returns whether a tool's name says that it looks for files by their names, and not for a text.
pub fn finds_files(name: &str) -> bool {
    let words = words(name);
    words == ["file", "search"] || words.iter().any(|word| FINDS.contains(&word.as_str()))
}

/// Splits `writeFile`, `write_file` and `write-file` into the same words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        let begins = character.is_uppercase() && was_lower;
        was_lower = character.is_lowercase();
        if begins || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
    }
    words
}

//! The help.

/// The keys and what they do. docs/attach.md has the same table.
pub const KEYS: &[(&str, &str)] = &[
    ("Enter", "send the prompt; while a turn runs, queue it"),
    ("Alt+Enter, Ctrl+J", "new line"),
    (
        "Alt+S",
        "send into the running turn; empty: the first queued prompt",
    ),
    ("Ctrl+X", "take the last queued prompt back"),
    ("Alt+↑ Alt+↓", "recall earlier prompts"),
    ("→", "in the empty prompt: take what the agent suggests"),
    (
        "Alt+E",
        "edit the last prompt, then the ones before; Enter sends in its place",
    ),
    ("Ctrl+P", "threads: open another one, or start one"),
    ("Shift+Tab", "the next mode of the agent"),
    ("Alt+M", "choose the model"),
    (
        "/",
        "as the first character: commands; ↑ ↓ choose, Tab or Enter completes",
    ),
    (
        "Alt+1 … Alt+9",
        "choose an option of the question: Enter gives it",
    ),
    ("Tab", "into the question: a number or a form's value, then Enter"),
    (
        "Esc Esc, Ctrl+C",
        "interrupt the turn; again: terminate the agent (Esc Esc)",
    ),
    ("Ctrl+C Ctrl+C", "detach; the agent keeps running"),
    ("PgUp PgDn", "scroll the conversation"),
    ("Ctrl+Home Ctrl+End", "the oldest loaded turn, the newest"),
    ("Ctrl+F", "search; then Enter: older hit, ↓: newer hit, Esc: end"),
    ("Ctrl+O", "open or close the folded texts"),
    ("Ctrl+L", "draw everything again"),
    ("Ctrl+Z", "suspend"),
    ("F1", "this help"),
    ("", ""),
    ("With an empty input", ""),
    ("Ctrl+D", "detach; the agent keeps running"),
    ("↑ ↓", "scroll the question, or the conversation"),
    ("Home End", "the oldest loaded turn, the newest"),
];

/// Columns of the keys.
const COLUMNS: usize = 20;

/// Returns the lines of the help.
pub fn lines() -> Vec<String> {
    let line = |(keys, what): &(&str, &str)| {
        let padding = " ".repeat(COLUMNS.saturating_sub(keys.chars().count()));
        format!("{keys}{padding}{what}").trim_end().to_owned()
    };
    KEYS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::KEYS;

    #[test]
    fn the_documentation_has_every_key() {
        let page = include_str!("../../../../../docs/attach.md");
        for (keys, what) in KEYS.iter().filter(|(_, what)| !what.is_empty()) {
            let keys: Vec<String> = keys.split(", ").map(|key| format!("`{key}`")).collect();
            let row = format!("| {} | {what} |", keys.join(", "));
            assert!(page.contains(&row), "docs/attach.md lacks {row}");
        }
    }
}

//! Variables that may be set for an allowed command.
//!
//! An assignment comes in; whether the command stays what it is comes out. Programs take their configuration,
//! helpers and libraries from variables of any name, so that those which do no harm are listed, and not the others.

use super::shell::{Assignment, Word};

impl Assignment {
    /// A variable with a known value.
    pub fn fixed(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: Word::plain(value),
        }
    }
}

/// How programs talk, and how much. Names that end with a `*` are beginnings.
const FOR_PROGRAMS: [&str; 18] = [
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "CARGO_TERM_COLOR",
    "COLUMNS",
    "LINES",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "DEBUG",
    "VERBOSE",
    "DEBIAN_FRONTEND",
    "PYTHONUNBUFFERED",
];
/// What people call the variables of a line, besides single letters. Programs are told of none of them.
const FOR_LINES: [&str; 12] = [
    "file", "dir", "name", "item", "line", "word", "pkg", "crate", "branch", "commit", "test", "num",
];

/// Whether a program that is given this variable does what it does without it. A value with a slash, a blank or an
/// expansion is not trusted under any name.
pub fn is_harmless(assignment: &Assignment) -> bool {
    let name = assignment.name.as_str();
    let listed = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    };
    FOR_PROGRAMS.iter().any(listed) && has_plain_value(assignment)
}

/// The same for a variable of the shell, of which programs know only if it was in their environment before.
pub fn is_harmless_in_line(assignment: &Assignment) -> bool {
    let name = assignment.name.as_str();
    let letter = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let own = letter || FOR_LINES.contains(&name);
    (own && has_plain_value(assignment)) || is_harmless(assignment)
}

fn has_plain_value(assignment: &Assignment) -> bool {
    assignment.value.is_plain() && !assignment.value.text.contains('/')
}

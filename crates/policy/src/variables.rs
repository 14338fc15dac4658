//! Environment variables that may be set for an allowed command.
//!
//! In: an assignment. Out: whether it leaves the effect of the command unchanged. Programs read configuration, helpers
//! and libraries from variables of any name, so the list contains the harmless ones instead of the dangerous ones.

use super::shell::{Assignment, Word};

impl Assignment {
    /// Returns an assignment of a fixed value.
    pub fn fixed(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: Word::plain(value),
        }
    }
}

/// Variables for the format and amount of output.
const FOR_PROGRAMS: [&str; 14] = [
    "LANGUAGE",
    "TZ",
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "CARGO_TERM_COLOR",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "DEBUG",
    "VERBOSE",
    "DEBIAN_FRONTEND",
    "PYTHONUNBUFFERED",
];
/// The same, for locales. A name that ends with a `*` is a prefix. In some locales, the last byte of a character looks like a
/// backslash, so a shell reads another line.
const FOR_LOCALES: [&str; 2] = ["LANG", "LC_*"];
/// Locales in which shells read a line as acpd does. A name that begins with a `.` is a suffix.
const LOCALES: [&str; 4] = ["C", "POSIX", ".UTF-8", ".utf8"];
/// The same, for numbers. One shell evaluates what these are set to.
const NUMBERS: [&str; 2] = ["COLUMNS", "LINES"];
/// Usual names for variables within a command line, in addition to single letters. No program reads any of them.
const FOR_LINES: [&str; 12] = [
    "file", "dir", "name", "item", "line", "word", "pkg", "crate", "branch", "commit", "test", "num",
];

/// Returns whether this variable leaves the effect of a program unchanged. A value with a slash, a space or an
/// expansion is never trusted.
pub fn is_harmless(assignment: &Assignment) -> bool {
    let name = assignment.name.as_str();
    let listed = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    };
    let value = &assignment.value;
    let is_locale =
        |locale: &&str| value.text == *locale || (locale.starts_with('.') && value.text.ends_with(*locale));
    let is_number = !value.text.is_empty() && value.text.bytes().all(|byte| byte.is_ascii_digit());
    (FOR_PROGRAMS.iter().any(listed) && has_plain_value(assignment))
        || (FOR_LOCALES.iter().any(listed) && has_plain_value(assignment) && LOCALES.iter().any(is_locale))
        || (NUMBERS.contains(&name) && is_number && !value.dynamic)
}

/// Like [`is_harmless`], for a shell variable, which programs only see if it was in the environment before.
pub fn is_harmless_in_line(assignment: &Assignment) -> bool {
    let name = assignment.name.as_str();
    let letter = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let own = letter || FOR_LINES.contains(&name);
    (own && has_plain_value(assignment)) || is_harmless(assignment)
}

/// One shell replaces `=x` by a path, also behind a colon.
fn has_plain_value(assignment: &Assignment) -> bool {
    let text = assignment.value.text.as_str();
    assignment.value.is_plain() && !text.contains('/') && !text.starts_with('=') && !text.contains(":=")
}

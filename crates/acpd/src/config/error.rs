//! Errors of the configuration file, in the words of its author.

use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use acpd_model::similar::nearest;
use acpd_model::{in_plain_words, unknown_word};

use super::secrets::is_secret;

/// An error of the configuration file.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the configuration {} is wrong: {message}", path.display())]
pub struct ConfigError {
    path: PathBuf,
    /// The line of the mistake, if it is known.
    line: Option<usize>,
    message: String,
}

impl ConfigError {
    /// Creates the error of a text that is not TOML.
    pub fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        Self::at(path, line_of(text, error.span()), "", &message)
    }

    /// Creates the error of a value that has another type, or of an unknown key.
    pub fn value(path: &Path, text: &str, error: &serde_path_to_error::Error<toml::de::Error>) -> Self {
        let key = error.path().to_string();
        let key = if key == "." { "" } else { &key };
        let message = error.inner().message();
        let line = line_of(text, error.inner().span());
        if let Some((unknown, known)) = unknown_word(message, "unknown field `") {
            let parent = key
                .strip_suffix(unknown)
                .map_or(key, |key| key.trim_end_matches('.'));
            return Self::at(path, line, parent, &unknown_key(unknown, &known));
        }
        if let Some((unknown, known)) = unknown_word(message, "unknown variant `") {
            let known: Vec<String> = known.iter().map(|known| format!("{known:?}")).collect();
            let message = format!("{unknown:?} is unknown; known are {}", known.join(" and "));
            return Self::at(path, line, key, &message);
        }
        Self::at(path, line, key, &plain(message, key))
    }

    /// Creates the error of a setting that has the right type and makes no sense.
    pub fn meaning(path: &Path, message: String) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            message,
        }
    }

    /// Sets the line, which the message need not name.
    pub fn at_line(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    /// Returns the line of the mistake, if it is known.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns the error without the name of the file.
    pub fn message(&self) -> &str {
        &self.message
    }

    fn at(path: &Path, line: Option<usize>, key: &str, message: &str) -> Self {
        let mut place = line.map_or_else(String::new, |line| format!("line {line}"));
        if !key.is_empty() {
            let _ = write!(place, "{}at {key}", if place.is_empty() { "" } else { ", " });
        }
        let separator = if place.is_empty() { "" } else { ": " };
        Self {
            path: path.to_owned(),
            line,
            message: format!("{place}{separator}{message}"),
        }
    }
}

fn unknown_key(unknown: &str, known: &[&str]) -> String {
    match nearest(unknown, known.iter().copied()) {
        Some(nearest) => format!("unknown key {unknown:?}; did you mean {nearest:?}?"),
        None => format!("unknown key {unknown:?}; known are {}", known.join(", ")),
    }
}

/// Returns a message of the deserializer in plain words, with what to write for this key.
fn plain(message: &str, key: &str) -> String {
    if matches!(key, "listen" | "codex.listen") {
        let (_, found) = message.split_once("invalid type: ").unwrap_or_default();
        let found = found.split_once(", expected").map_or("", |(found, _)| found);
        let found = in_plain_words(&format!("invalid type: {found}"));
        let found = if found == "found " {
            String::new()
        } else {
            format!(", {found}")
        };
        return format!("expected an address with a port, such as \"127.0.0.1:4127\"{found}");
    }
    let mut text = in_plain_words(message);
    if is_secret(key)
        && let Some((expected, _)) = text.split_once(", found ")
    {
        text = expected.to_owned();
    }
    if key.ends_with("_secs") {
        text = text.replace("a whole number", "a whole number of seconds");
    }
    let is_command = key.starts_with("agents.") && key.ends_with(".command");
    if is_command && text.ends_with("found a list") {
        text.push_str("; arguments go into args: command = \"gemini\", args = [\"--acp\"]");
    }
    text
}

/// Returns the number of the line in which a part of the text starts.
pub fn line_of(text: &str, span: Option<Range<usize>>) -> Option<usize> {
    let before = text.get(..span?.start)?;
    Some(before.matches('\n').count() + 1)
}

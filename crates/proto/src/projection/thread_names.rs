//! The name of a thread: the one that the user set, else the agent's title, else the start of the first prompt.

use acpd_model::RawJson;
use serde::{Deserialize, Serialize};

/// The possible names of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThreadNames {
    /// Set by the user.
    pub person: Option<String>,
    /// The agent's title.
    pub agent: Option<String>,
    /// The start of its first prompt.
    pub prompt: Option<String>,
}

impl ThreadNames {
    /// Returns the name to show.
    pub fn shown(&self) -> Option<&String> {
        self.person
            .as_ref()
            .or(self.agent.as_ref())
            .or(self.prompt.as_ref())
    }

    /// Returns the name to show if the user's name is `name`.
    pub fn shown_with(&self, name: Option<&String>) -> Option<String> {
        name.or(self.agent.as_ref()).or(self.prompt.as_ref()).cloned()
    }

    /// Sets the name from a prompt, if it is the first one.
    pub(super) fn prompted(&mut self, content: &[RawJson]) {
        if self.prompt.is_none() {
            self.prompt = name_from(content);
        }
    }
}

/// Maximum length of a name from a prompt, in characters.
const NAME_CHARS: usize = 80;

/// Beginnings of prompts that say nothing about the thread, in lower case.
const EMPTY_WORDS: [&str; 9] = [
    "please ",
    "please, ",
    "can you ",
    "could you ",
    "would you ",
    "hi, ",
    "hi! ",
    "hello, ",
    "hey, ",
];

/// Returns the start of a prompt. The web UI forms the same name: both are tested with `thread-names.json`.
fn name_from(content: &[RawJson]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Block {
        text: String,
    }
    let text = content.iter().find_map(|block| block.read::<Block>().ok())?.text;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(shorten_to_words(without_empty_words(line)))
}

fn without_empty_words(mut line: &str) -> &str {
    let begins = |line: &str, word: &str| {
        line.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    while let Some(word) = EMPTY_WORDS.iter().find(|word| begins(line, word)) {
        line = line[word.len()..].trim_start();
    }
    line
}

/// Returns a line of at most [`NAME_CHARS`] characters. A longer one ends after a word, unless that word is very long.
fn shorten_to_words(line: &str) -> String {
    let ends = [NAME_CHARS - 1, NAME_CHARS].map(|chars| line.char_indices().nth(chars));
    let [Some((cut, _)), Some(_)] = ends else {
        return line.to_owned();
    };
    let begin = &line[..cut];
    let word = if line[cut..].starts_with(' ') {
        None
    } else {
        begin.rfind(' ')
    };
    let is_enough = |at: &usize| begin[..*at].chars().count() >= NAME_CHARS / 2;
    let begin = word.filter(is_enough).map_or(begin, |at| &begin[..at]);
    let is_loose = |c: char| c.is_whitespace() || "-,;:".contains(c);
    format!("{}…", begin.trim_end_matches(is_loose))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_gives_a_name_without_empty_words_and_cut_after_a_word() {
        let cases = include_str!("../../../model/fixtures/thread-names.json");
        let cases: Vec<(String, Option<String>)> = serde_json::from_str(cases).unwrap();
        for (prompt, name) in cases {
            let content = [serde_json::json!({ "text": prompt }).into()];
            assert_eq!(name_from(&content), name, "{prompt:?}");
        }
    }
}

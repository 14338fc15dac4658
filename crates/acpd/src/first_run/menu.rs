//! The menu of `acpd` alone.
//!
//! In: the state of the daemon, and what the user types. Out: text, and the entry. Never: accepts a text that is not
//! an entry.

use std::path::PathBuf;

use acpd_model::text::shorten;

use crate::terminal::plain::{plain_line, visible_line};

/// Longest name of a thread in the menu, in characters.
const NAME_CHARS: usize = 48;

/// The question below the menu.
pub const QUESTION: &str = "What next? Its number, Enter for 1, or q to quit: ";

/// What the menu is about.
#[derive(Debug, Clone)]
pub struct Menu {
    /// The daemon's URL.
    pub address: String,
    /// The agent of a new thread.
    pub agent: String,
    /// The directory of a new thread.
    pub cwd: PathBuf,
    /// Threads that wait for an answer.
    pub waiting: usize,
    /// The id and the name of the thread that changed last.
    pub last: Option<(String, String)>,
    /// Whether a browser can be opened here.
    pub has_browser: bool,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The web UI.
    Open,
    /// A prompt in this terminal.
    Prompt,
    /// The thread with this id.
    Last(String),
    /// The help.
    Help,
    /// Nothing.
    Quit,
}

impl Menu {
    /// Returns the entries with their texts, in the order of their numbers. The first is that of Enter.
    fn entries(&self) -> Vec<(Entry, String)> {
        let open = if self.has_browser {
            "Open the web UI"
        } else {
            "Print a link for a browser"
        };
        let cwd = visible_line(&self.cwd.display().to_string());
        let mut entries = vec![
            (Entry::Open, open.to_owned()),
            (
                Entry::Prompt,
                format!("Start a thread here, with {} in {cwd}", plain_line(&self.agent)),
            ),
        ];
        if !self.has_browser {
            entries.reverse();
        }
        if let Some((id, name)) = &self.last {
            let name = shorten(&plain_line(name), NAME_CHARS);
            entries.push((
                Entry::Last(id.clone()),
                format!("Continue the last thread: {name}"),
            ));
        }
        entries.push((Entry::Help, "Show the commands".to_owned()));
        entries
    }

    /// Returns the menu as text.
    pub fn text(&self) -> String {
        let waiting = match self.waiting {
            0 => String::new(),
            1 => "; 1 thread waits for an answer".to_owned(),
            many => format!("; {many} threads wait for an answer"),
        };
        let mut text = format!("acpd runs at {}{waiting}.\n", plain_line(&self.address));
        for (number, (_, line)) in (1..).zip(self.entries()) {
            text.push_str(&format!("  {number}) {line}\n"));
        }
        text
    }

    /// Returns the entry that the user typed.
    pub fn pick(&self, typed: &str) -> Result<Entry, String> {
        let mut entries = self.entries();
        let at = match typed.trim() {
            "" => 0,
            "q" | "quit" => return Ok(Entry::Quit),
            typed => match crate::setup::one(typed, entries.len()) {
                Some(at) => at,
                None => return Err(format!("type a number from 1 to {}, or q", entries.len())),
            },
        };
        Ok(entries.swap_remove(at).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn menu() -> Menu {
        Menu {
            address: "http://127.0.0.1:1".to_owned(),
            agent: "gemini".to_owned(),
            cwd: "/work".into(),
            waiting: 0,
            last: None,
            has_browser: true,
        }
    }

    #[test]
    fn enter_is_the_web_ui_beside_a_browser_and_a_prompt_elsewhere() {
        assert_eq!(
            menu().text(),
            "acpd runs at http://127.0.0.1:1.\n  1) Open the web UI\n  2) Start a thread here, with gemini in /work\n  3) Show \
             the commands\n"
        );
        assert_eq!(menu().pick(""), Ok(Entry::Open));
        let far = Menu {
            has_browser: false,
            waiting: 2,
            last: Some(("id".to_owned(), "a \u{1b}[2J name".to_owned())),
            ..menu()
        };
        assert_eq!(
            far.text(),
            "acpd runs at http://127.0.0.1:1; 2 threads wait for an answer.\n  1) Start a thread here, with gemini in \
             /work\n  2) Print a link for a browser\n  3) Continue the last thread: a \u{fffd}[2J name\n  4) Show the \
             commands\n"
        );
        assert_eq!(far.pick(" 3 "), Ok(Entry::Last("id".to_owned())));
        assert_eq!(far.pick("q"), Ok(Entry::Quit));
        for wrong in ["0", "5", "x"] {
            assert!(far.pick(wrong).is_err(), "{wrong}");
        }
    }
}

//! Commands in the prompt, such as `/plan` of the agent or `/model` of this program, and the list that completes them.

use std::time::Instant;

use super::App;
use super::acp::CommandsUpdate;
use super::exchange::Request;
use super::requests::Pending;
use crate::terminal::plain::plain_line;
use crate::threads::options::SessionOption;
use acpd_client::protocol::ThreadConfigSetParams;
use crossterm::event::{KeyCode, KeyEvent};

/// Maximum length of a description, in bytes.
const ABOUT_BYTES: usize = 200;

/// A command that begins with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name without the slash.
    pub name: String,
    pub about: String,
    /// What this program does for it; `None` for a command of the agent.
    own: Option<Own>,
}

/// A command of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Model,
    Mode,
    Threads,
    New,
}

const OWN: [(&str, &str, Own); 4] = [
    ("model", "choose the model", Own::Model),
    ("mode", "choose the mode", Own::Mode),
    ("threads", "open another thread", Own::Threads),
    ("new", "start a thread like this one", Own::New),
];

impl SlashCommand {
    /// Reads the commands of the agent.
    pub fn all(update: CommandsUpdate) -> Vec<Self> {
        update
            .available_commands
            .into_iter()
            .filter_map(|command| {
                let name = command.name.trim_start_matches('/');
                let about = plain_line(&command.description.unwrap_or_default());
                let about = &about[..about.floor_char_boundary(ABOUT_BYTES)];
                let about = match command.kind.as_deref() {
                    None | Some("command") => about.to_owned(),
                    Some("skill") => format!("(skill) {about}"),
                    // It might not be invoked by a slash.
                    Some(_) => return None,
                };
                // A name with a blank or a control character could not be typed.
                let is_fit =
                    !name.is_empty() && !name.contains(char::is_whitespace) && plain_line(name) == name;
                is_fit.then(|| Self {
                    name: name.to_owned(),
                    about,
                    own: None,
                })
            })
            .collect()
    }
}

impl App {
    /// Returns the commands that complete the prompt: those that begin with what is typed, then those that contain it.
    pub fn completions(&self) -> Vec<SlashCommand> {
        let text = self.prompt.text();
        let Some(typed) = text.strip_prefix('/') else {
            return Vec::new();
        };
        if typed.contains(char::is_whitespace) || self.closed_commands.as_deref() == Some(text) {
            return Vec::new();
        }
        let typed = typed.to_lowercase();
        let agents = self.head.commands.iter();
        // A command of the agent with the same name wins: the user sees the agent's description.
        let own = OWN
            .iter()
            .filter(|(name, ..)| !self.head.commands.iter().any(|command| command.name == *name));
        let own = own.map(|(name, about, own)| SlashCommand {
            name: (*name).to_owned(),
            about: format!("{about} (acpd)"),
            own: Some(*own),
        });
        let known: Vec<SlashCommand> = agents.cloned().chain(own).collect();
        let (begin, rest): (Vec<_>, Vec<_>) = known
            .into_iter()
            .partition(|command| command.name.to_lowercase().starts_with(&typed));
        let contain = rest
            .into_iter()
            .filter(|command| command.name.to_lowercase().contains(&typed));
        begin.into_iter().chain(contain).collect()
    }

    /// Takes a key of the list of commands, if it is shown. Returns whether it did.
    pub(super) fn key_in_commands(&mut self, key: KeyEvent, now: Instant) -> bool {
        let completions = self.completions();
        if completions.is_empty() || !key.modifiers.is_empty() {
            return false;
        }
        let at = self.command_at.min(completions.len() - 1);
        let chosen = &completions[at];
        match key.code {
            KeyCode::Up => self.command_at = at.saturating_sub(1),
            KeyCode::Down => self.command_at = (at + 1).min(completions.len() - 1),
            KeyCode::Esc => self.closed_commands = Some(self.prompt.text().to_owned()),
            KeyCode::Tab => self.complete(&chosen.name),
            KeyCode::Enter => {
                let typed = self.prompt.text().trim_start_matches('/').to_owned();
                let named = completions.iter().find(|command| command.name == typed);
                match named.map(|command| command.own) {
                    Some(Some(own)) => self.run_own(own, now),
                    // The agent's command is complete: it is sent as a prompt.
                    Some(None) => return false,
                    None => self.complete(&chosen.name),
                }
            }
            _ => return false,
        }
        true
    }

    fn complete(&mut self, name: &str) {
        let is_own = OWN.iter().any(|(own, ..)| *own == name)
            && !self.head.commands.iter().any(|command| command.name == name);
        // The agent's commands may be followed by words.
        let blank = if is_own { "" } else { " " };
        self.prompt.set(&format!("/{name}{blank}"));
        self.command_at = 0;
    }

    fn run_own(&mut self, own: Own, now: Instant) {
        self.prompt.set("");
        match own {
            Own::Model => self.pick_value("model", now),
            Own::Mode => self.pick_value("mode", now),
            Own::Threads => self.pick_thread(now),
            Own::New => self.start_thread_like_this(now),
        }
    }

    /// Changes to the next mode of the agent.
    pub(super) fn next_mode(&mut self, now: Instant) {
        let mode =
            SessionOption::of_category(&self.head.options, "mode").filter(|mode| !mode.choices.is_empty());
        let Some(mode) = mode else {
            self.show_error("the agent offers no modes", now);
            return;
        };
        // Keys that follow each other continue from the mode that is on its way.
        let wanted = self.setting.as_ref().filter(|(option, _)| *option == mode.id);
        let current = wanted.map_or(mode.current.as_str(), |(_, value)| Some(value.as_str()));
        let at = mode
            .choices
            .iter()
            .position(|choice| Some(&*choice.id) == current);
        let next = at.map_or(0, |at| (at + 1) % mode.choices.len());
        let (option, value) = (mode.id.clone(), mode.choices[next].id.clone());
        self.set_option(option, value, now);
    }

    /// Sets an option of the agent.
    pub(super) fn set_option(&mut self, option: String, value: String, now: Instant) {
        if self.lost.is_some() {
            self.show_error("not connected: try again when the daemon is back", now);
            return;
        }
        let known = self.head.options.iter().find(|known| known.id == option);
        let label = known.and_then(|known| {
            let choice = known.choices.iter().find(|choice| choice.id == value)?;
            Some(format!(
                "{}: {}",
                plain_line(&known.name),
                plain_line(&choice.name)
            ))
        });
        let label = label.unwrap_or_else(|| plain_line(&value));
        self.show_message(format!("{label}…"), now);
        let request = Request::SetOption(ThreadConfigSetParams {
            config_id: option.clone(),
            thread_id: self.thread.clone(),
            value: value.as_str().into(),
        });
        self.setting = Some((option, value.clone()));
        self.request(request, Pending::Set { value, label });
    }
}

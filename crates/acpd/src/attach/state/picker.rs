//! A list over the conversation, from which the user picks: a thread, or a value of an option.
//!
//! Never: answers a question, or starts a turn.

use std::time::Instant;

use acpd_client::protocol::{
    ThreadListParams, ThreadResumed, ThreadStartParams, ThreadStatus, ThreadSummary, TurnStatus,
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::exchange::Request;
use super::requests::Pending;
use super::{App, Effect, Focus};
use crate::attach::conversation::Conversation;
use crate::attach::conversation::scroll::Scroll;
use crate::attach::state::head::Head;
use crate::terminal::items::short_id;
use crate::terminal::plain::{plain_line, visible_line};
use crate::threads::options::SessionOption;

/// Number of threads that are offered, the last changed first.
const THREADS: u64 = 100;

/// Number of other agents and folders that are offered for a new thread, those of the last changed threads.
const NEW_THREADS: usize = 20;

/// Maximum length of the text that narrows the list, in bytes.
const WANTED_BYTES: usize = 200;

/// What an entry of the list does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// Starts a thread with an agent in a folder.
    NewThread { agent: String, cwd: String },
    /// Opens a thread.
    Thread(String),
    /// Sets an option.
    Value { option: String, value: String },
}

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub pick: Pick,
    pub text: String,
}

/// The list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picker {
    pub title: String,
    /// The entries; `None` while they are being loaded.
    pub entries: Option<Vec<Entry>>,
    /// What the user has typed, which the entries must contain.
    pub wanted: String,
    /// Index of the chosen entry among those that are shown.
    pub at: usize,
}

impl Picker {
    fn new(title: String, entries: Option<Vec<Entry>>) -> Self {
        Self {
            title,
            entries,
            wanted: String::new(),
            at: 0,
        }
    }

    /// Returns the entries that contain what was typed.
    pub fn shown(&self) -> Vec<&Entry> {
        let wanted = self.wanted.to_lowercase();
        let entries = self.entries.iter().flatten();
        entries
            .filter(|entry| entry.text.to_lowercase().contains(&wanted))
            .collect()
    }

    /// Takes a key. Returns what was picked, and whether the list stays.
    fn key(&mut self, key: KeyEvent, page: usize) -> (Option<Pick>, bool) {
        let last = self.shown().len().saturating_sub(1);
        self.at = self.at.min(last);
        match key.code {
            KeyCode::Up => self.at = self.at.saturating_sub(1),
            KeyCode::Down => self.at = (self.at + 1).min(last),
            KeyCode::PageUp => self.at = self.at.saturating_sub(page),
            KeyCode::PageDown => self.at = (self.at + page).min(last),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = last,
            KeyCode::Backspace => {
                self.wanted.pop();
                self.at = 0;
            }
            KeyCode::Enter => {
                let picked = self.shown().get(self.at).map(|entry| entry.pick.clone());
                let stays = picked.is_none();
                return (picked, stays);
            }
            KeyCode::Char('c' | 'd' | 'p') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return (None, false);
            }
            KeyCode::Char(c)
                if !key
                    .modifiers
                    .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
            {
                let typed = plain_line(c.encode_utf8(&mut [0; 4]));
                if self.wanted.len() + typed.len() <= WANTED_BYTES {
                    self.wanted.push_str(&typed);
                    self.at = 0;
                }
            }
            KeyCode::Esc => return (None, false),
            _ => {}
        }
        (None, true)
    }
}

/// Returns the entry that starts a thread.
fn new_thread(agent: &str, cwd: &str) -> Entry {
    Entry {
        pick: Pick::NewThread {
            agent: agent.to_owned(),
            cwd: cwd.to_owned(),
        },
        text: format!("+ New thread: {} in {}", plain_line(agent), visible_line(cwd)),
    }
}

impl App {
    /// Offers the threads. They are loaded first.
    pub fn pick_thread(&mut self, now: Instant) {
        if self.is_cut_off(now) {
            return;
        }
        self.picker = Some(Picker::new("Threads".to_owned(), None));
        let params = ThreadListParams {
            limit: Some(THREADS),
            ..ThreadListParams::default()
        };
        self.request(Request::ListThreads(params), Pending::Threads);
    }

    /// Offers the values of an option, such as the models.
    pub(super) fn pick_value(&mut self, category: &str, now: Instant) {
        let Some(option) = SessionOption::of_category(&self.head.options, category) else {
            self.show_error(format!("the agent offers no {category} to choose"), now);
            return;
        };
        let entries: Vec<Entry> = option
            .choices
            .iter()
            .map(|choice| {
                let is_current = option.current == *choice.id;
                let name = plain_line(&choice.name);
                Entry {
                    pick: Pick::Value {
                        option: option.id.clone(),
                        value: choice.id.clone(),
                    },
                    text: if is_current {
                        format!("{name} (current)")
                    } else {
                        name
                    },
                }
            })
            .collect();
        let current = option
            .choices
            .iter()
            .position(|choice| option.current == *choice.id);
        let mut picker = Picker::new(plain_line(&option.name), Some(entries));
        picker.at = current.unwrap_or(0);
        self.picker = Some(picker);
    }

    /// Takes a key, if a list is shown. Returns whether it did.
    pub(super) fn key_in_picker(&mut self, key: KeyEvent, now: Instant) -> bool {
        let page = self.page().unsigned_abs();
        let Some(picker) = &mut self.picker else {
            return false;
        };
        let (picked, stays) = picker.key(key, page);
        if !stays {
            self.picker = None;
        }
        match picked {
            // The user stays, whatever is being opened.
            Some(Pick::Thread(id)) if id == self.thread => self.picks += 1,
            Some(Pick::Thread(id)) => self.open_thread(&id, now),
            Some(Pick::NewThread { agent, cwd }) => self.start_thread(&agent, &cwd, now),
            Some(Pick::Value { option, value }) => self.set_option(option, value, now),
            None => {}
        }
        true
    }

    /// Takes pasted text into the list.
    pub(super) fn paste_in_picker(&mut self, text: &str) -> bool {
        let Some(picker) = &mut self.picker else {
            return false;
        };
        let typed = plain_line(text.trim());
        let room = WANTED_BYTES.saturating_sub(picker.wanted.len());
        picker.wanted.push_str(&typed[..typed.floor_char_boundary(room)]);
        picker.at = 0;
        true
    }

    /// Takes the list of threads.
    pub(super) fn threads_listed(&mut self, listed: &[ThreadSummary]) {
        let new = new_thread(&self.head.agent_id, &self.head.directory);
        let mut others: Vec<Entry> = Vec::new();
        for thread in listed {
            let other = new_thread(&thread.agent_type, &thread.cwd);
            if others.len() < NEW_THREADS && other != new && !others.contains(&other) {
                others.push(other);
            }
        }
        let threads = listed.iter().map(|thread| {
            let id = &*thread.id;
            let mark = match (&thread.status, &thread.last_turn_status) {
                (ThreadStatus::Waiting, _) => "◐",
                (ThreadStatus::Running, _) => "●",
                (ThreadStatus::Failed, _) | (ThreadStatus::Idle, Some(TurnStatus::Failed)) => "✗",
                _ => "○",
            };
            let name = match plain_line(thread.name.as_deref().unwrap_or_default()) {
                name if name.is_empty() => "(no name yet)".to_owned(),
                name => name,
            };
            let folder = visible_line(&thread.cwd);
            let current = if id == self.thread { " (current)" } else { "" };
            let agent = plain_line(&thread.agent_type);
            Entry {
                pick: Pick::Thread(id.to_owned()),
                text: format!("{mark} {name}{current}  {agent} · {folder} · {}", short_id(id)),
            }
        });
        let entries: Vec<Entry> = std::iter::once(new).chain(threads).collect();
        let count = entries.len();
        let entries: Vec<Entry> = entries.into_iter().chain(others).collect();
        if let Some(picker) = self.picker.as_mut().filter(|picker| picker.entries.is_none()) {
            // The thread before this one is what a user mostly returns to.
            let is_whole = picker.wanted.is_empty();
            picker.at = if is_whole && count > 2 { 2 } else { 0 };
            picker.entries = Some(entries);
        }
    }

    /// Starts a thread with the agent and in the folder of this one.
    pub(super) fn start_thread_like_this(&mut self, now: Instant) {
        let (agent, cwd) = (self.head.agent_id.clone(), self.head.directory.clone());
        self.start_thread(&agent, &cwd, now);
    }

    fn start_thread(&mut self, agent: &str, cwd: &str, now: Instant) {
        if self.is_busy_sending(now) {
            return;
        }
        let params = ThreadStartParams {
            agent_type: agent.to_owned(),
            cwd: cwd.to_owned(),
            ..ThreadStartParams::default()
        };
        self.show_message(format!("starting {}…", plain_line(agent)), now);
        self.picks += 1;
        let request = Request::StartThread(Box::new(params));
        self.request(request, Pending::Begin(self.picks));
    }

    /// Opens a thread that has started, unless the user wants something else by now.
    pub(super) fn begun(&mut self, pick: u64, id: &str, now: Instant) {
        if pick == self.picks && !self.is_busy_sending(now) {
            self.open_thread(id, now);
        } else {
            self.leave(id);
            let id = short_id(id);
            self.show_message(format!("the new thread {id} has started: Ctrl+P opens it"), now);
        }
    }

    /// Opens another thread in place of this one.
    pub(super) fn open_thread(&mut self, id: &str, now: Instant) {
        if self.is_busy_sending(now) {
            return;
        }
        self.show_message("opening…", now);
        self.picks += 1;
        let current = self.picks;
        for pending in self.pending.values_mut() {
            if let Pending::Open { pick, thread } = pending
                && thread == id
            {
                // It is picked again while it is being opened.
                *pick = current;
                return;
            }
        }
        let opening = Pending::Open {
            pick: current,
            thread: id.to_owned(),
        };
        self.follow(id, opening);
    }

    /// Shows another thread. What was typed for this one waits here until the user returns.
    pub(super) fn opened(&mut self, resumed: &ThreadResumed) {
        let thread = &resumed.thread;
        let id = &thread.id;
        self.leave_edit();
        let left = std::mem::replace(&mut self.thread, id.clone());
        let draft = self.drafts.remove(id).unwrap_or_default();
        let typed = self.prompt.text().to_owned();
        self.prompt.set(&draft);
        if !typed.is_empty() {
            self.drafts.insert(left.clone(), typed);
        }
        self.leave(&left);
        self.head = Head::read(thread);
        self.suggested = None;
        self.conversation = Conversation::open(thread);
        self.has_lanes = false;
        self.seq = resumed.latest_seq;
        self.scroll = Scroll::End;
        self.questions.clear();
        self.answer.set("");
        self.focus = Focus::Prompt;
        self.search = None;
        self.message = None;
        self.older.forget();
        self.is_loading_newer = false;
        self.wants_snapshot = false;
        self.is_reading = false;
        self.retry_at = None;
        self.setting = None;
        // Replies about the thread before change nothing here.
        self.pending.retain(|_, pending| !pending.is_of_thread());
        self.look_for_lanes();
    }

    /// Ends the subscription to a thread, unless it is shown or is still being opened.
    pub(super) fn leave(&mut self, id: &str) {
        let opens = |pending: &Pending| matches!(pending, Pending::Open { thread, .. } if thread == id);
        if id != self.thread && !self.pending.values().any(opens) {
            let thread = id.to_owned();
            self.effects.push_back(Effect::Unfollow { thread });
        }
    }

    /// Returns whether there is no connection, and says so.
    fn is_cut_off(&mut self, now: Instant) -> bool {
        if self.lost.is_some() {
            self.show_error("not connected: try again when the daemon is back", now);
        }
        self.lost.is_some()
    }

    /// Returns whether a prompt of this thread is on its way, which may come back, and says so.
    pub(super) fn is_busy_sending(&mut self, now: Instant) -> bool {
        if self.is_cut_off(now) {
            return true;
        }
        let is_prompt = |pending: &Pending| {
            matches!(
                pending,
                Pending::Start(_) | Pending::Steer(_) | Pending::TakeBack(_)
            )
        };
        // What a lost connection cut off is sent again once the thread is read.
        let is_busy = !self.unsent.is_empty() || self.pending.values().any(is_prompt);
        if is_busy {
            self.show_error("a prompt is being sent: try again", now);
        }
        is_busy
    }
}

//! The state of `acpd attach`.
//!
//! In: keys, the size of the window, notifications, replies, and the time. Out: effects, and what the view shows. Owns: the
//! held conversation, the question in the panel, the input. Never: reads a clock, a terminal or a socket.

mod acp;
mod commands;
mod connection;
pub mod edit;
pub mod editor;
pub mod exchange;
pub mod head;
mod keys;
pub mod layout;
mod messages;
mod pages;
pub mod picker;
pub mod question;
mod requests;
pub mod search;
#[cfg(test)]
pub mod tests;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use acpd_client::protocol::ThreadResumed;

use self::edit::Edit;
use self::editor::Editor;
use self::exchange::{Abilities, Request};
use self::head::Head;
use self::layout::{Areas, Needs, divide};
use self::pages::OlderPage;
use self::picker::Picker;
use self::question::Question;
pub use self::requests::PAGE_TURNS;
use self::requests::{Pending, Prompt};
use self::search::{Search, Towards};
use crate::attach::conversation::scroll::{Layout, Place, Scroll};
use crate::attach::conversation::{Conversation, Source};

/// Time that a message stays in the status line.
const MESSAGE_TIME: Duration = Duration::from_secs(6);

/// Time between two attempts to load a page that could not be loaded.
const RETRY: Duration = Duration::from_secs(2);

/// What the driver does for the state.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Sends a request; its reply has the token.
    Request { token: u64, request: Request },
    /// Subscribes to a thread, in place of an earlier subscription. The reply with the token has its newest page.
    Follow { token: u64, thread: String },
    /// Ends the subscription to a thread.
    Unfollow { thread: String },
    /// Leaves the terminal until the process continues.
    Suspend,
    /// Draws everything again.
    Redraw,
    /// Ends the program.
    End(End),
}

/// Why the program ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The user detached.
    Detached,
    /// The thread cannot be followed any more.
    Failed(String),
}

/// Which text the keys change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    #[default]
    Prompt,
    /// The answer to the question in the panel.
    Answer,
    /// The text to search for.
    Search,
}

/// A message in the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusMessage {
    pub text: String,
    pub is_error: bool,
    until: Instant,
}

/// Everything that is shown, and what is under way.
pub struct App {
    pub thread: String,
    pub head: Head,
    pub conversation: Conversation,
    pub scroll: Scroll,
    /// Whether folds are open.
    pub is_open: bool,
    pub questions: VecDeque<Question>,
    pub prompt: Editor,
    /// The earlier prompt in the input, if the user edits one.
    pub edit: Option<Edit>,
    pub answer: Editor,
    pub search_text: Editor,
    pub search: Option<Search>,
    pub focus: Focus,
    /// First row of the help that is shown instead of the conversation.
    pub help: Option<usize>,
    /// The prompt that the agent suggests first.
    suggested: Option<String>,
    /// The list that is shown instead of the conversation.
    pub picker: Option<Picker>,
    /// Index of the chosen command among those that complete the prompt.
    pub command_at: usize,
    pub message: Option<StatusMessage>,
    /// Why there is no connection.
    pub lost: Option<String>,
    /// What the daemon permits.
    pub abilities: Abilities,
    /// Number of the last event.
    seq: u64,
    size: (u16, u16),
    /// Until when a second Esc interrupts, and a second Ctrl+C detaches.
    escape_until: Option<Instant>,
    leave_until: Option<Instant>,
    /// Text that makes the ids of this client's turns unique.
    seed: String,
    next_token: u64,
    pending: HashMap<u64, Pending>,
    /// The text whose list of commands the user has closed.
    closed_commands: Option<String>,
    /// The option that is being set, and its value.
    setting: Option<(String, String)>,
    /// Number of times that the user has picked a thread: only the last one counts.
    picks: u64,
    /// What was typed for other threads, by their ids.
    drafts: HashMap<String, String>,
    /// Prompts whose request was cut off by a lost connection, by their tokens.
    unsent: Vec<(u64, Prompt)>,
    older: OlderPage,
    is_loading_newer: bool,
    /// Whether the names of the thread's subagents are there, or on their way.
    has_lanes: bool,
    /// Whether the thread has to be read again, and is being read.
    wants_snapshot: bool,
    is_reading: bool,
    retry_at: Option<Instant>,
    effects: VecDeque<Effect>,
}

impl App {
    /// Creates the state from the result of `thread/resume`. `seed` is unique among all clients.
    pub fn new(resumed: &ThreadResumed, abilities: Abilities, seed: String, size: (u16, u16)) -> Self {
        let thread = &resumed.thread;
        let mut app = Self {
            thread: thread.id.clone(),
            head: Head::read(thread),
            conversation: Conversation::open(thread),
            scroll: Scroll::End,
            is_open: false,
            questions: VecDeque::new(),
            prompt: Editor::default(),
            edit: None,
            answer: Editor::default(),
            search_text: Editor::default(),
            search: None,
            focus: Focus::Prompt,
            help: None,
            suggested: None,
            picker: None,
            command_at: 0,
            message: None,
            lost: None,
            abilities,
            seq: resumed.latest_seq,
            size,
            escape_until: None,
            leave_until: None,
            seed,
            next_token: 0,
            pending: HashMap::new(),
            closed_commands: None,
            setting: None,
            picks: 0,
            drafts: HashMap::new(),
            unsent: Vec::new(),
            older: OlderPage::default(),
            is_loading_newer: false,
            has_lanes: false,
            wants_snapshot: false,
            is_reading: false,
            retry_at: None,
            effects: VecDeque::new(),
        };
        app.look_for_lanes();
        app
    }

    /// Returns the next thing to do.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let message = self.message.as_ref().map(|message| message.until);
        let times = [message, self.escape_until, self.leave_until, self.retry_at];
        times.into_iter().flatten().min()
    }

    /// Ends what has a time.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_over = |until: Instant| until <= now;
        self.message.take_if(|message| is_over(message.until));
        for until in [&mut self.escape_until, &mut self.leave_until, &mut self.retry_at] {
            until.take_if(|until| is_over(*until));
        }
    }

    /// Takes the new size of the window.
    pub fn handle_resize(&mut self, columns: u16, rows: u16) {
        self.size = (columns, rows);
        for question in &mut self.questions {
            question.lay_out(usize::from(columns));
        }
    }

    /// Returns the size of the window.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Returns whether the user waits for older turns.
    pub fn is_loading_older(&self) -> bool {
        self.older.is_awaited() && self.top() == Place { entry: 0, row: 0 }
    }

    /// Returns the editor that the keys change.
    pub fn editor(&self) -> &Editor {
        match self.focus {
            Focus::Prompt => &self.prompt,
            Focus::Answer => &self.answer,
            Focus::Search => &self.search_text,
        }
    }

    /// Returns the prompt that the agent suggests, if the user can take it.
    pub fn suggestion(&self) -> Option<&str> {
        let is_free = self.prompt.is_empty() && self.edit.is_none() && !self.head.is_running();
        self.suggested.as_deref().filter(|_| is_free)
    }

    /// Returns where the parts of the screen are; `None` if the window is too small.
    pub fn areas(&self) -> Option<Areas> {
        let columns = usize::from(self.size.0);
        let needs = Needs {
            has_queue: !self.head.queue.is_empty(),
            question: self.questions.front().map(|question| question.rows().len()),
            input: self.editor().height(columns, usize::from(self.size.1)),
        };
        divide(self.size, needs)
    }

    /// Returns the layout of the conversation.
    pub fn layout(&self) -> Layout<'_> {
        Layout {
            conversation: &self.conversation,
            columns: usize::from(self.size.0),
            open: self.is_open,
        }
    }

    /// Returns the first place of the conversation in the window.
    pub fn top(&self) -> Place {
        let rows = self.areas().map_or(0, |areas| usize::from(areas.body.height));
        self.layout().top(&self.scroll, rows)
    }

    /// Loads and drops pages for the place that is about to be drawn.
    pub fn prepare(&mut self, now: Instant) {
        let Some(areas) = self.areas() else {
            return;
        };
        let rows = usize::from(areas.body.height);
        let top = self.layout().top(&self.scroll, rows);
        if self.conversation.bytes() > crate::attach::conversation::HELD_BYTES
            && self.conversation.shrink(top.entry)
        {
            // Only the newest page is held, and it has become too large.
            self.wants_snapshot = true;
        }
        if self.lost.is_some() || self.retry_at.is_some_and(|at| now < at) {
            return;
        }
        if self.wants_snapshot && !self.is_reading {
            self.request_snapshot();
        }
        if self.is_reading {
            return;
        }
        let top = self.top();
        let layout = self.layout();
        let is_near_begin = layout.up(top, 2 * rows) == Place { entry: 0, row: 0 };
        let is_at_end = layout.down(top, rows).entry >= self.conversation.entries().len();
        let wants_older = is_near_begin || self.search.as_ref().is_some_and(|search| search.is_loading);
        if wants_older && self.conversation.older().is_some() && !self.older.is_awaited() {
            self.request_older();
        }
        if is_at_end && !self.is_loading_newer {
            match self.conversation.newer().cloned() {
                Some(Source::Cursor(cursor)) => self.request_newer(cursor),
                Some(Source::End) => self.request_snapshot(),
                None => {}
            }
        }
    }

    /// Takes note of what was drawn.
    pub fn drawn(&mut self, now: Instant) {
        let Some(areas) = self.areas() else {
            return;
        };
        if self.help.is_none()
            && let Some(question) = self.questions.front_mut()
        {
            question.drawn(usize::from(areas.panel.height), now);
        }
    }

    /// Shows a message in the status line.
    fn show_message(&mut self, text: impl Into<String>, now: Instant) {
        self.message = Some(StatusMessage {
            text: text.into(),
            is_error: false,
            until: now + MESSAGE_TIME,
        });
    }

    fn show_error(&mut self, text: impl Into<String>, now: Instant) {
        self.show_message(text, now);
        if let Some(message) = &mut self.message {
            message.is_error = true;
        }
    }

    /// Scrolls the conversation by a number of rows.
    fn scroll_by(&mut self, rows: isize) {
        let Some(areas) = self.areas() else {
            return;
        };
        let height = usize::from(areas.body.height);
        let layout = self.layout();
        let top = layout.top(&self.scroll, height);
        let distance = rows.unsigned_abs();
        let top = if rows < 0 {
            layout.up(top, distance)
        } else {
            layout.down(top, distance)
        };
        // Where everything fits, there is nothing to scroll to.
        self.scroll = layout.scroll(top, height);
    }

    /// Returns to the end of the thread.
    fn scroll_to_end(&mut self) {
        self.scroll = Scroll::End;
        if self.conversation.newer().is_some() {
            self.wants_snapshot = true;
        }
    }

    /// Goes to the next hit of the search.
    fn search_on(&mut self, towards: Towards, now: Instant) {
        let Some(mut search) = self.search.take() else {
            return;
        };
        let Some(areas) = self.areas() else {
            return;
        };
        let rows = usize::from(areas.body.height);
        let layout = self.layout();
        let top = layout.top(&self.scroll, rows);
        let begin = match towards {
            Towards::Older => layout.down(top, rows),
            Towards::Newer => top,
        };
        search.is_loading = false;
        match search.next(layout, begin, towards) {
            Some(hit) => {
                self.is_open |= !search::is_in_sight(&hit, layout);
                let layout = self.layout();
                if let Some(place) = search::place_of(&hit, layout) {
                    self.scroll = layout.scroll(layout.up(place, rows / 2), rows);
                }
                search.hit = Some(hit);
            }
            None if towards == Towards::Older && self.conversation.older().is_some() => {
                search.is_loading = true;
                // Only the next page has to be looked at when it has arrived.
                search.hit = None;
                if let Some(first) = self.conversation.entries().front() {
                    let entry = first.id.clone();
                    self.scroll = Scroll::At { entry, row: 0 };
                }
            }
            None => {
                let way = if towards == Towards::Older {
                    "older"
                } else {
                    "newer"
                };
                self.show_message(format!("no {way} text has {:?}", search.wanted), now);
            }
        }
        self.search = Some(search);
    }
}

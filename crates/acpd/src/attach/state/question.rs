//! A question of the agent in the panel.
//!
//! In: the daemon's question, what of it was drawn, and the user's answer. Out: the text, and the response. Never: takes an
//! answer from a key before all of the question was on the screen.

use std::ops::Range;
use std::time::{Duration, Instant};

use acpd_client::protocol::{Notification, QuestionAnswered};
use serde_json::Value;

use super::exchange::Request;
use crate::attach::conversation::line::wrap;
use crate::terminal::questions::{self, Answer, Choice, Form, Inquiry, Taken, dismissed};

/// Time that a question must be in sight before a key answers it: the key may have been meant for something else.
const SETTLE: Duration = Duration::from_millis(500);

/// Time that a chosen option must be marked before Enter gives it: keys that arrive at once were typed for something else.
const MARKED: Duration = Duration::from_millis(100);

/// An open question.
pub struct Question {
    /// The daemon's id of the question.
    pub request: String,
    /// Whether this client may answer it.
    pub may_answer: bool,
    wants: Wants,
    /// First row in the panel.
    pub top: usize,
    /// Its text, wrapped at a number of columns.
    rows: Vec<String>,
    columns: usize,
    /// The first row of each option.
    options: Vec<usize>,
    /// How many of the rows were drawn, from the first one on.
    drawn: usize,
    /// When all of it was in sight for the first time.
    seen_at: Option<Instant>,
    /// When a key chose an option.
    chosen_at: Option<Instant>,
    /// Whether a response was sent.
    pub is_answered: bool,
}

enum Wants {
    Permission {
        text: String,
        choices: Vec<Choice>,
    },
    Information {
        form: Form,
        wrong: Option<String>,
    },
    /// A question that acpd cannot show.
    Unknown(String),
}

/// What an answer did.
pub enum Answered {
    /// The request that sends the answer.
    Response(Request),
    /// The form has a next field.
    Next,
    /// The answer was not taken, and why.
    Refused(String),
}

impl Question {
    /// Reads a question. Returns `None` for any other notification.
    pub fn read(notification: &Notification, columns: usize, may_answer: bool) -> Option<Self> {
        let inquiry = Inquiry::read(notification)?;
        let text = inquiry.text();
        let wants = match inquiry.wants {
            questions::Wants::Permission(approval) => Wants::Permission {
                text,
                choices: Choice::of(&approval),
            },
            questions::Wants::Information(form) => Wants::Information { form, wrong: None },
            questions::Wants::Unknown { .. } => Wants::Unknown(text),
        };
        let mut question = Self {
            request: inquiry.request,
            may_answer,
            wants,
            top: 0,
            rows: Vec::new(),
            columns: 0,
            options: Vec::new(),
            drawn: 0,
            seen_at: None,
            chosen_at: None,
            is_answered: false,
        };
        question.lay_out(columns);
        Some(question)
    }

    /// Returns whether a number answers it.
    pub fn is_permission(&self) -> bool {
        matches!(self.wants, Wants::Permission { .. })
    }

    /// Returns the rows of its text.
    pub fn rows(&self) -> &[String] {
        &self.rows
    }

    /// Wraps the text at a number of columns. It counts as unseen then.
    pub fn lay_out(&mut self, columns: usize) {
        let mut options = 0;
        let text = match &self.wants {
            Wants::Permission { text, choices } => {
                options = choices.len();
                text.clone()
            }
            Wants::Information { form, wrong } => {
                let wrong = wrong.as_deref().unwrap_or_default();
                format!("{}{}\n{wrong}", form.heading(), form.question().trim_end())
            }
            Wants::Unknown(text) => {
                format!("{text}Answer it in the web UI (acpd open), or dismiss it: Tab, then Ctrl+D\n")
            }
        };
        let mut rows: Vec<String> = Vec::new();
        let mut lines = Vec::new();
        for line in text.trim_end().lines() {
            let line = line.replace('\t', "    ");
            lines.push(rows.len());
            rows.extend(
                wrap(&line, columns)
                    .into_iter()
                    .map(|range| line[range].to_owned()),
            );
        }
        // The options are the last lines.
        self.options = lines.split_off(lines.len().saturating_sub(options));
        if rows != self.rows {
            self.rows = rows;
            self.drawn = 0;
            self.seen_at = None;
        }
        self.columns = columns;
    }

    /// Scrolls by a number of rows in a panel of `height` rows.
    pub fn scroll(&mut self, rows: isize, height: usize) {
        let last = self.rows.len().saturating_sub(height);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// Takes note of the rows that are in sight now.
    pub fn drawn(&mut self, height: usize, now: Instant) {
        // Rows that were scrolled over without being drawn do not count.
        if self.top <= self.drawn {
            self.drawn = self.drawn.max(self.top + height);
        }
        if self.drawn >= self.rows.len() {
            self.seen_at.get_or_insert(now);
        }
    }

    /// Returns why no key answers the question now.
    pub fn refusal(&self, now: Instant) -> Option<&'static str> {
        if self.is_answered {
            return Some("the answer is on its way");
        }
        if !self.may_answer {
            return Some("your role may not answer questions");
        }
        match self.seen_at {
            None => Some("scroll to see all of it first (↑ ↓)"),
            Some(seen) if now < seen + SETTLE => Some("the question is new: press the key again to answer"),
            Some(_) if self.chosen_at.is_some_and(|at| now < at + MARKED) => {
                Some("press Enter again to answer")
            }
            Some(_) => None,
        }
    }

    /// Takes note that a key chose the option that a text names. Fails if there is none.
    pub fn choose(&mut self, typed: &str, now: Instant) -> Result<(), String> {
        if let Wants::Permission { choices, .. } = &self.wants
            && Choice::pick(choices.iter(), typed).is_none()
        {
            return Err(no_option(typed, choices));
        }
        self.chosen_at = Some(now);
        Ok(())
    }

    /// Returns the rows of the option that a text names.
    pub fn chosen(&self, typed: &str) -> Option<Range<usize>> {
        let Wants::Permission { choices, .. } = &self.wants else {
            return None;
        };
        let picked = Choice::pick(choices.iter(), typed)?;
        let at = choices.iter().position(|choice| std::ptr::eq(choice, picked))?;
        let end = self.options.get(at + 1).copied().unwrap_or(self.rows.len());
        Some(*self.options.get(at)?..end)
    }

    /// Scrolls to some rows in a panel of `height` rows, once all of the question was in sight.
    pub fn reveal(&mut self, rows: &Range<usize>, height: usize) {
        if self.seen_at.is_some() {
            self.top = self.top.max(rows.end.saturating_sub(height)).min(rows.start);
        }
    }

    /// Answers with a number, a word, or the value of a form's field.
    pub fn answer(&mut self, typed: &str) -> Answered {
        if !self.may_answer {
            return Answered::Refused("your role may not answer questions".to_owned());
        }
        match &mut self.wants {
            Wants::Permission { choices, .. } => match Choice::pick(choices.iter(), typed) {
                Some(choice) => response(&self.request, choice.response()),
                None => Answered::Refused(no_option(typed, choices)),
            },
            Wants::Information { form, wrong } => match form.take(Some(typed)) {
                Taken::Next => {
                    *wrong = None;
                    self.top = 0;
                    self.lay_out(self.columns);
                    Answered::Next
                }
                Taken::Again(why) => {
                    *wrong = Some(why.clone());
                    self.lay_out(self.columns);
                    Answered::Refused(why)
                }
                Taken::Done(answer) => response(&self.request, answer),
            },
            Wants::Unknown(_) => {
                Answered::Refused("this question can only be dismissed here: Ctrl+D".to_owned())
            }
        }
    }

    /// Dismisses a question for information.
    pub fn dismiss(&mut self) -> Answered {
        if self.is_permission() || !self.may_answer {
            return Answered::Refused("choose one of the options".to_owned());
        }
        response(&self.request, dismissed())
    }
}

/// Returns the request that answers a question.
fn response(request: &str, answer: Value) -> Answered {
    let answered = match serde_json::from_value::<QuestionAnswered>(answer) {
        Ok(answered) => answered,
        Err(error) => return Answered::Refused(format!("the answer cannot be sent: {error}")),
    };
    Answered::Response(match Answer::of(request, answered) {
        Answer::Approve(params) => Request::Approve(params),
        Answer::Input(params) => Request::Answer(params),
    })
}

fn no_option(typed: &str, choices: &[Choice]) -> String {
    format!("invalid option {typed:?}: choose 1 to {}", choices.len())
}

//! What keys do.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::editor::{Editor, Move};
use super::question::Question;
use super::search::{Search, Towards};
use super::{App, Effect, End, Focus};
use crate::attach::conversation::scroll::Scroll;

/// Time for the second Esc that interrupts.
const ESCAPE: Duration = Duration::from_secs(2);

/// Time for the second Ctrl+C that detaches.
const LEAVE: Duration = Duration::from_secs(4);

impl App {
    /// Takes a key.
    pub fn handle_key(&mut self, key: KeyEvent, now: Instant) {
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_alt = key.modifiers.contains(KeyModifiers::ALT);
        if key.code != KeyCode::Esc {
            self.escape_until = None;
        }
        if !(is_ctrl && matches!(key.code, KeyCode::Char('c' | 'd'))) {
            self.leave_until = None;
        }
        if self.help.is_some() && self.key_in_help(key) {
            return;
        }
        if !(is_ctrl && matches!(key.code, KeyCode::Char('l' | 'z')))
            && (self.key_in_picker(key, now)
                || (self.focus == Focus::Prompt && self.key_in_commands(key, now)))
        {
            return;
        }
        match (key.code, is_ctrl) {
            (KeyCode::Char('p'), true) => self.pick_thread(now),
            (KeyCode::Char('c'), true) => self.interrupt_or_leave(now),
            (KeyCode::Char('z'), true) => self.effects.push_back(Effect::Suspend),
            (KeyCode::Char('l'), true) => self.effects.push_back(Effect::Redraw),
            (KeyCode::Char('o'), true) => self.is_open = !self.is_open,
            (KeyCode::Char('f'), true) => self.focus = Focus::Search,
            (KeyCode::F(1), _) => self.help = Some(0),
            (KeyCode::PageUp, _) => self.scroll_by(-self.page()),
            (KeyCode::PageDown, _) => self.scroll_by(self.page()),
            (KeyCode::Home, true) => self.scroll_to_begin(),
            (KeyCode::End, true) => self.scroll_to_end(),
            (KeyCode::Esc, _) => self.escape(now),
            (KeyCode::Char(digit @ '1'..='9'), false) if is_alt => self.choose(digit, now),
            _ => match self.focus {
                Focus::Prompt => self.key_in_prompt(key, is_ctrl, is_alt, now),
                Focus::Answer => self.key_in_answer(key, is_ctrl, is_alt, now),
                Focus::Search => self.key_in_search(key, is_ctrl, is_alt, now),
            },
        }
    }

    /// Takes pasted text.
    pub fn handle_paste(&mut self, text: &str, now: Instant) {
        if self.help.is_some() || self.paste_in_picker(text) {
            return;
        }
        self.command_at = 0;
        let editor = match self.focus {
            Focus::Prompt => &mut self.prompt,
            Focus::Answer => &mut self.answer,
            Focus::Search => &mut self.search_text,
        };
        // An answer and a search have one line.
        let line = text.trim_end().replace(['\r', '\n'], " ");
        let text = if self.focus == Focus::Prompt { text } else { &line };
        if !editor.insert(text) {
            self.show_error("the text is too long for a prompt: its end was cut off", now);
        }
    }

    fn key_in_help(&mut self, key: KeyEvent) -> bool {
        let Some(top) = self.help else {
            return false;
        };
        let page = self.page().unsigned_abs();
        match key.code {
            KeyCode::Up => self.help = Some(top.saturating_sub(1)),
            KeyCode::Down => self.help = Some(top + 1),
            KeyCode::PageUp => self.help = Some(top.saturating_sub(page)),
            KeyCode::PageDown | KeyCode::Char(' ') => self.help = Some(top + page),
            KeyCode::Char('c' | 'z' | 'l') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            _ => self.help = None,
        }
        true
    }

    /// Takes a key in the prompt. A character without Ctrl and Alt is always text.
    fn key_in_prompt(&mut self, key: KeyEvent, is_ctrl: bool, is_alt: bool, now: Instant) {
        let is_empty = self.prompt.is_empty();
        match key.code {
            KeyCode::Enter if is_alt => self.newline(),
            KeyCode::Char('j') if is_ctrl => self.newline(),
            KeyCode::Enter => {
                self.send(false, now);
            }
            KeyCode::Char('s') if is_alt && is_empty => self.steer_queued(now),
            KeyCode::Char('s') if is_alt => {
                self.send(true, now);
            }
            KeyCode::Tab if self.questions.is_empty() => {}
            KeyCode::Tab => self.focus = Focus::Answer,
            KeyCode::Char('d') if is_ctrl && is_empty => self.end_of_input(now),
            KeyCode::Up if is_alt => self.prompt.recall(true),
            KeyCode::Down if is_alt => self.prompt.recall(false),
            KeyCode::Char('e') if is_alt => self.edit_earlier(now),
            KeyCode::BackTab => self.next_mode(now),
            KeyCode::Char('m') if is_alt => self.pick_value("model", now),
            KeyCode::Char('x') if is_ctrl => self.take_back(),
            // An empty prompt has no lines to move in.
            KeyCode::Right if is_empty && !is_ctrl && !is_alt => self.take_suggestion(),
            KeyCode::Up if is_empty => self.arrow(-1),
            KeyCode::Down if is_empty => self.arrow(1),
            KeyCode::Home if is_empty => self.scroll_to_begin(),
            KeyCode::End if is_empty => self.scroll_to_end(),
            _ => {
                self.command_at = 0;
                edit(&mut self.prompt, key, is_ctrl, is_alt);
            }
        }
    }

    /// Fills the prompt with what the agent suggests. The user sends it.
    fn take_suggestion(&mut self) {
        if let Some(text) = self.suggestion().map(str::to_owned) {
            self.prompt.set(&text);
        }
    }

    /// Chooses an option of the question in the panel. Only Enter gives it: Esc, and a digit for the prompt, are the same
    /// bytes as Alt with the digit, and terminals and slow connections send them together.
    fn choose(&mut self, digit: char, now: Instant) {
        if self.has_form() {
            self.show_message("Tab leads to the question", now);
            return;
        }
        let Some(question) = self.questions.front_mut() else {
            return;
        };
        let typed = digit.to_string();
        if let Err(why) = question.choose(&typed, now) {
            self.show_error(why, now);
            return;
        }
        if self.focus == Focus::Search {
            self.end_search();
        }
        self.focus = Focus::Answer;
        self.answer.set(&typed);
        if let Some(areas) = self.areas()
            && let Some(question) = self.questions.front_mut()
            && let Some(rows) = question.chosen(&typed)
        {
            question.reveal(&rows, usize::from(areas.panel.height));
        }
    }

    /// Scrolls the question if a part of it is out of sight, else the conversation.
    fn arrow(&mut self, rows: isize) {
        let Some(areas) = self.areas() else {
            return;
        };
        let height = usize::from(areas.panel.height);
        let overflows = |question: &&mut Question| question.rows().len() > height;
        match self.questions.front_mut().filter(overflows) {
            Some(question) => question.scroll(rows, height),
            None => self.scroll_by(rows),
        }
    }

    fn key_in_answer(&mut self, key: KeyEvent, is_ctrl: bool, is_alt: bool, now: Instant) {
        match key.code {
            KeyCode::Tab => self.leave_question(),
            KeyCode::Up => self.arrow(-1),
            KeyCode::Down => self.arrow(1),
            KeyCode::Char('d') if is_ctrl => {
                let dismissed = self.questions.front_mut().map(Question::dismiss);
                if let Some(dismissed) = dismissed {
                    self.give(dismissed, now);
                }
            }
            KeyCode::Enter => {
                let Some(question) = self.questions.front_mut() else {
                    return;
                };
                match question.refusal(now) {
                    Some(why) => self.show_error(why, now),
                    None => {
                        let answered = question.answer(self.answer.text());
                        self.give(answered, now);
                    }
                }
            }
            _ => edit(&mut self.answer, key, is_ctrl, is_alt),
        }
    }

    fn key_in_search(&mut self, key: KeyEvent, is_ctrl: bool, is_alt: bool, now: Instant) {
        match key.code {
            KeyCode::Up if is_alt => self.search_text.recall(true),
            KeyCode::Down if is_alt => self.search_text.recall(false),
            KeyCode::Enter | KeyCode::Up => self.search_for(Towards::Older, now),
            KeyCode::Down => self.search_for(Towards::Newer, now),
            KeyCode::Backspace if self.search_text.is_empty() => self.end_search(),
            _ => edit(&mut self.search_text, key, is_ctrl, is_alt),
        }
    }

    /// Goes to the next hit of the text in the search box; of the last one, if the box is empty.
    fn search_for(&mut self, towards: Towards, now: Instant) {
        if self.search_text.is_empty() {
            self.search_text.recall(true);
        }
        let wanted = self.search_text.text();
        if wanted.is_empty() {
            return;
        }
        if self.search.as_ref().is_none_or(|search| search.wanted != wanted) {
            self.search = Some(Search {
                wanted: wanted.to_owned(),
                hit: None,
                is_loading: false,
            });
        }
        self.search_on(towards, now);
    }

    /// Leaves the search at the place that it has found.
    fn end_search(&mut self) {
        self.focus = Focus::Prompt;
        self.search = None;
        if !self.search_text.is_empty() {
            self.search_text.take();
        }
    }

    fn escape(&mut self, now: Instant) {
        match self.focus {
            Focus::Search => self.end_search(),
            Focus::Answer => self.leave_question(),
            Focus::Prompt if self.edit.is_some() => {
                self.leave_edit();
                self.show_message("Alt+↑ recalls the edited text", now);
            }
            Focus::Prompt if !self.head.is_running() => {}
            Focus::Prompt if self.escape_until.take().is_some_and(|until| now < until) => self.interrupt(now),
            Focus::Prompt => {
                self.escape_until = Some(now + ESCAPE);
                self.show_message("Esc again interrupts the turn", now);
            }
        }
    }

    /// Ctrl+D on an empty prompt.
    fn end_of_input(&mut self, now: Instant) {
        // The text of a form says that Ctrl+D dismisses it.
        if self.has_form() && self.leave_until.is_none_or(|until| until <= now) {
            self.leave_until = Some(now + LEAVE);
            self.show_message(
                "Tab, then Ctrl+D dismisses the question; Ctrl+D again detaches",
                now,
            );
        } else {
            self.detach();
        }
    }

    fn interrupt_or_leave(&mut self, now: Instant) {
        if self.leave_until.take().is_some_and(|until| now < until) {
            self.detach();
            return;
        }
        self.leave_until = Some(now + LEAVE);
        if self.head.is_running() && self.lost.is_none() {
            if !self.head.is_interrupting {
                self.interrupt(now);
            }
            self.show_message("interrupting; Ctrl+C again detaches", now);
        } else if self.leave_edit() || self.prompt.is_empty() {
            self.show_message("Ctrl+C again detaches", now);
        } else {
            self.prompt.take();
            self.show_message("Alt+↑ recalls the text; Ctrl+C again detaches", now);
        }
    }

    fn detach(&mut self) {
        self.effects.push_back(Effect::End(End::Detached));
    }

    /// Returns to the prompt. The value of a form's field stays, a choice does not.
    fn leave_question(&mut self) {
        if self.has_form() {
            self.focus = Focus::Prompt;
        } else {
            self.leave_answer();
        }
    }

    /// Returns whether the question in the panel asks for information.
    fn has_form(&self) -> bool {
        self.questions.front().is_some_and(|first| !first.is_permission())
    }

    fn newline(&mut self) {
        self.prompt.insert("\n");
    }

    fn scroll_to_begin(&mut self) {
        if let Some(first) = self.conversation.entries().front() {
            self.scroll = Scroll::At {
                entry: first.id.clone(),
                row: 0,
            };
        }
    }

    /// Returns the rows of a page of the conversation, of which one stays in sight.
    pub(super) fn page(&self) -> isize {
        let rows = self.areas().map_or(1, |areas| areas.body.height);
        isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1)
    }
}

/// Applies a key to a text.
fn edit(editor: &mut Editor, key: KeyEvent, is_ctrl: bool, is_alt: bool) {
    let by_word = is_ctrl || is_alt;
    match key.code {
        KeyCode::Char('w') if is_ctrl => editor.delete(Move::WordLeft),
        KeyCode::Char('u') if is_ctrl => editor.delete(Move::LineStart),
        KeyCode::Char('k') if is_ctrl => editor.delete(Move::LineEnd),
        KeyCode::Char('h') if is_ctrl => editor.delete(Move::Left),
        KeyCode::Char('d') if is_ctrl => editor.delete(Move::Right),
        KeyCode::Char('d') if is_alt => editor.delete(Move::WordRight),
        KeyCode::Char('a') if is_ctrl => drop(editor.go(Move::LineStart)),
        KeyCode::Char('e') if is_ctrl => drop(editor.go(Move::LineEnd)),
        KeyCode::Char('b') if is_alt => drop(editor.go(Move::WordLeft)),
        KeyCode::Char('f') if is_alt => drop(editor.go(Move::WordRight)),
        KeyCode::Char(c) if !is_ctrl && !is_alt => drop(editor.insert(c.encode_utf8(&mut [0; 4]))),
        KeyCode::Backspace if by_word => editor.delete(Move::WordLeft),
        KeyCode::Backspace => editor.delete(Move::Left),
        KeyCode::Delete => editor.delete(Move::Right),
        KeyCode::Left => drop(editor.go(if by_word { Move::WordLeft } else { Move::Left })),
        KeyCode::Right => drop(editor.go(if by_word { Move::WordRight } else { Move::Right })),
        KeyCode::Up => drop(editor.go(Move::Up)),
        KeyCode::Down => drop(editor.go(Move::Down)),
        KeyCode::Home => drop(editor.go(Move::LineStart)),
        KeyCode::End => drop(editor.go(Move::LineEnd)),
        _ => {}
    }
}

//! Draws the state. Never changes it.

mod body;
mod help;
mod lines;
mod lists;
pub mod theme;

use std::borrow::Cow;

use acpd_client::protocol::ThreadStatus;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use self::lines::{line_of, put};
use self::theme::Theme;
use super::conversation::line::wrap;
use super::state::layout::{Areas, LEAST};
use super::state::{App, Focus};
use crate::attach::conversation::scroll::Scroll;
use crate::terminal::plain::plain_line;
use crate::terminal::table::cut;
use crate::threads::options::SessionOption;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, app: &App, theme: Theme) {
    let Some(areas) = app.areas() else {
        let (columns, rows) = app.size();
        let text = format!(
            "{columns}×{rows} is too small: acpd attach needs {}×{}",
            LEAST.0, LEAST.1
        );
        for (row, range) in (0..).zip(wrap(&text, usize::from(columns))) {
            put(
                frame.buffer_mut(),
                line_of(frame_area(columns, rows), row),
                &[(&text[range], Style::new())],
            );
        }
        return;
    };
    let view = View { app, theme, areas };
    let buffer = frame.buffer_mut();
    view.head(buffer);
    match (app.help, &app.picker) {
        (Some(top), _) => view.help(buffer, top),
        (None, Some(picker)) => lists::picker(buffer, areas.body, picker, theme),
        (None, None) => {
            body::draw(buffer, areas.body, app, theme);
            lists::commands(buffer, areas.body, app, theme);
        }
    }
    view.queue(buffer);
    view.question(buffer);
    let cursor = view.input(buffer);
    view.status(buffer);
    if app.help.is_none() && app.picker.is_none() {
        frame.set_cursor_position(cursor);
    }
}

fn frame_area(columns: u16, rows: u16) -> Rect {
    Rect::new(0, 0, columns, rows)
}

struct View<'a> {
    app: &'a App,
    theme: Theme,
    areas: Areas,
}

impl View<'_> {
    fn columns(&self) -> usize {
        usize::from(self.areas.head.width)
    }

    fn head(&self, buffer: &mut Buffer) {
        let head = &self.app.head;
        let state = self.state();
        let agent = cut(&head.agent, self.columns() / 3);
        let right = format!(" {agent} · {state}");
        let name = if head.name.is_empty() {
            "(no name yet)"
        } else {
            &head.name
        };
        let name = cut(name, self.columns().saturating_sub(right.width()));
        let gap = " ".repeat(self.columns().saturating_sub(name.width() + right.width()));
        let bold = Style::new().bold();
        put(
            buffer,
            line_of(self.areas.head, 0),
            &[(&name, bold), (&gap, bold), (&right, self.state_style())],
        );
        let tokens = head.tokens.map_or_else(String::new, |(used, size)| match size {
            0 => format!(" {} tokens", thousands(used)),
            size => format!(" {} of {} tokens", thousands(used), thousands(size)),
        });
        let choices = ["mode", "model"].into_iter().filter_map(|category| {
            let option = SessionOption::of_category(&head.options, category)?;
            let choice = option
                .choices
                .iter()
                .find(|choice| option.current == *choice.id)?;
            Some(plain_line(&choice.name))
        });
        let choices: Vec<String> = choices.collect();
        let choices = match (cut(&choices.join(" · "), self.columns() / 2), tokens.is_empty()) {
            (choices, _) if choices.is_empty() => String::new(),
            (choices, true) => format!(" {choices}"),
            (choices, false) => format!(" {choices} ·"),
        };
        let tokens = format!("{choices}{tokens}");
        let cwd = cut(&head.cwd, self.columns().saturating_sub(tokens.width()));
        let gap = " ".repeat(self.columns().saturating_sub(cwd.width() + tokens.width()));
        let dim = Style::new().dim();
        put(
            buffer,
            line_of(self.areas.head, 1),
            &[(&cwd, dim), (&gap, dim), (&tokens, dim)],
        );
    }

    fn state(&self) -> String {
        let head = &self.app.head;
        let at_work = self.app.conversation.subagents_at_work();
        let state = match head.status {
            _ if head.is_deleted => "✗ deleted",
            _ if self.app.lost.is_some() => "◌ reconnecting",
            ThreadStatus::Failed => "✗ log failed",
            _ if head.is_interrupting => "◐ interrupting",
            ThreadStatus::Running if at_work == 1 => "● 1 subagent at work",
            ThreadStatus::Running if at_work > 1 => return format!("● {at_work} subagents at work"),
            ThreadStatus::Running => "● running",
            ThreadStatus::Waiting => "◐ waits for an answer",
            _ if head.is_archived => "○ archived",
            _ => "○ idle",
        };
        state.to_owned()
    }

    fn state_style(&self) -> Style {
        let head = &self.app.head;
        match head.status {
            _ if head.is_deleted || self.app.lost.is_some() || head.status == ThreadStatus::Failed => {
                self.theme.error()
            }
            ThreadStatus::Waiting => self.theme.question(),
            _ => Style::new(),
        }
    }

    fn help(&self, buffer: &mut Buffer, top: usize) {
        let area = self.areas.body;
        let columns = self.columns();
        let lines = help::lines();
        let rows = lines.iter().flat_map(|line| {
            let ranges = wrap(line, columns);
            ranges.into_iter().map(|range| &line[range])
        });
        let rows: Vec<&str> = rows.collect();
        let top = top.min(rows.len().saturating_sub(usize::from(area.height)));
        for (at, row) in (0..area.height).zip(&rows[top..]) {
            put(buffer, line_of(area, at), &[(row, Style::new())]);
        }
    }

    fn queue(&self, buffer: &mut Buffer) {
        let queue = &self.app.head.queue;
        let Some(first) = queue.first() else {
            return;
        };
        let state = if self.app.head.is_paused {
            "paused queue"
        } else {
            "queued"
        };
        let more = match queue.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let label = format!("{state}: ");
        let room = self.columns().saturating_sub(label.width() + more.width());
        let text = cut(&plain_line(first.text.trim()), room);
        let dim = Style::new().dim();
        put(
            buffer,
            self.areas.queue,
            &[(&label, dim.bold()), (&text, dim), (&more, dim)],
        );
    }

    fn question(&self, buffer: &mut Buffer) {
        let Some(question) = self.app.questions.front() else {
            return;
        };
        let rows = question.rows();
        let height = usize::from(self.areas.panel.height);
        let top = question.top.min(rows.len().saturating_sub(height));
        let more = match self.app.questions.len() - 1 {
            0 => String::new(),
            more => format!(", {more} more"),
        };
        let hidden = rows.len() - top - height.min(rows.len() - top);
        let right = match (hidden, top) {
            (0, 0) => String::new(),
            (0, _) => "↑ scrolled".to_owned(),
            (hidden, _) => format!("↓ {hidden} more rows"),
        };
        let title = if question.is_answered {
            "Answering…"
        } else {
            "Question"
        };
        self.rule(
            buffer,
            self.areas.panel_title,
            &format!("{title}{more}"),
            &right,
            self.theme.question(),
        );
        let is_answering = self.app.focus == Focus::Answer;
        let chosen = question.chosen(self.app.answer.text()).filter(|_| is_answering);
        for (at, (index, row)) in (0..self.areas.panel.height).zip(rows.iter().enumerate().skip(top)) {
            let line = line_of(self.areas.panel, at);
            let Some(chosen) = chosen.as_ref().filter(|chosen| chosen.contains(&index)) else {
                put(buffer, line, &[(row, Style::new())]);
                continue;
            };
            let style = self.theme.chosen();
            match row.strip_prefix(' ').filter(|_| index == chosen.start) {
                Some(rest) => put(buffer, line, &[("›", style), (rest, style)]),
                None => put(buffer, line, &[(row, style)]),
            }
        }
    }

    /// Draws the input, and returns the place of the cursor.
    fn input(&self, buffer: &mut Buffer) -> Position {
        let title = match self.app.focus {
            Focus::Prompt if self.app.edit.is_some() => "Earlier prompt",
            Focus::Prompt => "Prompt",
            Focus::Answer => "Answer",
            Focus::Search => "Search",
        };
        let right = if self.app.search.as_ref().is_some_and(|search| search.is_loading) {
            "searching older turns; Esc stops"
        } else if self.app.is_loading_older() {
            "loading older turns…"
        } else if self.app.scroll != Scroll::End {
            "↓ End: newest"
        } else {
            ""
        };
        self.rule(buffer, self.areas.input_title, title, right, Style::new().bold());
        let area = self.areas.input;
        let (rows, (row, column)) = self.app.editor().rows(self.columns(), usize::from(area.height));
        for (at, text) in (0..area.height).zip(&rows) {
            put(buffer, line_of(area, at), &[(text, Style::new())]);
        }
        if self.app.focus == Focus::Prompt && self.app.prompt.is_empty() {
            let hint = self.placeholder();
            put(buffer, line_of(area, 0), &[(&hint, Style::new().dim())]);
        }
        let offset = |cells: usize| u16::try_from(cells).unwrap_or(u16::MAX);
        Position {
            x: offset(column).min(area.width.saturating_sub(1)),
            y: area.y + offset(row).min(area.height.saturating_sub(1)),
        }
    }

    fn placeholder(&self) -> Cow<'static, str> {
        let head = &self.app.head;
        if head.is_archived {
            "The thread is archived: acpd unarchive".into()
        } else if head.is_running() {
            "Queue a follow-up, or steer with Alt+S".into()
        } else if let Some(text) = self.app.suggestion() {
            cut(&format!("{} (→)", plain_line(text)), self.columns()).into()
        } else {
            "What should the agent do?".into()
        }
    }

    fn status(&self, buffer: &mut Buffer) {
        let area = self.areas.status;
        let (text, style) = if let Some(why) = &self.app.lost {
            (format!("reconnecting… {}", plain_line(why)), self.theme.error())
        } else if let Some(message) = &self.app.message {
            let style = if message.is_error {
                self.theme.error()
            } else {
                Style::new()
            };
            (plain_line(&message.text), style)
        } else if let Some(error) = &self.app.head.error {
            (error.clone(), self.theme.error())
        } else {
            (self.hints(), Style::new().dim())
        };
        put(buffer, area, &[(&cut(&text, self.columns()), style)]);
    }

    /// Returns the keys that are useful now, as many as fit.
    fn hints(&self) -> String {
        let app = self.app;
        let hints: &[&str] = match (app.focus, app.questions.front()) {
            _ if app.help.is_some() => &["any key closes the help"],
            _ if app.picker.is_some() => &["Enter choose", "type to narrow the list", "Esc close"],
            (Focus::Search, _) => &["Enter older", "↓ newer", "Esc end of search"],
            (Focus::Answer, Some(question)) if question.is_permission() => {
                &["a number, then Enter", "↑↓ scroll it", "Esc back"]
            }
            (Focus::Answer, _) => &["Enter answer", "Ctrl+D dismiss", "Esc back"],
            (Focus::Prompt, _) if app.edit.is_some() => {
                &["Enter send in its place", "Esc cancel", "Alt+E the one before"]
            }
            (Focus::Prompt, Some(question)) if question.is_permission() && app.prompt.is_empty() => &[
                "Alt+1-9 choose",
                "↑↓ scroll it",
                "Tab into it",
                "Ctrl+D detach",
                "F1 help",
            ],
            (Focus::Prompt, Some(question)) if question.is_permission() => {
                &["Alt+1-9 choose", "Tab into it", "F1 help"]
            }
            (Focus::Prompt, Some(_)) => &["Tab answer", "F1 help"],
            (Focus::Prompt, None) if app.head.is_running() && !app.prompt.is_empty() => {
                &["Enter queue", "Alt+S steer", "Alt+Enter new line", "F1 help"]
            }
            (Focus::Prompt, None) if app.head.is_running() => &[
                "Enter queue",
                "Alt+S steer",
                "Esc Esc interrupt",
                "Ctrl+D detach",
                "F1 help",
            ],
            (Focus::Prompt, None) if app.prompt.is_empty() => {
                &["Ctrl+P threads", "Ctrl+F search", "Ctrl+D detach", "F1 help"]
            }
            (Focus::Prompt, None) => &["Enter send", "Alt+Enter new line", "F1 help"],
        };
        let mut text = String::new();
        for hint in hints {
            let gap = if text.is_empty() { "" } else { "   " };
            if text.width() + gap.width() + hint.width() <= self.columns() {
                text.push_str(gap);
                text.push_str(hint);
            }
        }
        text
    }

    /// Draws a line with a title at its left and a remark at its right.
    fn rule(&self, buffer: &mut Buffer, area: Rect, title: &str, right: &str, style: Style) {
        let right = if right.is_empty() {
            String::new()
        } else {
            format!(" {right} ─")
        };
        let left = format!(" {title} ");
        let used = 1 + left.width() + right.width();
        let line = "─".repeat(self.columns().saturating_sub(used));
        let rule = Style::new().dim();
        put(
            buffer,
            area,
            &[("─", rule), (&left, style), (&line, rule), (&right, rule)],
        );
    }
}

/// Formats a number of tokens.
fn thousands(count: u64) -> String {
    if count < 1000 {
        count.to_string()
    } else {
        format!("{}k", count / 1000)
    }
}

//! Draws the list to pick from, and the commands that complete the prompt.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::lines::{line_of, put};
use super::theme::Theme;
use crate::attach::state::picker::Picker;
use crate::attach::state::{App, Focus};
use crate::terminal::table::cut;

/// Maximum number of commands that are shown at once.
const COMMANDS: u16 = 6;

/// Draws the list in place of the conversation.
pub fn picker(buffer: &mut Buffer, area: Rect, picker: &Picker, theme: Theme) {
    let columns = usize::from(area.width);
    let title = cut(&format!("{}: {}", picker.title, picker.wanted), columns);
    put(buffer, line_of(area, 0), &[(&title, Style::new().bold())]);
    let shown = picker.shown();
    let entries: Vec<&str> = shown.iter().map(|entry| &*entry.text).collect();
    let remark = match (&picker.entries, entries.is_empty()) {
        (None, _) => "loading…",
        (_, true) => "nothing matches",
        _ => "",
    };
    put(buffer, line_of(area, 1), &[(remark, Style::new().dim())]);
    let rest = Rect {
        y: area.y.saturating_add(1),
        height: area.height.saturating_sub(1),
        ..area
    };
    list(buffer, rest, &entries, picker.at, theme);
}

/// Draws the commands over the end of the conversation.
pub fn commands(buffer: &mut Buffer, area: Rect, app: &App, theme: Theme) {
    if app.focus != Focus::Prompt {
        return;
    }
    let commands = app.completions();
    let lines: Vec<String> = commands
        .iter()
        .map(|command| format!("/{}  {}", command.name, command.about))
        .collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    let count = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let height = count.min(COMMANDS).min(area.height);
    let rows = Rect {
        y: area.bottom().saturating_sub(height),
        height,
        ..area
    };
    list(buffer, rows, &lines, app.command_at, theme);
}

/// Draws the entries around the chosen one.
fn list(buffer: &mut Buffer, area: Rect, entries: &[&str], at: usize, theme: Theme) {
    let height = usize::from(area.height);
    let at = at.min(entries.len().saturating_sub(1));
    let top = at.saturating_sub(height.saturating_sub(1));
    for (row, (index, entry)) in (0..area.height).zip(entries.iter().enumerate().skip(top)) {
        let is_chosen = index == at;
        let mark = if is_chosen { "› " } else { "  " };
        let text = cut(&format!("{mark}{entry}"), usize::from(area.width));
        // Nothing of what is behind the list may stay in its row.
        let rest = " ".repeat(usize::from(area.width).saturating_sub(text.width()));
        let style = if is_chosen { theme.chosen() } else { Style::new() };
        put(buffer, line_of(area, row), &[(&text, style), (&rest, style)]);
    }
}

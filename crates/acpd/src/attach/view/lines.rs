//! Writes into the lines of an area.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Returns a line of an area; an empty area if the area has fewer lines.
pub(super) fn line_of(area: Rect, line: u16) -> Rect {
    let y = area.y.saturating_add(line);
    let height = u16::from(line < area.height);
    Rect { y, height, ..area }
}

/// Writes texts one after the other into the line of an area.
pub(super) fn put(buffer: &mut Buffer, area: Rect, texts: &[(&str, Style)]) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let spans: Vec<Span<'_>> = texts
        .iter()
        .map(|(text, style)| Span::styled(*text, *style))
        .collect();
    buffer.set_line(area.x, area.y, &Line::from(spans), area.width);
}

//! Draws the conversation.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::lines::{line_of, put};
use super::theme::Theme;
use crate::attach::conversation::line::{Line, Row, Tone, find_all};
use crate::attach::state::App;
use crate::attach::state::search::Search;

/// Draws the rows that are in the window.
pub fn draw(buffer: &mut Buffer, area: Rect, app: &App, theme: Theme) {
    let layout = app.layout();
    let top = app.top();
    let entries = app.conversation.entries();
    let (mut at, mut skip) = (0, top.row);
    for index in top.entry..entries.len() {
        if at >= area.height {
            return;
        }
        let laid = layout.entry(index);
        // The gap above an entry is its first row.
        if laid.gap {
            if skip > 0 {
                skip -= 1;
            } else {
                at += 1;
            }
        }
        let Some(entry) = entries.get(index) else {
            return;
        };
        let search = app.search.as_ref();
        for row in laid.text.rows.iter().skip(std::mem::take(&mut skip)) {
            if let Some(line) = laid.text.lines.get(row.line) {
                draw_row(buffer, line_of(area, at), line, row, search, &entry.id, theme);
            }
            at += 1;
            if at >= area.height {
                return;
            }
        }
    }
}

fn draw_row(
    buffer: &mut Buffer,
    area: Rect,
    line: &Line,
    row: &Row,
    search: Option<&Search>,
    entry: &str,
    theme: Theme,
) {
    let base = theme.tone(line.tone);
    let mut styles: Vec<(Range<usize>, Style)> = line
        .marks
        .iter()
        .map(|(range, tone)| (range.clone(), theme.tone(*tone)))
        .collect();
    if let Some(search) = search {
        let is_current = |range: &Range<usize>| {
            search
                .hit
                .as_ref()
                .is_some_and(|hit| hit.entry == entry && hit.line == row.line && hit.range == *range)
        };
        let hits = find_all(&line.text, &search.wanted).into_iter();
        styles.extend(hits.map(|range| (range.clone(), theme.hit(is_current(&range)))));
    }
    let hang = " ".repeat(if row.range.start > 0 { line.hang } else { 0 });
    let mut texts = vec![
        (line.label.as_str(), theme.tone(Tone::Remark)),
        (line.lead, base),
        (hang.as_str(), base),
    ];
    for range in pieces(&row.range, &styles) {
        let covering = styles
            .iter()
            .filter(|(styled, _)| styled.start <= range.start && range.end <= styled.end);
        let style = covering.fold(base, |style, (_, more)| style.patch(*more));
        texts.push((&line.text[range], style));
    }
    put(buffer, area, &texts);
}

/// Divides a row where a style begins or ends.
fn pieces(row: &Range<usize>, styles: &[(Range<usize>, Style)]) -> Vec<Range<usize>> {
    let borders = styles.iter().flat_map(|(range, _)| [range.start, range.end]);
    let mut cuts: Vec<usize> = borders.filter(|at| row.start < *at && *at < row.end).collect();
    cuts.extend([row.start, row.end]);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

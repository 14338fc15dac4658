//! Tables, as wide as their cells and at most as the window.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use super::inline::styled;
use crate::attach::conversation::line::{Line, Tone, wrap};

/// Text between two columns.
const GAP: &str = " │ ";

/// Columns below which a column is not narrowed.
const LEAST: usize = 6;

/// Maximum number of columns of a table that is drawn as one.
const COLUMNS: usize = 24;

/// Reads a table at the beginning of some lines. Returns how many lines it has, and how it is drawn: as it was written if the
/// window has no room for its columns.
pub fn read(source: &[&str], columns: usize) -> Option<(usize, Vec<Line>)> {
    let [head, rule, ..] = source else {
        return None;
    };
    if !head.contains('|') {
        return None;
    }
    let is_right: Vec<bool> = cells(rule).into_iter().map(alignment).collect::<Option<_>>()?;
    let head = cells(head);
    if head.len() != is_right.len() || head.len() > COLUMNS || !rule.contains('-') {
        return None;
    }
    let body = source[2..].iter().take_while(|line| line.contains('|'));
    let rows: Vec<Vec<Line>> = std::iter::once(head)
        .chain(body.map(|line| cells(line)))
        .map(|mut row| {
            row.resize(is_right.len(), "");
            row.into_iter().map(|cell| styled(cell, "")).collect()
        })
        .collect();
    let count = rows.len() + 1;
    let Some(widths) = widths(&rows, is_right.len(), columns) else {
        let written = source[..count].iter();
        let written = written.map(|line| Line::new(Tone::Answer, "", line));
        return Some((count, written.collect()));
    };
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        draw(row, &widths, &is_right, index == 0, &mut lines);
        if index == 0 {
            let bars: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            lines.push(Line::new(Tone::Remark, "", &bars.join("─┼─")));
        }
    }
    Some((count, lines))
}

/// Divides a line into its cells. A bar behind a backslash, or in code, divides nothing.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut cells, mut start, mut is_escaped, mut in_code) = (Vec::new(), 0, false, false);
    for (at, c) in line.char_indices() {
        match c {
            '`' if !is_escaped => in_code = !in_code,
            '|' if !is_escaped && !in_code => {
                cells.push(line[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    if !line[start..].trim().is_empty() {
        cells.push(line[start..].trim());
    }
    cells
}

/// Returns whether a cell below the head aligns its column to the right; `None` for other cells.
fn alignment(cell: &str) -> Option<bool> {
    let dashes = cell.trim_start_matches(':').trim_end_matches(':');
    let is_rule = !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-');
    is_rule.then(|| cell.ends_with(':') && !cell.starts_with(':'))
}

/// Returns the widths of the columns. Returns `None` if the window has no room for them.
fn widths(rows: &[Vec<Line>], count: usize, columns: usize) -> Option<Vec<usize>> {
    let room = columns.checked_sub(GAP.width() * count.checked_sub(1)?)?;
    let widest = |column: usize| rows.iter().map(|row| row[column].text.width()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..count)
        .map(|column| widest(column).clamp(1, columns.max(1)))
        .collect();
    let mut total: usize = widths.iter().sum();
    while total > room {
        let largest = widths.iter_mut().max()?;
        if *largest <= LEAST {
            return None;
        }
        *largest -= 1;
        total -= 1;
    }
    Some(widths)
}

/// Adds the lines of a row. Cells that are too long for their column take several.
fn draw(row: &[Line], widths: &[usize], is_right: &[bool], is_head: bool, lines: &mut Vec<Line>) {
    let parts: Vec<Vec<Range<usize>>> = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| wrap(&cell.text, *width))
        .collect();
    let height = parts.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..height {
        let tone = if is_head { Tone::Strong } else { Tone::Answer };
        let mut line = Line::new(tone, "", "");
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                let start = line.text.len();
                line.text.push_str(GAP);
                line.marks.push((start..line.text.len(), Tone::Remark));
            }
            let range = parts[column].get(at).cloned().unwrap_or(0..0);
            let shown = cell.text[range.clone()].trim_end();
            let padding = " ".repeat(widths[column].saturating_sub(shown.width()));
            if is_right[column] {
                line.text.push_str(&padding);
            }
            let start = line.text.len();
            line.text.push_str(shown);
            for (mark, tone) in &cell.marks {
                let from = mark.start.max(range.start);
                let to = mark.end.min(range.start + shown.len());
                if from < to {
                    line.marks
                        .push((start + from - range.start..start + to - range.start, *tone));
                }
            }
            if !is_right[column] {
                line.text.push_str(&padding);
            }
        }
        lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, columns: usize) -> Option<Vec<String>> {
        let source: Vec<&str> = text.lines().collect();
        let (_, lines) = read(&source, columns)?;
        Some(
            lines
                .into_iter()
                .map(|line| line.text.trim_end().to_owned())
                .collect(),
        )
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let text = "| Name | 数 |\n|:---|---:|\n| `a|b` | 10 |\n| 漢字 👩\u{200d}💻 |\n| c \\| d | **1** | more |\nafter";
        let lines = drawn(text, 80).unwrap();
        assert_eq!(
            lines,
            [
                "Name    │ 数",
                "────────┼───",
                "a|b     │ 10",
                "漢字 👩\u{200d}💻 │",
                "c | d   │  1",
            ]
            .map(str::to_owned)
        );
        let source: Vec<&str> = text.lines().collect();
        assert_eq!(read(&source, 80).unwrap().0, 5);
    }

    #[test]
    fn a_wide_table_wraps_its_cells_and_a_table_without_room_is_text() {
        let text = "a | b\n---|---\nsome words that are long | x";
        let lines = drawn(text, 16).unwrap();
        assert!(lines.iter().all(|line| line.width() <= 16), "{lines:?}");
        assert!(lines.len() > 3, "{lines:?}");
        for columns in 0..4 {
            let written: Vec<String> = text.lines().map(str::to_owned).collect();
            assert_eq!(drawn(text, columns), Some(written), "{columns}");
        }
        let many = format!("{}\n{}", "|a".repeat(1000), "|-".repeat(1000));
        assert_eq!(drawn(&many, 80), None);
    }

    #[test]
    fn only_a_rule_below_the_head_makes_a_table() {
        for text in [
            "a | b",
            "a | b\nc | d",
            "a | b\n---",
            "a\n---",
            "a | b\n|:|:|",
            "|\n|",
        ] {
            assert_eq!(drawn(text, 80), None, "{text}");
        }
    }
}

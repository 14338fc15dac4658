//! Tables on standard output.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::print;

/// Prints columns, each as wide as its widest cell. On a terminal, the last column is cut to the terminal's width.
pub fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) {
    print::out(&text(header, rows, print::width()));
}

fn text<const N: usize>(header: [&str; N], rows: &[[String; N]], columns: Option<usize>) -> String {
    let header = header.map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&header]).map(|row| width_of(&row[column]));
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let padding = " ".repeat(width - width_of(cell) + 2);
            line.push_str(&format!("{cell}{padding}"));
        }
        let line = line.trim_end();
        text.push_str(&columns.map_or_else(|| line.to_owned(), |columns| cut(line, columns)));
        text.push('\n');
    }
    text
}

/// Returns the number of terminal columns of a text without control characters.
fn width_of(text: &str) -> usize {
    text.width()
}

/// Cuts a line to a number of terminal columns.
pub fn cut(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let mut cut = String::new();
    let mut left = columns.saturating_sub(1);
    for c in line.chars() {
        let Some(rest) = left.checked_sub(c.width().unwrap_or_default()) else {
            break;
        };
        left = rest;
        cut.push(c);
    }
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells_and_lines_as_the_terminal() {
        let rows = [
            ["a".into(), "語".into(), "end".into()],
            ["bcd".into(), "x".into(), "the end".into()],
        ];
        assert_eq!(
            text(["1", "2", "3"], &rows, None),
            "1    2   3\na    語  end\nbcd  x   the end\n"
        );
        assert_eq!(
            text(["1", "2", "3"], &rows, Some(12)),
            "1    2   3\na    語  end\nbcd  x   th…\n"
        );
    }
}

//! QR codes as text, two modules in one character.
//!
//! In: a text. Out: lines, with the quiet zone that scanners need. Owns: nothing. Never: relies on the colours of the terminal, unless
//! the user wants no others.

use qrcode::{Color, EcLevel, QrCode};

/// Light modules around the code, on each side: ISO/IEC 18004 demands 4.
const QUIET: usize = 4;

/// Black on white, whatever the theme of the terminal is.
const BLACK_ON_WHITE: &str = "\u{1b}[38;5;16;48;5;231m";
const RESET: &str = "\u{1b}[0m";

/// A code that can be printed.
pub struct Qr {
    /// Rows of modules with the quiet zone; `true` is dark.
    rows: Vec<Vec<bool>>,
}

impl Qr {
    /// Encodes a text. Returns `None` if it is too long for a code.
    pub fn of(text: &str) -> Option<Self> {
        // A screen is not scratched, so the lowest level makes the smallest code.
        let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
        let size = code.width();
        let colors = code.into_colors();
        let is_dark = |row: usize, column: usize| {
            let (row, column) = (row.checked_sub(QUIET), column.checked_sub(QUIET));
            let (Some(row), Some(column)) = (row, column) else {
                return false;
            };
            row < size && column < size && colors.get(row * size + column) == Some(&Color::Dark)
        };
        let all = size + 2 * QUIET;
        let rows = (0..all).map(|row| (0..all).map(|column| is_dark(row, column)).collect());
        Some(Self { rows: rows.collect() })
    }

    /// Returns the width in columns.
    pub fn width(&self) -> usize {
        self.rows.len()
    }

    /// Returns the lines of the code. Without colours, the light modules are drawn, as most terminals are dark: scanners read
    /// codes of both kinds.
    pub fn text(&self, has_colors: bool) -> String {
        let mut text = String::new();
        for pair in self.rows.chunks(2) {
            let light = vec![false; self.width()];
            let (upper, lower) = (&pair[0], pair.get(1).unwrap_or(&light));
            if has_colors {
                text.push_str(BLACK_ON_WHITE);
            }
            for (upper, lower) in upper.iter().zip(lower) {
                // Whether each half is drawn in the foreground.
                let is_drawn = (*upper == has_colors, *lower == has_colors);
                text.push(match is_drawn {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                });
            }
            if has_colors {
                text.push_str(RESET);
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "https://box.tail1234.ts.net/#ticket=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    /// Reads the modules of a printed code.
    fn modules(text: &str, drawn: bool) -> Vec<Vec<bool>> {
        let mut rows = Vec::new();
        for line in text.lines() {
            let line = line.replace(BLACK_ON_WHITE, "").replace(RESET, "");
            let halves = line.chars().map(|c| match c {
                '█' => (drawn, drawn),
                '▀' => (drawn, !drawn),
                '▄' => (!drawn, drawn),
                _ => (!drawn, !drawn),
            });
            let (upper, lower): (Vec<_>, Vec<_>) = halves.unzip();
            rows.extend([upper, lower]);
        }
        rows
    }

    #[test]
    fn both_ways_to_print_it_show_the_same_modules() {
        let code = Qr::of(LINK).unwrap();
        // It fits a terminal of 80 columns and 24 lines, nearly.
        assert!(code.width() <= 49, "{}", code.width());
        let mut expected = code.rows.clone();
        if expected.len() % 2 == 1 {
            expected.push(vec![false; code.width()]);
        }
        for has_colors in [true, false] {
            let text = code.text(has_colors);
            assert_eq!(modules(&text, has_colors), expected, "{has_colors}");
            assert_eq!(text.contains('\u{1b}'), has_colors);
        }
    }

    #[test]
    fn a_quiet_zone_surrounds_it() {
        let code = Qr::of("x").unwrap();
        let size = code.width();
        for (row, modules) in code.rows.iter().enumerate() {
            for (column, is_dark) in modules.iter().enumerate() {
                let is_inside = |at: usize| (QUIET..size - QUIET).contains(&at);
                assert!(
                    !is_dark || (is_inside(row) && is_inside(column)),
                    "{row} {column}"
                );
            }
        }
        // The corner of the first finder pattern.
        assert!(code.rows[QUIET][QUIET]);
    }

    #[test]
    fn texts_that_are_too_long_have_no_code() {
        assert!(Qr::of("").is_some());
        assert!(Qr::of(&"x".repeat(2953)).is_some());
        assert!(Qr::of(&"x".repeat(2954)).is_none());
    }
}

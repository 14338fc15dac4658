//! Where the parts of the screen are.

use ratatui::layout::Rect;

/// The smallest window that has room for every part.
pub const LEAST: (u16, u16) = (40, 10);

/// From this height on, the head has a second line.
const TALL: u16 = 16;

/// The parts of the screen, from top to bottom. A part that is not shown has no height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Areas {
    pub head: Rect,
    pub body: Rect,
    pub queue: Rect,
    /// The question, below its title.
    pub panel_title: Rect,
    pub panel: Rect,
    /// The input, below its title.
    pub input_title: Rect,
    pub input: Rect,
    pub status: Rect,
}

/// What the parts need.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needs {
    pub has_queue: bool,
    /// Rows of the question, if there is one.
    pub question: Option<usize>,
    /// Rows of the input.
    pub input: usize,
}

/// Divides a window. Returns `None` if it is too small.
pub fn divide((columns, rows): (u16, u16), needs: Needs) -> Option<Areas> {
    if columns < LEAST.0 || rows < LEAST.1 {
        return None;
    }
    let rows_of = |wanted: usize| u16::try_from(wanted).unwrap_or(u16::MAX);
    let head = if rows >= TALL { 2 } else { 1 };
    let queue = u16::from(needs.has_queue);
    let input = rows_of(needs.input).clamp(1, (rows / 4).max(1));
    // The head, the queue, the input with its title, and the status line.
    let rest = rows - head - queue - input - 2;
    let body = (rest / 3).max(2);
    let panel = needs
        .question
        .map_or(0, |wanted| rows_of(wanted).clamp(1, rest - body - 1));
    let title = u16::from(panel > 0);
    let mut y = 0;
    let mut next = |height: u16| {
        let area = Rect::new(0, y, columns, height);
        y += height;
        area
    };
    Some(Areas {
        head: next(head),
        body: next(rest - panel - title),
        queue: next(queue),
        panel_title: next(title),
        panel: next(panel),
        input_title: next(1),
        input: next(input),
        status: next(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_room_in_every_window() {
        assert_eq!(divide((39, 10), Needs::default()), None);
        assert_eq!(divide((40, 9), Needs::default()), None);
        for rows in 10..80 {
            for question in [None, Some(1), Some(5), Some(10_000)] {
                for input in [0, 1, 3, 10_000] {
                    let needs = Needs {
                        has_queue: true,
                        question,
                        input,
                    };
                    let areas = divide((40, rows), needs).expect("it has room");
                    assert!(areas.body.height >= 2 && areas.input.height >= 1, "{areas:?}");
                    assert_eq!(areas.panel.height > 0, question.is_some(), "{areas:?}");
                    assert_eq!(areas.status.bottom(), rows, "{areas:?}");
                }
            }
        }
    }
}

//! Colours and attributes.

use ratatui::style::{Color, Modifier, Style};

use crate::attach::conversation::line::Tone;

/// How things look. Without colours, only bold, dim and reversed text.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    has_colors: bool,
}

impl Theme {
    pub fn new(has_colors: bool) -> Self {
        Self { has_colors }
    }

    /// Returns the style of a text.
    pub fn tone(self, tone: Tone) -> Style {
        let plain = Style::new();
        match tone {
            Tone::Answer => plain,
            Tone::User => self.colored(Color::Cyan).bold(),
            Tone::Heading | Tone::Strong => plain.bold(),
            Tone::Emphasis => plain.italic(),
            Tone::Link => plain.underlined(),
            Tone::Code => self.colored(Color::Cyan),
            Tone::Thought => plain.add_modifier(Modifier::DIM | Modifier::ITALIC),
            Tone::Title => self.colored(Color::Blue).bold(),
            Tone::Failed => self.colored(Color::Red).bold(),
            Tone::Output | Tone::Remark => plain.dim(),
            Tone::Added => self.colored(Color::Green),
            Tone::Removed => self.colored(Color::Red),
            Tone::Warning => self.colored(Color::Yellow),
        }
    }

    /// Returns the style of a hit of the search.
    pub fn hit(self, is_current: bool) -> Style {
        let style = self.colored(Color::Yellow).reversed();
        if is_current {
            style.bold().underlined()
        } else {
            style
        }
    }

    /// Returns the style of the title of a question.
    pub fn question(self) -> Style {
        self.colored(Color::Yellow).bold()
    }

    /// Returns the style of an option that Enter gives.
    pub fn chosen(self) -> Style {
        self.question().reversed()
    }

    /// Returns the style of an error in the status line.
    pub fn error(self) -> Style {
        self.colored(Color::Red).bold()
    }

    fn colored(self, color: Color) -> Style {
        if self.has_colors {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }
}

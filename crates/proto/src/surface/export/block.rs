//! The parts of a document: blocks of words and of verbatim text. A [`Page`] writes them, and keeps their text from
//! becoming markup.

use std::borrow::Cow;
use std::fmt::Debug;

use acpd_model::line_ends::shown_diff;
use acpd_model::{LaneId, Millis};

use super::picture::Picture;

/// The class of a block that contains the blocks of a subagent.
pub const NEST: &str = "subagent";

/// A piece of a line.
#[derive(Debug, Clone)]
pub enum Span {
    /// Plain words.
    Word(Cow<'static, str>),
    /// A path, a name or an id, shown exactly as written.
    Code(String),
}

/// Creates a span of plain words.
pub fn word(text: impl Into<Cow<'static, str>>) -> Span {
    Span::Word(text.into())
}

/// Creates a span that is shown exactly as written.
pub fn code(text: impl Into<String>) -> Span {
    Span::Code(text.into())
}

/// A piece of a block.
#[derive(Debug)]
pub enum Part {
    /// A message of a user or an agent. A page may render its Markdown if that is harmless: it must not act or leave
    /// its place.
    Prose(String),
    /// Text that is shown as it is.
    Verbatim {
        /// `diff`, `json` or empty.
        language: &'static str,
        /// The text to show.
        text: String,
    },
    /// A picture. A page that cannot show it has its label.
    Picture(Picture),
    /// A line of words.
    Line(Vec<Span>),
    /// A list of lines.
    List(Vec<Vec<Span>>),
    /// A block of what the block is about, such as a message of a subagent.
    Block(Box<Block>),
}

/// A block of the document, which shows one event or item.
#[derive(Debug)]
pub struct Block {
    /// The kind of block, in one word without spaces.
    pub class: &'static str,
    /// The heading of the block.
    pub title: Vec<Span>,
    /// When the event occurred.
    pub at: Millis,
    /// The subagent that the block is about.
    pub lane: Option<LaneId>,
    /// Whether the block is collapsed at first.
    pub folded: bool,
    /// The content of the block.
    pub parts: Vec<Part>,
}

impl Block {
    /// Creates an empty block.
    pub fn new(class: &'static str, at: Millis, title: Vec<Span>) -> Self {
        Self {
            class,
            title,
            at,
            lane: None,
            folded: false,
            parts: Vec::new(),
        }
    }

    /// Sets the subagent that the block is about.
    pub fn of(mut self, lane: Option<LaneId>) -> Self {
        self.lane = lane;
        self
    }

    /// Adds a line of words.
    pub fn line(mut self, spans: Vec<Span>) -> Self {
        self.parts.push(Part::Line(spans));
        self
    }

    /// Adds a picture.
    pub fn picture(mut self, picture: Picture) -> Self {
        self.parts.push(Part::Picture(picture));
        self
    }

    /// Adds verbatim text, unless it is empty. A diff also says what changed besides letters.
    pub fn verbatim(mut self, language: &'static str, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if language == "diff" {
            text = shown_diff(&text).into_owned();
        }
        if !text.is_empty() {
            self.parts.push(Part::Verbatim { language, text });
        }
        self
    }
}

/// A document format. Its methods append to `out`. They are called in this order: head, sections with their blocks,
/// foot.
pub trait Page: Debug + Sync {
    /// Writes the start of the document.
    fn head(&self, out: &mut String, title: &str, facts: &[(&'static str, Vec<Span>)]);
    /// Starts a section.
    fn section(&self, out: &mut String, title: &[Span], note: &[Span]);
    /// Writes a block of the current section.
    fn block(&self, out: &mut String, block: &Block);
    /// Ends the current section.
    fn end_section(&self, out: &mut String);
    /// Writes the end of the document.
    fn foot(&self, out: &mut String);
}

//! What a document consists of: blocks of words and of text that is shown exactly as it is. How they are written is
//! a [`Page`]'s; it keeps everything in here from becoming markup.

use std::borrow::Cow;
use std::fmt::Debug;

use acpd_model::Millis;

/// A few words in a line.
#[derive(Debug)]
pub enum Span {
    /// Plain words.
    Word(Cow<'static, str>),
    /// A path, a name, an id: something to be read letter by letter.
    Code(String),
}

/// Plain words.
pub fn word(text: impl Into<Cow<'static, str>>) -> Span {
    Span::Word(text.into())
}

/// Something to be read letter by letter.
pub fn code(text: impl Into<String>) -> Span {
    Span::Code(text.into())
}

/// A piece of a block.
#[derive(Debug)]
pub enum Part {
    /// What somebody said. A page may show its Markdown, if nothing in it can act or leave its place.
    Prose(String),
    /// Text to be shown as it is.
    Verbatim {
        /// `diff`, `json` or nothing.
        language: &'static str,
        /// The text.
        text: String,
    },
    /// A line of words.
    Line(Vec<Span>),
    /// A list of lines.
    List(Vec<Vec<Span>>),
}

/// One thing that happened.
#[derive(Debug)]
pub struct Block {
    /// What it is, in one word without blanks.
    pub class: &'static str,
    /// Its heading.
    pub title: Vec<Span>,
    /// When.
    pub at: Millis,
    /// Whether a reader opens it first.
    pub folded: bool,
    /// What it holds.
    pub parts: Vec<Part>,
}

impl Block {
    /// A block that holds nothing yet.
    pub fn new(class: &'static str, at: Millis, title: Vec<Span>) -> Self {
        Self {
            class,
            title,
            at,
            folded: false,
            parts: Vec::new(),
        }
    }

    /// Adds a line of words.
    pub fn line(mut self, spans: Vec<Span>) -> Self {
        self.parts.push(Part::Line(spans));
        self
    }

    /// Adds text to be shown as it is, unless there is none.
    pub fn verbatim(mut self, language: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.parts.push(Part::Verbatim { language, text });
        }
        self
    }
}

/// A form of document. Appends to `out`, and is told in this order: head, then sections with their blocks, foot.
pub trait Page: Debug + Sync {
    /// What stands before everything else.
    fn head(&self, out: &mut String, title: &str, facts: &[(&'static str, Vec<Span>)]);
    /// Begins a section.
    fn section(&self, out: &mut String, title: &[Span], note: &[Span]);
    /// Writes a block of the section.
    fn block(&self, out: &mut String, block: &Block);
    /// Ends the section.
    fn end_section(&self, out: &mut String);
    /// What stands after everything else.
    fn foot(&self, out: &mut String);
}

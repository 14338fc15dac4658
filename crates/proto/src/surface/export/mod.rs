//! Writes a whole thread to a file, as evidence or for readers.
//!
//! In: the events of one thread, in order. Out: bytes of a file. Owns: for the documents, the events of the current
//! turn; for JSONL, nothing. Never: decides anything, or lets the text of an agent or a user act as markup.
//!
//! * [`Format::Jsonl`]: all events, one a line
//! * [`Format::Markdown`], [`Format::Html`]: a document for readers. [`story`] folds events into blocks, turn by turn.
//!   `markdown` and `html` write blocks and do not know about events
//!
//! # Adding a kind of event
//!
//! The kind's row in the model has the name of its type. The compiler asks for its members in `jsonl`, and for an arm of
//! `story`'s `fold` or of [`note`]. A test asks for its line in `docs/export.md`.

mod block;
mod fence;
mod html;
mod item;
mod jsonl;
mod markdown;
mod note;
mod picture;
mod story;
mod text;

pub(super) use text::rfc3339;

use acpd_model::limits::{EXPORT_TURN_BYTES, UNSENT_ANSWER_BYTES};
use acpd_model::{Event, Summary, ThreadId};

use block::Page;
use story::Story;

use crate::surface::contract::LostEvents;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// All events, one JSON object a line.
    Jsonl,
    /// A Markdown document.
    Markdown,
    /// One HTML page without external resources.
    Html,
}

impl Format {
    /// Parses `jsonl`, `md` or `html`.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "jsonl" => Self::Jsonl,
            "md" => Self::Markdown,
            "html" => Self::Html,
            _ => return None,
        })
    }

    /// Returns the name of the format, which is also the usual file extension.
    pub fn word(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }

    /// Returns about how many bytes an export holds until its reader has received them.
    pub fn held_bytes(self) -> u64 {
        match self {
            Self::Jsonl => UNSENT_ANSWER_BYTES,
            Self::Markdown | Self::Html => EXPORT_TURN_BYTES as u64,
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jsonl => "application/x-ndjson",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }
}

/// An export in progress.
#[derive(Debug)]
pub struct Export(Form);

#[derive(Debug)]
enum Form {
    Lines { thread: String },
    Document(Box<Story>),
}

impl Export {
    /// Starts an export; appends what precedes the first event to `out`.
    pub fn begin(format: Format, thread: ThreadId, summary: &Summary, out: &mut Vec<u8>) -> Self {
        let page: &'static dyn Page = match format {
            Format::Jsonl => {
                let thread = thread.to_string();
                return Self(Form::Lines { thread });
            }
            Format::Markdown => &markdown::Markdown,
            Format::Html => &html::Html,
        };
        Self(Form::Document(Box::new(Story::begin(page, thread, summary, out))))
    }

    /// Applies the next event; appends the text that is complete to `out`.
    pub fn fold(&mut self, event: &Event, out: &mut Vec<u8>) {
        match &mut self.0 {
            Form::Lines { thread } => jsonl::line(out, thread, event),
            Form::Document(story) => story.fold(event, out),
        }
    }

    /// Says which events cannot be read, in their place; appends the text to `out`.
    pub fn lost(&mut self, lost: &LostEvents, out: &mut Vec<u8>) {
        match &mut self.0 {
            Form::Lines { thread } => jsonl::lost_line(out, thread, lost),
            Form::Document(story) => story.lost(lost),
        }
    }

    /// Appends the rest, including unfinished items.
    pub fn finish(self, out: &mut Vec<u8>) {
        match self.0 {
            Form::Lines { .. } => {}
            Form::Document(story) => story.finish(out),
        }
    }
}

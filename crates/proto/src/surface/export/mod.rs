//! A thread written out whole, as evidence or to be read.
//!
//! In: the events of one thread, in order. Out: bytes of a file. Owns: for the documents, what has happened in
//! the turn that is being written; for JSONL, nothing. Never: decides anything, or shows as markup what an agent
//! or a person wrote.
//!
//! * [`Format::Jsonl`]: one event a line, complete; the names of its types are in [`name`]
//! * [`Format::Markdown`], [`Format::Html`]: a document to be read. [`story`] folds events into blocks, turn by
//!   turn; `markdown` and `html` know how a block is written and nothing about events
//!
//! # A new kind of event
//!
//! It comes out in JSONL by itself, as `event:<its name in the log>` with its members under `data`, and is passed
//! over in documents. To give it its place: its name in [`name::type_of`], its members in `jsonl`'s `fill`, its
//! line in `docs/export.md`, and, if people should read it, an arm in `story`'s `fold`. A test fails until the
//! first and the third are done.

mod block;
mod html;
mod item;
mod jsonl;
mod markdown;
pub mod name;
mod note;
mod story;
mod text;

pub(super) use text::rfc3339;

use acpd_model::{Event, Summary, ThreadId};

use block::Page;
use story::Story;

/// What a thread can be written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One event a line, each a JSON object.
    Jsonl,
    /// A Markdown document.
    Markdown,
    /// One HTML page that needs nothing else.
    Html,
}

impl Format {
    /// Reads `jsonl`, `md` or `html`.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "jsonl" => Self::Jsonl,
            "md" => Self::Markdown,
            "html" => Self::Html,
            _ => return None,
        })
    }

    /// The word that names it, which is also the usual end of a file's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jsonl => "application/x-ndjson",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }
}

/// A thread that is being written out.
#[derive(Debug)]
pub struct Export(Form);

#[derive(Debug)]
enum Form {
    Lines { thread: String },
    Document(Box<Story>),
}

impl Export {
    /// Begins; what stands before the first event is appended to `out`.
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

    /// Takes the next event; what can be written by now is appended to `out`.
    pub fn fold(&mut self, event: &Event, out: &mut Vec<u8>) {
        match &mut self.0 {
            Form::Lines { thread } => jsonl::line(out, thread, event),
            Form::Document(story) => story.fold(event, out),
        }
    }

    /// Appends what is left, unfinished items included.
    pub fn finish(self, out: &mut Vec<u8>) {
        match self.0 {
            Form::Lines { .. } => {}
            Form::Document(story) => story.finish(out),
        }
    }
}

//! The domain types of acpd. No IO, no async, and only the behavior that keeps a value well formed.
//!
//! # Glossary
//!
//! | Word | Meaning |
//! |---|---|
//! | agent | the downstream program that speaks ACP and does the work |
//! | client | an upstream program that controls or observes threads; a *peer* is its live connection |
//! | session | ACP's id for a conversation inside one agent process |
//! | thread | the daemon's durable conversation; it outlives sessions, agents, clients and the daemon process |
//! | turn | one prompt and everything the agent did until it stopped |
//! | item | one thing inside a turn: a message, a thought, a tool call, a command, a file change |
//! | lane | the conversation of one subagent within its agent's thread; the main agent's has no id |
//! | event | one fact about a thread, numbered by `seq` without gaps; the only source of truth |
//! | cursor | the `seq` up to which a client has seen a thread |
//! | projection | a value computed from events: summary, transcript, a protocol's notifications |
//! | command | a client's request to a thread |
//! | request | a question to the user (permission, elicitation), open until it is answered |
//! | binding | the agent session that a thread currently uses |

pub mod collections;
pub mod error;
pub mod event;
pub mod ids;
pub mod item;
pub mod json;
pub mod limits;
pub mod line_ends;
mod numbers;
mod origin;
mod permission;
pub mod plain_words;
pub mod role;
pub mod search;
pub mod section;
pub mod similar;
mod status;
pub mod subject;
pub mod summary;
pub mod text;
pub mod turn_index;
pub mod usage;
pub mod windows_path;

pub use error::{ErrorCode, Failure};
pub use event::{
    Event, EventKind, HostEvent, Inherited, ItemEvent, Millis, OptionKind, Origin, RequestEvent, Seq,
    SessionEvent, ThreadEvent, TurnEvent,
};
pub use ids::{BlobId, IdPart, ItemId, LaneId, RequestId, ThreadId, TurnId};
pub use item::{ItemEnd, ItemOutcome, ItemStart, MessageType, PreviousContent, Replaced};
pub use json::RawJson;
pub use limits::Limits;
pub use plain_words::{in_plain_words, unknown_word, without_content};
pub use role::{AccessScope, Role};
pub use search::{Extract, SearchHit, SearchableText, SnippetPiece, TextKind, TurnsDropped};
pub use summary::{Answerable, QuestionType, Summary, ThreadStatus, WaitingQuestion};
pub use turn_index::{ItemMark, LateMark, NotePlace, TurnMark, TurnMarks, TurnPosition, TurnStep};

//! Views that are computed from a thread's events.
//!
//! In: events, in order. Out: views. Owns: only the view. Never: decides anything. The live thread, a replay and a
//! query fold the same events through the same code, so that they cannot disagree.
//!
//! * [`Live`]: the state of a running thread; bounded, because finished items leave it
//! * [`DroppedTurns`]: turns that are no longer part of the conversation
//! * [`Transcript`]: turns and items for readers
//! * [`Options`]: the options that a client can set
//! * [`HistoryText`]: the conversation as text, for an agent that has lost it
//! * [`Exchanges`]: the conversation, for comparison with the history that an agent reports
//! * [`extract()`]: the searchable texts of events
//! * [`mark()`]: the places of turns and items

#![deny(clippy::wildcard_enum_match_arm)] // A view names the kinds of events that it ignores.

mod background;
mod choices;
mod cursors;
mod dropped_turns;
mod exchanges;
mod extract;
mod history_filter;
mod history_text;
mod item;
mod known_tools;
mod lanes;
mod lifecycle;
mod live;
mod marks;
mod note_place;
mod notes;
mod open_items;
mod open_requests;
mod options;
mod plans;
mod session_state;
mod snapshot;
mod spec;
mod spending;
mod steering;
mod thread_names;
mod tool;
mod transcript;
mod unified_diff;
mod used_ids;
mod waiting;

pub(crate) use background::{BackgroundReport, background_report};
pub use choices::Choices;
pub(crate) use choices::{current_value, listed_value};
pub(crate) use cursors::Named;
pub use dropped_turns::DroppedTurns;
pub(crate) use exchanges::Exchange;
pub use exchanges::{Digest, Exchanges};
pub use extract::extract;
pub use history_text::HistoryText;
pub(crate) use item::ItemView;
pub use item::{Part, content_text, text_block};
pub(crate) use lanes::named_subagent;
pub use lanes::{Lanes, Subagent};
pub use live::Live;
pub(crate) use live::{Interrupter, QueuedTurn};
pub use marks::{mark, marks_of};
pub(crate) use notes::{AGENT_DECIDES, DIRECTORY_GONE, is_too_large};
pub use notes::{Note, NoteCount};
pub use open_requests::OpenRequest;
pub use options::Options;
pub(crate) use options::{LEGACY_MODE, LEGACY_MODEL, has_options};
pub(crate) use plans::latest_steps;
pub use plans::{Plan, Plans};
pub(crate) use session_state::SessionState;
pub use snapshot::SNAPSHOT_FORMAT;
pub use spec::{Chunks, SessionChange, Spec, server_name};
pub use spending::{Spending, amount, read_cost, write_cost};
pub use steering::{PendingSteering, Steers};
pub(crate) use tool::FileDiff;
pub use tool::ToolView;
pub use transcript::{Item, SettledTurn, Transcript, Turn, TurnsPage};
pub use unified_diff::changed_lines;
pub(crate) use unified_diff::{is_computed, unified_diff};
pub(crate) use waiting::listed_title;

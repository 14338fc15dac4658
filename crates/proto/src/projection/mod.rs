//! What can be computed from a thread's events.
//!
//! In: events, in order. Out: views. Owns: nothing but the view. Never: decides anything. The live thread, a
//! replay and a query fold the same events through the same code, so they cannot disagree.
//!
//! * [`Live`]: what a thread must know to go on; bounded, since finished items leave it
//! * [`Dropped`]: turns that are no longer part of the conversation
//! * [`Transcript`]: turns and items, to be read
//! * [`Options`]: what a client may set
//! * [`Recall`]: the conversation as text, for an agent that has forgotten it
//! * [`Rounds`]: the conversation, to be held against what an agent tells of it
//! * [`extract`]: what can be searched of events

mod dropped;
mod extract;
mod item;
mod kept;
mod known_tools;
mod lifecycle;
mod live;
mod names;
mod open_items;
mod options;
mod recall;
mod rounds;
mod spec;
mod tool;
mod transcript;

pub use dropped::Dropped;
pub use extract::extract;
pub use item::{ItemView, MessageView, Part, content_text, text_block};
pub use known_tools::{KnownTools, ToolRef};
pub use live::{ClientTurn, Declared, Live, OpenRequest, QueuedTurn, RunningTurn};
pub use names::Names;
pub use open_items::{OpenItem, OpenItems};
pub use options::{LEGACY_MODE, LEGACY_MODEL, Options, has_options};
pub use recall::Recall;
pub use rounds::{Digest, Fresh, Round, Rounds};
pub use spec::{Chunks, SessionChange, Spec, server_name};
pub use tool::{FileDiff, ToolView, is_computed, unified_diff};
pub use transcript::{Item, Transcript, Turn};

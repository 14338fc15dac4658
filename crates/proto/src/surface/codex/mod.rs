//! The surface for Codex: the protocol of Codex's app server, so that its TUI, its extensions and programs built for it
//! drive any agent.
//!
//! In: messages of one client, replies and frames. Out: messages for the client, and requests for the daemon. Owns: what
//! the client has been shown of unfinished items. Never: widens a policy by what a client says of its sandbox.
//!
//! * [`encode`]: events as notifications, for all connections at once
//! * [`shown`]: the parts of a notification that depend on what one client has seen
//! * [`item`], [`turn`], [`thread`]: Codex's objects
//! * [`question`]: requests to the client, and its answers; [`form`] for forms
//! * [`spoken`]: the message that the agent is sending, in parts
//! * [`settings`]: models, efforts and modes
//! * [`peer`]: one connection; [`methods`] has a row for each method, [`requests`] begins them, and [`steps`] carries them out

mod bounded;
mod call;
mod encode;
mod form;
mod frame;
mod history;
mod item;
mod methods;
mod models;
mod params;
mod peer;
mod question;
mod requests;
mod search;
mod session;
mod settings;
mod shown;
mod spoken;
mod steps;
mod thread;
mod turn;
mod turn_id;
mod write;

pub use frame::Frame;
pub use methods::{METHODS, Method};
pub use peer::{Host, Peer};

//! From one thread to many clients.
//!
//! Before the log, the [`Coalescer`] merges deltas, so that the log, clients and replays all see the same events.
//! After the log, a [`Subscription`] follows one thread from a cursor for one client.

mod coalesce;
mod live_diff;
mod live_tail;
mod live_update;
mod subscription;

pub(crate) use coalesce::Coalescer;
pub use coalesce::{Delta, Source};
pub(crate) use live_diff::LiveDiff;
pub use live_tail::LiveText;
pub(crate) use live_tail::{LiveEnd, LiveTail};
pub use live_update::LiveUpdate;
pub use subscription::{BatchAction, Subscription};

//! One thread: combines the commands of clients with the events of the agent. Only this module decides what is
//! recorded.
//!
//! In: [`Input`]s and time. Out: events and [`Effect`]s. Owns: the [`Live`](crate::projection::Live) view and state
//! that only this process has (whether an agent runs, which callbacks are pending). Never: does IO, or sends out data
//! that is not in the log. The caller may carry out an effect only after the events before it are stored.
//!
//! A thread has parts with private fields: [`journal`], [`message`], [`tool_call`], [`approval`], [`callback`],
//! [`session`], [`subagents`] and [`turn`]. A part receives the journal and an input, and writes events and effects into the
//! journal. It returns the work that belongs to other parts. Only [`machine`] knows all parts, and passes such an
//! outcome from one part to another.

mod approval;
mod callback;
mod command;
mod editors;
mod effect;
mod host_call;
mod input;
mod journal;
mod machine;
mod message;
mod reply;
mod session;
mod subagents;
mod tool_call;
mod turn;

pub use approval::Policies;
pub use command::{
    Answer, Change, Command, InterruptOptions, LastUse, PickedOption, QueueChange, Sight, TerminalAct,
    Verdict,
};
pub(crate) use editors::EditorRequest;
pub use editors::{EditorCapabilities, EditorCommand};
pub use effect::{Deletion, Effect, RememberedChange, RememberedOutcome, UserLine, Waiter};
pub use host_call::{HostCall, HostReply, TerminalEvent};
pub use input::{AccessDenied, AgentExit, Input};
pub use machine::Thread;
pub use reply::{ForkContents, ForkPoint, Reply, SteerDelivery, TurnView};

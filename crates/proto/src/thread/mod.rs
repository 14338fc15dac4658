//! One thread: where what clients want and what the agent does meet. This is the only place that decides
//! what happened.
//!
//! In: [`Input`]s and time. Out: events and [`Effect`]s. Owns: the [`Live`](crate::projection::Live) view and what only
//! this process knows (is an agent there, which callbacks wait). Never: does IO, or lets anything leave that
//! is not in the log; an effect may be carried out only after the events before it are stored.
//!
//! A thread has parts with private fields: [`journal`], [`message`], [`tool_call`], [`approval`], [`callback`], [`session`] and
//! [`turn`]. A part takes the journal and an input, writes events and effects into the journal, and returns what is not its own
//! to do. Only [`machine`] knows all parts, and takes such an outcome of one to another.

mod approval;
mod callback;
mod command;
mod editors;
mod fork;
mod journal;
mod machine;
mod message;
mod session;
mod tool_call;
mod turn;

pub use approval::Policies;
pub use command::{
    AgentExit, Answer, Change, Command, Effect, ForkContents, ForkPoint, HostCall, HostReply, Input,
    PickedOption, RememberedChange, RememberedOutcome, Reply, Sight, SteerDelivery, TerminalEvent, TurnView,
    Verdict, Waiter,
};
pub use editors::{EditorCapabilities, EditorCommand, EditorRequest};
pub use fork::ThreadCopy;
pub use machine::Thread;

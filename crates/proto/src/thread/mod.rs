//! One thread: where what clients want and what the agent does meet. This is the only place that decides
//! what happened.
//!
//! In: [`Input`]s and time. Out: [`Effect`]s. Owns: the [`Live`](crate::projection::Live) view and what only
//! this process knows (is an agent there, which callbacks wait). Never: does IO, or lets anything leave that
//! is not in the log; an effect may be carried out only after the events before it are stored.

mod approval;
mod callback;
mod command;
mod editors;
mod flow;
mod fork;
mod journal;
mod message;

mod session;
#[allow(clippy::module_inception, reason = "the thread's own state")]
mod thread;
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
pub use thread::Thread;

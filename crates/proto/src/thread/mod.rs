//! One thread: where what clients want and what the agent does meet. This is the only place that decides
//! what happened.
//!
//! In: [`Input`]s and time. Out: [`Effect`]s. Owns: the [`Live`](crate::projection::Live) view and what only
//! this process knows (is an agent there, which callbacks wait). Never: does IO, or lets anything leave that
//! is not in the log; an effect may be carried out only after the events before it are stored.

mod answers;
mod asks;
mod care;
mod command;
mod echo;
mod editors;
mod errands;
mod final_output;
mod fork;
mod grants;
mod items;
mod lease;
mod lent;
mod lent_terminals;
mod lifecycle;
mod machine;
mod permits;
mod process;
mod record;
mod reopening;
mod replayed;
mod requests;
mod session_params;
mod shown;
mod steer;
mod steps;
mod terminals;
mod turn_files;
mod turns;
mod undecided;
mod unreported;

pub use command::{
    Adopted, Answer, AnswersOrder, AnswersOutcome, Change, Command, Effect, ForkPoint, Gone, Input,
    MachineCall, MachineEvent, MachineReply, PickedOption, Reply, Sight, TurnView, Verdict, Whose,
};
pub use editors::{Abilities, EditorOrder, EditorRequest};
pub use fork::Copied;
pub use permits::Policies;
pub use steps::Thread;

//! Checks whether an agent keeps the rules of the Agent Client Protocol, in version 1 and 2.
//!
//! In: the command line of an agent. Out: a report with a verdict for each method and rule. Owns: the agent's processes, and a temporary
//! directory. Never: uses a daemon, runs a command for the agent, or touches a file outside of its directory.

mod client;
mod directory;
mod evidence;
mod judge;
mod lines;
mod link;
mod options;
mod process;
mod report;
mod rule;
mod run;
mod schema;
mod script;
mod version;
mod watch;
mod wire;

pub use judge::judge;
pub use options::{LONG_PROMPT, Options, PROMPT};
pub use process::{Command, Connection, Start};
pub use report::{Report, Row, Rows, Verdict};
pub use rule::Rule;
pub use run::{RunError, run};
pub use schema::{Fault, Schema, Shape, Side};
pub use version::Version;

//! The host: processes, terminals and files.
//!
//! In: programs to run, and files to read or write. Out: bytes, exit statuses, errors that users understand. Owns:
//! child processes and their groups. Never: knows a protocol, or leaves a process behind.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "marks are looked for in /proc")
)]

mod allocator;
mod children;
mod command;
mod descriptors;
mod exit;
mod file_id;
mod files;
mod leader;
mod mark;
pub mod memory;
mod origin;
mod output;
mod process;
mod pty;
mod relay;
mod sandbox;
mod script;
#[cfg(target_os = "linux")]
mod seal;
mod service_manager;
mod small;
mod stack_read;
mod supervision;
mod sweep;
#[cfg(target_os = "linux")]
mod table;
mod tail;
#[cfg(target_os = "linux")]
mod tcp_peer;
mod terminal;
mod walk;
mod wsl;

pub use allocator::{give_back_free_memory, give_back_large_buffers};
pub use command::{Environment, Program, TERMINAL_TYPE};
pub use descriptors::{NoDescriptors, check_descriptors, raise_descriptor_limit};
pub use exit::Exit;
pub use files::{Fit, Reserved, Target, Workspace, outside_workspace, path_outside};
pub use leader::confine;
pub use origin::is_of_an_agent;
pub use process::{AgentProcess, ProcessExit, StderrTail, StoppingProcess};
pub use pty::InputKind;
pub use relay::run_for_user;
pub use sandbox::{Grants, Kernel, Network, Sandbox, SandboxError, Writable, cut};
pub use script::{interpreter_of, interpreter_words};
pub use service_manager::ServiceManager;
pub use small::{read_beginning, read_small};
pub use stack_read::read_through_stack;
pub use supervision::{Supervision, count_as_agent, keep};
pub use tail::Tail;
#[cfg(target_os = "linux")]
pub use tcp_peer::{sockets_of_tcp_listener, user_of_tcp_listener, user_of_tcp_peer};
pub use terminal::{Terminal, TerminalSpec, TerminalUpdate};
pub use walk::{LookupError, Walk, Walks};
pub use wsl::windows_drives;

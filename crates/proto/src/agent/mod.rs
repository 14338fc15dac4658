//! The connection to one agent. The daemon is the agent's ACP client, in version 1, or in version 2 through `v2`.
//!
//! In: lines from the agent's stdout, commands from the thread, time. Out: lines for the agent's stdin, and
//! [`AgentEvent`]s. Owns: JSON-RPC ids in both directions, the handshake, the opening of the session. Never: decides
//! what an update means for a thread, or answers a callback by itself unless the callback must be rejected.

mod acp_version;
mod auth_status;
pub(crate) mod bounds;
mod call;
mod capabilities;
mod connection;
mod elicitation_modes;
mod extension;
mod halves;
mod handshake;
mod incoming;
pub(crate) mod modes;
mod opening;
mod printed;
mod quirks;
mod replay;
mod request;
mod session_name;
mod shared;
#[cfg(test)]
mod sign_in_tests;
mod system_prompt;
mod update;
mod v2;

pub use acp_version::AcpVersion;
pub(crate) use auth_status::names_account;
pub use call::{Call, TerminalExit, not_found};
pub use capabilities::{AuthMethod, Capabilities, SkillBlocks};
pub use connection::{AgentCommand, AgentConnection, AgentEvent, AgentNames, Opened, Start};
pub use elicitation_modes::ElicitationModes;
pub use extension::check_extension;
pub(crate) use extension::{is_extension, is_own, own_name};
pub use handshake::{Negotiated, client_capabilities, initialize_params, negotiate};
pub use printed::SignInOutput;
pub use quirks::Quirks;
pub(crate) use request::PassthroughMethod;
pub use request::{AgentRequest, ConfigValue};
pub use session_name::with_session;
pub use shared::{Seat, SeatEvent, SharedAgent};
pub use system_prompt::{
    PromptSource, SYSTEM_PROMPT_BYTES, SystemPromptMode, SystemPromptModes, check_system_prompt,
    system_prompt,
};
pub use update::{
    Chunk, ChunkContent, CursorUpdate, PlanUpdate, SessionMessage, SubagentUpdate, Suggestion, Update,
    UpdateKind,
};
pub(crate) use update::{ToolUpdate, text_chunk};
pub(crate) use v2::REVISION;

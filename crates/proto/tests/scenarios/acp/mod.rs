//! Editors over native ACP, with the daemon as their agent.

mod connection;
mod cursors;
mod delegated;
mod final_output;
mod forwarded;
mod garbage;
mod handshake;
mod lease;
mod load;
mod lost_editor;
mod methods;
mod pairs;
mod plans;
mod questions;
mod repeated_ids;
mod repeated_prompts;
mod resumed;
mod schema;
mod session_params;
mod stage;
mod subagents;
mod suggestions;
mod system_prompt;
mod terminals;
mod titles;
mod transcripts;
mod turns;
mod v2;
mod v2_both;
mod v2_lanes;
mod v2_prompts;

use crate::support::official;

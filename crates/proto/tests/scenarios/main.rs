//! Scenarios: whole conversations through the state machines, with manual time. Each module covers one subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../support/mod.rs"]
mod support;

mod acp;
mod agent_requests;
mod always;
mod answers;
mod bounds;
mod callbacks;
mod choices;
mod clock;
mod codex;
mod echo;
mod elicitation;
mod emitted;
mod export;
mod faults;
mod fork;
mod frames;
mod grants;
mod host_cleanup;
mod imports;
mod interrupt;
mod lifecycle;
mod links;
mod lost_agent;
mod malformed;
mod messages;
mod modes;
mod newest_schema;
mod notes;
mod oddities;
mod options;
mod peer;
mod permission;
mod plans;
mod policies;
mod policy_fixtures;
mod properties;
mod queue;
mod recovery;
mod refusals;
mod remembered;
mod reopen;
mod rest;
mod rollback;
mod seed_turn;
mod shared;
mod shown;
mod start;
mod steer;
mod stuck;
mod suggestions;
mod system_prompt;
mod tail;
mod terminal_acts;
mod terminals;
mod tools;
mod transcripts;
mod turn_diffs;
mod unclean;
mod unknown_content;
mod user_commands;
mod watchdog;

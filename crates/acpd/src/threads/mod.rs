//! Commands about threads.

pub mod answer;
pub mod attachments;
pub mod default_agent;
pub mod export;
pub mod find;
pub mod lifecycle;
pub mod list;
mod open_question;
pub mod options;
pub mod prompt;
pub mod prune;
pub mod run;
pub mod search;
pub mod share;
pub mod show;
pub mod steer;
pub mod system_prompt;
pub mod type_in;
pub mod usage;

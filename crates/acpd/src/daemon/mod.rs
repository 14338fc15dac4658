//! Commands about the daemon itself.

pub mod answers;
mod busy;
pub mod config;
mod config_changes;
pub mod control;
mod logging;
pub mod logs;
pub mod manager;
mod modes;
pub mod notifications;
pub mod open;
pub mod policy;
pub mod port;
pub mod reference;
mod reload;
pub mod serve;
pub mod status;
pub mod token;

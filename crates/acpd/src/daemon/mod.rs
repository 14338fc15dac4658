//! Commands about the daemon itself.

pub mod answers;
pub mod background;
mod busy;
pub mod config;
pub mod control;
pub mod elsewhere;
mod hindrance;
pub mod lifetime;
mod logging;
pub mod logs;
pub mod manager;
mod modes;
pub mod notifications;
pub mod open;
pub mod policy;
pub mod port;
pub mod process;
pub mod reference;
mod reload;
pub mod serve;
pub mod ssh_agent;
pub mod status;
pub mod token;

//! Commands about the daemon itself.

pub mod background;
pub mod control;
mod hindrance;
mod logging;
pub mod logs;
pub mod notifications;
pub mod open;
pub mod policy;
mod process;
pub mod reference;
mod reload;
pub mod serve;
pub mod status;
pub mod token;

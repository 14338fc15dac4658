//! Commands about the daemon itself.

pub mod background;
pub mod open;
pub mod policy;
pub mod serve;
pub mod token;

//! Commands about threads.

pub mod export;
pub mod lifecycle;
pub mod list;
pub mod run;
pub mod search;
pub mod show;

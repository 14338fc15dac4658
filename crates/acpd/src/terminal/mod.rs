//! The user's terminal: output, questions, and the rendering of a turn.

pub mod amounts;
pub mod ask;
pub mod confirm;
pub mod folders;
pub mod input;
pub mod items;
pub mod pager;
pub mod plain;
pub mod print;
pub mod progress;
pub mod qr;
pub mod questions;
pub mod render;
pub mod table;
pub mod time;

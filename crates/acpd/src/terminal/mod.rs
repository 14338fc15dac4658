//! The user's terminal: output, questions, and the rendering of a turn.

pub mod plain;
pub mod print;
pub mod questions;
pub mod render;

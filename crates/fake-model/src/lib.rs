//! A model service without a model: it speaks the HTTP APIs that agents call, and says what the prompt tells it.
//!
//! In: requests of Anthropic Messages, `OpenAI` Responses, Chat Completions and Gemini generateContent. Out: answers in
//! the same API, streamed where that was asked for. Owns: a loopback port, and a list of what it was asked.
//! Never: imports another crate of this project, reaches out to the network, or fails on a request that is nonsense.
//!
//! Each API is a file in `api` that turns a request into an [`ask::Ask`] and a [`reply::Reply`] into frames; what the
//! reply is, [`script`] decides for all of them.

pub mod api;
pub mod ask;
pub mod limits;
pub mod reply;
pub mod script;
mod server;
pub mod tools;

pub use server::{FakeModel, Seen, serve};

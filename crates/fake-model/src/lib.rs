//! A model service without a model: it serves the HTTP APIs that agents call, and the prompt determines its responses.
//!
//! In: requests of Anthropic Messages, `OpenAI` Responses, Chat Completions, Gemini generateContent and Augment's service.
//! Out: responses of the same API, streamed on request. Owns: a loopback port, and a list of received requests. Never: imports another
//! crate of this project, connects to the network, or fails on a malformed request.
//!
//! Each API is a file in `api` that turns a request into an [`ask::Ask`] and a [`reply::Reply`] into frames; [`script`]
//! decides the reply for all of them.

pub mod api;
pub mod ask;
pub mod limits;
pub mod reply;
pub mod script;
mod server;
pub mod tools;

pub use server::{FakeModel, Seen, serve};

//! The configuration file: how it is made, read and changed.
//!
//! In: TOML, as a user wrote it. Out: `acpd_server::Config` with absolute paths, or an error that names the key, the line and
//! what to write instead; the text with another value of a setting. Never: overrides a setting; flags and variables do that in
//! `settings`.

mod chosen;
mod document;
mod edit;
mod error;
mod mistakes;
mod parse;
mod paths;
#[cfg(test)]
mod reference;
mod secrets;
mod text;

pub use chosen::Chosen;
pub use edit::edit;
pub use error::ConfigError;
pub use mistakes::mistakes;
pub use parse::parse;
pub use paths::data_dir_of;
pub use secrets::is_secret;
pub use text::{MODE, new_text, text};

//! Formats of other programs' files: settings with comments, and certificates.
//!
//! In: the content of a file. Out: what it means, changed content, or an error. Owns: no state. Never: accesses a file, or
//! trusts a length or a depth in it.

pub mod certificate;
pub mod jsonc;

//! The documents, the scripts and the built tests of the whole tree.

#[path = "../../../crates/host/tests/support/not_tested.rs"]
mod not_tested;

mod circles;
mod keys;
mod limits;
mod links;
mod locations;
mod names;
mod prose;
mod replacing;
mod setup;
mod subjects;
mod testing;
mod tokens;
mod versions;

//! The documents, the scripts and the built tests of the whole tree.

mod links;
mod locations;
mod names;
mod prose;
mod setup;
mod testing;

//! Real shims with real processes.

#![cfg(target_os = "linux")]

mod attaching;
mod ending;
mod support;
mod survival;
mod terminals;

//! The state machines, connected as in the daemon, without IO and with manual time.
//!
//! A test is a few lines inside [`check`]. It acts as the client and the agent through a [`Scene`], and checks the output.
//! The [`invariants`] are checked after every scenario.

mod agent;
pub mod app_schema;
mod client;
mod invariants;
mod look;
mod machine;
pub mod markup;
pub mod official;
pub mod recording;
pub mod replay;
pub mod samples;
mod scene;
pub mod schema;
pub mod show;

use std::sync::Arc;

use acpd_model::ThreadId;
use acpd_proto::surface::contract::Gate;
use uuid::Uuid;

pub use agent::{FULL, SESSION, message, thought, tool};
pub use client::wake;
pub use machine::willing;
pub use scene::{FORK, Scene, Sent};

/// Returns the gate of a connection with the default limits. New threads have the id [`NEW_THREAD`].
pub fn gate() -> Gate {
    Gate::new(Arc::default(), Arc::new(|| NEW_THREAD))
}

/// The id of a thread that a connection creates.
pub const NEW_THREAD: ThreadId = ThreadId(Uuid::from_u128(99));

/// Runs `scenario` in a new scene, and checks all invariants.
pub fn check(scenario: impl FnOnce(&mut Scene)) -> Scene {
    check_in(Scene::new(), scenario)
}

/// Like [`check`], in a prepared scene.
pub fn check_in(mut scene: Scene, scenario: impl FnOnce(&mut Scene)) -> Scene {
    scenario(&mut scene);
    invariants::hold(&scene);
    scene
}

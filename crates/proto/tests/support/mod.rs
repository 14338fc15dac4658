//! The machines, coupled as the daemon couples them, without IO and with time moved by hand.
//!
//! A test is a few lines inside [`check`]: it plays the client and the agent through a [`Scene`] and looks at
//! what came out. Whatever the scenario was, [`invariants`] are looked at afterwards.

mod agent;
pub mod app_schema;
mod client;
mod invariants;
mod look;
mod machine;
pub mod official;
pub mod recording;
pub mod replay;
pub mod samples;
mod scene;
pub mod schema;
pub mod show;

pub use agent::{FULL, SESSION, message, thought, tool};
pub use machine::willing;
pub use scene::{FORK, Scene, Sent};

/// Plays `scenario` in a fresh scene and checks everything that must hold after any scenario.
pub fn check(scenario: impl FnOnce(&mut Scene)) -> Scene {
    check_in(Scene::new(), scenario)
}

/// The same, in a scene that was prepared.
pub fn check_in(mut scene: Scene, scenario: impl FnOnce(&mut Scene)) -> Scene {
    scenario(&mut scene);
    invariants::hold(&scene);
    scene
}

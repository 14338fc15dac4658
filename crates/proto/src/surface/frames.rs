//! The frames of each lane, encoded once for all its connections.

use std::any::Any;
use std::fmt;

use super::contract::{Lane, Source, Surface};
use super::{acp, app, codex};

/// The frames of one lane: a list of [`Surface::Frame`].
pub struct Frames(Box<dyn Any + Send + Sync>);

impl Frames {
    /// Encodes the frames of `lane`.
    pub fn encode(lane: Lane, source: Source<'_>) -> Self {
        match lane {
            Lane::App => Self(Box::new(app::Peer::encode(lane, source))),
            Lane::Codex => Self(Box::new(codex::Peer::encode(lane, source))),
            Lane::Acp | Lane::AcpV2 => Self(Box::new(acp::Peer::encode(lane, source))),
        }
    }

    /// Returns the frames for a connection of the lane that they were encoded for.
    pub fn of<S: Surface>(&self) -> &[S::Frame] {
        // Each connection subscribes to its own lane. An empty list would be a mistake of this program.
        let frames = self.0.downcast_ref::<Vec<S::Frame>>();
        debug_assert!(frames.is_some(), "frames of another lane");
        frames.map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Frames").finish_non_exhaustive()
    }
}

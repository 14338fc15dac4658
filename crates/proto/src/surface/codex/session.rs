//! A thread that a connection follows.

use std::collections::BTreeMap;

use acpd_model::{RequestId, ThreadId};

use super::frame::Frame;
use super::question::Asked;
use super::shown::Shown;
use crate::projection::Live;

/// Frames of one thread that are held back until the response to a request for a turn, at most. With more, all are sent
/// before the response.
const HELD_FRAMES: usize = 4096;

/// A thread that the client follows.
#[derive(Debug)]
pub(super) struct Session {
    pub agent: String,
    pub shown: Shown,
    /// Questions that the client has received and that are not closed.
    pub asked: BTreeMap<RequestId, Asked>,
    /// Requests for turns that have no response yet. Codex reads the response before the notifications.
    pub starting: usize,
    /// Frames that follow these responses, with whether their questions are open.
    pub held: Vec<(Frame, bool)>,
    /// Whether the settings are being read for the client.
    pub is_reading_settings: bool,
}

impl Session {
    /// Creates the session of a thread whose state the client has received.
    pub fn new(live: &Live) -> Self {
        Self {
            agent: live.summary.agent.clone(),
            shown: Shown::of(live),
            asked: BTreeMap::new(),
            starting: 0,
            held: Vec::new(),
            is_reading_settings: false,
        }
    }

    /// Holds a frame back, if it must wait for a response. Returns whether it does.
    pub fn hold(&mut self, frame: &Frame, is_open: bool) -> bool {
        let holds = self.starting > 0 && self.held.len() < HELD_FRAMES;
        if holds {
            self.held.push((frame.clone(), is_open));
        }
        holds
    }

    /// Returns the frames that were held back, if no response is waited for, or if there are too many.
    pub fn take_held(&mut self) -> Vec<(Frame, bool)> {
        if self.starting > 0 && self.held.len() < HELD_FRAMES {
            return Vec::new();
        }
        self.starting = 0;
        std::mem::take(&mut self.held)
    }
}

/// The threads that a connection follows.
pub(super) type Sessions = BTreeMap<ThreadId, Session>;

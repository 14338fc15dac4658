//! Lanes: the encodings of events.

/// One encoding of events. All connections of a lane receive the same frames. A protocol with two versions has two lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// The app protocol.
    App,
    /// Native ACP, version 1.
    Acp,
    /// Native ACP, version 2.
    AcpV2,
    /// Codex's app server.
    Codex,
}

impl Lane {
    /// All lanes.
    pub const ALL: [Self; 4] = [Self::App, Self::Acp, Self::AcpV2, Self::Codex];

    /// Returns a short name of the protocol.
    pub fn word(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Acp => "acp",
            Self::AcpV2 => "acp-v2",
            Self::Codex => "codex",
        }
    }
}

//! The parts of a request that are decided separately.

use acpd_model::BlobId;

use super::command_words::CommandWords;
use super::path::normalise;
use super::shell::{self, Word};

/// ACP's tool kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words are ACP's")]
pub enum Kind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

impl Kind {
    /// Parses ACP's name of the kind. Returns `None` for a name that ACP does not define.
    pub fn from_acp(word: &str) -> Option<Self> {
        Some(match word {
            "read" => Self::Read,
            "edit" => Self::Edit,
            "delete" => Self::Delete,
            "move" => Self::Move,
            "search" => Self::Search,
            "execute" => Self::Execute,
            "think" => Self::Think,
            "fetch" => Self::Fetch,
            "switch_mode" => Self::SwitchMode,
            "other" => Self::Other,
            _ => return None,
        })
    }

    /// Returns ACP's name of the kind.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::SwitchMode => "switch_mode",
            Self::Other => "other",
        }
    }
}

/// A type of access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads the content.
    Read,
    /// Finds files, or searches their content.
    Search,
    /// Creates or changes the file.
    Edit,
    /// Deletes the file.
    Delete,
    /// Moves or renames the file, or moves another file onto it.
    Move,
}

/// One part of a request, which is decided separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A simple command, without wrappers such as `env` and `sh -c`.
    Command(Command),
    /// A command line, or a part of one, that cannot be analyzed.
    Unreadable {
        /// The original text; `None` if the agent did not send the command.
        text: Option<String>,
        /// The reason. It continues the sentence "the command …".
        why: String,
    },
    /// A command line writes a file by redirection.
    Redirect {
        /// Absolute path, which may contain `..` and links; `None` if it has been resolved, or is unknown.
        named: Option<String>,
        /// Absolute and normalized path; `None` if it is unknown.
        path: Option<String>,
    },
    /// An access to a file. Its path is `None` if it is unknown.
    File {
        /// The type of access.
        access: Access,
        /// Absolute and normalized path; `None` if it is unknown.
        path: Option<String>,
    },
    /// A fetch of a URL; `None` if it is unknown.
    Fetch(Option<String>),
    /// A call of an MCP server's tool.
    Mcp {
        /// Name for rules, `mcp__server__tool`; if the tool is unknown, `mcp__server__`.
        name: String,
        /// Whether the tool is known.
        tool_known: bool,
    },
    /// A tool of the kinds think, switch mode or other.
    Tool(Kind),
    /// A file of the daemon itself, by the name that the agent sent.
    Reserved(String),
    /// A part whose effect is unknown.
    Unknown,
}

impl Subject {
    /// Returns whether the part is fully known, so that two equal subjects have the same effect.
    pub fn is_certain(&self) -> bool {
        !matches!(
            self,
            Self::Unknown
                | Self::Unreadable { .. }
                | Self::Redirect { path: None, .. }
                | Self::File { path: None, .. }
                | Self::Fetch(None)
        )
    }
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments. The program is not an expansion.
    pub(super) words: CommandWords,
    /// The command with its wrappers, and the commands that it may run. Only deny and ask rules see them.
    pub(super) also: Vec<CommandWords>,
    /// Location of the program, if its name is a path.
    pub(super) program: Option<Program>,
    /// Files that the command reads by redirection; `None` for an unknown file.
    pub(super) reads: Vec<Option<String>>,
    /// Working directory of the command line; `None` if it is unknown.
    pub(super) cwd: Option<String>,
    /// Hash of the command line, if it contains more than this command.
    pub(super) line: Option<BlobId>,
}

/// A program that is named by a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Absolute path, which may contain `..` and links. `None` if the base directory of the path is unknown.
    pub(super) named: Option<String>,
    /// The file that is run. Before links are resolved, this is derived from the name. `None` if it is unknown.
    pub(super) path: Option<String>,
}

impl Program {
    /// Returns the program's path, assuming that it contains no links.
    pub(super) fn by_name(&self) -> Option<String> {
        normalise(self.named.as_deref()?, "/", None)
    }
}

impl Command {
    /// Returns the command as a command line, for display.
    pub fn text(&self) -> String {
        let words = self.words.iter().map(|word| {
            if word.dynamic {
                word.text.as_str().into()
            } else {
                shell::quoted(&word.text)
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns all forms of the command that deny and ask rules see.
    pub(super) fn forms(&self) -> impl Iterator<Item = &[Word]> {
        std::iter::once(&self.words)
            .chain(&self.also)
            .map(|words| &**words)
    }
}

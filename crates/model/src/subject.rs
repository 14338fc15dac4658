//! The effects of a call, part by part, as the daemon interprets them. A permission question shows exactly the parts
//! that the policy decides on, so that the user never sees one thing and approves another. The agent's own description
//! of a call (title, text) is not included.

use serde::{Deserialize, Serialize};

/// One effect of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CallSubject {
    /// Runs a program with these arguments.
    Command {
        /// The program, followed by its arguments.
        argv: Vec<String>,
        /// Absolute path of the working directory.
        cwd: String,
        /// Environment variables that the call sets.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        env: Vec<Variable>,
    },
    /// Runs a command line in a shell.
    CommandLine {
        /// The whole command line.
        line: String,
        /// Absolute path of the working directory.
        cwd: String,
        /// Environment variables that the call sets.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        env: Vec<Variable>,
    },
    /// Accesses a file.
    File {
        /// The type of access.
        access: FileAccess,
        /// Absolute path, without `..`.
        path: String,
        /// The target of the path after symbolic links, if it differs from `path`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        real_path: Option<String>,
        /// The change as a unified diff, if the call shows one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// The call's input as JSON text, if the call changes a file and the diff does not show all of the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// Fetches a URL.
    Fetch {
        /// The URL.
        url: String,
        /// The host of the URL, if it can be determined.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// Name of the MCP server.
        server: String,
        /// Name of the tool; absent if the call does not name it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// The call's input, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// Calls any other tool.
    Tool {
        /// Programmatic name of the tool, if the agent sends one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// ACP's kind of the tool.
        kind: String,
        /// The call's input, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// A part that the daemon cannot interpret, or that is too long to show.
    Unknown {
        /// What is known about the part: one sentence for the user, without a period.
        what: String,
    },
}

/// A type of access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileAccess {
    /// Reads the content.
    Read,
    /// Searches the file, or finds files in the directory.
    Search,
    /// Creates or changes the file.
    Edit,
    /// Deletes the file.
    Delete,
    /// Moves or renames the file, or moves another file onto it.
    Move,
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Name of the variable.
    pub name: String,
    /// Value of the variable.
    pub value: String,
}

impl FileAccess {
    /// Returns the verb that users read in front of the path.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Edit => "change",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }
}

impl CallSubject {
    /// Returns the number of text bytes in the part.
    pub fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let variables = |env: &[Variable]| -> usize {
            env.iter()
                .map(|variable| variable.name.len() + variable.value.len())
                .sum()
        };
        match self {
            Self::Command { argv, cwd, env } => {
                argv.iter().map(String::len).sum::<usize>() + cwd.len() + variables(env)
            }
            Self::CommandLine { line, cwd, env } => line.len() + cwd.len() + variables(env),
            Self::File {
                path,
                real_path,
                diff,
                arguments,
                ..
            } => path.len() + length(real_path) + length(diff) + length(arguments),
            Self::Fetch { url, host } => url.len() + length(host),
            Self::Mcp {
                server,
                tool,
                arguments,
            } => server.len() + length(tool) + length(arguments),
            Self::Tool {
                name,
                kind,
                arguments,
            } => length(name) + kind.len() + length(arguments),
            Self::Unknown { what } => what.len(),
        }
    }
}

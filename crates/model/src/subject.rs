//! What a call would do, part by part, as the daemon reads it. A question to a person has these parts, and they are what the
//! policy decides on, so that nobody is shown one thing and answers about another. The agent's own words for a call (its title,
//! its text) are no part of them.

use serde::{Deserialize, Serialize};

/// One part of what a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CallSubject {
    /// A program is run with these arguments.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Absolute path of the directory that it runs in.
        cwd: String,
        /// Variables set for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        env: Vec<Variable>,
    },
    /// A shell runs a command line.
    CommandLine {
        /// All of it.
        line: String,
        /// Absolute path of the directory that it runs in.
        cwd: String,
        /// Variables set for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        env: Vec<Variable>,
    },
    /// Something is done with a file.
    File {
        /// What is done.
        access: FileAccess,
        /// Absolute path, without `..`.
        path: String,
        /// The file that it leads to through symbolic links, if that is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        real_path: Option<String>,
        /// The change as a unified diff, where the call shows one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// The call's input as JSON text, where it changes a file and the diff does not show all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// An address is fetched.
    Fetch {
        /// The address.
        url: String,
        /// Its host, if that is clear.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// A tool of an MCP server is called.
    Mcp {
        /// The server's name.
        server: String,
        /// The tool's name; none if the call does not say which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// The call's input, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// Another tool is called.
    Tool {
        /// Its name for programs, if the agent gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// ACP's kind of it.
        kind: String,
        /// The call's input, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// A part that cannot be read, or that is too long to be shown.
    Unknown {
        /// What is known of it: one sentence for a person, without an end.
        what: String,
    },
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileAccess {
    /// Its content is read.
    Read,
    /// Files are looked for in it, or it is searched.
    Search,
    /// It is made or changed.
    Edit,
    /// It is deleted.
    Delete,
    /// It is moved or renamed, or something is moved onto it.
    Move,
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl FileAccess {
    /// What a person reads in front of the path.
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
    /// Bytes of text in it.
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

//! What is decided on: a request of an agent, taken apart into subjects.
//!
//! What is known of a tool call, a file access or a command comes in; subjects come out. A title, or any other text
//! that is meant for people, is never part of it.

use acpd_model::limits::REQUEST_PATHS;

use super::command_line::{self, Command};
use super::path::normalise;
use super::shell::Assignment;

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
    /// Reads ACP's word; one that ACP does not have is `None`.
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
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content is read.
    Read,
    /// Files are looked for, or through.
    Search,
    /// It is made or changed.
    Edit,
    /// It is deleted.
    Delete,
    /// It is moved or renamed, or something is moved onto it.
    Move,
}

/// One thing that is decided by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A simple command, wrappers such as `env` and `sh -c` taken off.
    Command(Command),
    /// A command line, or a piece of one, that cannot be read.
    Unreadable {
        /// As it was written; `None` if the agent did not say what it wants to run.
        text: Option<String>,
        /// Goes on from "the command …".
        why: String,
    },
    /// A command line writes this file by redirection; `None` if it cannot be told which.
    Redirect(Option<String>),
    /// A file; its path absolute, `None` if it is not known.
    File {
        /// What is done with it.
        access: Access,
        /// Absolute and normalised.
        path: Option<String>,
    },
    /// An address is fetched; `None` if it is not known.
    Fetch(Option<String>),
    /// A tool of an MCP server is called.
    Mcp {
        /// Its name in rules, `mcp__server__tool`; if the tool is not known, `mcp__server__`.
        name: String,
        /// Whether the tool is known.
        tool_known: bool,
    },
    /// A tool of the kinds think, switch mode, other.
    Tool(Kind),
    /// Nothing is known that tells what it is.
    Unknown,
}

impl Subject {
    /// Whether it is known exactly, so that two that are equal are the same thing.
    pub fn is_certain(&self) -> bool {
        !matches!(
            self,
            Self::Unknown
                | Self::Unreadable { .. }
                | Self::Redirect(None)
                | Self::File { path: None, .. }
                | Self::Fetch(None)
        )
    }
}

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub(super) subjects: Vec<Subject>,
    pub(super) tool_name: Option<String>,
    pub(super) workspace: String,
    pub(super) home: Option<String>,
}

impl Request {
    /// A request about nothing yet; `workspace` is the absolute directory that relative patterns and paths start
    /// from.
    pub(super) fn empty(workspace: &str) -> Self {
        Self {
            subjects: Vec::new(),
            tool_name: None,
            workspace: normalise(workspace, "/", None).unwrap_or_else(|| "/".to_owned()),
            home: None,
        }
    }

    /// `fs/read_text_file` of `path`.
    pub fn read_file(path: &str, workspace: &str) -> Self {
        Self::file(Access::Read, path, workspace)
    }

    /// `fs/write_text_file` of `path`.
    pub fn write_file(path: &str, workspace: &str) -> Self {
        Self::file(Access::Edit, path, workspace)
    }

    /// An access to one file.
    pub fn file(access: Access, path: &str, workspace: &str) -> Self {
        let mut request = Self::empty(workspace);
        request.add_paths(access, [path]);
        request
    }

    /// A shell's command line, run in `workspace`.
    pub fn command_line(line: &str, workspace: &str) -> Self {
        let mut request = Self::empty(workspace);
        let cwd = request.workspace.clone();
        request.add_line(line, &cwd);
        request
    }

    /// `terminal/create`: a program with its arguments, the variables set for it, and the directory it runs in, if
    /// that is not `workspace`. A command without arguments may be a whole command line and is read as one.
    pub fn terminal(
        command: &str,
        args: &[String],
        env: &[(String, String)],
        cwd: Option<&str>,
        workspace: &str,
    ) -> Self {
        let mut request = Self::empty(workspace);
        let cwd = request.cwd(cwd);
        let env: Vec<_> = env
            .iter()
            .map(|(name, value)| Assignment::fixed(name, value))
            .collect();
        let argv: Vec<String> = std::iter::once(command.to_owned())
            .chain(args.iter().cloned())
            .collect();
        let subjects = if args.is_empty() {
            command_line::of_line_with(command, &env, &cwd)
        } else {
            command_line::of_argv(&argv, env, &cwd)
        };
        request.subjects.extend(subjects);
        request
    }

    /// The tool `tool` of the MCP server `server`.
    pub fn mcp(server: &str, tool: &str, workspace: &str) -> Self {
        let mut request = Self::empty(workspace);
        request.subjects.push(Subject::Mcp {
            name: format!("mcp__{server}__{tool}"),
            tool_known: true,
        });
        request
    }

    /// Says which directory `~` stands for in rules. A path of the request that begins with it stays unknown: what
    /// the agent takes it for is not.
    #[must_use]
    pub fn with_home(mut self, home: &str) -> Self {
        self.home = normalise(home, "/", None);
        self
    }

    /// Replaces each file's path with what `resolve` makes of it, symbolic links followed; `None` makes it unknown.
    /// Targets of redirections are left alone: an allow rule for paths never covers them.
    #[must_use]
    pub fn with_resolved_paths(mut self, mut resolve: impl FnMut(&str) -> Option<String>) -> Self {
        for subject in &mut self.subjects {
            if let Subject::File { path, .. } = subject {
                *path = path
                    .take()
                    .and_then(|path| resolve(&path))
                    .and_then(|path| normalise(&path, "/", None));
            }
        }
        self
    }

    /// What it was taken apart into.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// The tool's name, where the agent gives one that is not meant for people.
    pub fn tool_name(&self) -> Option<&str> {
        self.tool_name.as_deref()
    }

    pub(super) fn cwd(&self, cwd: Option<&str>) -> String {
        cwd.and_then(|cwd| normalise(cwd, &self.workspace, None))
            .unwrap_or_else(|| self.workspace.clone())
    }

    pub(super) fn add_line(&mut self, line: &str, cwd: &str) {
        self.subjects.extend(command_line::of_line_with(line, &[], cwd));
    }

    pub(super) fn add_argv(&mut self, argv: &[String], cwd: &str) {
        self.subjects.extend(command_line::of_argv(argv, Vec::new(), cwd));
    }

    /// One subject for each path; one with an unknown path if there is none, or there are too many.
    pub(super) fn add_paths<'a>(&mut self, access: Access, paths: impl IntoIterator<Item = &'a str>) {
        let before = self.subjects.len();
        for path in paths {
            let path = match normalise(path, &self.workspace, self.home.as_deref()) {
                Some(path) if self.subjects.len() - before < REQUEST_PATHS => Some(path),
                _ => None,
            };
            let subject = Subject::File { access, path };
            if !self.subjects.contains(&subject) {
                self.subjects.push(subject);
            }
        }
        if self.subjects.len() == before {
            self.subjects.push(Subject::File { access, path: None });
        }
    }
}
